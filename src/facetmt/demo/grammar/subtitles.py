"""The subtitles facet: spoken language with questions, requests and short forms."""

from dataclasses import replace

from facetmt.demo.grammar.clause import (
    DASS,
    OB,
    WEIL,
    WENN,
    Clause,
    relative_object,
    relative_subject,
    sentence,
    tail,
    then,
)
from facetmt.demo.grammar.draw import Draw, Template, read_lexicon
from facetmt.demo.grammar.nominal import (
    DAS,
    DU,
    ER,
    ICH,
    IHR,
    SIE,
    THEY,
    WER,
    WIR,
    Nominal,
    Phrase,
    person_for,
    pronoun_for,
)
from facetmt.demo.grammar.verb import CAN, FUTURE, NARRATIVE, PAST, PRESENT, PROGRESSIVE, SEIN, Mode

LEXICON = read_lexicon("times", "subtitles")
WANT = Mode("wollen", "want to")
LIKE = Mode("möchte", "would like to")
HAVE_TO = Mode("müssen", "have to")
WHAT = Phrase("was", "what")
SPEAKERS = (ICH, DU, ER, SIE, WIR, IHR, THEY)
LISTENERS = (DU, DU, IHR)


def _subject(draw: Draw) -> Nominal:
    return draw.pick(SPEAKERS) if draw.coin(0.7) else draw.nominal(["kin", "people"])


def _other(draw: Draw) -> Nominal:
    """Somebody outside the conversation."""
    return draw.pick([ER, SIE, THEY]) if draw.coin(0.6) else draw.nominal(["kin", "people"])


def _clause(
    draw: Draw, section: str, mode: Mode, subject: Nominal | None = None, *, negated: bool = False
) -> Clause:
    """A clause in spoken style; people are mostly pronouns, and dein never addresses several people."""
    who = subject or _subject(draw)
    clause = replace(draw.clause(section, mode, subject=who, negated=negated), casual=True)
    if who == IHR and any(
        "dein" in nominal.german("acc") for nominal in (clause.accusative, clause.dative) if nominal
    ):
        return _clause(draw, section, mode, who, negated=negated)
    if clause.dative and draw.coin(0.7):
        others = [
            person for person in (ICH, DU, ER, SIE, WIR) if person != who and {person, who} != {DU, IHR}
        ]
        clause = replace(clause, dative=draw.pick(others))
    return clause


def _help(draw: Draw, mode: Mode, subject: Nominal | None = None, *, negated: bool = False) -> Clause:
    others = draw.pick([ICH, WIR]) if subject in LISTENERS else draw.nominal(["kin"])
    return replace(_clause(draw, "help", mode, subject, negated=negated), dative=others)


def _scene(draw: Draw, mode: Mode, subject: Nominal | None = None, *, negated: bool = False) -> Clause:
    """Somebody stays somewhere or goes somewhere."""
    section, places = draw.pick([("stay", "where"), ("go", "whither")])
    return replace(_clause(draw, section, mode, subject, negated=negated), place=draw.phrase(places))


def _being(draw: Draw, mode: Mode) -> Clause:
    negated = draw.coin(0.3)
    if draw.coin(0.4):
        thing = draw.nominal(["thing", "machine"], "der mein dein")
        return Clause(thing, SEIN, mode, predicate=draw.phrase("quality"), negated=negated, casual=True)
    return Clause(_subject(draw), SEIN, mode, predicate=draw.phrase("mood"), negated=negated, casual=True)


def _doing(draw: Draw, subject: Nominal | None = None, *, negated: bool = False) -> Clause:
    """What happens now: actions in the progressive, states in the simple present."""
    section, mode = draw.pick([("act", PROGRESSIVE), ("act", PROGRESSIVE), ("state", PRESENT)])
    return _clause(draw, section, mode, subject, negated=negated)


