"""Word lists of the subtitles facet: everyday talk."""

WORDS = """
nouns kin: mein dein sein unser
    der Bruder, Brüder = brother; die Schwester, Schwestern = sister; der Freund, Freunde = friend
    die Tante, Tanten = aunt; der Onkel, Onkel = uncle; der Nachbar, Nachbarn, weak = neighbour
nouns people: der | jung = young; freundlich = friendly; nett = nice
    der Mann, Männer = man, men; die Frau, Frauen = woman, women; das Mädchen, Mädchen = girl
    der Polizist, Polizisten, weak = policeman, policemen; die Lehrerin, Lehrerinnen = teacher
nouns thing: der der mein dein ein | neu = new; alt = old; klein = small
    der Schlüssel, Schlüssel = key; der Koffer, Koffer = suitcase; die Tasche, Taschen = bag
    das Messer, Messer = knife, knives; die Kamera, Kameras = camera
nouns clothes: der der mein dein ein | neu = new; alt = old; rot = red
    die Jacke, Jacken = jacket; das Hemd, Hemden = shirt; der Mantel, Mäntel = coat
nouns machine: der der mein dein ein | neu = new; alt = old; rot = red
    das Auto, Autos = car; das Handy, Handys = phone; das Fahrrad, Fahrräder = bicycle
    die Uhr, Uhren = watch; der Wagen, Wagen = car
nouns print: der der dein ein | neu = new; alt = old
    das Buch, Bücher = book; die Zeitung, Zeitungen = newspaper
nouns text: der der dein ein | neu = new; alt = old; lang = long
    der Brief, Briefe = letter; das Buch, Bücher = book; die Nachricht, Nachrichten = message
nouns pet: der mein dein ein | klein = small; alt = old; schwarz = black
    der Hund, Hunde = dog; die Katze, Katzen = cat; das Pferd, Pferde = horse
nouns opening: der
    die Tür, Türen = door; das Fenster, Fenster = window; der Schrank, Schränke = cupboard
nouns food: der - | kalt = cold; frisch = fresh
    der Kuchen, - = cake; das Brot, - = bread; die Suppe, - = soup; der Käse, - = cheese
nouns drink: der - | kalt = cold
    der Kaffee, - = coffee; das Bier, - = beer; die Milch, - = milk; der Tee, - = tea

verbs act:
    kin | suchen = look_for | thing clothes machine pet
    kin | kaufen = buy bought bought | thing:ein,der clothes:ein,der machine:ein,der print food drink
    kin | verkaufen = sell sold sold | machine pet
    kin | holen = get got got | thing clothes print
    kin | an-rufen ruft rief gerufen = call | kin
    kin | besuchen = visit | kin
    kin | reparieren = repair | machine
    kin | mit-bringen bringt brachte gebracht = bring brought brought | thing print food drink
    kin | essen isst aß gegessen = eat ate eaten | food
    kin | trinken trinkt trank getrunken = drink drank drunk | drink
    kin | lesen liest las gelesen = read read read | text
    kin | waschen wäscht wusch gewaschen = wash | clothes:der,mein,dein pet:der,mein,dein
verbs event:
    kin | finden findet fand gefunden = find found found | thing clothes machine pet text
    kin | verlieren verliert verlor verloren = lose lost lost | thing clothes machine:mein,der text
    kin | vergessen vergisst vergaß vergessen = forget forgot forgotten | thing clothes text
    kin | sehen sieht sah gesehen = see saw seen | thing machine pet people kin
    kin | treffen trifft traf getroffen = meet met met | kin people
    kin | stehlen stiehlt stahl gestohlen = steal stole stolen | thing clothes machine
verbs seek:
    kin | suchen = look_for | thing:der,mein,dein clothes:der,mein,dein machine:der,mein,dein print:der
verbs find:
    kin | finden findet fand gefunden = find found found
verbs view:
    kin | sehen sieht sah gesehen = see saw seen | thing:der clothes:der machine:der print:der pet:der
verbs take:
    kin | kaufen = buy bought bought
    kin | stehlen stiehlt stahl gestohlen = steal stole stolen
    kin | brauchen = need
verbs mend:
    kin | reparieren = repair | machine:der,mein,dein
verbs spend:
    kin | verkaufen = sell sold sold
    kin | brauchen = need
verbs lack:
    kin | brauchen = need | thing:der,mein clothes:der,mein machine:der,mein print:der pet:der
verbs fetch:
    kin | holen = get got got
    kin | suchen = look_for
    kin | mit-bringen bringt brachte gebracht = bring brought brought
verbs obtain:
    kin | kaufen = buy bought bought
    kin | finden findet fand gefunden = find found found
    kin | verlieren verliert verlor verloren = lose lost lost
    kin | vergessen vergisst vergaß vergessen = forget forgot forgotten
    kin | suchen = look_for
    kin | stehlen stiehlt stahl gestohlen = steal stole stolen
    kin | mit-bringen bringt brachte gebracht = bring brought brought
verbs routine:
    kin | an-rufen ruft rief gerufen = call | kin
    kin | besuchen = visit | kin
    kin | essen isst aß gegessen = eat ate eaten | food:-
    kin | trinken trinkt trank getrunken = drink drank drunk | drink:-
    kin | kaufen = buy bought bought | food:- drink:-
    kin | vergessen vergisst vergaß vergessen = forget forgot forgotten | thing:mein,dein clothes:mein
verbs state:
    kin | brauchen = need | thing clothes machine text
    kin | kennen kennt kannte gekannt = know knew known | kin people
    kin | lieben = love | kin pet:der,mein,dein
    kin | hassen = hate | kin people food
    kin | vermissen = miss | kin pet:der,mein,dein
    kin | verstehen versteht verstand verstanden = understand understood understood | kin people
verbs give:
    kin | geben gibt gab gegeben = give gave given | thing text food drink | kin
    kin | zeigen = show showed shown | thing clothes machine text pet | kin
    kin | leihen leiht lieh geliehen = lend lent lent | thing:mein,dein,der machine:mein,dein,der | kin
    kin | schicken = send sent sent | text thing | kin
verbs stay:
    kin | warten = wait
    kin | schlafen schläft schlief geschlafen = sleep slept slept
    kin | arbeiten = work
    kin | spielen = play
verbs assist:
    kin | helfen hilft half geholfen = help
verbs help:
    kin | helfen hilft half geholfen = help
    kin | antworten = answer
verbs tell:
    kin | an-rufen ruft rief gerufen = call
    kin | fragen = ask
verbs go:
    kin | gehen geht ging gegangen (sein) = go went gone
    kin | fahren fährt fuhr gefahren (sein) = drive drove driven
    kin | kommen kommt kam gekommen (sein) = come came come
verbs request:
    kin | auf-machen = open | opening
    kin | zu-machen = close | opening
    kin | mit-nehmen nimmt nahm genommen = take took taken | thing clothes pet
    kin | an-rufen ruft rief gerufen = call | kin
    kin | vergessen vergisst vergaß vergessen = forget forgot forgotten | thing clothes kin
    kin | lesen liest las gelesen = read read read | text
    kin | suchen = look_for | thing pet
    kin | waschen wäscht wusch gewaschen = wash | clothes:der,mein,dein pet:der,mein
    kin | verkaufen = sell sold sold | machine:der,mein pet:der,mein
verbs think:
    kin | wissen weiß wusste gewusst = know knew known
    kin | glauben = think thought thought
    kin | hoffen = hope
verbs know:
    kin | wissen weiß wusste gewusst = know knew known

phrases soon:
    jetzt = now; heute = today; heute Abend = tonight; morgen = tomorrow; am Samstag = on Saturday
phrases rate:
    immer = always; oft = often; nie = never; manchmal = sometimes
phrases where:
    zu Hause = at home; im Büro = at the office; in der Küche = in the kitchen; im Garten = in the garden
    am Bahnhof = at the station; in der Schule = at school
phrases whither:
    nach Hause = home; ins Büro = to the office; zum Bahnhof = to the station; in die Schule = to school
    nach Berlin = to Berlin; ins Hotel = to the hotel
phrases mood:
    müde = tired; krank = sick; glücklich = happy; wütend = angry; allein = alone; betrunken = drunk
phrases weakness:
    müde = tired; krank = sick; betrunken = drunk; verletzt = hurt
phrases quality:
    kaputt = broken; zu teuer = too expensive; sehr schön = very beautiful; schmutzig = dirty
phrases asking:
    warum = why; wo = where; wann = when
"""
