"""The studies beside the code: their files load, their text is as they say, their page is up to date."""

import gzip
import importlib.util
import shutil
from pathlib import Path

import pytest

from facetmt.recipe import differences, load_recipe
from facetmt.report.studies.kept import read_summary
from facetmt.report.studies.results import write_results
from facetmt.study.plan import LOCATIONS, load_study

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"
FILES = sorted(STUDIES.glob("*/*study.yaml"))


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("corpora", STUDIES / "corpora.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "STUDIES", tmp_path / "studies")
    return module


def put(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def numbered(name, side, count):
    return [f"{name} {side} {number}" for number in range(count)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_study_loads_and_its_baseline_has_all_seeds(path, tmp_path):
    study = load_study(path, tmp_path)
    seeds = {len(one.seeds) for one in study.systems}
    assert len(study.system(study.baseline).seeds) == max(seeds)


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*/summary.json")), ids=lambda path: path.parent.name)
def test_every_summary_is_of_its_study(path, tmp_path):
    """The figures of the page come from the settings that are beside them."""
    study, kept = load_study(path.parent / "study.yaml", tmp_path), read_summary(path)
    (tmp_path / "kept.yaml").write_text(kept["recipe"], encoding="utf-8")
    assert not differences(load_recipe(tmp_path / "kept.yaml"), study.base, LOCATIONS)
    assert kept["baseline"] == study.baseline
    assert {name: one["overrides"] for name, one in kept["systems"].items()} == {
        one.name: one.described for one in study.systems
    }
    assert {name: tuple(one["seeds"]) for name, one in kept["systems"].items()} == {
        one.name: one.seeds for one in study.systems
    }


def test_noise_is_other_domains_with_their_targets_shifted_by_a_line(corpora, tmp_path):
    text = tmp_path / "text"
    for facet in (*corpora.DOMAINS, *corpora.NOISE):
        for split, count in (("train", 30 if facet == "it" else 4), ("dev", 2), ("test", 600)):
            for side in ("de", "en"):
                name = text / "multidomain_de_en" / facet / f"{split}.{side}.gz"
                put(name, numbered(facet, side, count))
    corpora.main(text, ["noise"])
    corpus = tmp_path / "studies" / "noise" / "corpus"
    german, english = ((corpus / "noise" / f"train.{side}").read_text().splitlines() for side in ("de", "en"))
    assert len(german) == len(english) == 30  # as many as the largest domain has
    assert german[:5] == ["news de 0", "news de 1", "news de 2", "news de 3", "bible de 0"]
    assert english[:5] == ["news en 1", "news en 2", "news en 3", "news en 0", "bible en 1"]
    assert not (corpus / "noise" / "dev.de").exists()
    assert len((corpus / "it" / "test.de").read_text().splitlines()) == corpora.TEST_PAIRS
    assert (corpus / "it" / "train.en").read_text().splitlines() == numbered("it", "en", 30)


def test_translationese_keeps_pairs_and_origins_together(corpora, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "TRAIN_PAIRS", 6)
    monkeypatch.setattr(corpora, "MODEL_LINES", 3)
    text = tmp_path / "text" / "translationese_en_de"
    for origin in ("orig_de", "orig_en"):
        for side in ("en", "de"):
            put(text / f"europarl_{origin}" / f"train.{side}.gz", numbered(origin, side, 9))
            put(text / f"europarl_{origin}" / f"test.{side}.gz", numbered(f"test {origin}", side, 600))
            for year in (2018, 2019, 2020):
                put(
                    text / "newstest" / f"newstest{year}.{origin}.{side}.gz",
                    numbered(f"{year}{origin}", side, 5),
                )
    corpora.main(tmp_path / "text", ["translationese"])
    corpus = tmp_path / "studies" / "translationese" / "corpus"
    english, german, origin = (
        (corpus / f"train.{end}").read_text().splitlines() for end in ("en", "de", "origin")
    )
    assert len(english) == len(german) == len(origin) == 12
    for one, other, label in zip(english, german, origin, strict=True):
        assert one.replace(" en ", " de ") == other
        assert other.startswith(corpora.ORIGINS[label])
    assert (corpus / "europarl.orig_en.de").read_text().splitlines() == numbered("test orig_en", "de", 500)
    assert (corpus / "dev.facet").read_bytes() == (corpus / "dev.origin").read_bytes()
    held_out = (corpus / "models" / "natural.de").read_text().splitlines()
    assert len(held_out) == 3 and not set(held_out) & set(german)


def test_the_page_of_results_is_what_the_summaries_give(tmp_path):
    """`make results` changes nothing."""
    shutil.copy(ROOT / "docs" / "results.md", tmp_path)
    written = write_results(STUDIES, tmp_path / "results")
    for path in written:
        kept = ROOT / "docs" / path.relative_to(tmp_path)
        assert kept.read_bytes() == path.read_bytes(), f"{kept} is out of date: make results"
    assert {path.name for path in written[1:]} == {
        path.name for path in (ROOT / "docs" / "results").iterdir()
    }
