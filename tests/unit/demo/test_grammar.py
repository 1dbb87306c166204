"""The grammar of the demo corpus: inflection and word order against tables, agreement in drawn text."""

import re
from dataclasses import replace

from facetmt.demo.corpus import DemoConfig, generate
from facetmt.demo.grammar import english, it, koran, law, medical, nominal, subtitles, verb
from facetmt.demo.grammar.clause import DASS, OB, WENN, Clause, passive, relative_object, sentence, then
from facetmt.demo.grammar.nominal import DU, ER, FORMAL, ICH, WIR, Phrase, noun_phrase, parse_noun
from facetmt.demo.grammar.verb import imperative, parse_verb, present

OLD = nominal.Adjective("alt", "alt", "old")
KEY, WOMAN = parse_noun("der Schlüssel, Schlüssel", "key"), parse_noun("die Frau, Frauen", "woman, women")
CHILD = parse_noun("das Kind, Kinder", "child, children")
PATIENT, FEVER = parse_noun("der Patient, Patienten, weak", "patient"), parse_noun("das Fieber, -", "a fever")

DECLENSIONS = """
der alte Schlüssel|den alten Schlüssel|dem alten Schlüssel|des alten Schlüssels|the old key
eine alte Frau|eine alte Frau|einer alten Frau|einer alten Frau|an old woman
ein altes Kind|ein altes Kind|einem alten Kind|eines alten Kindes|an old child
alte Kinder|alte Kinder|alten Kindern|alter Kinder|old children
keine Kinder|keine Kinder|keinen Kindern|keiner Kinder|no children
euer Patient|euren Patienten|eurem Patienten|eures Patienten|your patient
Fieber|Fieber|Fieber|Fiebers|a fever
"""


def test_declension():
    singular = [noun_phrase(KEY, "der", OLD), noun_phrase(WOMAN, "ein", OLD), noun_phrase(CHILD, "ein", OLD)]
    plural = [noun_phrase(CHILD, "-+", OLD), noun_phrase(CHILD, "kein+")]
    phrases = [*singular, *plural, noun_phrase(PATIENT, "euer"), noun_phrase(FEVER, "-")]
    assert ["|".join((*phrase.de, phrase.en[0])) for phrase in phrases] == DECLENSIONS.strip().split("\n")
    assert nominal.prepositional("von", "dat", noun_phrase(CHILD, "der"), "by") == (
        "vom Kind",
        "by the child",
    )


# ich, du, er, wir, ihr; the participle; the imperative
VERBS = {
    "ein-nehmen nimmt nahm genommen = take": "nehme nimmst nimmt nehmen nehmt eingenommen nimm",
    "lesen liest las gelesen = read": "lese liest liest lesen lest gelesen lies",
    "öffnen = open": "öffne öffnest öffnet öffnen öffnet geöffnet öffne",
    "halten hält hielt gehalten = hold": "halte hältst hält halten haltet gehalten halte",
    "reparieren = repair": "repariere reparierst repariert reparieren repariert repariert repariere",
}


def test_conjugation():
    people = [(1, False), (2, False), (3, False), (1, True), (2, True)]
    for entry, forms in VERBS.items():
        word = parse_verb(entry)
        finite = [present(word, person, plural) for person, plural in people]
        assert [*finite, word.participle, imperative(word)] == forms.split()
    for base, *forms in (
        ["carry", "carries", "carried", "carrying"],
        ["stop", "stops", "stopped", "stopping"],
    ):
        rules = (english.third_person, english.regular_past, english.present_participle)
        assert [rule(base) for rule in rules] == forms


