"""The facet of religious text, named as in the paper: original sentences in the style of scripture."""

from dataclasses import replace

from facetmt.demo.grammar.clause import (
    DASS,
    WENN,
    Clause,
    both_clauses,
    relative_subject,
    sentence,
    tail,
    then,
)
from facetmt.demo.grammar.draw import Draw, Template, read_lexicon
from facetmt.demo.grammar.nominal import DIEJENIGEN, ER, IHR, NOTHING, WIR, Phrase, both
from facetmt.demo.grammar.verb import FUTURE, NARRATIVE, PAST, PERFECT, PRESENT

LEXICON = read_lexicon("koran")
INDEED = Phrase("wahrlich", "indeed")


def _verdict(draw: Draw) -> Clause:
    """What God does, or will do: liebt die Gerechten, wird die Frevler bestrafen."""
    section, mode = draw.pick([("favour", PRESENT), ("anger", PRESENT), ("judge", FUTURE)])
    return draw.clause(section, mode)


def _indeed(draw: Draw) -> Phrase:
    words = _verdict(draw).main()
    if draw.coin(0.7):
        words = then(words, both_clauses(NOTHING, draw.clause("judge", FUTURE, subject=ER).main()))
    return sentence(then(INDEED, words))


def _creation(draw: Draw) -> Phrase:
    worlds = both(draw.nominal(["world"]), draw.nominal(["world"]))
    he = relative_subject(ER, draw.clause("create", PAST, thing=worlds), "who")
    return sentence(Phrase(f"er ist es{he.after.de}", f"it is he{he.after.en}"))


def _command(draw: Draw) -> Phrase:
    first = draw.clause("obey", subject=IHR).imperative()
    stray = draw.coin()
    second = draw.clause("stray" if stray else "obey", subject=IHR, negated=stray).imperative()
    return sentence(then(draw.phrase("call"), both_clauses(first, second)))


def _those(draw: Draw) -> Phrase:
    deed, fate = draw.pick([("devout", "gain"), ("stray", "suffer")])
    who = relative_subject(DIEJENIGEN, draw.clause(deed), "who")
    clause = draw.clause(fate, FUTURE, subject=who)
    return draw.statement(replace(clause, adverb=draw.phrase("end")) if draw.coin() else clause, fronting=0.3)


def _narrative(draw: Draw) -> Phrase:
    words = draw.clause(draw.pick(["send", "send", "answer"]), NARRATIVE).main()
    return sentence(both_clauses(NOTHING, words))


def _if(draw: Draw) -> Phrase:
    deed, fate = draw.pick([("obey", 2), ("stray", 0)])
    frame = LEXICON.frames["judge"][fate + draw.coin()]
    verdict = Clause(ER, frame.verb, FUTURE, accusative=IHR)
    return sentence(then(draw.clause(deed, subject=IHR).after(WENN), verdict.inverted()))


def _know(draw: Draw) -> Phrase:
    section, mode = draw.pick([("know", PRESENT), ("hear", PERFECT)])
    ask = draw.clause(section, mode, subject=IHR, negated=True).question()
    return sentence(tail(ask, _verdict(draw).after(DASS)), "?")


def _say(draw: Draw) -> Phrase:
    gap = replace(WIR, de=("", "", "", ""), en=("", ""))
    first, second = draw.clause("devout", subject=WIR), draw.clause("devout", subject=gap)
    words = sentence(both_clauses(first.main(), second.main()))
    return Phrase(f"Sprich: {words.de}", f"Say: {words.en}")


TEMPLATES: tuple[tuple[int, Template], ...] = (
    (2, _indeed),
    (1, _creation),
    (2, _command),
    (2, _those),
    (2, _narrative),
    (2, _if),
    (1, _know),
    (1, _say),
)
