"""Scores of a small, untrained model: packed or alone, in one direction or both."""

import jax
import numpy as np
import pytest

from facetmt.data.config import BatchConfig, DataConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.errors import UserError
from facetmt.model import transformer
from facetmt.model.config import ModelConfig
from facetmt.select.cds import score_text, training_texts
from facetmt.select.scoring import Scorer, clipped, contrast, encode_pairs
from facetmt.train.restore import TrainedModel

SHAPE = BatchConfig(rows=4, length=40)


class Recipe:
    """The part of a recipe that scoring reads."""

    batch = SHAPE

    def __init__(self, data):
        self.data = data


@pytest.fixture
def model(corpus, tmp_path):
    """A model of both directions that was never trained."""
    data = DataConfig(
        root=str(tmp_path / "corpus"),
        pivot="en",
        direction="many-to-many",
        max_length=40,
        vocab=VocabConfig("bpe", 120, coverage=1.0),
    )
    codec = prepare(data, tmp_path, tmp_path / "prepared").codec
    config = ModelConfig(preset="tiny", width=8, mlp=8, heads=1, encoder_layers=1, decoder_layers=1)
    made = transformer.create(config, codec.vocabulary.target_size, None, seed=1)
    return TrainedModel(Recipe(data), codec, *made, (0,), None, trained_steps=0, fingerprint={}, notes=())


@pytest.fixture
def scorer(model):
    other = transformer.create(
        ModelConfig(preset="tiny", width=8, mlp=8, heads=1, encoder_layers=1, decoder_layers=1),
        model.codec.vocabulary.target_size,
        None,
        seed=2,
    )
    scorer = Scorer(contrast, model.graph, SHAPE)
    return scorer, scorer.place((other.params, model.params))


def test_both_directions_decide_together(model, scorer, tmp_path):
    text = training_texts(model.recipe.data)[0]
    whole = score_text(model, text, *scorer, {}, tmp_path / "work", lambda: None)
    lines = [(tmp_path / "corpus" / "it" / f"train.{side}").read_text().splitlines() for side in ("de", "en")]
    there = scorer[0](scorer[1], encode_pairs(model.codec, "it_de-en", *lines))
    back = scorer[0](scorer[1], encode_pairs(model.codec, "it_en-de", *reversed(lines)))
    assert whole == pytest.approx((there + back) / 2, abs=1e-5)
    assert np.abs(there - back).max() > 0.01  # either alone would be something else


def test_lines_without_a_pair_have_no_score(model, scorer, tmp_path):
    path = tmp_path / "corpus" / "it" / "train.de"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(["", *lines[1:]]) + "\n")
    text = training_texts(model.recipe.data)[0]
    scores = score_text(model, text, *scorer, {}, tmp_path / "work", lambda: None)
    assert scores[0] == -np.inf and np.isfinite(scores[1:]).all()


def test_scores_that_are_not_finite_are_an_error(model, scorer):
    broken = jax.tree.map(lambda leaf: leaf * np.nan, scorer[1])
    with pytest.raises(UserError, match="log-probabilities of a model are not finite"):
        scorer[0](broken, encode_pairs(model.codec, "it_de-en", ["haus"], ["house"]))


def test_what_is_longer_than_a_row_keeps_its_beginning_and_its_end_symbol():
    ids, lengths = clipped(np.array([7, 8, 9, 3, 5, 3]), np.array([4, 2]), 3)
    assert ids.tolist() == [7, 8, 3, 5, 3] and lengths.tolist() == [3, 2]
