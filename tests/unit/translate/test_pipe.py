import io
from types import SimpleNamespace

import pytest

from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.translate.pipe import choose_facet, translate_lines
from facetmt.translate.text import Hypothesis


def codec(facets, tagged=False):
    by_name = {facet.name: facet for facet in facets}
    return SimpleNamespace(
        facets=facets,
        facet=by_name.__getitem__,
        prefix=lambda name, tag=None: [by_name[name].target_language, *([tag or name] if tagged else [])],
    )


TAGGED = codec([Facet("natural", "en", "de"), Facet("translationese", "en", "de")], tagged=True)
MANY = codec([Facet("en-de", "en", "de"), Facet("en-fr", "en", "fr")])


def test_a_forced_tag_says_enough_where_facets_differ_in_their_tag_alone():
    with pytest.raises(UserError, match="say what the text is"):
        choose_facet(TAGGED, None, None)
    assert choose_facet(TAGGED, None, None, "natural") == "natural"
    with pytest.raises(UserError, match="say what the text is"):
        choose_facet(codec(MANY.facets, tagged=True), None, None, "en-de")  # the language is still open


def test_facet_and_target_language_must_not_contradict_each_other():
    assert choose_facet(MANY, "en-fr", "fr") == "en-fr"
    with pytest.raises(UserError, match="--facet en-fr --to de: that facet translates to fr"):
        choose_facet(MANY, "en-fr", "de")


def test_progress_counts_the_lines_that_are_written():
    told, out = [], io.StringIO()
    translate_lines(
        lambda lines: [[Hypothesis(line.upper(), 0.0)] for line in lines],
        io.BytesIO(b"a\nb\n\nc\nd"),
        out,
        chunk=2,
        keep=1,
        scores=False,
        errors="strict",
        tell=told.append,
    )
    assert out.getvalue() == "A\nB\n\nC\nD\n" and told == [2, 4, 5]
