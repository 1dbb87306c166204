"""The medical facet: package leaflets and ward notes."""

from dataclasses import replace

from facetmt.demo.grammar.clause import (
    BEREITS,
    BEVOR,
    DASS,
    OB,
    WEIL,
    WENN,
    Clause,
    both_clauses,
    passive,
    relative_object,
    relative_subject,
    sentence,
    tail,
    then,
)
from facetmt.demo.grammar.draw import Draw, Template, read_lexicon
from facetmt.demo.grammar.nominal import FORMAL, NOTHING, Phrase, person_for, pronoun_for
from facetmt.demo.grammar.verb import ALLOWED, CAN, MUST, MUST_NOT, PAST, PERFECT, PRESENT, SHOULD

LEXICON = read_lexicon("times", "medical")
MEHR = Phrase("mehr", "any more")


def _past(draw: Draw) -> Phrase:
    section, times = draw.pick([("care", "past"), ("care", "ward"), ("surgery", "past")])
    return draw.statement(replace(draw.clause(section, PAST), adverb=draw.phrase(times)))


def _habit(draw: Draw) -> Phrase:
    section, times = draw.pick([("care", "ward"), ("take", "often"), ("take", "ward")])
    clause = draw.clause(section, draw.pick([PRESENT, MUST, SHOULD]))
    return draw.statement(replace(clause, adverb=draw.phrase(times)))


def _already(draw: Draw) -> Phrase:
    return sentence(replace(draw.clause(draw.pick(["care", "surgery"]), PERFECT), mid=BEREITS).main())


def _modal(draw: Draw) -> Phrase:
    negated = draw.coin()
    mode = draw.pick([MUST_NOT, SHOULD] if negated else [MUST, SHOULD, ALLOWED])
    return sentence(draw.clause("change", mode, negated=negated).main())


def _need(draw: Draw) -> Phrase:
    return sentence(draw.clause("need", negated=draw.coin()).main())


def _dosage(draw: Draw) -> Phrase:
    if draw.coin(0.3):
        clause = draw.clause("take", subject=FORMAL, negated=True)
        return sentence(replace(clause, place=draw.phrase("never")).imperative())
    if draw.coin(0.3):
        return sentence(
            replace(draw.clause("apply", subject=FORMAL), adverb=draw.phrase("often")).imperative()
        )
    clause = draw.clause("swallow", subject=FORMAL)
    if draw.coin(0.3):
        return sentence(replace(clause, place=draw.phrase("manner")).imperative())
    return sentence(replace(clause, adverb=draw.phrase("dose")).imperative())


def _course(draw: Draw) -> Phrase:
    take = replace(draw.clause("take", subject=FORMAL), adverb=draw.phrase("often"))
    steps = both_clauses(take.imperative(), draw.clause("tell", subject=FORMAL).imperative())
    return sentence(tail(steps, draw.clause("sign", subject=FORMAL).after(WENN)))


def _storage(draw: Draw) -> Phrase:
    negated = draw.coin(0.4)
    clause = draw.clause("store", subject=FORMAL, negated=negated)
    clause = replace(clause, place=draw.phrase("danger" if negated else "place"))
    if draw.coin():
        return sentence(clause.imperative())
    return sentence(passive(replace(clause, mode=MUST_NOT if negated else MUST)).main())


def _if(draw: Draw) -> Phrase:
    condition = draw.clause("sign", subject=FORMAL).after(WENN)
    clause = draw.clause("take", subject=FORMAL, negated=draw.coin())
    clause = clause if clause.negated else replace(clause, adverb=draw.phrase("often"))
    request = clause.imperative()
    return sentence(tail(request, condition) if draw.coin() else then(condition, request))


def _tell(draw: Draw) -> Phrase:
    request = draw.clause("tell", subject=FORMAL).imperative()
    if draw.coin():
        return sentence(tail(request, draw.clause("sign", subject=FORMAL).after(WENN)))
    return sentence(tail(request, draw.clause("change", subject=FORMAL).after(BEVOR)))


def _ask(draw: Draw) -> Phrase:
    request = draw.clause("ask", subject=FORMAL).imperative()
    question = draw.clause("change", draw.pick([ALLOWED, SHOULD]), subject=FORMAL)
    return sentence(tail(request, question.after(OB)))


def _report(draw: Draw) -> Phrase:
    claim, content, mode = draw.pick([("claim", "state", PRESENT), ("finding", "illness", PERFECT)])
    if draw.coin(0.3):
        return sentence(tail(draw.clause("advice").main(), draw.clause("change", SHOULD).after(DASS)))
    return sentence(
        tail(draw.clause(claim, mode).main(), draw.clause(content, negated=draw.coin(0.3)).after(DASS))
    )


def _effect(draw: Draw) -> Phrase:
    return sentence(draw.clause("effect", CAN, negated=draw.coin(0.3)).main())


def _harm(draw: Draw) -> Phrase:
    condition = draw.clause("harm", draw.pick([PRESENT, PERFECT]))
    drug, negated = pronoun_for(condition.subject), draw.coin(0.4)
    verb = draw.lexicon.frames["stop"][negated].verb
    request = Clause(FORMAL, verb, accusative=drug, negated=negated, predicate=MEHR if negated else NOTHING)
    return sentence(then(condition.after(WENN), request.imperative()))


def _relative(draw: Draw) -> Phrase:
    if draw.coin(0.3):
        drug = draw.nominal(["oral"], "der der+")
        drug = relative_object(drug, draw.clause("prescribe", PAST, thing=drug))
        return sentence(draw.clause("take", draw.pick([MUST, SHOULD]), thing=drug).main())
    person = relative_subject(draw.nominal(["person"], "der der+"), draw.clause("state"), "who")
    if draw.coin():
        return sentence(draw.clause("treat", draw.pick([MUST, SHOULD, CAN]), thing=person).main())
    return sentence(draw.clause("change", draw.pick([MUST, SHOULD]), subject=person).main())


def _because(draw: Draw) -> Phrase:
    delayed = draw.coin()
    clause = draw.clause("delay", CAN, negated=True) if delayed else draw.clause("treat", MUST)
    assert clause.accusative is not None
    reason = draw.clause("state", subject=person_for(clause.accusative))
    return sentence(tail(clause.main(), reason.after(WEIL)))


TEMPLATES: tuple[tuple[int, Template], ...] = (
    (3, _past),
    (2, _habit),
    (1, _already),
    (2, _modal),
    (1, _need),
    (2, _dosage),
    (1, _course),
    (1, _storage),
    (3, _if),
    (2, _tell),
    (1, _ask),
    (2, _report),
    (1, _effect),
    (1, _harm),
    (2, _relative),
    (2, _because),
)
