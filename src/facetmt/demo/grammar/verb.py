"""German verbs: their parts, their forms and the two halves of the verbal bracket, with the English forms."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from facetmt.demo.grammar.english import (
    EnglishVerb,
    parse_english_verb,
    present_participle,
    third_person,
)

_INSEPARABLE = ("be", "ge", "er", "ver", "zer", "ent", "emp", "miss", "über", "unter", "wieder")
# ich, du, er, wir, ihr, sie
_PRESENT = {
    "sein": "bin bist ist sind seid sind",
    "haben": "habe hast hat haben habt haben",
    "werden": "werde wirst wird werden werdet werden",
    "wissen": "weiß weißt weiß wissen wisst wissen",
    "können": "kann kannst kann können könnt können",
    "konnte": "konnte konntest konnte konnten konntet konnten",
    "müssen": "muss musst muss müssen müsst müssen",
    "dürfen": "darf darfst darf dürfen dürft dürfen",
    "sollen": "soll sollst soll sollen sollt sollen",
    "sollte": "sollte solltest sollte sollten solltet sollten",
    "wollen": "will willst will wollen wollt wollen",
    "möchte": "möchte möchtest möchte möchten möchtet möchten",
}
_PRETERITE = {"sein": "war", "haben": "hatte", "werden": "wurde"}
_REFLEXIVE = ("mich", "dich", "sich", "uns", "euch", "sich")
_CONTRACTIONS = {
    "do": "don't",
    "does": "doesn't",
    "did": "didn't",
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "has": "hasn't",
    "have": "haven't",
    "can": "can't",
    "could": "couldn't",
    "must": "mustn't",
    "will": "won't",
    "would": "wouldn't",
    "should": "shouldn't",
}


class Mode(NamedTuple):
    """Tense or modal verb per language; modals are keys of the German table or the English words."""

    german: str
    english: str
    passive: bool = False


PRESENT = Mode("present", "present")
PROGRESSIVE = Mode("present", "progressive")
NARRATIVE = Mode("preterite", "past")
PAST = Mode("perfect", "past")
PERFECT = Mode("perfect", "perfect")
SHALL = Mode("present", "shall")
FUTURE = Mode("werden", "will")
CAN = Mode("können", "can")
MAY = Mode("können", "may")
MUST = Mode("müssen", "must")
SHOULD = Mode("sollte", "should")
ALLOWED = Mode("dürfen", "may")
MUST_NOT = Mode("dürfen", "must")  # only with a negation


class Government(NamedTuple):
    """The preposition of a verb's object: leiden an + dative, suffer from."""

    german: str
    case: str
    english: str


@dataclass(frozen=True)
class Verb:
    """A verb; `prefix` separates in main clauses, `dative` is the indirect object's English preposition."""

    prefix: str
    infinitive: str
    third: str
    preterite: str
    participle: str
    sein: bool
    reflexive: bool
    en: EnglishVerb
    dative: str
    government: Government | None

    @property
    def stem(self) -> str:
        """The infinitive without -en or -n."""
        return re.sub(r"e?n$", "", self.infinitive)


def parse_verb(entry: str) -> Verb:
    """Read "sich ein-nehmen nimmt nahm genommen (sein) = take took taken > to @ an:dat:from" or a part."""
    entry, _, government = entry.partition("@")
    entry, _, dative = entry.partition(">")
    german, _, translation = entry.partition("=")
    words = [word for word in german.split() if word not in ("sich", "(sein)")]
    prefix, _, infinitive = words[0].rpartition("-")
    stem = re.sub(r"e?n$", "", infinitive)
    link = _link(stem)
    ge = "" if infinitive.startswith(_INSEPARABLE) or infinitive.endswith("ieren") else "ge"
    weak = [f"{stem}{link}t", f"{stem}{link}te", f"{ge}{stem}{link}t"]
    third, preterite, participle = words[1:] or weak
    return Verb(
        prefix,
        infinitive,
        third,
        preterite,
        prefix + participle,
        "(sein)" in german,
        german.startswith("sich "),
        parse_english_verb(translation.strip()),
        dative.strip(),
        Government(*government.strip().split(":")) if government else None,
    )


def _link(stem: str) -> str:
    """The linking e that makes an ending pronounceable: arbeit-e-t, öffn-e-t."""
    return "e" if re.search(r"(?:[dt]|[^aeiouäöülrhmn][mn]|ch[mn])$", stem) else ""


def _index(person: int, plural: bool) -> int:
    return person - 1 + 3 * plural


SEIN = parse_verb("sein ist war gewesen (sein) = be was been")


def reflexive(person: int, plural: bool) -> str:
    """The reflexive pronoun in the accusative."""
    return _REFLEXIVE[_index(person, plural)]


