"""Word lists of the koran facet: scripture."""

WORDS = """
nouns god: -
    der Gott, -, Gottes = God
nouns lord: euer
    der Herr, Herrn, weak = Lord
nouns faithful: der+
    die -, Gläubigen = -, believers; die -, Gerechten = -, righteous; die -, Geduldigen = -, patient
    die -, Armen = -, poor
nouns wicked: der+
    die -, Ungläubigen = -, unbelievers; die -, Frevler = -, wrongdoers; die -, Lügner = -, liars
    die -, Hochmütigen = -, arrogant
nouns messenger: der sein
    der Prophet, Propheten, weak = prophet; der Engel, Engel = angel; der Bote, Boten, weak = messenger
nouns world: der
    die Erde, - = earth; der Himmel, - = sky; das Meer, - = sea; die Sonne, - = sun; der Mond, - = moon
    die Nacht, - = night; der Tag, - = day
nouns creed: der der+
    die Wahrheit, - = truth; die Botschaft, - = message; das Buch, - = Book; die -, Zeichen = -, signs
nouns path: der | gerade/gerad = straight
    der Weg, - = path
nouns reward: sein | groß = great; ewig = eternal
    der Lohn, - = reward; die Gnade, - = grace; das Licht, - = light; der Frieden, - = peace
nouns doom: der sein | groß = great; ewig = eternal
    die Strafe, - = punishment; das Feuer, - = fire; der Zorn, - = wrath

verbs favour:
    god | lieben = love | faithful
    god | belohnen = reward | faithful
    god | leiten = guide | faithful
    god | hören = hear heard heard | faithful
verbs anger:
    god | bestrafen = punish | wicked
    god | sehen sieht sah gesehen = see saw seen | wicked
    god | kennen kennt kannte gekannt = know knew known | wicked
verbs judge:
    god | bestrafen = punish | wicked
    god | vernichten = destroy | wicked
    god | belohnen = reward | faithful
    god | retten = save | faithful
verbs create:
    god | erschaffen erschafft erschuf erschaffen = create | world
    god | segnen = bless | world
verbs obey:
    faithful | dienen = serve | | god lord
    faithful | danken = thank | | god lord
    faithful | gehorchen = obey | | god lord messenger:der
    faithful | fürchten = fear | god lord
    faithful | lieben = love | god lord creed
    faithful | glauben = believe @ an:acc:in | god lord creed
    faithful | folgen (sein) = follow | | path messenger:der
verbs devout:
    faithful | dienen = serve | | god
    faithful | danken = thank | | god
    faithful | gehorchen = obey | | god messenger:der
    faithful | fürchten = fear | god
    faithful | lieben = love | god creed
    faithful | glauben = believe @ an:acc:in | god creed
    faithful | folgen (sein) = follow | | path messenger:der
verbs stray:
    wicked | folgen (sein) = follow | | wicked
    wicked | gehorchen = obey | | wicked
    wicked | fürchten = fear | wicked
    wicked | leugnen = deny | creed
    wicked | vergessen vergisst vergaß vergessen = forget forgot forgotten | creed
    wicked | verlassen verlässt verließ verlassen = leave left left | path
verbs gain:
    faithful | sehen sieht sah gesehen = see saw seen | reward
    faithful | empfangen empfängt empfing empfangen = receive | reward
verbs suffer:
    wicked | sehen sieht sah gesehen = see saw seen | doom
    wicked | fürchten = fear | doom
verbs send:
    god | senden sendet sandte gesandt = send sent sent > to | messenger creed | faithful wicked
    god | zeigen = show showed shown > to | creed path | faithful wicked
    messenger | bringen bringt brachte gebracht = bring brought brought > to | creed | faithful wicked
verbs answer:
    wicked | leugnen = deny | creed
    faithful | lieben = love | messenger:der creed
    wicked | hassen = hate | messenger:der creed
    wicked | verlassen verlässt verließ verlassen = leave left left | path messenger:der
verbs know:
    faithful | wissen weiß wusste gewusst = know knew known
verbs hear:
    faithful | hören = hear heard heard
    faithful | sehen sieht sah gesehen = see saw seen

phrases end:
    am Tag des Gerichts = on the Day of Judgement; in der Ewigkeit = in eternity; am Ende = in the end
phrases call:
    o ihr Gläubigen = O believers; o ihr Menschen = O mankind; o ihr Kinder Adams = O children of Adam
"""
