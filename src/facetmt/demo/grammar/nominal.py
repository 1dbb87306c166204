"""Nouns, pronouns and the phrases around them, in both languages at once."""

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from facetmt.demo.grammar import english

CASES = ("nom", "acc", "dat", "gen")
# One row per gender (p: plural), one ending per case in the order of CASES; "-" is no ending.
_DER = {"m": "der den dem des", "f": "die die der der", "n": "das das dem des", "p": "die die den der"}
_DIES = {"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"}
_EIN = {"m": "- en em es", "f": "e e er er", "n": "- - em es", "p": "e e en er"}
_WEAK = {"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"}
_MIXED = {"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"}
_STRONG = {"m": "er en em en", "f": "e e er er", "n": "es es em en", "p": "e e en er"}
_RELATIVE = {
    "m": "der den dem dessen",
    "f": "die die der deren",
    "n": "das das dem dessen",
    "p": "die die denen deren",
}
# A determiner is named by its German stem; "-" is none; a trailing "+" means plural.
DETERMINERS = {
    "der": "the",
    "dies": "this",
    "jed": "every",
    "ein": "a",
    "kein": "no",
    "mein": "my",
    "dein": "your",
    "sein": "his",
    "unser": "our",
    "euer": "your",
    "Ihr": "your",
    "-": "",
}
_INDEFINITE = {"ein", "kein", "-"}
_CONTRACTED = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
}


class Phrase(NamedTuple):
    """The same phrase in German and in English."""

    de: str
    en: str


NOTHING = Phrase("", "")


class Adjective(NamedTuple):
    """A German adjective, the stem that takes endings (teuer, teur-), and its English word."""

    de: str
    stem: str
    en: str


@dataclass(frozen=True)
class Noun:
    """A noun; `singular` or `plural` may be empty; `weak`: -n outside the nominative (den Patienten)."""

    gender: str
    singular: str
    plural: str
    weak: bool
    genitive: str
    en: str
    en_plural: str
    en_bare: str  # English for the noun without an article: "a fever" for "Fieber"

    def german(self, number_gender: str, case: str) -> str:
        """The form of the noun itself, without an article."""
        if number_gender == "p":
            return self.plural + ("n" if case == "dat" and re.search(r"e[lr]?$", self.plural) else "")
        if case == "gen":
            return self.genitive
        return self.plural if self.weak and case != "nom" else self.singular


@dataclass(frozen=True)
class Nominal:
    """A noun phrase or pronoun: German by case, English as subject and as object."""

    de: tuple[str, str, str, str]
    en: tuple[str, str]
    gender: str
    person: int = 3
    plural: bool = False
    definite: bool = True
    pronoun: bool = False
    kein: bool = False
    after: Phrase = NOTHING  # a relative clause; an object's goes to the end of its clause

    def german(self, case: str) -> str:
        """The words in one case, without the relative clause."""
        return self.de[CASES.index(case)]

    def relative(self, case: str) -> str:
        """The relative pronoun that refers to this phrase."""
        return _RELATIVE[self.gender].split()[CASES.index(case)]


def parse_noun(german: str, translation: str) -> Noun:
    """Read "der Arzt, Ärzte" (article, singular, plural or -; then weak or a genitive) and its English."""
    parts = [part.strip() for part in german.split(",")]
    article, singular = parts[0].split()
    number = ["" if part == "-" else part for part in (singular, parts[1])]
    extra = parts[2] if len(parts) > 2 else ""
    words = [part.strip() for part in translation.split(",")]
    bare, en = words[0], re.sub(r"^an? ", "", words[0])
    gender = {"der": "m", "die": "f", "das": "n"}[article]
    genitive = number[1] if extra == "weak" else extra or _genitive(gender, number[0])
    en_plural = words[1] if len(words) > 1 else english.plural(en) if number[1] else ""
    return Noun(gender, number[0], number[1], extra == "weak", genitive, en, en_plural, bare)


def _genitive(gender: str, singular: str) -> str:
    """The regular genitive: -es after a sibilant and in native words of one syllable, else -s."""
    if gender == "f" or not singular:
        return singular
    if singular.endswith("nis"):
        return singular + "ses"
    short = len(re.findall(r"[aeiouäöüy]+", singular.lower())) == 1 and not re.search(r"(?:e|er)$", singular)
    return singular + ("es" if short or re.search(r"(?:s|ß|x|z|sch|arzt)$", singular) else "s")


def _german_determiner(stem: str, gender: str, case: int) -> tuple[str, dict[str, str]]:
    """The determiner's form and the table of endings that an adjective takes after it."""
    if stem == "der":
        return _DER[gender].split()[case], _WEAK
    if stem in ("dies", "jed"):
        return stem + _DIES[gender].split()[case], _WEAK
    if stem == "-":
        return "", _STRONG
    ending = _EIN[gender].split()[case].replace("-", "")
    return ("eur" if stem == "euer" and ending else stem) + ending, _MIXED


