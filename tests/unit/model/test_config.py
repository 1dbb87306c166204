"""Presets, overrides and refusals of the model configuration."""

import subprocess
import sys

import pytest

from facetmt.model.config import PRESETS, ModelConfig, Shape


def test_a_preset_is_its_shape():
    assert ModelConfig(preset="base").shape == Shape(512, 2048, 8, 6, 6)
    assert ModelConfig(preset="big").shape == Shape(1024, 4096, 16, 6, 6)
    assert ModelConfig(preset="big-wide").shape == Shape(1024, 8192, 16, 6, 6)
    assert ModelConfig(preset="small").shape == Shape(256, 1024, 4, 3, 3)


def test_overrides_replace_only_what_they_name():
    shape = ModelConfig(preset="small", mlp=512, decoder_layers=1).shape
    assert shape == Shape(256, 512, 4, 3, 1)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"preset": "huge"}, "tiny, small"),
        ({"width": 100, "heads": 8}, "multiple"),
        ({"dropout": 1.0}, "dropout"),
        ({"attention_dropout": -0.1}, "attention_dropout"),
        ({"encoder_layers": 0}, "encoder_layers"),
        ({"compute": "float16"}, "bfloat16"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(settings, word):
    with pytest.raises(ValueError, match=word):
        ModelConfig(**settings)


def test_every_preset_is_valid():
    assert [ModelConfig(preset=name).shape.width for name in PRESETS] == [128, 256, 512, 1024, 1024]


def test_the_configuration_needs_no_jax():
    code = "import sys, facetmt.model.config, facetmt.train.config; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_attention_weights_are_dropped_as_the_rest_unless_told_otherwise():
    assert ModelConfig(dropout=0.3).dropout_of_weights == 0.3
    assert ModelConfig(dropout=0.3, attention_dropout=0.0).dropout_of_weights == 0.0
