"""A facet's word lists, and random draws of phrases and clauses from them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from facetmt.data.demo_grammar.clause import Clause, sentence
from facetmt.data.demo_grammar.nominal import Adjective, Nominal, Noun, Phrase, noun_phrase, parse_noun
from facetmt.data.demo_grammar.verb import PRESENT, Mode, Verb, parse_verb

T = TypeVar("T")
Template = Callable[["Draw"], Phrase]
ADJECTIVE_SHARE = 0.25
_DENIED = {"ein": "kein", "-": "kein", "-+": "kein+"}


class Group(NamedTuple):
    """Nouns that can stand for one another, their determiners and the adjectives that suit them."""

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


def parse_lexicon(text: str) -> Lexicon:
    """Read word lists: a header at the margin ("nouns NAME: determiners | adjectives"), indented lines below it."""
    lexicon = Lexicon()
    blocks: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, text.splitlines()):
        if line[0].isspace():
            blocks[-1][1].append(line.strip())
        else:
            blocks.append((line, []))
    for header, lines in blocks:
        head, _, options = header.partition(":")
        kind, name = head.split()
        if kind == "nouns":
            lexicon.groups[name] = _parse_group(options, _items(lines))
        elif kind == "verbs":
            lexicon.frames[name] = tuple(_parse_frame(line) for line in lines)
        else:
            pairs = [[part.strip() for part in item.split("=")] for item in _items(lines)]
            lexicon.phrases[name] = tuple(Phrase(de, en) for de, en in pairs)
    return lexicon


def _items(lines: list[str]) -> list[str]:
    return [item.strip() for line in lines for item in line.split(";") if item.strip()]


def _parse_group(options: str, items: list[str]) -> Group:
    determiners, _, adjectives = options.partition("|")
    found = tuple(_parse_adjective(entry) for entry in _items([adjectives]))
    return Group(tuple(determiners.split()), found, tuple(parse_noun(item) for item in items))


def _parse_adjective(entry: str) -> Adjective:
    """Read "neu = new" or "teuer/teur = expensive"."""
    german, _, translation = entry.partition("=")
    word, _, stem = german.strip().partition("/")
    return Adjective(word, stem or word, translation.strip())


def _parse_frame(line: str) -> Frame:
    """Read "subjects | verb | objects | datives", the last two optional."""
    subjects, verb, objects, datives = ([part.strip() for part in line.split("|")] + ["", ""])[:4]
    return Frame(tuple(subjects.split()), parse_verb(verb), tuple(objects.split()), tuple(datives.split()))


class Draw:
    """Random choices from one lexicon; only `random()` is used, whose sequence Python promises to keep."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self._rng = rng

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely."""
        return options[int(self._rng.random() * len(options))]

    def coin(self, probability: float = 0.5) -> bool:
        """True with this probability."""
        return self._rng.random() < probability

    def phrase(self, name: str) -> Phrase:
        """One phrase of a list."""
        return self.pick(self.lexicon.phrases[name])

    def nominal(self, names: Sequence[str], determiners: str = "", *, denied: bool = False) -> Nominal:
        """A noun phrase from one of the groups ("drug" or "drug:ein,der"), with the group's or other determiners."""
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
        """A sentence; an adverb in the clause takes the first place with the given probability."""
        return sentence(clause.fronted() if clause.adverb.de and self.coin(fronting) else clause.main())


def _fits(noun: Noun, determiner: str) -> bool:
    """Mass nouns take no ein and no jeder, countable ones do not stand bare, some nouns have no singular."""
    if determiner.endswith("+"):
        return bool(noun.plural)
    if not noun.singular:
        return False
    return not noun.plural if determiner == "-" else bool(noun.plural) or determiner not in ("ein", "jed")
