"""The paper's tasks in miniature: every recipe, twenty steps on generated text in the published layouts."""

import csv
import io
import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.report.tables import compare
from facetmt.runlog import Run
from facetmt.train.apply import evaluate_run
from facetmt.train.restore import load_model
from facetmt.train.run import train
from facetmt.translate.pipe import choose_facet

RECIPES = Path(__file__).parents[2] / "recipes"
TINY = [  # the same shapes and constants for every task, so that they share compiled code
    "data.vocab.sample=4000",
    "data.max_length=24",
    "data.dev_pairs=4",
    "batch.rows=4",
    "batch.length=32",
    "batch.sentences=8",
    "model.preset=tiny",
    "model.width=32",
    "model.mlp=64",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.compute=float32",
    "model.dropout=0.1",
    "optimiser.learning_rate=0.01",
    "optimiser.warmup=10",
    "train.steps=20",
    "train.validate_every=20",
    "train.log_every=10",
    "train.dev_rows=2",
    "train.validation_beam=2",
    "decode.beam=2",
    "decode.max_length=12",
    "decode.batch=8",
    "decode.average=1",
]
SYLLABLES = [consonant + vowel for consonant in "bdklmn" for vowel in "aeiou"]
Pair = tuple[str, str]


def words(seed: str) -> list[str]:
    """The vocabulary of a toy language."""
    rng = random.Random(seed)
    return ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 2))) for _ in range(60)]


def sentences(source: str, target: str, count: int, seed: str) -> list[Pair]:
    """Pairs in which the words of one toy language replace those of the other, one by one."""
    rng, left, right = random.Random(seed), words(source), words(target)
    picks = [rng.choices(range(60), k=rng.randint(1, 3)) for _ in range(count)]
    return [(" ".join(left[i] for i in pick), " ".join(right[i] for i in pick)) for pick in picks]


def write_pairs(stem: Path, languages: Pair, pairs: Sequence[Pair], dot: str = ".") -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(languages):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (stem.parent / f"{stem.name}{dot}{language}").write_text(text, encoding="utf-8")


SPLITS = {"train": 60, "dev": 6, "test": 5}


def multidomain(root: Path) -> None:
    """FACET/{train,dev,test}.{de,en}."""
    for facet in ("it", "koran", "law", "medical", "subtitles"):
        for split, count in SPLITS.items():
            write_pairs(root / facet / split, ("de", "en"), sentences("de", "en", count, facet + split))


DIVERSE = ("bs", "mr", "hi", "mk", "el", "bg", "fr", "ko")
RELATED = ("az", "be", "gl", "sl", "tr", "ru", "pt", "cs")
TED_LANGUAGES = ("en", "es", *DIVERSE, "ar", *RELATED)


def ted(root: Path) -> None:
    """all_talks_*.tsv: one column per language, __NULL__ where a talk has no translation."""
    root.mkdir(parents=True)
    for split, count in SPLITS.items():
        rng, rows = random.Random(split), [["talk_name", *TED_LANGUAGES]]
        for number in range(2 * count):
            pick = rng.choices(range(60), k=rng.randint(1, 3))
            texts = [" ".join(words(language)[i] for i in pick) for language in TED_LANGUAGES]
            missing = [rng.random() < 0.3 and language != "en" for language in TED_LANGUAGES]
            cells = ["__NULL__" if lost else text for text, lost in zip(texts, missing, strict=True)]
            rows.append([f"talk_{number}", *cells])
        text = "".join("\t".join(row) + "\n" for row in rows)
        (root / f"all_talks_{split}.tsv").write_text(text, encoding="utf-8")


OPUS_LANGUAGES = ("de", "fy", "ga")  # folders are named in alphabetical order: de-en, but en-fy
OPUS_UNTESTED = "yo"


