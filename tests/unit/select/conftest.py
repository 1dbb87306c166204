"""A small model of both directions of the two small facets that was never trained."""

import pytest

from facetmt.data.config import BatchConfig, DataConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.model import transformer
from facetmt.model.config import ModelConfig
from facetmt.train.restore import TrainedModel

CONFIG = ModelConfig(preset="tiny", width=8, mlp=8, heads=1, encoder_layers=1, decoder_layers=1)


class Recipe:
    """The part of a recipe that scoring reads."""

    batch = BatchConfig(rows=4, length=40)

    def __init__(self, data):
        self.data = data


@pytest.fixture
def codec(corpus, tmp_path):
    data = DataConfig(
        root=str(tmp_path / "corpus"),
        pivot="en",
        direction="many-to-many",
        max_length=40,
        vocab=VocabConfig("bpe", 120, coverage=1.0),
    )
    return data, prepare(data, tmp_path, tmp_path / "prepared").codec


@pytest.fixture
def untrained(codec):
    """Makes such models."""
    return lambda seed: transformer.create(CONFIG, codec[1].vocabulary.target_size, None, seed=seed)


@pytest.fixture
def model(codec, untrained):
    data, made = codec
    return TrainedModel(
        Recipe(data), made, *untrained(seed=1), (0,), None, trained_steps=0, fingerprint={}, notes=()
    )