@cache
def noun_phrase(noun: Noun, determiner: str, adjective: Adjective | None = None) -> Nominal:
    """Determiner, adjective and noun, declined; the determiner is written as in DETERMINERS."""
    stem = determiner.rstrip("+")
    plural = determiner.endswith("+") or not noun.singular
    gender = "p" if plural else noun.gender
    forms = []
    for case, name in enumerate(CASES):
        article, endings = _german_determiner(stem, gender, case)
        attribute = adjective.stem + endings[gender].split()[case] if adjective else ""
        forms.append(" ".join(filter(None, (article, attribute, noun.german(gender, name)))))
    return Nominal(
        (forms[0], forms[1], forms[2], forms[3]),
        _english_phrase(noun, stem, plural, adjective),
        gender,
        plural=plural,
        definite=stem not in _INDEFINITE,
        kein=stem == "kein",
    )


def _english_phrase(noun: Noun, stem: str, plural: bool, adjective: Adjective | None) -> tuple[str, str]:
    """English as subject and as object; they differ for kein: no user / not ... a user, any users."""
    words = " ".join(filter(None, (adjective.en if adjective else "", noun.en_plural if plural else noun.en)))
    if stem == "-":
        article = noun.en_bare != noun.en and not plural
        return (english.with_article(words),) * 2 if article else (words, words)
    if stem == "ein":
        return (english.with_article(words),) * 2
    if stem == "kein":
        countable = (noun.plural or noun.en_bare != noun.en) and not plural
        bare = f"any {words}" if noun.singular and plural else words
        return f"no {words}", english.with_article(words) if countable else bare
    word = "these" if stem == "dies" and plural else DETERMINERS[stem]
    return (f"{word} {words}",) * 2


def of(head: Nominal, owner: Nominal) -> Nominal:
    """A genitive attribute: die Entscheidung des Gerichts, the decision of the court."""
    forms = [f"{form} {owner.german('gen')}" for form in head.de]
    english_forms = (f"{head.en[0]} of {owner.en[1]}", f"{head.en[1]} of {owner.en[1]}")
    return replace(head, de=(forms[0], forms[1], forms[2], forms[3]), en=english_forms)


def both(first: Nominal, second: Nominal) -> Nominal:
    """Two phrases as one: die Sonne und der Mond."""
    forms = [f"{one} und {other}" for one, other in zip(first.de, second.de, strict=True)]
    words = (f"{first.en[0]} and {second.en[0]}", f"{first.en[1]} and {second.en[1]}")
    return Nominal((forms[0], forms[1], forms[2], forms[3]), words, "p", plural=True)


def prepositional(preposition: str, case: str, nominal: Nominal, translation: str) -> Phrase:
    """A preposition with its noun phrase, contracted as German does (in dem -> im)."""
    words = f"{preposition} {nominal.german(case)}"
    head = " ".join(words.split()[:2])
    if head in _CONTRACTED and " " in words[len(head) :]:
        words = _CONTRACTED[head] + words[len(head) :]
    return Phrase(words, f"{translation} {nominal.en[1]}")


def _pronoun(forms: str, translation: str, gender: str, person: int, plural: bool = False) -> Nominal:
    nom, acc, dat = forms.split()
    subject, _, other = translation.partition(" ")
    return Nominal((nom, acc, dat, ""), (subject, other or subject), gender, person, plural, pronoun=True)


ICH = _pronoun("ich mich mir", "I me", "m", 1)
DU = _pronoun("du dich dir", "you", "m", 2)
ER = _pronoun("er ihn ihm", "he him", "m", 3)
SIE = _pronoun("sie sie ihr", "she her", "f", 3)
WIR = _pronoun("wir uns uns", "we us", "p", 1, plural=True)
IHR = _pronoun("ihr euch euch", "you", "p", 2, plural=True)
THEY = _pronoun("sie sie ihnen", "they them", "p", 3, plural=True)
FORMAL = _pronoun("Sie Sie Ihnen", "you", "p", 3, plural=True)
DIEJENIGEN = Nominal(
    ("diejenigen", "diejenigen", "denjenigen", "derjenigen"), ("those", "those"), "p", plural=True
)
WER = _pronoun("wer wen wem", "who whom", "m", 3)
MAN = _pronoun("man einen einem", "one", "m", 3)
DAS = _pronoun("das das dem", "that", "n", 3)


def pronoun_for(thing: Nominal) -> Nominal:
    """The pronoun that refers back to a thing by its German gender: ihn, sie, es -> it; plural -> them."""
    forms = {"m": "er ihn ihm", "f": "sie sie ihr", "n": "es es ihm", "p": "sie sie ihnen"}[thing.gender]
    return _pronoun(forms, "they them" if thing.plural else "it", thing.gender, 3, thing.plural)


def person_for(person: Nominal) -> Nominal:
    """The pronoun that refers back to a man, a woman or several people."""
    return {"m": ER, "f": SIE, "p": THEY}[person.gender]


def only(nominal: Nominal) -> Nominal:
    """The phrase with nur in front: nur der Administrator."""
    forms = [f"nur {form}" for form in nominal.de]
    return replace(
        nominal,
        de=(forms[0], forms[1], forms[2], forms[3]),
        en=(f"only {nominal.en[0]}", f"only {nominal.en[1]}"),
    )
