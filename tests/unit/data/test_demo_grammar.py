"""The grammar of the demo corpus: inflection against hand-written tables, and word order."""

from dataclasses import replace

import pytest

from facetmt.data.demo_grammar import english, it, koran, law, medical, subtitles, translationese
from facetmt.data.demo_grammar.clause import (
    Clause,
    passive,
    relative_object,
    relative_subject,
    sentence,
    tail,
    then,
)
from facetmt.data.demo_grammar.nominal import (
    DU,
    ER,
    FORMAL,
    ICH,
    IHR,
    WER,
    WIR,
    Adjective,
    Phrase,
    both,
    noun_phrase,
    of,
    parse_noun,
    prepositional,
    pronoun_for,
)
from facetmt.data.demo_grammar.shared import DASS, OB, SEIN, WENN
from facetmt.data.demo_grammar.verb import (
    CAN,
    FUTURE,
    MUST,
    NARRATIVE,
    PAST,
    PERFECT,
    PROGRESSIVE,
    SHALL,
    Mode,
    imperative,
    parse_verb,
    present,
)

FACETS = {"medical": medical, "it": it, "law": law, "koran": koran, "subtitles": subtitles}
LEXICONS = [module.LEXICON for module in (*FACETS.values(), translationese)]

KEY = parse_noun("der Schlüssel, Schlüssel = key")
WOMAN = parse_noun("die Frau, Frauen = woman, women")
CHILD = parse_noun("das Kind, Kinder = child, children")
PATIENT = parse_noun("der Patient, Patienten, weak = patient")
FEVER = parse_noun("das Fieber, - = a fever")
OLD = Adjective("alt", "alt", "old")

# Written out by hand: nominative, accusative, dative, genitive.
DECLENSIONS = [
    (
        KEY,
        "der",
        OLD,
        "der alte Schlüssel|den alten Schlüssel|dem alten Schlüssel|des alten Schlüssels",
        "the old key",
    ),
    (
        KEY,
        "ein",
        OLD,
        "ein alter Schlüssel|einen alten Schlüssel|einem alten Schlüssel|eines alten Schlüssels",
        "an old key",
    ),
    (WOMAN, "der", OLD, "die alte Frau|die alte Frau|der alten Frau|der alten Frau", "the old woman"),
    (
        WOMAN,
        "mein",
        OLD,
        "meine alte Frau|meine alte Frau|meiner alten Frau|meiner alten Frau",
        "my old woman",
    ),
    (CHILD, "der", OLD, "das alte Kind|das alte Kind|dem alten Kind|des alten Kindes", "the old child"),
    (CHILD, "ein", OLD, "ein altes Kind|ein altes Kind|einem alten Kind|eines alten Kindes", "an old child"),
    (
        CHILD,
        "der+",
        OLD,
        "die alten Kinder|die alten Kinder|den alten Kindern|der alten Kinder",
        "the old children",
    ),
    (CHILD, "-+", OLD, "alte Kinder|alte Kinder|alten Kindern|alter Kinder", "old children"),
    (CHILD, "dies", None, "dieses Kind|dieses Kind|diesem Kind|dieses Kindes", "this child"),
    (CHILD, "dies+", None, "diese Kinder|diese Kinder|diesen Kindern|dieser Kinder", "these children"),
    (PATIENT, "der", None, "der Patient|den Patienten|dem Patienten|des Patienten", "the patient"),
    (PATIENT, "euer", None, "euer Patient|euren Patienten|eurem Patienten|eures Patienten", "your patient"),
    (PATIENT, "jed", None, "jeder Patient|jeden Patienten|jedem Patienten|jedes Patienten", "every patient"),
    (FEVER, "-", OLD, "altes Fieber|altes Fieber|altem Fieber|alten Fiebers", "an old fever"),
    (FEVER, "-", None, "Fieber|Fieber|Fieber|Fiebers", "a fever"),
]


@pytest.mark.parametrize(("noun", "determiner", "adjective", "forms", "translation"), DECLENSIONS)
def test_declension(noun, determiner, adjective, forms, translation):
    phrase = noun_phrase(noun, determiner, adjective)
    assert "|".join(phrase.de) == forms
    assert phrase.en[0] == translation


