"""The IT facet: software manuals, dialog boxes and error messages."""

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
    sentence,
    tail,
    then,
)
from facetmt.demo.grammar.draw import Draw, Template, read_lexicon
from facetmt.demo.grammar.nominal import FORMAL, Phrase, only, prepositional, pronoun_for
from facetmt.demo.grammar.verb import (
    ALLOWED,
    CAN,
    MUST,
    MUST_NOT,
    NARRATIVE,
    PAST,
    PERFECT,
    PRESENT,
    SEIN,
    Mode,
)

LEXICON = read_lexicon("times", "it")
STATEFUL = ("file", "device", "tool", "account", "machine")
CAUSES = ("tool", "machine", "account")
CONTENTS = "der der+ dies"
LIKE = Mode("möchte", "want to")
FAILED = Mode("konnte", "could")


def _state(draw: Draw, *, fine: bool, direct: bool = False, names: tuple[str, ...] = STATEFUL) -> Clause:
    """Something works or does not: der Drucker ist nicht eingeschaltet."""
    name = draw.pick(names)
    negated = not direct and draw.coin(0.4)
    kind = "good" if fine != negated else "bad"
    return Clause(draw.nominal([name], "der"), SEIN, predicate=draw.phrase(f"{kind}-{name}"), negated=negated)


def _past(draw: Draw) -> Phrase:
    clause = draw.clause(draw.pick(["edit", "edit", "administer"]), PAST)
    return draw.statement(replace(clause, adverb=draw.phrase("past")))


def _habit(draw: Draw) -> Phrase:
    clause = draw.clause(draw.pick(["edit", "routine"]), draw.pick([PRESENT, MUST]))
    return draw.statement(replace(clause, adverb=draw.phrase("habit")))


def _already(draw: Draw) -> Phrase:
    clause = draw.clause(draw.pick(["edit", "administer"]), PERFECT)
    return sentence(replace(clause, mid=BEREITS).main())


def _request(draw: Draw) -> Phrase:
    clause = draw.clause(
        draw.pick(["edit", "setup"]), subject=FORMAL, negated=draw.coin(0.3), determiners=CONTENTS
    )
    if not clause.negated and draw.coin(0.4):
        clause = replace(clause, place=draw.phrase("manner"))
    return sentence(clause.imperative())


def _purpose(draw: Draw) -> Phrase:
    request = draw.clause("choose", subject=FORMAL).imperative()
    goal = draw.clause("goal", subject=FORMAL).infinitive()
    return sentence(tail(request, goal) if draw.coin() else then(goal, request))


def _steps(draw: Draw) -> Phrase:
    first = draw.clause(draw.pick(["setup", "keep"]), subject=FORMAL).imperative()
    second = draw.clause("choose", subject=FORMAL).imperative()
    steps = both_clauses(first, second)
    return sentence(tail(steps, draw.clause("goal", subject=FORMAL).infinitive()) if draw.coin() else steps)


def _where(draw: Draw) -> Phrase:
    section, case, translation = draw.pick([("put", "dat", "on"), ("carry", "acc", "to")])
    where = prepositional("auf", case, draw.nominal(["disk"]), translation)
    clause = replace(draw.clause(section, draw.pick([PAST, CAN, MUST])), place=where)
    clause = replace(clause, adverb=draw.phrase("past")) if clause.mode == PAST else clause
    return draw.statement(clause)


def _result(draw: Draw) -> Phrase:
    if draw.coin():
        done = passive(
            draw.clause(draw.pick(["edit", "setup"]), NARRATIVE, subject=FORMAL, determiners="der dies")
        )
        return sentence(replace(done, place=draw.phrase("result")).main())
    failed = passive(draw.clause("edit", FAILED, subject=FORMAL, determiners="der der+ dies", negated=True))
    return sentence(tail(failed.main(), _state(draw, fine=False, names=CAUSES).after(WEIL)))


def _if(draw: Draw) -> Phrase:
    if draw.coin():
        remedy = draw.clause("setup", subject=FORMAL, determiners="der")
        return sentence(then(draw.clause("meet").after(WENN), remedy.imperative()))
    lost = draw.coin()
    first = draw.clause("lose" if lost else "keep", subject=FORMAL, determiners=CONTENTS)
    assert first.accusative is not None
    it = pronoun_for(first.accusative)
    second = draw.clause("regret" if lost else "profit", CAN, subject=FORMAL, thing=it, negated=lost)
    return sentence(then(first.after(WENN), second.inverted()))


def _before(draw: Draw) -> Phrase:
    request = draw.clause("setup", subject=FORMAL).imperative()
    return sentence(tail(request, draw.clause("edit", subject=FORMAL).after(BEVOR)))


def _check(draw: Draw) -> Phrase:
    if draw.coin():
        request, news = draw.clause("assure", subject=FORMAL), _state(draw, fine=True).after(DASS)
    else:
        request, news = (
            draw.clause("check", subject=FORMAL),
            _state(draw, fine=draw.coin(), direct=True).after(OB),
        )
    return sentence(tail(request.imperative(), news))


def _announce(draw: Draw) -> Phrase:
    if draw.coin(0.4):
        return sentence(tail(draw.clause("warn").main(), _state(draw, fine=draw.coin(0.3)).after(DASS)))
    news = draw.clause(draw.pick(["edit", "administer"]), PERFECT)
    return sentence(tail(draw.clause("announce").main(), news.after(DASS)))


def _relative(draw: Draw) -> Phrase:
    file = draw.nominal(["file"], "der der+")
    section, mode = draw.pick([("edit", LIKE), ("made", PERFECT)])
    wish = draw.clause(section, mode, subject=FORMAL, thing=file)
    return sentence(draw.clause("pick", subject=FORMAL, thing=relative_object(file, wish)).imperative())


def _run(draw: Draw) -> Phrase:
    negated = draw.coin(0.6)
    return sentence(draw.clause("run", CAN, negated=negated).main())


def _trouble(draw: Draw) -> Phrase:
    clause = draw.clause("incident", draw.pick([PAST, PAST, PERFECT]))
    if clause.mode == PERFECT:
        return sentence(replace(clause, mid=BEREITS).main())
    return draw.statement(replace(clause, adverb=draw.phrase("past")))


def _permission(draw: Draw) -> Phrase:
    section = draw.pick(["edit", "administer"])
    if draw.coin(0.4):
        return sentence(draw.clause(section, MUST_NOT, negated=True).main())
    determiner = draw.pick(["jed", "kein", "der"])
    user = draw.nominal(["user"], determiner)
    clause = draw.clause(
        section, ALLOWED, subject=only(user) if determiner == "der" else user, determiners="der der+"
    )
    return sentence(clause.main())


TEMPLATES: tuple[tuple[int, Template], ...] = (
    (3, _past),
    (1, _habit),
    (1, _already),
    (3, _request),
    (3, _purpose),
    (2, _steps),
    (2, _where),
    (3, _result),
    (3, _if),
    (2, _before),
    (2, _check),
    (2, _announce),
    (2, _relative),
    (1, _run),
    (1, _trouble),
    (2, _permission),
)
