"""Two tiny language models: their text, and the folder that they are kept in."""

from dataclasses import replace

import pytest

from facetmt.data.config import BatchConfig, VocabConfig
from facetmt.errors import UserError
from facetmt.model.config import ModelConfig
from facetmt.select.language_models import LabelConfig, data_config, load_models, train_models
from facetmt.train import checkpoint

CONFIG = LabelConfig(
    steps=3,
    vocab=VocabConfig("bpe", 60, coverage=1.0, exact=False),
    model=ModelConfig(preset="tiny", width=8, mlp=8, heads=1, decoder_layers=1),
    batch=BatchConfig(rows=2, length=32),
)


@pytest.fixture
def texts(tmp_path, write_lines, sentences):
    german, english = sentences(30)
    return write_lines(tmp_path / "natural", german), write_lines(tmp_path / "translated", english)


def test_each_class_reads_its_own_text_on_both_sides(texts):
    data = data_config(texts, CONFIG)
    assert {name: one.train for name, one in data.facets.items()} == {
        "natural": (str(texts[0]),) * 2,
        "translationese": (str(texts[1]),) * 2,
    }
    assert data.max_length == 32


def test_trained_models_are_used_and_never_mixed_with_others(texts, tmp_path, monkeypatch):
    told, trained = [], []

    class Training:
        def __init__(self, prepared, directory, config):
            pass

        def run(self, index, tell, check):
            trained.append(index)

    monkeypatch.setattr("facetmt.select.language_models.Training", Training)
    for _ in range(2):
        train_models(texts, tmp_path / "models", CONFIG, told.append)
    assert trained == [0, 1] and "are already trained, with these texts and settings" in told[-1]
    with pytest.raises(UserError, match=r"other settings \(other texts\); delete it"):
        train_models(texts[::-1], tmp_path / "models", CONFIG, told.append)


def test_a_model_that_cannot_be_saved_names_the_way_on(texts, tmp_path, monkeypatch):
    def full(*given):
        raise OSError("no room")

    monkeypatch.setattr(checkpoint, "begin", full)
    with pytest.raises(UserError, match=r"\(no room\).* make room .*, then run the same command again$"):
        train_models(texts, tmp_path / "models", replace(CONFIG, steps=0), lambda line: None)


def test_a_folder_without_models_is_named(tmp_path):
    with pytest.raises(UserError, match="no language models there; train them with --natural"):
        load_models(tmp_path)