@pytest.mark.parametrize(
    ("entry", "genitive", "dative_plural"),
    [
        ("der Arzt, Ärzte = doctor", "Arztes", "Ärzten"),
        ("der Facharzt, Fachärzte = specialist", "Facharztes", "Fachärzten"),
        ("das Ergebnis, Ergebnisse = result", "Ergebnisses", "Ergebnissen"),
        ("das Antibiotikum, Antibiotika = antibiotic", "Antibiotikums", "Antibiotika"),
        ("der Beschluss, Beschlüsse = decision", "Beschlusses", "Beschlüssen"),
        ("das Auto, Autos = car", "Autos", "Autos"),
        ("der Link, Links, Links = link", "Links", "Links"),
    ],
)
def test_genitive_and_dative_plural(entry, genitive, dative_plural):
    noun = parse_noun(entry)
    assert (noun.genitive, noun.german("p", "dat")) == (genitive, dative_plural)


def test_kein_is_no_as_subject_and_not_a_as_object():
    assert noun_phrase(KEY, "kein").en == ("no key", "a key")
    assert noun_phrase(CHILD, "kein+").en == ("no children", "any children")
    assert noun_phrase(CHILD, "kein+").de[2] == "keinen Kindern"


def test_prepositions_contract():
    assert prepositional("von", "dat", noun_phrase(CHILD, "der"), "by") == ("vom Kind", "by the child")
    assert prepositional("von", "dat", noun_phrase(WOMAN, "der"), "by").de == "von der Frau"
    assert prepositional("in", "acc", noun_phrase(CHILD, "der"), "into").de == "ins Kind"
    assert prepositional("an", "dat", noun_phrase(CHILD, "ein"), "at").de == "an einem Kind"


def test_genitive_and_coordination():
    assert of(noun_phrase(KEY, "der"), noun_phrase(CHILD, "der")).de[2] == "dem Schlüssel des Kindes"
    pair = both(noun_phrase(KEY, "der"), noun_phrase(WOMAN, "der"))
    assert (pair.de[1], pair.en[0]) == ("den Schlüssel und die Frau", "the key and the woman")


# ich, du, er, wir, ihr
PRESENTS = {
    "ein-nehmen nimmt nahm genommen = take": "nehme nimmst nimmt nehmen nehmt",
    "lesen liest las gelesen = read": "lese liest liest lesen lest",
    "warten = wait": "warte wartest wartet warten wartet",
    "öffnen = open": "öffne öffnest öffnet öffnen öffnet",
    "unterzeichnen = sign": "unterzeichne unterzeichnest unterzeichnet unterzeichnen unterzeichnet",
    "speichern = save": "speichere speicherst speichert speichern speichert",
    "halten hält hielt gehalten = hold": "halte hältst hält halten haltet",
    "vergessen vergisst vergaß vergessen = forget": "vergesse vergisst vergisst vergessen vergesst",
    "wissen weiß wusste gewusst = know": "weiß weißt weiß wissen wisst",
    "sein ist war gewesen (sein) = be": "bin bist ist sind seid",
}


@pytest.mark.parametrize(("entry", "forms"), PRESENTS.items())
def test_present(entry, forms):
    verb = parse_verb(entry)
    people = [(1, False), (2, False), (3, False), (1, True), (2, True)]
    assert " ".join(present(verb, person, plural) for person, plural in people) == forms


@pytest.mark.parametrize(
    ("entry", "participle"),
    [
        ("prüfen = check", "geprüft"),
        ("an-melden = log", "angemeldet"),
        ("kopieren = copy", "kopiert"),
        ("verwenden = use", "verwendet"),
        ("unterstützen = support", "unterstützt"),
        ("um-benennen benennt benannte benannt = rename", "umbenannt"),
        ("wiederher-stellen = restore", "wiederhergestellt"),
    ],
)
def test_participle(entry, participle):
    assert parse_verb(entry).participle == participle


