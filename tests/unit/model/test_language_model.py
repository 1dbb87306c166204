"""The language model: causal, packed, a distribution."""

import itertools
from typing import NamedTuple

import jax
import numpy as np
import pytest

from facetmt.model.config import ModelConfig
from facetmt.model.language_model import create, log_probability
from facetmt.model.transformer import count_parameters

VOCABULARY, BOS, EOS = 6, 2, 3
CONFIG = ModelConfig(width=16, mlp=32, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.3)
GRAPH, PARAMS = create(CONFIG, VOCABULARY, seed=0)


class Text(NamedTuple):
    target: np.ndarray
    label: np.ndarray
    target_segment: np.ndarray
    target_position: np.ndarray


def packed(rows, length):
    """Rows of sentences (lists of ids) -> Text."""
    text = Text(*(np.zeros((len(rows), length), np.int32) for _ in Text._fields))
    for row, sentences in enumerate(rows):
        start = 0
        for segment, ids in enumerate(sentences, 1):
            span = slice(start, start + len(ids) + 1)
            text.target[row, span], text.label[row, span] = [BOS, *ids], [*ids, EOS]
            text.target_segment[row, span], text.target_position[row, span] = segment, np.arange(len(ids) + 1)
            start = span.stop
    return text


score = jax.jit(lambda text: log_probability(GRAPH, PARAMS, text))


def test_a_packed_row_scores_as_its_sentences_alone():
    sentences = [[4, 5, 5], [4], [5, 4]]
    sums, lengths = score(packed([sentences, *([one] for one in sentences)], 12))
    np.testing.assert_allclose(sums[0, :3], sums[1:, 0], rtol=1e-5)
    assert lengths[0, :4].tolist() == [4, 2, 3, 0]
    assert (np.asarray(sums[0, 3:]) == 0).all()


def test_probabilities_of_all_continuations_sum_to_one():
    # every string of two tokens, EOS or not: the first two factors of p are a distribution over them
    pairs = list(itertools.product(range(VOCABULARY), repeat=2))
    text = packed([[[a]] for a, _ in pairs], 2)
    text.label[:] = pairs
    sums, _ = score(text)
    assert float(np.exp(sums[:, 0]).sum()) == pytest.approx(1.0, rel=1e-4)


def test_the_size_is_that_of_an_embedding_and_the_decoders_layers():
    width, mlp = 16, 32
    block = 4 * width**2 + 2 * width * mlp + mlp + width + 4 * width
    assert count_parameters(PARAMS) == VOCABULARY * width + 2 * block + 2 * width
