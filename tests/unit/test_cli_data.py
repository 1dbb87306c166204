"""`prepare` and `data`, in this process."""

import pytest
from typer.testing import CliRunner

from facetmt.cli import app
from facetmt.errors import UserError
from facetmt.fetch import get as fetching

RECIPE = """\
data: {root: corpus, source: de, target: en, dev_pairs: 7, vocab: {kind: bpe, size: 120, coverage: 1.0}}
"""


@pytest.fixture
def recipe(corpus, tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    return tmp_path / "recipe.yaml"


def said(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_corpus_is_prepared_described_and_verified(recipe, tmp_path):
    with pytest.raises(UserError, match="no prepared corpus; run prepare first"):
        said("data", "verify", recipe)
    assert "2 facets, 1 language pairs, 80 training pairs" in said("prepare", recipe)
    assert (tmp_path / "prepared" / "prepared.json").is_file()
    assert "80 training pairs" in said("data", "stats", recipe)
    assert said("data", "verify", recipe) == "2 facets, 0.0 MB: all as they were written\n"


def test_other_settings_replace_what_is_prepared_only_when_asked(recipe):
    said("prepare", recipe)
    with pytest.raises(UserError, match=r"data\.limit: not set -> 10\)"):
        said("prepare", recipe, "--set", "data.limit=10")
    assert "20 training pairs" in said("prepare", recipe, "--overwrite", "--set", "data.limit=10")


def test_contradictions_are_found_before_anything_is_written(recipe, tmp_path):
    with pytest.raises(UserError, match=r"data\.max_length is 99"):
        said("prepare", recipe, "--set", "data.max_length=99", "--set", "batch.length=64")
    assert not (tmp_path / "prepared").exists()


def test_the_hash_of_every_file_that_was_fetched_is_printed(monkeypatch, tmp_path):
    asked = []

    def get(task, out, tell):
        asked.append((task, out))
        return {"a.gz": "0" * 64, "b.gz": "1" * 64}

    monkeypatch.setattr(fetching, "get", get)
    out = said("data", "get", "wmt", tmp_path / "wmt")
    assert asked == [("wmt", tmp_path / "wmt")]
    assert out.splitlines()[-2:] == [f"a.gz  sha256 {'0' * 64}", f"b.gz  sha256 {'1' * 64}"]


def test_an_unknown_task_is_refused_before_anything_is_fetched(tmp_path):
    with pytest.raises(UserError, match="there is no task sports; choose one of multidomain"):
        said("data", "get", "sports", tmp_path / "sports")
    assert not (tmp_path / "sports").exists()