@pytest.mark.parametrize(
    ("entry", "form"),
    [
        ("nehmen nimmt nahm genommen = take", "nimm"),
        ("lesen liest las gelesen = read", "lies"),
        ("fahren fährt fuhr gefahren = drive", "fahr"),
        ("warten = wait", "warte"),
        ("zeigen = show", "zeig"),
        ("reparieren = repair", "repariere"),
        ("ändern = change", "ändere"),
        ("bestätigen = confirm", "bestätige"),
    ],
)
def test_imperative(entry, form):
    assert imperative(parse_verb(entry)) == form


@pytest.mark.parametrize(
    ("base", "third", "past", "ing"),
    [
        ("examine", "examines", "examined", "examining"),
        ("carry", "carries", "carried", "carrying"),
        ("stop", "stops", "stopped", "stopping"),
        ("open", "opens", "opened", "opening"),
        ("submit", "submits", "submitted", "submitting"),
        ("fulfil", "fulfils", "fulfilled", "fulfilling"),
        ("lie", "lies", "lied", "lying"),
        ("wash", "washes", "washed", "washing"),
        ("see", "sees", "seed", "seeing"),
        ("play", "plays", "played", "playing"),
        ("fix", "fixes", "fixed", "fixing"),
    ],
)
def test_english_verbs(base, third, past, ing):
    assert english.third_person(base) == third
    assert english.regular_past(base) == past
    assert english.present_participle(base) == ing


@pytest.mark.parametrize("words", ["a user", "an hour", "a European law", "an error", "a one", "an old user"])
def test_indefinite_article(words):
    assert english.with_article(words.split(" ", 1)[1]) == words


TAKE = parse_verb("ein-nehmen nimmt nahm genommen = take took taken")
GIVE = parse_verb("geben gibt gab gegeben = give gave given")
GO = parse_verb("gehen geht ging gegangen (sein) = go went gone")
SUFFER = parse_verb("leiden leidet litt gelitten = suffer @ an:dat:from")
SWITCH = parse_verb("aus-schalten = switch+off")
SURE = parse_verb("sich vergewissern = make_sure made made")
WOMAN_ = noun_phrase(WOMAN, "der")
KEY_ = noun_phrase(KEY, "der")
TODAY = Phrase("heute", "today")
TAKES = Clause(WOMAN_, TAKE, accusative=KEY_)

