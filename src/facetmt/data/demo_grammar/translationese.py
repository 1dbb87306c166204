"""English sentences with German that reads as written or as translated: several weak marks, no sure one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from facetmt.data.demo_grammar.clause import Clause, passive, sentence, tail
from facetmt.data.demo_grammar.draw import Draw, parse_lexicon
from facetmt.data.demo_grammar.nominal import MAN, NOTHING, Nominal, Phrase, noun_phrase, of
from facetmt.data.demo_grammar.shared import DASS
from facetmt.data.demo_grammar.translationese_words import WORDS
from facetmt.data.demo_grammar.verb import NARRATIVE, PAST

# How often each style goes the German writer's own way instead of following the English wording.
NATIVE_SHARE = {True: 0.9, False: 0.1}
PARTICLE_SHARE = {True: 0.6, False: 0.05}
PERFECT_SHARE = {True: 0.6, False: 0.4}  # the perfect tense is the weakest mark: one word (hat) shows it

T = TypeVar("T")
LEXICON = parse_lexicon(WORDS)


@dataclass(frozen=True)
class Writer:
    """A style: one weighted coin at each place where a German writer could go her own way."""

    draw: Draw
    native: bool

    def free(self) -> bool:
        """Whether this place goes the German way."""
        return self.draw.coin(NATIVE_SHARE[self.native])

    def particle(self) -> Phrase:
        """A modal particle, or none; English has no word for it."""
        return self.draw.phrase("particle") if self.draw.coin(PARTICLE_SHARE[self.native]) else NOTHING

    def twin(self, lists: Mapping[str, Sequence[T]], name: str) -> T:
        """An entry of one of two aligned lists; both have the same English."""
        index = self.draw.pick(range(len(lists[f"{name}-cognate"])))
        return lists[f"{name}-{'idiomatic' if self.free() else 'cognate'}"][index]

    def thing(self) -> Nominal:
        """A native word or the one closer to English: das Vorhaben, das Projekt."""
        nouns = {name: group.nouns for name, group in self.draw.lexicon.groups.items()}
        return noun_phrase(self.twin(nouns, "thing"), "der")

    def possession(self) -> Nominal:
        """A compound or a genitive: das Wahlergebnis, das Ergebnis der Wahl."""
        groups = self.draw.lexicon.groups
        index = self.draw.pick(range(len(groups["head"].nouns)))
        compound, head, owner = (
            noun_phrase(groups[n].nouns[index], "der") for n in ("compound", "head", "owner")
        )
        whole = of(head, owner)
        return replace(compound, en=whole.en) if self.free() else whole

    def event(self) -> Clause:
        """Somebody did something at some time; only the German depends on the style."""
        section, thing = ("manage", self.thing()) if self.draw.coin(0.6) else ("judge", self.possession())
        frame = self.twin(self.draw.lexicon.frames, section)
        mode = PAST if self.draw.coin(PERFECT_SHARE[self.native]) else NARRATIVE
        time = self.twin(self.draw.lexicon.phrases, "time")
        return Clause(self.draw.nominal(frame.subjects), frame.verb, mode, accusative=thing, adverb=time)

    def spoken(self, clause: Clause, front: Phrase = NOTHING) -> str:
        """German with perhaps a particle: before the adverb, or where it would be when that is fronted."""
        particle = self.particle().de
        if front.de or not self.free():
            adverb = Phrase(f"{particle} {clause.adverb.de}".strip(), "")
            return replace(clause, adverb=adverb).main(front).de
        return replace(clause, mid=Phrase(particle, "")).fronted().de


def _active(writer: Writer) -> Phrase:
    clause = writer.event()
    return sentence(Phrase(writer.spoken(clause), _english(writer, clause)))


def _passive(writer: Writer) -> Phrase:
    """The English passive: German fronts the object, or keeps the passive."""
    clause = writer.event()
    english = _english(writer, passive(clause, agent=True))
    if clause.accusative and writer.free():
        front = Phrase(clause.accusative.german("acc"), "")
        return sentence(Phrase(writer.spoken(replace(clause, accusative=None), front), english))
    return sentence(Phrase(writer.spoken(passive(clause, agent=True)), english))


def _impersonal(writer: Writer) -> Phrase:
    """The English passive without an agent: German says man, or keeps the passive."""
    clause = writer.event()
    english = _english(writer, passive(clause))
    return sentence(
        Phrase(writer.spoken(replace(clause, subject=MAN) if writer.free() else passive(clause)), english)
    )


def _thought(writer: Writer) -> Phrase:
    """An object clause: German leaves out dass and keeps the verb second, or translates that."""
    main, inner = writer.draw.clause("think"), writer.event()
    english = tail(main.main(), inner.after(DASS)).en
    outer = replace(main, mid=writer.particle()).main().de
    inside = inner.main().de if writer.free() else inner.after(DASS).de
    return sentence(Phrase(f"{outer}, {inside}", english))


def _english(writer: Writer, clause: Clause) -> str:
    """The English order does not depend on the style."""
    return (clause.fronted() if writer.draw.coin(0.3) else clause.main()).en


TEMPLATES: tuple[Callable[[Writer], Phrase], ...] = (_active, _passive, _impersonal, _thought)
