"""Word lists of the it facet: software and hardware."""

WORDS = """
nouns user: der der der+ | neu = new; registriert = registered
    der Benutzer, Benutzer = user; der Administrator, Administratoren = administrator
    der Entwickler, Entwickler = developer; die Kundin, Kundinnen = customer
nouns program: der der dies | neu = new; veraltet = outdated; kostenlos = free
    das Programm, Programme = program; die Anwendung, Anwendungen = application
    der Browser, Browser = browser; das Betriebssystem, Betriebssysteme = operating system
    der Treiber, Treiber = driver; die Erweiterung, Erweiterungen = extension
nouns tool: der der dies | neu = new; veraltet = outdated; kostenlos = free
    das Programm, Programme = program; die Anwendung, Anwendungen = application
    der Browser, Browser = browser; das Skript, Skripte, Skripts = script
nouns machine: der der dies | neu = new; zentral = central
    der Server, Server = server; der Rechner, Rechner = computer
nouns device: der der dies | neu = new; extern = external
    der Drucker, Drucker = printer; der Bildschirm, Bildschirme = screen; die Tastatur, Tastaturen = keyboard
    die Kamera, Kameras = camera
nouns file: der der der+ ein dies | neu = new; wichtig = important; groß = large
    die Datei, Dateien = file; der Anhang, Anhänge = attachment; das Dokument, Dokumente = document
    die Tabelle, Tabellen = table; das Bild, Bilder = image; die Nachricht, Nachrichten = message
nouns setting: der Ihr | neu = new; alt = old
    das Kennwort, Kennwörter = password; die Adresse, Adressen = address
    der Zugangscode, Zugangscodes = access code
nouns account: der ein | neu = new; alt = old
    das Konto, Konten = account; das Postfach, Postfächer = mailbox
nouns widget: der | link = left; recht = right; grün = green
    die Schaltfläche, Schaltflächen = button; das Symbol, Symbole = icon; der Link, Links, Links = link
nouns pane: der | link = left; recht = right
    das Menü, Menüs = menu; das Fenster, Fenster = window; die Registerkarte, Registerkarten = tab
nouns disk: der | extern = external; neu = new
    der Server, Server = server; die Festplatte, Festplatten = hard disk; das Laufwerk, Laufwerke = drive
nouns trouble: ein | schwer = serious; unbekannt = unknown
    der Fehler, Fehler = error; das Problem, Probleme = problem; der Konflikt, Konflikte = conflict

verbs edit:
    user | öffnen = open | file
    user | löschen = delete | file
    user | kopieren = copy | file
    user | verschieben verschiebt verschob verschoben = move | file
    user | um-benennen benennt benannte benannt = rename | file
    user | drucken = print | file
    user | herunter-laden lädt lud geladen = download | file
    user | bearbeiten = edit | file
    user | verschlüsseln = encrypt | file
    user | speichern = save | file
verbs administer:
    user | ändern = change | setting:der
    user | sperren = lock | account
    user | erstellen = create | account:ein file:ein
    user | aktualisieren = update | program
    user | installieren = install | program
    user | konfigurieren = configure | machine program account:der
    user | schicken = send sent sent > to | file:ein,der | user
verbs setup:
    user | ändern = change | setting
    user | ein-geben gibt gab gegeben = enter | setting
    user | sperren = lock | account:der
    user | installieren = install | program
    user | aktualisieren = update | program
    user | ein-schalten = switch+on | device machine
    user | aus-schalten = switch+off | device machine
    user | schließen schließt schloss geschlossen = close | pane tool
    user | starten = start | tool
verbs goal:
    user | ändern = change | setting
    user | installieren = install | program
    user | speichern = save | file
    user | drucken = print | file
    user | bearbeiten = edit | file
    user | um-benennen benennt benannte benannt = rename | file
    user | wiederher-stellen = restore | file
    user | erstellen = create | account:ein file:ein
verbs choose:
    user | klicken = click @ auf:acc:on | widget
    user | öffnen = open | pane
    user | aus-wählen = select | widget pane
verbs pick:
    user | aus-wählen = select
    user | öffnen = open
    user | markieren = mark
verbs put:
    user | speichern = save | file
    user | finden findet fand gefunden = find found found | file
verbs carry:
    user | kopieren = copy | file
    user | verschieben verschiebt verschob verschoben = move | file
verbs run:
    tool | öffnen = open | file
    tool machine | löschen = delete | file
    tool | speichern = save | file
    program machine | erkennen erkennt erkannte erkannt = recognise | device:der
    tool machine | finden findet fand gefunden = find found found | file account
verbs meet:
    program machine | melden = report | trouble
    program | verursachen = cause | trouble
    tool | enthalten enthält enthielt enthalten = contain | trouble
verbs incident:
    program machine | melden = report | trouble
    program | verursachen = cause | trouble
verbs warn:
    tool machine | melden = report
    tool | an-zeigen = indicate
verbs announce:
    user | berichten = report
    user | bestätigen = confirm
    machine | an-zeigen = indicate
verbs check:
    user | prüfen = check
    user | fest-stellen = determine
verbs assure:
    user | sich vergewissern = make_sure made made
verbs made:
    user | speichern = save | file
    user | herunter-laden lädt lud geladen = download | file
    user | bearbeiten = edit | file
    user | erstellen = create | file
verbs lose:
    user | löschen = delete | file
    user | verschieben verschiebt verschob verschoben = move | file
    user | verschlüsseln = encrypt | file
verbs regret:
    user | wiederher-stellen = restore
    user | öffnen = open
    user | drucken = print
verbs keep:
    user | speichern = save | file
    user | herunter-laden lädt lud geladen = download | file
    user | öffnen = open | file
verbs profit:
    user | bearbeiten = edit
    user | drucken = print
    user | kopieren = copy
    user | verwenden = use
verbs routine:
    user | aktualisieren = update | program
    user | schicken = send sent sent > to | file:ein,der | user

phrases bad-file:
    beschädigt = damaged; schreibgeschützt = write-protected; leer = empty
phrases good-file:
    lesbar = readable; verfügbar = available; vollständig = complete
phrases bad-device:
    ausgeschaltet = switched off; defekt = faulty
phrases good-device:
    eingeschaltet = switched on; angeschlossen = connected; bereit = ready
phrases bad-tool:
    veraltet = outdated; beschädigt = damaged
phrases good-tool:
    verfügbar = available; installiert = installed
phrases bad-account:
    gesperrt = locked; voll = full
phrases good-account:
    verfügbar = available; aktiv = active
phrases bad-machine:
    ausgeschaltet = switched off; überlastet = overloaded
phrases good-machine:
    eingeschaltet = switched on; verfügbar = available; erreichbar = reachable
phrases manner:
    sofort = immediately; erneut = again; manuell = manually
phrases result:
    erfolgreich = successfully; ohne Fehler = without errors; automatisch = automatically
"""
