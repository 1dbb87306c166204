"""A facet's word lists, and random draws of phrases and clauses from them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple, TypeVar

import yaml

from facetmt.demo.grammar.clause import Clause, sentence
from facetmt.demo.grammar.nominal import Adjective, Nominal, Noun, Phrase, noun_phrase, parse_noun
from facetmt.demo.grammar.verb import PRESENT, Mode, Verb, parse_verb

T = TypeVar("T")
Template = Callable[["Draw"], Phrase]
ADJECTIVE_SHARE = 0.25
_DENIED = {"ein": "kein", "-": "kein", "-+": "kein+"}


class Group(NamedTuple):
    """Interchangeable nouns with the determiners and adjectives that fit them."""

    determiners: tuple[str, ...]
    adjectives: tuple[Adjective, ...]
    nouns: tuple[Noun, ...]


class Frame(NamedTuple):
    """A verb with the groups that can be its subject, its object and its indirect object."""

    subjects: tuple[str, ...]
    verb: Verb
    objects: tuple[str, ...]
    datives: tuple[str, ...]


@dataclass(frozen=True)
class Lexicon:
    """The word lists of a facet, by name."""

    groups: dict[str, Group] = field(default_factory=dict)
    frames: dict[str, tuple[Frame, ...]] = field(default_factory=dict)
    phrases: dict[str, tuple[Phrase, ...]] = field(default_factory=dict)


def read_lexicon(*names: str) -> Lexicon:
    """The word lists `words/NAME.yaml`, joined: groups of nouns, frames of verbs, and phrases."""
    lexicon = Lexicon()
    for name in names:
        text = files("facetmt.demo").joinpath(f"words/{name}.yaml").read_text(encoding="utf-8")
        lists = yaml.safe_load(text)
        for key, group in lists.get("nouns", {}).items():
            lexicon.groups[key] = _parse_group(**group)
        for key, frames in lists.get("verbs", {}).items():
            lexicon.frames[key] = tuple(_parse_frame(frame) for frame in frames)
        for key, phrases in lists.get("phrases", {}).items():
            lexicon.phrases[key] = tuple(Phrase(german, english) for german, english in phrases.items())
    return lexicon


def _parse_group(determiners: str, words: dict[str, str], adjectives: dict[str, str] | None = None) -> Group:
    return Group(
        tuple(determiners.split()),
        tuple(_parse_adjective(german, english) for german, english in (adjectives or {}).items()),
        tuple(parse_noun(german, english) for german, english in words.items()),
    )


def _parse_adjective(german: str, english: str) -> Adjective:
    """Read neu or teuer/teur, the second being the stem that takes endings."""
    word, _, stem = german.partition("/")
    return Adjective(word, stem or word, english)


def _parse_frame(line: str) -> Frame:
    """Read "subjects | verb | objects | datives", the last two optional."""
    subjects, verb, objects, datives = ([part.strip() for part in line.split("|")] + ["", ""])[:4]
    return Frame(tuple(subjects.split()), parse_verb(verb), tuple(objects.split()), tuple(datives.split()))


class Draw:
    """Random choices from one lexicon; only `random()` is used, whose sequence Python guarantees."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self._rng = rng

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self._rng.random() * len(options))]

    def coin(self, probability: float = 0.5) -> bool:
        """True with this probability."""
        return self._rng.random() < probability

    def phrase(self, name: str) -> Phrase:
        """One phrase of a list."""
        return self.pick(self.lexicon.phrases[name])

    def nominal(self, names: Sequence[str], determiners: str = "", *, denied: bool = False) -> Nominal:
        """A noun phrase from one of the groups ("drug", or "drug:ein,der" to replace its determiners)."""
        name, _, own = self.pick(names).partition(":")
        found = self.lexicon.groups[name]
        noun = self.pick(found.nouns)
        choice = determiners.split() or own.split(",") if determiners or own else found.determiners
        allowed = [determiner for determiner in choice if _fits(noun, determiner)]
        adjective = self.pick(found.adjectives) if found.adjectives and self.coin(ADJECTIVE_SHARE) else None
        determiner = self.pick(allowed)
        return noun_phrase(noun, _DENIED.get(determiner, determiner) if denied else determiner, adjective)

    def clause(
        self,
        section: str,
        mode: Mode = PRESENT,
        *,
        subject: Nominal | None = None,
        thing: Nominal | None = None,
        negated: bool = False,
        determiners: str = "",
    ) -> Clause:
        """A clause from one frame of the section, with subject and objects drawn where none is given."""
        frame = self.pick(self.lexicon.frames[section])
        who = subject or self.nominal(frame.subjects)
        dative = self.nominal(frame.datives) if frame.datives else None
        if frame.objects and thing is None:
            denied = negated and frame.verb.government is None
            thing = self.nominal(frame.objects, determiners, denied=denied)
        return Clause(who, frame.verb, mode, accusative=thing, dative=dative, negated=negated)

    def statement(self, clause: Clause, fronting: float = 0.5) -> Phrase:
        """A sentence; the clause's adverb comes first with the given probability."""
        return sentence(clause.fronted() if clause.adverb.de and self.coin(fronting) else clause.main())


def _fits(noun: Noun, determiner: str) -> bool:
    """Mass nouns take neither ein nor jeder, countable nouns need a determiner, some have no singular."""
    if determiner.endswith("+"):
        return bool(noun.plural)
    if not noun.singular:
        return False
    return not noun.plural if determiner == "-" else bool(noun.plural) or determiner not in ("ein", "jed")