def present(verb: Verb, person: int, plural: bool) -> str:
    """The finite present without its prefix."""
    if verb.infinitive in _PRESENT:
        return _PRESENT[verb.infinitive].split()[_index(person, plural)]
    # er hält -> du hältst, but er nimmt -> du nimmst, er wartet -> du wartest
    whole = verb.stem.endswith("t") and not verb.third.endswith("et")
    bare = verb.third if whole else verb.third.removesuffix("t")
    second = bare + ("t" if re.search(r"[sßzx]$", bare) else "st")
    you = f"{verb.stem}{_link(verb.stem)}t"
    forms = (verb.stem + "e", second, verb.third, verb.infinitive, you, verb.infinitive)
    return forms[_index(person, plural)]


def preterite(verb: Verb, person: int, plural: bool) -> str:
    """The finite preterite without its prefix."""
    form = verb.preterite
    if plural:
        return form + ("t" if person == 2 else "n" if form.endswith("e") else "en")
    return form + ("st" if person == 2 else "")


def imperative(verb: Verb) -> str:
    """The imperative singular: nimm, warte, geh."""
    vowels = [re.findall(r"[aeiouäöü]+", form)[-1] for form in (verb.stem, verb.third.removesuffix("t"))]
    if vowels[0] == "e" and vowels[1] in ("i", "ie"):
        return verb.third.removesuffix("t")
    keeps_e = verb.infinitive.endswith(("ern", "eln", "ieren")) or re.search(r"[^e]ig$", verb.stem)
    return verb.stem + ("e" if keeps_e else _link(verb.stem))


def bracket(verb: Verb, mode: Mode, person: int, plural: bool) -> tuple[str, str, str]:
    """German finite verb, separated prefix, and what ends the clause."""
    infinitive = f"{verb.participle} werden" if mode.passive else verb.prefix + verb.infinitive
    if mode.german not in ("present", "preterite", "perfect"):
        return _PRESENT[mode.german].split()[_index(person, plural)], "", infinitive
    auxiliary = "werden" if mode.passive else "sein" if verb.sein else "haben"
    if mode.german == "perfect":
        participle = f"{verb.participle} worden" if mode.passive else verb.participle
        return _auxiliary("sein" if mode.passive else auxiliary, "present", person, plural), "", participle
    if mode.passive:
        return _auxiliary("werden", mode.german, person, plural), "", verb.participle
    finite = present if mode.german == "present" else preterite
    return finite(verb, person, plural), verb.prefix, ""


def _auxiliary(name: str, tense: str, person: int, plural: bool) -> str:
    if tense == "present":
        return _PRESENT[name].split()[_index(person, plural)]
    form = _PRETERITE[name]
    ending = ("t" if person == 2 else "n" if form.endswith("e") else "en") if plural else ""
    return form + ending


def zu_infinitive(verb: Verb) -> str:
    """The infinitive with zu: zu öffnen, einzunehmen."""
    return f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"


def _be(tense: str, person: int, plural: bool) -> str:
    many = plural or person == 2
    if tense == "past":
        return "were" if many else "was"
    return "are" if many else "am" if person == 1 else "is"


def english_bracket(
    verb: EnglishVerb, mode: Mode, person: int, plural: bool, support: bool
) -> tuple[str, str]:
    """English auxiliary (with do-support if `support`) and main verb; either may be empty."""
    third = person == 3 and not plural
    base, tense = verb.base, mode.english
    tail = f" {verb.rest}" if verb.rest else ""
    if mode.passive:
        verb, tail = EnglishVerb("be", "", "been"), f" {verb.participle}" + tail + _particle(verb)
        base = "be"
    if tense in ("want to", "have to"):
        head = EnglishVerb(tense.split()[0], "", "")
        auxiliary, main = english_bracket(head, PRESENT, person, plural, support)
        return auxiliary, f"{main} to {base}{tail}"
    if tense == "perfect":
        return ("has" if third else "have"), verb.participle + tail
    if tense == "progressive":
        return _be("present", person, plural), present_participle(base) + tail
    if tense not in ("present", "past"):
        auxiliary, _, more = tense.partition(" ")
        return auxiliary, f"{more} {base}{tail}".strip()
    if base == "be":
        return _be(tense, person, plural), tail.strip()
    if support:
        return ("did" if tense == "past" else "does" if third else "do"), base + tail
    return "", (verb.past if tense == "past" else third_person(base) if third else base) + tail


def _particle(verb: EnglishVerb) -> str:
    return f" {verb.particle}" if verb.particle else ""


def deny(auxiliary: str, casual: bool) -> str:
    """The auxiliary with its negation: do not, don't, cannot."""
    if casual:
        return _CONTRACTIONS.get(auxiliary, f"{auxiliary} not")
    return "cannot" if auxiliary == "can" else f"{auxiliary} not"
