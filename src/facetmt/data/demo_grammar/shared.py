"""Words that several facets share."""

from facetmt.data.demo_grammar.nominal import Phrase
from facetmt.data.demo_grammar.verb import Mode, parse_verb

SHOULD = Mode("sollte", "should")
MUST_NOT = Mode("dürfen", "must")  # only with a negation
ALLOWED = Mode("dürfen", "may")

SEIN = parse_verb("sein ist war gewesen (sein) = be was been")

BEREITS = Phrase("bereits", "already")
BEVOR = Phrase("bevor", "before")
DASS = Phrase("dass", "that")
OB = Phrase("ob", "whether")
WEIL = Phrase("weil", "because")
WENN = Phrase("wenn", "if")

TIMES = """
phrases past:
    gestern = yesterday; am Montag = on Monday; am Freitag = on Friday; letzte Woche = last week
    vor zwei Tagen = two days ago; heute Morgen = this morning
phrases habit:
    jeden Tag = every day; jede Woche = every week; einmal im Monat = once a month; jeden Morgen = every morning
"""