GIVE = parse_verb("geben gibt gab gegeben = give gave given")
SUFFER = parse_verb("leiden leidet litt gelitten = suffer @ an:dat:from")
OFF = parse_verb("aus-schalten = switch+off")
THE_KEY, HER, TODAY = noun_phrase(KEY, "der"), noun_phrase(WOMAN, "der"), Phrase("heute", "today")
IT, A_FEVER = nominal.pronoun_for(THE_KEY), noun_phrase(FEVER, "-")
TAKES = Clause(HER, parse_verb("ein-nehmen nimmt nahm genommen = take took taken"), accusative=THE_KEY)
GIVES = Clause(ICH, GIVE, verb.FUTURE, accusative=THE_KEY, dative=DU, adverb=TODAY, casual=True)
TAKEN = relative_object(THE_KEY, Clause(FORMAL, parse_verb("nehmen nimmt nahm genommen = take took taken")))
ORDERS = """
heute nimmt die Frau den Schlüssel ein = today, the woman takes the key
die Frau hat den Schlüssel nicht eingenommen = the woman did not take the key
ob die Frau den Schlüssel einnehmen muss = whether the woman must take the key
nimmt die Frau den Schlüssel ein = is the woman taking the key
nehmen Sie den Schlüssel ein = take the key
um den Schlüssel einzunehmen = to take the key
der Schlüssel ist eingenommen worden = the key has been taken
ich werde dir heute den Schlüssel geben = I'll give you the key today
wir geben ihn der Frau = we give it to the woman
er kann nicht an Fieber leiden = he cannot suffer from a fever
schalte ihn aus = switch it off
dass wir den Schlüssel geben, den Sie nehmen, = that we give the key that you take
Wenn die Frau den Schlüssel einnimmt, geben wir. = If the woman takes the key, we give.
"""


def test_word_order():
    clauses = [
        replace(TAKES, adverb=TODAY).fronted(),
        replace(TAKES, mode=verb.PAST, negated=True).main(),
        replace(TAKES, mode=verb.MUST).after(OB),
        replace(TAKES, mode=verb.PROGRESSIVE).question(),
        replace(TAKES, subject=FORMAL).imperative(),
        TAKES.infinitive(),
        passive(replace(TAKES, mode=verb.PERFECT)).main(),
        GIVES.main(),
        Clause(WIR, GIVE, accusative=IT, dative=HER).main(),
        Clause(ER, SUFFER, verb.CAN, accusative=A_FEVER, negated=True).main(),
        Clause(DU, OFF, accusative=IT).imperative(),
        Clause(WIR, GIVE, accusative=TAKEN).after(DASS),
        sentence(then(TAKES.after(WENN), Clause(WIR, GIVE).inverted())),
    ]
    assert [" = ".join(words) for words in clauses] == ORDERS.strip().split("\n")


ARTICLES = {"m": "der den dem des", "f": "die die der der", "n": "das das dem des", "p": "die die den der"}


def test_drawn_text_agrees_in_article_negation_and_numbers():
    allowed: dict[str, set[str]] = {}
    for lexicon in (facet.LEXICON for facet in (it, koran, law, medical, subtitles)):
        for noun in (noun for group in lexicon.groups.values() for noun in group.nouns):
            for gender in noun.gender * bool(noun.singular) + "p" * bool(noun.plural):
                for case, article in zip(nominal.CASES, ARTICLES[gender].split(), strict=True):
                    allowed.setdefault(noun.german(gender, case), set()).add(article)
    checked = 0
    corpus = generate(DemoConfig(seed=7, size=1000, dev=0, test=0))
    for german, text in (pair for splits in corpus.values() for pair in splits["train"].pairs):
        for article, noun in re.findall(r"(?<!, )\b(der|die|das|den|dem|des) ([A-ZÄÖÜ]\w+)", german):
            checked += noun in allowed
            assert article in allowed.get(noun, article), german
        denied = re.search(r"\b(?:nicht|nie|kein\w*)\b", german, re.I) is not None
        assert denied == bool(re.search(r"n't\b|\b(?:not|cannot|never|no)\b", text, re.I)), (german, text)
        assert re.findall(r"\d+", german) == re.findall(r"\d+", text)
        for side in (german, text):
            assert re.fullmatch(r"[A-ZÄÖÜ][^.?!]*(?:\d\. [^.?!]*)?[.?!]", side), side
            assert not re.search(r"\s[,.?!]|,,|  |,[^ ]", side), side
    assert checked > 1000
