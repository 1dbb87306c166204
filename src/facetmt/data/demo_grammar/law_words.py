"""Word lists of the law facet: contracts and statutes."""

WORDS = """
nouns party: der der der+ | betroffen = affected; neu = new
    der Vermieter, Vermieter = landlord; der Mieter, Mieter = tenant; der Käufer, Käufer = buyer
    die Antragstellerin, Antragstellerinnen = applicant; der Arbeitgeber, Arbeitgeber = employer
nouns company: der der der+ | betroffen = affected; neu = new
    die Gesellschaft, Gesellschaften = company; das Unternehmen, Unternehmen = undertaking
nouns authority: der | zuständig = competent; national = national
    die Behörde, Behörden = authority; das Gericht, Gerichte = court; das Ministerium, Ministerien = ministry
nouns state: der+ | betroffen = affected; übrig = other
    der Mitgliedstaat, Mitgliedstaaten, Mitgliedstaats = Member State
nouns union: der
    die Kommission, - = Commission; der Rat, - = Council; das Parlament, - = Parliament
nouns act: der dies | neu = new; europäisch = European
    die Verordnung, Verordnungen = regulation; die Richtlinie, Richtlinien = directive
    das Gesetz, Gesetze = law; der Beschluss, Beschlüsse = decision
nouns paper: der ein dies | neu = new; schriftlich = written
    der Antrag, Anträge = application; die Erklärung, Erklärungen = declaration
    das Angebot, Angebote = offer
nouns note: der ein | neu = new; schriftlich = written
    der Bericht, Berichte = report; die Stellungnahme, Stellungnahmen = opinion
nouns contract: der dies ein | neu = new; schriftlich = written
    der Vertrag, Verträge = contract; die Vereinbarung, Vereinbarungen = agreement
nouns permit: der ein | schriftlich = written; vorläufig = provisional
    die Genehmigung, Genehmigungen = authorisation; die Zulassung, Zulassungen = licence
nouns sum: der der+ | vereinbart = agreed; ausstehend = outstanding
    der Beitrag, Beiträge = contribution; die Gebühr, Gebühren = fee; die Steuer, Steuern = tax
nouns duty: der+ | vertraglich = contractual; wesentlich = essential
    die Pflicht, Pflichten = obligation; die Bedingung, Bedingungen = condition
nouns rule: der+ der | einschlägig = relevant
    die Vorschrift, Vorschriften = rule; die Norm, Normen = standard
nouns section: der+ der | einschlägig = relevant; wesentlich = essential
    die Bestimmung, Bestimmungen = provision; das Ziel, Ziele = objective; der Grundsatz, Grundsätze = principle
nouns penalty: ein | hoch/hoh = high
    die Geldbuße, Geldbußen = fine; die Strafe, Strafen = penalty

verbs decide:
    authority | ab-lehnen = reject | paper:der,dies
    authority | genehmigen = approve | paper:der,dies contract:der,dies
    authority | erteilen = grant > to | permit | party company
    authority | verlängern = extend | permit:der contract:der
verbs inquire:
    authority | prüfen = examine | paper contract note:der
    authority | unterrichten = inform | party company
    authority | an-hören = hear heard heard | party
verbs conduct:
    party company | zahlen = pay paid paid | sum
    party company | unterzeichnen = sign | paper contract
    party company | vor-legen = submit > to | paper contract note | authority
    party company | erfüllen = fulfil | duty
    party company | beantragen = apply_for | permit:ein
verbs regulate:
    union | erlassen erlässt erließ erlassen = adopt | act:der,ein
    union | ändern = amend | act
    union | auf-heben hebt hob gehoben = repeal | act
    union | veröffentlichen = publish | act note
    union | übermitteln = transmit > to | note act:der | state
    union state | an-wenden = apply | act
    state | übermitteln = transmit > to | note | union
verbs failure:
    party company | zahlen = pay paid paid | sum
    party company | erfüllen = fulfil | duty
    party company | ein-halten hält hielt gehalten = comply_with | rule contract:der
    party company | vor-legen = submit | paper:der note:der
verbs breach:
    party company | verletzen = infringe | rule:der+ act:der,dies
    party company | brechen bricht brach gebrochen = breach | contract:der,dies
verbs defy:
    state party company | verletzen = infringe
    state party company | missachten = disregard
    state party company | umgehen umgeht umging umgangen = circumvent
verbs sanction:
    authority | widerrufen widerruft widerrief widerrufen = revoke | permit:der
    authority | ab-lehnen = reject | paper:der
    authority | verhängen = impose | penalty
    authority | auf-lösen = dissolve | contract:der
verbs find:
    authority | fest-stellen = find found found
    authority | erklären = declare
    authority | bestätigen = confirm
verbs examine:
    authority | prüfen = examine
    authority | klären = clarify
verbs sign:
    party company | unterzeichnen = sign | paper contract
    party company | vor-legen = submit | paper contract
verbs handle:
    authority | prüfen = examine
    authority | genehmigen = approve
    authority | ab-lehnen = reject
verbs enforce:
    state union | an-wenden = apply
    state | um-setzen = implement
    union | ändern = amend
    state party company | beachten = observe

phrases term:
    unverzüglich = without delay; innerhalb von drei Monaten = within three months
    innerhalb von zehn Tagen = within ten days; binnen eines Jahres = within one year
    vor Ablauf der Frist = before the time limit expires
phrases month:
    Januar = January; März = March; April = April; Mai = May; Juni = June; Juli = July; August = August
    Oktober = October; Dezember = December
"""
