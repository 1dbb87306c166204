"""The law facet: contracts, statutes and regulations."""

from dataclasses import replace

from facetmt.demo.grammar.clause import (
    BEREITS,
    BEVOR,
    DASS,
    OB,
    WEIL,
    WENN,
    Clause,
    passive,
    relative_object,
    relative_subject,
    sentence,
    tail,
    then,
)
from facetmt.demo.grammar.draw import Draw, Template, read_lexicon
from facetmt.demo.grammar.nominal import Nominal, Phrase, of, pronoun_for
from facetmt.demo.grammar.verb import ALLOWED, MAY, MUST, PAST, PERFECT, SHALL, Mode, parse_verb

LEXICON = read_lexicon("times", "law")
FORBIDDEN = Mode("dürfen", "shall")  # only with a negation
ENTER = parse_verb("treten tritt trat getreten (sein) = enter")
FORCE = Phrase("in Kraft", "into force")


def _article(draw: Draw) -> Phrase:
    number = draw.pick(range(1, 41))
    if draw.coin():
        return Phrase(f"gemäß Artikel {number}", f"in accordance with Article {number}")
    paragraph = draw.pick(range(1, 7))
    return Phrase(f"nach Artikel {number} Absatz {paragraph}", f"under Article {number}({paragraph})")


def _date(draw: Draw) -> Phrase:
    day, month = draw.pick(range(1, 29)), draw.phrase("month")
    return Phrase(f"am {day}. {month.de}", f"on {day} {month.en}")


def _section(draw: Draw) -> Nominal:
    return of(draw.nominal(["section"]), draw.nominal(["act"]))


def _shall(draw: Draw) -> Phrase:
    clause = draw.clause(draw.pick(["decide", "inquire", "conduct", "regulate"]), SHALL)
    if draw.coin(0.3):
        return sentence(clause.main(_article(draw)))
    clause = replace(clause, adverb=draw.phrase("term"))
    return sentence(clause.main(_article(draw))) if draw.coin(0.4) else draw.statement(clause, fronting=0.2)


def _passive(draw: Draw) -> Phrase:
    clause = draw.clause(
        draw.pick(["decide", "inquire", "regulate"]), draw.pick([SHALL, MUST, MAY]), determiners="der dies"
    )
    clause = passive(replace(clause, dative=None), agent=draw.coin(0.7))
    if draw.coin(0.3):
        return sentence(clause.main(_article(draw)))
    return sentence(replace(clause, adverb=draw.phrase("term")).main())


def _past(draw: Draw) -> Phrase:
    clause = draw.clause(draw.pick(["decide", "inquire", "conduct", "regulate"]), PAST)
    return draw.statement(replace(clause, adverb=_date(draw) if draw.coin() else draw.phrase("past")))


def _already(draw: Draw) -> Phrase:
    clause = draw.clause(draw.pick(["decide", "inquire", "conduct", "regulate"]), PERFECT)
    return sentence(replace(clause, mid=BEREITS).main())


def _if(draw: Draw) -> Phrase:
    failed = draw.coin()
    condition = draw.clause("failure" if failed else "breach", negated=failed)
    condition = condition if failed else replace(condition, mode=PERFECT)
    sanction = draw.clause("sanction", draw.pick([MAY, MUST, SHALL]))
    if draw.coin(0.6):
        return sentence(then(condition.after(WENN), sanction.inverted()))
    return sentence(tail(sanction.main(), condition.after(WENN)))


def _because(draw: Draw) -> Phrase:
    failed = draw.coin()
    reason = draw.clause("failure" if failed else "breach", PAST, negated=failed)
    sanction = replace(
        draw.clause("sanction", PAST), adverb=_date(draw) if draw.coin() else draw.phrase("past")
    )
    main = sanction.fronted() if draw.coin() else sanction.main()
    return sentence(tail(main, reason.after(WEIL)))


def _forbidden(draw: Draw) -> Phrase:
    if draw.coin(0.4):
        who = draw.nominal(["state", "party", "company"], "kein")
        return sentence(draw.clause("defy", ALLOWED, subject=who, thing=_section(draw)).main())
    if draw.coin(0.4):
        return sentence(draw.clause("defy", FORBIDDEN, thing=_section(draw), negated=True).main())
    return sentence(draw.clause(draw.pick(["regulate", "decide"]), FORBIDDEN, negated=True).main())


def _find(draw: Draw) -> Phrase:
    failed = draw.coin()
    fact = draw.clause("failure" if failed else "breach", PERFECT, negated=failed)
    return sentence(tail(draw.clause("find").main(), fact.after(DASS)))


def _whether(draw: Draw) -> Phrase:
    fact = draw.clause(draw.pick(["conduct", "breach"]), PERFECT)
    return sentence(tail(draw.clause("examine", draw.pick([SHALL, MUST])).main(), fact.after(OB)))


def _relative(draw: Draw) -> Phrase:
    if draw.coin():
        paper = draw.nominal(["paper", "contract"], "der")
        paper = relative_object(paper, draw.clause("sign", PERFECT, thing=paper))
        return sentence(draw.clause("handle", draw.pick([SHALL, MUST]), thing=paper).main())
    party = relative_subject(draw.nominal(["party"], "der"), draw.clause("breach", PERFECT), "who")
    return sentence(draw.clause("conduct", draw.pick([SHALL, MUST]), subject=party).main())


def _before(draw: Draw) -> Phrase:
    first = draw.clause("decide")
    second = draw.clause(
        "inquire", draw.pick([SHALL, MUST]), subject=pronoun_for(first.subject), determiners="der"
    )
    return sentence(then(first.after(BEVOR), second.inverted()))


def _force(draw: Draw) -> Phrase:
    act = draw.nominal(["act"])
    return draw.statement(Clause(act, ENTER, SHALL, adverb=_date(draw), predicate=FORCE))


def _enforce(draw: Draw) -> Phrase:
    clause = draw.clause("enforce", draw.pick([SHALL, MUST]), thing=_section(draw))
    return sentence(clause.main(_article(draw)) if draw.coin() else clause.main())


TEMPLATES: tuple[tuple[int, Template], ...] = (
    (3, _shall),
    (3, _passive),
    (2, _past),
    (1, _already),
    (3, _if),
    (2, _because),
    (2, _forbidden),
    (2, _find),
    (2, _whether),
    (2, _relative),
    (1, _before),
    (1, _force),
    (2, _enforce),
)