ORDERS = [
    (TAKES.main(), "die Frau nimmt den Schlüssel ein", "the woman takes the key"),
    (
        replace(TAKES, adverb=TODAY).fronted(),
        "heute nimmt die Frau den Schlüssel ein",
        "today, the woman takes the key",
    ),
    (
        replace(TAKES, negated=True).main(),
        "die Frau nimmt den Schlüssel nicht ein",
        "the woman does not take the key",
    ),
    (
        replace(TAKES, mode=PAST, negated=True).main(),
        "die Frau hat den Schlüssel nicht eingenommen",
        "the woman did not take the key",
    ),
    (replace(TAKES, mode=NARRATIVE).main(), "die Frau nahm den Schlüssel ein", "the woman took the key"),
    (
        replace(TAKES, mode=PERFECT).after(WENN),
        "wenn die Frau den Schlüssel eingenommen hat",
        "if the woman has taken the key",
    ),
    (TAKES.after(DASS), "dass die Frau den Schlüssel einnimmt", "that the woman takes the key"),
    (
        replace(TAKES, mode=MUST).after(OB),
        "ob die Frau den Schlüssel einnehmen muss",
        "whether the woman must take the key",
    ),
    (
        replace(TAKES, mode=PROGRESSIVE).question(),
        "nimmt die Frau den Schlüssel ein",
        "is the woman taking the key",
    ),
    (
        TAKES.question(Phrase("warum", "why")),
        "warum nimmt die Frau den Schlüssel ein",
        "why does the woman take the key",
    ),
    (
        replace(TAKES, subject=DU, negated=True, casual=True).question(),
        "nimmst du den Schlüssel nicht ein",
        "don't you take the key",
    ),
    (
        replace(TAKES, subject=DU, negated=True).question(),
        "nimmst du den Schlüssel nicht ein",
        "do you not take the key",
    ),
    (replace(TAKES, subject=WER, mode=PAST).main(), "wer hat den Schlüssel eingenommen", "who took the key"),
    (replace(TAKES, subject=FORMAL).imperative(), "nehmen Sie den Schlüssel ein", "take the key"),
    (
        replace(TAKES, subject=DU, negated=True, casual=True).imperative(),
        "nimm den Schlüssel nicht ein",
        "don't take the key",
    ),
    (replace(TAKES, subject=IHR).imperative(), "nehmt den Schlüssel ein", "take the key"),
    (TAKES.infinitive(), "um den Schlüssel einzunehmen", "to take the key"),
    (
        replace(TAKES, accusative=noun_phrase(KEY, "kein"), negated=True).main(),
        "die Frau nimmt keinen Schlüssel ein",
        "the woman does not take a key",
    ),
    (
        passive(replace(TAKES, mode=SHALL), agent=True).main(),
        "der Schlüssel wird von der Frau eingenommen",
        "the key shall be taken by the woman",
    ),
    (
        passive(replace(TAKES, mode=Mode("konnte", "could"), negated=True)).main(),
        "der Schlüssel konnte nicht eingenommen werden",
        "the key could not be taken",
    ),
    (
        passive(replace(TAKES, mode=PERFECT)).main(),
        "der Schlüssel ist eingenommen worden",
        "the key has been taken",
    ),
    (
        Clause(ICH, GIVE, FUTURE, accusative=KEY_, dative=DU, adverb=TODAY, casual=True).main(),
        "ich werde dir heute den Schlüssel geben",
        "I'll give you the key today",
    ),
    (
        Clause(WIR, GIVE, accusative=pronoun_for(KEY_), dative=WOMAN_).main(),
        "wir geben ihn der Frau",
        "we give it to the woman",
    ),
    (
        Clause(ER, GO, PAST, negated=True, place=Phrase("nach Hause", "home")).main(),
        "er ist nicht nach Hause gegangen",
        "he did not go home",
    ),
    (
        Clause(ER, SUFFER, CAN, accusative=noun_phrase(FEVER, "-"), negated=True).main(),
        "er kann nicht an Fieber leiden",
        "he cannot suffer from a fever",
    ),
    (Clause(DU, SWITCH, accusative=pronoun_for(KEY_)).imperative(), "schalte ihn aus", "switch it off"),
    (Clause(DU, SWITCH, accusative=KEY_).imperative(), "schalte den Schlüssel aus", "switch off the key"),
    (Clause(FORMAL, SURE).imperative(), "vergewissern Sie sich", "make sure"),
    (
        Clause(ICH, SEIN, predicate=Phrase("müde", "tired"), casual=True).after(DASS),
        "dass ich müde bin",
        "that I'm tired",
    ),
    (
        Clause(DU, TAKE, Mode("wollen", "want to"), accusative=KEY_).question(),
        "willst du den Schlüssel einnehmen",
        "do you want to take the key",
    ),
]


@pytest.mark.parametrize(("words", "german", "translation"), ORDERS)
def test_word_order(words, german, translation):
    assert words == (german, translation)


def test_relative_clauses():
    who = relative_subject(noun_phrase(PATIENT, "der"), replace(TAKES, mode=PAST), "who")
    assert sentence(Clause(who, GO).main()) == (
        "Der Patient, der den Schlüssel eingenommen hat, geht.",
        "The patient who took the key goes.",
    )
    key = relative_object(KEY_, replace(TAKES, subject=FORMAL, mode=Mode("möchte", "want to")))
    assert sentence(replace(TAKES, mode=PAST, accusative=key).main()) == (
        "Die Frau hat den Schlüssel eingenommen, den Sie einnehmen möchten.",
        "The woman took the key that you want to take.",
    )


def test_joined_clauses():
    condition = TAKES.after(WENN)
    assert sentence(then(condition, replace(TAKES, mode=CAN).inverted())) == (
        "Wenn die Frau den Schlüssel einnimmt, kann die Frau den Schlüssel einnehmen.",
        "If the woman takes the key, the woman can take the key.",
    )
    assert sentence(tail(TAKES.main(), condition), "?") == (
        "Die Frau nimmt den Schlüssel ein, wenn die Frau den Schlüssel einnimmt?",
        "The woman takes the key if the woman takes the key?",
    )


def test_passive_needs_an_object():
    with pytest.raises(ValueError, match="no passive"):
        passive(Clause(ER, GO))
