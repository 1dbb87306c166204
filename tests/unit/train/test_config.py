"""Refusals of the optimiser's configuration."""

import pytest

from facetmt.train.config import OptimiserConfig


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"schedule": "cosine"}, "peak-rsqrt"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"beta2": 1.0}, "beta2"),
        ({"eps": 0.0}, "eps"),
        ({"label_smoothing": 1.5}, "label_smoothing"),
        ({"warmup": -1}, "warmup"),
        ({"accumulate": 0}, "accumulate"),
    ],
)
def test_values_that_cannot_train_are_refused_by_name(settings, word):
    with pytest.raises(ValueError, match=word):
        OptimiserConfig(**settings)


def test_the_defaults_are_the_papers():
    config = OptimiserConfig()
    assert (config.beta1, config.beta2, config.eps, config.label_smoothing) == (0.9, 0.98, 1e-9, 0.1)