def _done(draw: Draw, subject: Nominal | None = None, *, negated: bool = False) -> Clause:
    """What happened."""
    return _clause(draw, draw.pick(["act", "event", "give"]), PAST, subject, negated=negated)


def _now(draw: Draw) -> Phrase:
    clause = _doing(draw, negated=draw.coin(0.25)) if draw.coin(0.7) else _scene(draw, PROGRESSIVE)
    if clause.mode == PROGRESSIVE and not clause.negated and draw.coin(0.6):
        clause = replace(clause, adverb=draw.phrase("soon"))
    return draw.statement(clause)


def _past(draw: Draw) -> Phrase:
    negated = draw.coin(0.3)
    clause = _done(draw, negated=negated) if draw.coin(0.8) else _scene(draw, PAST)
    if not (negated and clause.dative):
        clause = replace(clause, adverb=draw.phrase("past"))
    return draw.statement(clause)


def _rate(draw: Draw) -> Phrase:
    clause = _clause(draw, "routine", PRESENT) if draw.coin(0.7) else _scene(draw, PRESENT)
    return sentence(replace(clause, mid=draw.phrase("rate")).main())


def _ask(draw: Draw) -> Phrase:
    who = draw.pick(LISTENERS) if draw.coin(0.6) else _other(draw)
    clause = draw.pick([_doing, _done])(draw, who) if draw.coin(0.7) else _scene(draw, PAST, who)
    return sentence(clause.question(), "?")


def _ask_why(draw: Draw) -> Phrase:
    who = draw.pick(LISTENERS) if draw.coin(0.6) else _other(draw)
    asking = draw.phrase("asking")
    negated = asking.de == "warum" and draw.coin(0.4)
    clause = _help(draw, PAST, who, negated=negated) if draw.coin(0.2) else _done(draw, who, negated=negated)
    return sentence(clause.question(asking), "?")


def _ask_what(draw: Draw) -> Phrase:
    adverb = draw.phrase("past")
    if draw.coin():
        return sentence(replace(_done(draw, WER), adverb=adverb).main(), "?")
    clause = replace(_clause(draw, draw.pick(["obtain", "obtain", "give"]), PAST), accusative=None)
    return sentence(replace(clause, adverb=adverb).question(WHAT), "?")


def _request(draw: Draw) -> Phrase:
    who = draw.pick(LISTENERS)
    if draw.coin(0.4):
        clause = replace(_clause(draw, "give", PRESENT, who), dative=draw.pick([ICH, WIR, ER, SIE]))
    else:
        clause = _clause(draw, "request", PRESENT, who, negated=draw.coin(0.4))
    if draw.coin(0.3) and not clause.negated:
        words = replace(clause, mid=Phrase("bitte", "")).imperative()
        return sentence(Phrase(words.de, f"please {words.en}"))
    return sentence(clause.imperative(), "!")


def _wish(draw: Draw) -> Phrase:
    mode = draw.pick([WANT, LIKE, HAVE_TO, CAN])
    negated = mode != LIKE and draw.coin(0.3)
    clause = _clause(draw, draw.pick(["act", "give"]), mode, negated=negated)
    if negated or not draw.coin():
        return sentence(clause.main())
    return draw.statement(replace(clause, adverb=draw.phrase("soon")))


def _ask_wish(draw: Draw) -> Phrase:
    who, mode = draw.pick(LISTENERS), draw.pick([WANT, CAN, HAVE_TO])
    clause = (
        _help(draw, mode, who) if draw.coin(0.2) else _clause(draw, draw.pick(["act", "give"]), mode, who)
    )
    return sentence(replace(clause, adverb=draw.phrase("soon")).question(), "?")


def _think(draw: Draw) -> Phrase:
    thought = (
        draw.pick([_doing, _done])(draw, negated=draw.coin(0.2)) if draw.coin(0.7) else _being(draw, PRESENT)
    )
    return sentence(tail(_clause(draw, "think", PRESENT).main(), thought.after(DASS)))


