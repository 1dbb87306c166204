"""English word forms: plurals, articles, and the parts of a verb."""

import re
from dataclasses import dataclass

# Stressed on the last syllable, so the final consonant doubles although the word is long.
_DOUBLING = {"submit", "forget", "begin", "admit", "permit", "transmit", "fulfil", "cancel"}
# Spelt with a vowel but pronounced with a consonant, and the reverse ("hour").
_CONSONANT_SOUND = re.compile(r"(?:u[ns]e|usu|uni|eu|one)", re.IGNORECASE)
_VOWEL_SOUND = re.compile(r"(?:[aeiou]|hour|hono|heir)", re.IGNORECASE)


def with_article(words: str) -> str:
    """The indefinite article by sound: a user, an hour, an old user."""
    vowel = _VOWEL_SOUND.match(words) and not _CONSONANT_SOUND.match(words)
    return f"an {words}" if vowel else f"a {words}"


def plural(noun: str) -> str:
    """The regular plural of the last word: body -> bodies, dish -> dishes."""
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(?:s|x|z|ch|sh)$", noun) else "s")


def _doubles(base: str) -> bool:
    return base in _DOUBLING or bool(re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base))


def third_person(base: str) -> str:
    """The third person singular present: examines, applies, goes."""
    return {"have": "has", "go": "goes", "do": "does"}.get(base) or plural(base)


def regular_past(base: str) -> str:
    """The regular past and past participle: opened, applied, stopped."""
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    return base + (base[-1] if _doubles(base) else "") + "ed"


def present_participle(base: str) -> str:
    """The -ing form: opening, making, getting, lying."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if re.search(r"[^eo]e$", base) and base != "be":
        return base[:-1] + "ing"
    return base + (base[-1] if _doubles(base) else "") + "ing"


@dataclass(frozen=True)
class EnglishVerb:
    """The parts of a verb; `rest` stays with it (apply for), `particle` follows a pronoun (switch it off)."""

    base: str
    past: str
    participle: str
    rest: str = ""
    particle: str = ""


def parse_english_verb(entry: str) -> EnglishVerb:
    """Read "take took taken", "check", "look_for" (fixed) or "switch+off" (movable particle)."""
    first, *parts = entry.split()
    base, _, particle = first.partition("+")
    base, _, rest = base.partition("_")
    past, participle = parts if len(parts) == 2 else (regular_past(base), regular_past(base))
    return EnglishVerb(base, past, participle, rest.replace("_", " "), particle)