def opus100(root: Path) -> None:
    """supervised/de-en/opus.de-en-train.de and so on; the release has zero-shot pairs beside them."""
    for number, language in enumerate((*OPUS_LANGUAGES, OPUS_UNTESTED)):
        first, second = sorted(("en", language))
        for split, count in SPLITS.items():
            if split == "train" or language != OPUS_UNTESTED:
                pairs = sentences(
                    first, second, count - 10 * number if split == "train" else count, split + language
                )
                stem = root / "supervised" / f"{first}-{second}" / f"opus.{first}-{second}-{split}"
                write_pairs(stem, (first, second), pairs)
    for split in ("dev", "test"):
        stem = root / "zero-shot" / "de-nl" / f"opus.de-nl-{split}"
        write_pairs(stem, ("de", "nl"), sentences("de", "nl", 5, split))


WMT_SETS = [f"{year}{kind}" for year in ("wmt20", "wmt18") for kind in ("", "-paraph", "-rev")]


def wmt(root: Path) -> None:
    """As written by `data get wmt`, `label` and `filter`: text with sidecars, six test sets."""
    facets = ("natural", "translationese")
    for split, count in (("train", 80), ("dev", 12)):
        write_pairs(root / split, ("en", "de"), sentences("en", "de", count, split))
        labels = "".join(f"{facets[number % 2]}\n" for number in range(count))
        (root / f"{split}.facet").write_text(labels, encoding="utf-8")
    (root / "train.keep").write_text("".join(f"{int(number % 10 < 7)}\n" for number in range(80)))
    for name in WMT_SETS:
        write_pairs(root / "test" / name, ("en", "de"), sentences("en", "de", 4, name))


def wmt14(root: Path) -> None:
    """As written by `data get wmt14`: one facet."""
    for split, count in SPLITS.items():
        write_pairs(root / split, ("en", "de"), sentences("en", "de", count, split))


CORPORA = {"multidomain": multidomain, "ted": ted, "opus100": opus100, "wmt": wmt, "wmt14": wmt14}


def to_english(languages: Sequence[str]) -> list[str]:
    return [f"{language}-en" for language in languages]


def from_english(languages: Sequence[str]) -> list[str]:
    return [f"en-{language}" for language in languages]


CASES: dict[str, list[str]] = {  # recipe -> rows of scores.json
    "multidomain/dev-pgnorm": ["medical", "it", "law", "koran", "subtitles"],
    "ted/diverse-dev-pgnorm": to_english(DIVERSE),
    "ted/related-odm": to_english(RELATED),
    "opus100/m2o-upsampled": to_english(OPUS_LANGUAGES),
    "opus100/o2m": from_english(OPUS_LANGUAGES),
    "opus100/m2m-dev-pgnorm": to_english(OPUS_LANGUAGES) + from_english(OPUS_LANGUAGES),
    "wmt/tagged-cds": WMT_SETS,
    "wmt/dev-pgnorm": WMT_SETS,
    "wmt14/base": ["wmt14"],
}
GROUPS = {  # recipe -> groups of scores.json; every toy language is small
    "opus100/m2o-upsampled": ["low"],
    "opus100/o2m": ["low"],
    "opus100/m2m-dev-pgnorm": ["m2o", "o2m", "m2o low", "o2m low"],
}


TAGS = {"ted/": 1, "opus100/m2o": 1, "opus100/o2m": 4, "opus100/m2m": 5, "wmt/tagged": 2}
IDS = 90  # in every vocabulary, tags included


