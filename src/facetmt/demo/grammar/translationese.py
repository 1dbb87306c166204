"""English sentences whose German reads as natural or as translated: several weak cues, none conclusive."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from facetmt.demo.grammar.clause import DASS, Clause, passive, sentence, tail
from facetmt.demo.grammar.draw import Draw, read_lexicon
from facetmt.demo.grammar.nominal import MAN, NOTHING, Nominal, Phrase, noun_phrase, of
from facetmt.demo.grammar.verb import NARRATIVE, PAST

# How often each style uses the idiomatic German form instead of following the English wording.
NATIVE_SHARE = {True: 0.9, False: 0.1}
PARTICLE_SHARE = {True: 0.6, False: 0.05}
PERFECT_SHARE = {True: 0.6, False: 0.4}  # close together: a single word (hat) gives the perfect tense away

T = TypeVar("T")
LEXICON = read_lexicon("translationese")


@dataclass(frozen=True)
class Writer:
    """A style: one biased coin for each choice between idiomatic German and the English wording."""

    draw: Draw
    native: bool

    def free(self) -> bool:
        """Whether this choice falls on the idiomatic form."""
        return self.draw.coin(NATIVE_SHARE[self.native])

    def particle(self) -> Phrase:
        """A modal particle or nothing; English has no equivalent."""
        return self.draw.phrase("particle") if self.draw.coin(PARTICLE_SHARE[self.native]) else NOTHING

    def twin(self, lists: Mapping[str, Sequence[T]], name: str) -> T:
        """An entry from one of two aligned lists with the same English."""
        index = self.draw.pick(range(len(lists[f"{name}-cognate"])))
        return lists[f"{name}-{'idiomatic' if self.free() else 'cognate'}"][index]

    def thing(self) -> Nominal:
        """A native word or a cognate of the English one: das Vorhaben, das Projekt."""
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
        """German, possibly with a particle before the adverb, or in the adverb's place if that is fronted."""
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
    """An object clause: German drops dass and keeps the verb second, or translates "that"."""
    main, inner = writer.draw.clause("think"), writer.event()
    english = tail(main.main(), inner.after(DASS)).en
    outer = replace(main, mid=writer.particle()).main().de
    inside = inner.main().de if writer.free() else inner.after(DASS).de
    return sentence(Phrase(f"{outer}, {inside}", english))


def _english(writer: Writer, clause: Clause) -> str:
    """The English word order, which does not depend on the style."""
    return (clause.fronted() if writer.draw.coin(0.3) else clause.main()).en


TEMPLATES: tuple[Callable[[Writer], Phrase], ...] = (_active, _passive, _impersonal, _thought)
