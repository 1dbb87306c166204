"""Scores of a small, untrained model: packed or alone, in one direction or both."""

import jax
import numpy as np
import pytest

from facetmt.data.corpus import Facet
from facetmt.errors import UserError
from facetmt.select.cds import Contrast
from facetmt.select.criterion import score_text
from facetmt.select.keep import mean_scores
from facetmt.select.scoring import clipped
from facetmt.select.texts import Pairs, training_texts


@pytest.fixture
def contrast(model, untrained):
    return Contrast(model, untrained(seed=2).params)


def direct(criterion, facet, lines):
    """The scores of some pairs, without a text around them."""
    pairs = Pairs(np.arange(len(lines[0])), *lines)
    return criterion.start(None, Facet(facet, "", "", {}), lambda: None)(pairs, 1)


def test_both_directions_decide_together(model, contrast, tmp_path):
    text = training_texts(model.recipe.data)[0]
    whole = mean_scores(score_text(contrast, text, "strict", tmp_path / "work", lambda: None))
    lines = [(tmp_path / "corpus" / "it" / f"train.{side}").read_text().splitlines() for side in ("de", "en")]
    there = direct(contrast, "it_de-en", lines)
    back = direct(contrast, "it_en-de", lines[::-1])
    assert whole == pytest.approx((there + back) / 2, abs=1e-5)
    assert np.abs(there - back).max() > 0.01  # either alone would be something else


def test_lines_without_a_pair_have_no_score(model, contrast, tmp_path):
    path = tmp_path / "corpus" / "it" / "train.de"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(["", *lines[1:]]) + "\n")
    text = training_texts(model.recipe.data)[0]
    scores = score_text(contrast, text, "strict", tmp_path / "work", lambda: None)
    assert (scores[:, 0] == -np.inf).all() and np.isfinite(scores[:, 1:]).all()


def test_scores_that_are_not_finite_are_an_error(model):
    broken = Contrast(model, jax.tree.map(lambda leaf: leaf * np.nan, model.params))
    with pytest.raises(UserError, match="log-probabilities of a model are not finite"):
        direct(broken, "it_de-en", (["haus"], ["house"]))


def test_what_is_longer_than_a_row_keeps_its_beginning_and_its_end_symbol():
    ids, lengths = clipped(np.array([7, 8, 9, 3, 5, 3]), np.array([4, 2]), 3)
    assert ids.tolist() == [7, 8, 3, 5, 3] and lengths.tolist() == [3, 2]