@pytest.fixture(scope="module")
def compile_once(tmp_path_factory):
    """Cases with the same shape compile it once: such short runs mostly compile."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("compiled")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": 0,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture(scope="module")
def trained(tmp_path_factory, compile_once):
    """Recipe -> run directory, each trained once."""
    root = tmp_path_factory.mktemp("tasks")
    for task, write in CORPORA.items():
        write(root / task)

    @cache
    def run(name: str) -> Path:
        task = name.split("/")[0]
        places = [f"data.root={root / task}", f"prepared={root / 'prepared' / name}"]
        tags = next((count for prefix, count in TAGS.items() if name.startswith(prefix)), 0)
        size = f"data.vocab.size={IDS - tags}"
        directory = root / "runs" / name
        outcome = train(load_recipe(RECIPES / f"{name}.yaml", [*TINY, *places, size]), directory)
        assert outcome.finished
        assert outcome.step == 20
        return directory

    return run


@pytest.fixture(scope="module")
def scores(trained):
    """Recipe -> content of its scores.json, each evaluated once."""

    @cache
    def evaluate(name: str) -> dict[str, Any]:
        evaluate_run(trained(name), [], quiet=True)
        return dict(json.loads((trained(name) / "scores.json").read_text("utf-8")))

    return evaluate


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("wmt/")])
def test_a_recipe_trains_and_every_facet_is_scored(name, scores):
    assert sorted(scores(name)["facets"]) == sorted(CASES[name])
    assert all(0 <= row["bleu"] <= 100 for row in scores(name)["facets"].values())


@pytest.mark.parametrize("name", GROUPS)
def test_languages_are_grouped_by_size(name, scores):
    assert sorted(group for group, row in scores(name)["groups"].items() if row) == sorted(GROUPS[name])


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("wmt/")])
def test_facets_come_from_labels_and_keep_what_was_selected(name, trained):
    directory = trained(name)
    sizes = {
        facet: row["train"] for facet, row in json.loads((directory / "facets.json").read_text()).items()
    }
    whole = {"natural": 40, "translationese": 40}
    assert sizes == ({"natural": 32, "translationese": 24} if name.endswith("cds") else whole)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("wmt/")])
def test_every_further_test_set_is_scored(name, scores):
    assert sorted(scores(name)["facets"]) == sorted(CASES[name])


def test_the_tagged_baseline_is_scored_with_its_own_tags_or_a_forced_one(trained, scores):
    own, directory = scores("wmt/tagged-cds"), trained("wmt/tagged-cds")
    assert own["tag"] is None
    evaluate_run(directory, ["evaluate.tag=natural"], "natural-tag", quiet=True)
    found = Run(directory).outcomes()
    assert list(found) == ["", "natural-tag"] and found[""] == own
    forced = found["natural-tag"]
    assert forced["tag"] == "natural" and set(forced["facets"]) == set(WMT_SETS)
    lines = [list(Run(directory).translations("wmt20", name)) for name in found]
    assert len(lines[0]) == len(lines[1]) == 4
    for name in ("wmt20-rev", "wmt18-paraph"):  # sets of natural text already have that tag
        assert forced["facets"][name] == own["facets"][name]
    with pytest.raises(UserError, match="there is no facet sports"):
        evaluate_run(directory, ["evaluate.tag=sports"], quiet=True)
    codec = load_model(directory).codec
    assert choose_facet(codec, None, None, "natural") in ("natural", "translationese")


SHARED = ("ted/base", "opus100/base")  # extended by the recipes of these tasks; not table rows themselves
OTHERS = sorted(
    name
    for path in RECIPES.glob("*/*.yaml")
    if (name := f"{path.parent.name}/{path.stem}") not in (*CASES, *SHARED)
)


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_recipe_trains_and_is_scored(name, scores):
    found = scores(name)
    assert found["facets"] and all(0 <= row["bleu"] <= 100 for row in found["facets"].values())
    assert found["average"]["bleu"] >= 0


@pytest.mark.parametrize("task", CORPORA)
def test_every_recipe_is_a_row_of_its_tasks_table(task, trained, scores):
    names = [name for name in (*CASES, *OTHERS) if name.startswith(f"{task}/")]
    for name in names:
        scores(name)
    rows = list(csv.DictReader(io.StringIO(compare([trained(name) for name in names], "csv"))))
    for column in ("average", "cost"):
        found = [row["system"] for row in rows if row["column"] == column and "[" not in row["system"]]
        assert sorted(found) == sorted(name.split("/")[1] for name in names)
