"""Refusals of the optimiser's settings and of the training's."""

import pytest

from facetmt.train.config import OptimiserConfig, TrainConfig


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"schedule": "cosine"}, "peak-rsqrt"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"schedule": "linear"}, "decay_until"),
        ({"decay_until": 9000}, "linear"),
        ({"schedule": "linear", "decay_until": 4000}, "after warmup"),
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


@pytest.mark.parametrize("name", ["steps", "validate_every", "log_every", "keep", "keep_best", "dev_hold"])
def test_counts_of_the_training_start_at_one(name):
    TrainConfig(**{name: 1})
    with pytest.raises(ValueError, match=f"^{name} is 0; give a number of at least 1"):
        TrainConfig(**{name: 0})


@pytest.mark.parametrize("name", ["save_every", "patience", "dev_rows"])
def test_what_may_be_left_out_is_not_0_either(name):
    assert getattr(TrainConfig(), name) is None
    with pytest.raises(ValueError, match=f"^{name} is 0; .* or leave it out"):
        TrainConfig(**{name: 0})
