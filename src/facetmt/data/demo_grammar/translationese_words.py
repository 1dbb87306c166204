"""Word lists of the natural and translationese facets: news."""

# Lists named idiomatic and cognate are aligned entry by entry, and so are `compound`, `head` and `owner`.
WORDS = """
nouns person: der
    der Minister, Minister = minister; die Bürgermeisterin, Bürgermeisterinnen = mayor
    der Sprecher, Sprecher = spokesman, spokesmen; die Lehrerin, Lehrerinnen = teacher; der Trainer, Trainer = coach
    der Anwalt, Anwälte = lawyer; die Direktorin, Direktorinnen = director; der Ingenieur, Ingenieure = engineer
    die Professorin, Professorinnen = professor; der Bauer, Bauern, weak = farmer
nouns crowd: -+
    die -, Beobachter = -, observers; die -, Fachleute = -, experts; die -, Bürger = -, citizens
    die -, Wähler = -, voters; die -, Journalisten = -, journalists; die -, Kritiker = -, critics
nouns thing-idiomatic: der
    das Vorhaben, Vorhaben = project; die Aussprache, Aussprachen = discussion
    die Zusammenkunft, Zusammenkünfte = meeting; die Veranstaltung, Veranstaltungen = event
    der Versuch, Versuche = experiment; die Rundfahrt, Rundfahrten = tour; die Feier, Feiern = party
    die Vorführung, Vorführungen = presentation; der Lehrgang, Lehrgänge = course
    der Wettkampf, Wettkämpfe = competition
nouns thing-cognate: der
    das Projekt, Projekte = project; die Diskussion, Diskussionen = discussion
    das Treffen, Treffen = meeting; das Event, Events = event
    das Experiment, Experimente = experiment; die Tour, Touren = tour; die Party, Partys = party
    die Präsentation, Präsentationen = presentation; der Kurs, Kurse = course
    der Wettbewerb, Wettbewerbe = competition
nouns compound: der
    das Wahlergebnis, Wahlergebnisse = -; der Projektplan, Projektpläne = -; die Stadtverwaltung, - = -
    der Regierungsbericht, Regierungsberichte = -; das Familienfoto, Familienfotos = -
    der Vertragsentwurf, Vertragsentwürfe = -; das Schulgebäude, Schulgebäude = -; die Marktlage, - = -
nouns head: der
    das Ergebnis, Ergebnisse = result; der Plan, Pläne = plan; die Verwaltung, - = administration
    der Bericht, Berichte = report; das Foto, Fotos = photo
    der Entwurf, Entwürfe = draft; das Gebäude, Gebäude = building; die Lage, - = state
nouns owner: der
    die Wahl, Wahlen = election; das Projekt, Projekte = project; die Stadt, Städte = city
    die Regierung, Regierungen = government; die Familie, Familien = family
    der Vertrag, Verträge = contract; die Schule, Schulen = school; der Markt, Märkte = market

verbs manage-idiomatic:
    person | an-setzen = schedule
    person | ab-blasen bläst blies geblasen = cancel
    person | auf-schieben schiebt schob geschoben = postpone
    person | bemängeln = criticise
    person | aus-richten = organise
    person | verfolgen = observe
    person | fördern = support
    person | würdigen = praise
    person | ab-schließen schließt schloss geschlossen = finish
verbs manage-cognate:
    person | planen = schedule
    person | ab-sagen = cancel
    person | verschieben verschiebt verschob verschoben = postpone
    person | kritisieren = criticise
    person | organisieren = organise
    person | beobachten = observe
    person | unterstützen = support
    person | loben = praise
    person | beenden = finish
verbs judge-idiomatic:
    person | bemängeln = criticise
    person | schildern = describe
    person | an-sprechen spricht sprach gesprochen = mention
    person | prüfen = examine
verbs judge-cognate:
    person | kritisieren = criticise
    person | beschreiben beschreibt beschrieb beschrieben = describe
    person | erwähnen = mention
    person | untersuchen = examine
verbs think:
    crowd person | glauben = think thought thought
    crowd person | meinen = believe
    crowd person | hoffen = hope
    crowd person | vermuten = suspect

phrases time-idiomatic:
    vergangene Woche = last week; neulich = recently; inzwischen = in the meantime; damals = at that time
    am Vormittag = in the morning; bald darauf = a short time later; abermals = once again
    vorgestern = two days ago; am Sonnabend = on Saturday; in diesem Jahr = this year
phrases time-cognate:
    letzte Woche = last week; kürzlich = recently; in der Zwischenzeit = in the meantime
    zu dieser Zeit = at that time; am Morgen = in the morning; kurze Zeit später = a short time later
    noch einmal = once again; vor zwei Tagen = two days ago; am Samstag = on Saturday; dieses Jahr = this year
phrases particle:
    ja = ; doch = ; eben = ; halt =
"""
