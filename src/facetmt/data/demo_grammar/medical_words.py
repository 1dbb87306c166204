"""Word lists of the medical facet: clinic and package leaflet."""

WORDS = """
nouns doctor: der der der dies | jung = young; erfahren = experienced
    der Arzt, Ärzte = doctor; die Ärztin, Ärztinnen = doctor; der Notarzt, Notärzte = emergency doctor
    der Facharzt, Fachärzte = specialist
nouns surgeon: der der der dies | jung = young; erfahren = experienced
    der Chirurg, Chirurgen, weak = surgeon; die Chirurgin, Chirurginnen = surgeon
nouns nurse: der der der dies | jung = young; erfahren = experienced
    die Krankenschwester, Krankenschwestern = nurse; der Pfleger, Pfleger = nurse
nouns counsel: Ihr
    der Arzt, Ärzte = doctor; der Apotheker, Apotheker = pharmacist; der Hausarzt, Hausärzte = family doctor
    die Ärztin, Ärztinnen = doctor
nouns person: der der der+ dies | krank = sick; schwach = weak; unruhig = restless
    der Patient, Patienten, weak = patient; die Frau, Frauen = woman, women; der Mann, Männer = man, men
    die Sportlerin, Sportlerinnen = athlete; der Junge, Jungen, weak = boy; die Mutter, Mütter = mother
nouns child: der der+ | krank = sick; schwach = weak; unruhig = restless
    das Kind, Kinder = child, children; das Mädchen, Mädchen = girl
nouns oral: der der der+ dies | neu = new; stark = strong; pflanzlich = herbal
    die Tablette, Tabletten = tablet; die Kapsel, Kapseln = capsule
    das Antibiotikum, Antibiotika = antibiotic; das Schmerzmittel, Schmerzmittel = painkiller
    die Lösung, Lösungen = solution; das Arzneimittel, Arzneimittel = medicine
nouns skin: der der dies | neu = new; stark = strong; pflanzlich = herbal
    die Salbe, Salben = ointment; die Creme, Cremes = cream; das Gel, Gele, Gels = gel
nouns shot: der dies | neu = new
    der Impfstoff, Impfstoffe = vaccine
nouns symptom: - -+ | anhaltend = persistent; leicht = mild; stark = severe
    das Fieber, - = a fever; der Husten, - = a cough; die Übelkeit, - = nausea; der Schwindel, - = dizziness
    der Durchfall, - = diarrhoea; die -, Kopfschmerzen = -, headaches
    die -, Magenschmerzen = -, stomach pain; die -, Rückenschmerzen = -, back pain
nouns disease: ein | schwer = serious; chronisch = chronic; selten = rare
    die Infektion, Infektionen = infection; die Entzündung, Entzündungen = inflammation
    die Allergie, Allergien = allergy; die Hautkrankheit, Hautkrankheiten = skin disease
    die Augenkrankheit, Augenkrankheiten = eye disease
nouns limb: der | link = left; recht = right; verletzt = injured
    die Schulter, Schultern = shoulder; das Knie, Knie = knee; das Auge, Augen = eye; das Ohr, Ohren = ear
    die Hand, Hände = hand; der Fuß, Füße = foot, feet
nouns organ: der der+
    die Leber, - = liver; der Magen, - = stomach; die -, Nieren = -, kidneys
nouns surface: der der+
    die Haut, - = skin; die -, Augen = -, eyes
nouns test: der
    die Untersuchung, Untersuchungen = examination; der Test, Tests, Tests = test

verbs surgery:
    surgeon | operieren = operate_on | person child limb
    surgeon | untersuchen = examine | person limb
verbs care:
    doctor nurse | untersuchen = examine | person child limb
    doctor | behandeln = treat | person child limb
    nurse | verbinden verbindet verband verbunden = bandage | limb
    nurse doctor | beobachten = monitor | person child
    doctor | verschreiben verschreibt verschrieb verschrieben = prescribe > for | oral:ein skin:ein,der | person child
    nurse doctor | geben gibt gab gegeben = give gave given | oral:ein,der | person child
    doctor | empfehlen empfiehlt empfahl empfohlen = recommend > to | oral:ein,der skin:ein shot | person child
verbs prescribe:
    doctor | verschreiben verschreibt verschrieb verschrieben = prescribe | oral
    doctor | empfehlen empfiehlt empfahl empfohlen = recommend | oral
    nurse | bringen bringt brachte gebracht = bring brought brought | oral
verbs delay:
    doctor | impfen = vaccinate | person
    surgeon | operieren = operate_on | person
verbs treat:
    doctor nurse | untersuchen = examine | person
    doctor | behandeln = treat | person
    nurse doctor | beobachten = monitor | person
verbs take:
    person child | ein-nehmen nimmt nahm genommen = take took taken | oral
    person child | verwenden = use | skin
verbs change:
    person child | ab-setzen = stop_using | oral
    person child | ein-nehmen nimmt nahm genommen = take took taken | oral
    person child | verwenden = use | skin
verbs swallow:
    person | ein-nehmen nimmt nahm genommen = take took taken | oral
    person | schlucken = swallow | oral
verbs apply:
    person | auf-tragen trägt trug getragen = apply | skin
    person | verwenden = use | skin
verbs stop:
    person | ab-setzen = stop_using
    person | verwenden = use
verbs effect:
    oral | lindern = relieve | symptom
    oral shot | verursachen = cause | symptom
    oral | schädigen = damage | organ
    oral skin | heilen = cure | disease
    skin | reizen = irritate | surface
verbs harm:
    oral | verursachen = cause | symptom
    skin | reizen = irritate | surface
    oral | verschlimmern = aggravate | symptom
verbs state:
    person child | haben hat hatte gehabt = have had had | symptom
    person child | leiden leidet litt gelitten = suffer @ an:dat:from | disease
verbs sign:
    person | haben hat hatte gehabt = have had had | symptom
    person | bekommen bekommt bekam bekommen = develop | symptom
    person | leiden leidet litt gelitten = suffer @ an:dat:from | disease
verbs illness:
    person child | leiden leidet litt gelitten = suffer @ an:dat:from | disease
verbs need:
    person child | benötigen = need | oral skin shot
    person child | vertragen verträgt vertrug vertragen = tolerate | oral skin shot
verbs claim:
    doctor nurse | vermuten = suspect
    doctor nurse surgeon | glauben = believe
    doctor surgeon | fest-stellen = find found found
verbs finding:
    test | zeigen = show showed shown
    test | bestätigen = confirm
verbs advice:
    doctor surgeon | erklären = explain
    doctor nurse | meinen = think thought thought
verbs tell:
    counsel | informieren = inform | counsel
    counsel | an-rufen ruft rief gerufen = call | counsel
    counsel | auf-suchen = see saw seen | counsel
verbs ask:
    counsel | fragen = ask | counsel
verbs store:
    counsel | auf-bewahren = store | oral skin shot
    counsel | lagern = keep kept kept | oral skin shot

phrases dose:
    täglich = daily; zweimal täglich = twice a day; dreimal täglich = three times a day
    vor dem Essen = before meals; nach dem Essen = after meals; jeden Abend = every evening
    alle acht Stunden = every eight hours; jeden Morgen = every morning
phrases often:
    täglich = daily; zweimal täglich = twice a day; jeden Abend = every evening; jeden Morgen = every morning
phrases ward:
    vor der Operation = before the operation; nach der Operation = after the operation
    in der Klinik = at the clinic; im Krankenhaus = at the hospital
phrases manner:
    mit einem Glas Wasser = with a glass of water; auf nüchternen Magen = on an empty stomach
phrases never:
    ohne Rezept = without a prescription; während der Schwangerschaft = during pregnancy
    zusammen mit Alkohol = together with alcohol
phrases place:
    im Kühlschrank = in the refrigerator; bei Raumtemperatur = at room temperature
    an einem trockenen Ort = in a dry place
phrases danger:
    in der Sonne = in the sun; im Badezimmer = in the bathroom; im Gefrierfach = in the freezer
"""
