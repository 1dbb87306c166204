"""The pairs that an engine is compared on."""

from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.export.probe import LENGTH, PAIRS, made_up, probe
from facetmt.model import transformer
from facetmt.model.config import ModelConfig

VOCABULARY = SimpleNamespace(tags=["<2en>", "<2de>"], source_size=30, target_size=40, joint=False)


def test_made_up_pairs_hold_subwords_alone_and_are_always_the_same():
    pairs = made_up(VOCABULARY)
    assert pairs == made_up(VOCABULARY) and len(pairs) == PAIRS
    for pair in pairs:
        assert pair.source[-1] == pair.target[-1] == EOS and len(pair.source) == LENGTH + 1
        assert min(pair.source[:-1]) >= 6 and max(pair.source) < 30 and max(pair.target) < 40


@pytest.mark.parametrize("compute", ["float32", "bfloat16"])
def test_the_scores_are_those_of_the_parameters_in_float32(compute):
    config = ModelConfig(preset="tiny", width=16, mlp=16, heads=2, encoder_layers=1, decoder_layers=1)
    exact = transformer.create(config, 40, 30, seed=1)
    trained = SimpleNamespace(
        codec=SimpleNamespace(vocabulary=VOCABULARY),
        recipe=SimpleNamespace(model=ModelConfig(**{**vars(config), "compute": compute})),
        params=exact.params,
    )
    rows = probe(trained)
    scores = np.array([row["log_probability"] for row in rows])
    assert scores.shape == (PAIRS, LENGTH + 1) and (scores < 0).all()
    reference = probe(SimpleNamespace(**{**vars(trained), "recipe": SimpleNamespace(model=config)}))
    np.testing.assert_array_equal(scores, [row["log_probability"] for row in reference])