def _wonder(draw: Draw) -> Phrase:
    conjunction = OB if draw.coin(0.4) else draw.phrase("asking")
    fact = _done(draw, _other(draw)).after(conjunction)
    if draw.coin():
        return sentence(tail(_clause(draw, "know", PRESENT, negated=True).main(), fact))
    return sentence(tail(_clause(draw, "know", PRESENT, draw.pick(LISTENERS)).question(), fact), "?")


def _because(draw: Draw) -> Phrase:
    who = draw.pick(SPEAKERS) if draw.coin(0.7) else draw.nominal(["kin"])
    same = who if who.pronoun else person_for(who)
    main = _scene(draw, CAN, who, negated=True) if draw.coin() else _help(draw, CAN, who, negated=True)
    if draw.coin():
        reason = Clause(same, SEIN, predicate=draw.phrase("weakness"), casual=True)
    else:
        reason = _clause(draw, "act", HAVE_TO, same)
    return sentence(tail(main.main(), reason.after(WEIL)))


def _if(draw: Draw) -> Phrase:
    who, speaker = draw.pick(LISTENERS), draw.pick([ICH, WIR])
    if draw.coin(0.4):
        condition = _clause(draw, "event", PRESENT, who)
        request = replace(_clause(draw, "tell", PRESENT, who), accusative=draw.pick([ICH, WIR, ER, SIE]))
        return sentence(then(condition.after(WENN), request.imperative()), "!")
    if draw.coin():
        condition = _clause(draw, "act", WANT, who)
        promise = replace(_clause(draw, "assist", FUTURE, speaker), dative=who)
    else:
        condition = _clause(draw, "lack", PRESENT, who)
        promise = replace(_clause(draw, "fetch", FUTURE, speaker), accusative=_it(condition))
    return sentence(then(condition.after(WENN), promise.inverted()))


def _it(clause: Clause) -> Nominal:
    """The pronoun for the clause's object: ihn, sie or es by the German gender."""
    assert clause.accusative is not None
    return pronoun_for(clause.accusative)


def _but(draw: Draw) -> Phrase:
    who = draw.pick(SPEAKERS) if draw.coin(0.7) else draw.nominal(["kin"])
    done, undone = draw.pick([("seek", "find"), ("view", "take"), ("mend", "spend")])
    first = _clause(draw, done, PAST, who)
    second = _clause(draw, undone, PAST, who if who.pronoun else person_for(who), negated=True)
    words = replace(second, accusative=_it(first)).main()
    return sentence(then(first.main(), Phrase(f"aber {words.de}", f"but {words.en}")))


def _state(draw: Draw) -> Phrase:
    clause = _being(draw, draw.pick([PRESENT, NARRATIVE]))
    if clause.mode == NARRATIVE and not clause.negated:
        return draw.statement(replace(clause, adverb=draw.phrase("past")))
    return sentence(clause.main())


def _point(draw: Draw) -> Phrase:
    if draw.coin():
        who = draw.nominal(["people"])
        who = relative_subject(who, _done(draw), "who")
    else:
        who = draw.nominal(["thing", "machine"], "der")
        who = relative_object(who, replace(_clause(draw, "obtain", PAST), accusative=None))
    predicate = Phrase(who.german("nom") + who.after.de, who.en[0] + who.after.en)
    clause = Clause(DAS, SEIN, predicate=predicate, casual=True)
    return sentence(clause.question(), "?") if draw.coin(0.3) else sentence(clause.main())


TEMPLATES: tuple[tuple[int, Template], ...] = (
    (3, _now),
    (3, _past),
    (1, _rate),
    (3, _ask),
    (2, _ask_why),
    (2, _ask_what),
    (3, _request),
    (2, _wish),
    (1, _ask_wish),
    (2, _think),
    (2, _wonder),
    (2, _because),
    (2, _if),
    (2, _but),
    (1, _state),
    (1, _point),
)
