"""Every shipped recipe loads, follows the paper's appendix and tables, and is in docs/recipes.md."""

import math
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml

from facetmt.recipe import HARMLESS, Recipe, dump_recipe, load_recipe
from facetmt.translate.config import EvaluateConfig

ROOT = Path(__file__).parents[2]
RECIPES, DOCS = ROOT / "recipes", ROOT / "docs" / "recipes.md"
TASKS = ("multidomain", "wmt", "wmt14", "ted", "opus100")
PATHS = sorted(path for task in TASKS for path in (RECIPES / task).glob("*.yaml"))
SHARED = {"ted/base", "opus100/base"}  # what several tables' rows extend, no row themselves
REWARDS = ("pg", "pgnorm", "loss", "dev-loss", "dev-pg", "dev-pgnorm")

each = pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")


loaded = cache(load_recipe)


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def header(path: Path) -> str:
    return "".join(line for line in path.read_text("utf-8").splitlines(True) if line.startswith("#"))


@each
def test_it_loads_and_its_resolved_form_reads_back_equal(path, tmp_path):
    recipe = loaded(path)
    again = tmp_path / "recipe.yaml"
    again.write_text(dump_recipe(recipe), encoding="utf-8")
    assert load_recipe(again) == recipe
    assert recipe.batch.length >= recipe.data.max_length
    assert recipe.train.dev_rows == recipe.batch.rows
    assert recipe.batch.rows % 4 == 0


@each
def test_rows_are_small_overlays(path):
    tree = yaml.safe_load(path.read_text("utf-8"))
    if path.stem == "base":
        return
    assert "extends" in tree
    written = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert len(written) <= 9


@each
def test_the_header_says_what_it_is(path):
    text = header(path)
    if name_of(path) not in SHARED:
        assert re.search(r'Table [2-7].*row "|appendix A\.1', text) or "Not in the paper" in text
        run = name_of(path).replace("/", "-")
        assert f"facetmt train recipes/{name_of(path)}.yaml --run runs/{run}" in text
        assert "# Score:" in text
    assert "# Data:" in text
    assert "# Cost:" in text


@each
def test_the_score_in_the_header_is_the_mean_of_its_parts(path):
    found = re.search(r"# Score:\s+Avg ([\d.]+) \| (.*) BLEU", header(path))
    if found is None:
        assert name_of(path).startswith("opus100/") or path.stem.endswith("odm") or path.stem == "base"
        return
    parts = [float(part.split()[1]) for part in found[2].split(", ")]
    assert math.isclose(
        float(found[1]), sum(parts) / len(parts), abs_tol=0.021
    )  # the paper rounds its own way


def schedules(task: str, prefix: str = "") -> dict[str, tuple[str, str | float | None]]:
    """Name -> what the schedule does, of the recipes of a task that begin with a prefix."""
    rows: dict[str, tuple[str, str | float | None]] = {}
    for path in sorted((RECIPES / task).glob(f"{prefix}*.yaml")):
        schedule = loaded(path).schedule
        details = {"static": schedule.tau, "mixed": None, "multidds": schedule.probe_every}
        detail = details.get(schedule.policy, schedule.reward)
        rows[path.stem] = (schedule.policy, detail)
    return rows


STATIC = {"uniform": ("static", math.inf), "upsampled": ("static", 5.0), "proportional": ("static", 1.0)}


def test_every_row_of_the_multi_domain_table_is_there():
    expected = {**STATIC, "inverse": ("static", -1.0), **{name: ("exp3", name) for name in REWARDS}}
    assert schedules("multidomain") == {"base": ("mixed", None), **expected}


def test_every_row_of_the_translationese_table_is_there():
    mixed = dict.fromkeys(("base", "tagged", "cds", "tagged-cds"), ("mixed", None))
    bandits = {name: ("exp3", name) for name in REWARDS}
    assert schedules("wmt") == {**mixed, **bandits, "dev-pgnorm-cds": ("exp3", "dev-pgnorm")}


@pytest.mark.parametrize("subset", ["diverse", "related"])
def test_every_row_of_the_ted_tables_is_there(subset):
    rows = {f"{subset}-{name}": value for name, value in STATIC.items()}
    assert schedules("ted", subset) == {
        subset: ("mixed", None),
        **rows,
        f"{subset}-dev-pgnorm": ("exp3", "dev-pgnorm"),
        f"{subset}-odm": ("odm", "loss"),
        f"{subset}-multidds": ("multidds", 1000),
    }


@pytest.mark.parametrize("setting", ["m2o", "o2m"])
def test_every_row_of_the_opus_table_is_there(setting):
    rows = {f"{setting}-{name}": value for name, value in STATIC.items()}
    expected = {setting: ("mixed", None), **rows, f"{setting}-dev-pgnorm": ("exp3", "dev-pgnorm")}
    assert schedules("opus100", setting) == expected
    assert schedules("opus100", "m2m") == {"m2m": ("mixed", None), "m2m-dev-pgnorm": ("exp3", "dev-pgnorm")}


# Appendix A and section 4: dotted key -> value, by task.
APPENDIX: dict[str, dict[str, Any]] = {
    "multidomain": {
        "model.preset": "base",
        "model.dropout": 0.2,
        "optimiser.schedule": "rsqrt",
        "optimiser.learning_rate": 0.01,
        "optimiser.warmup": 4000,
        "optimiser.label_smoothing": 0.1,
        "batch.sentences": 256,
        "decode.beam": 5,
        "decode.max_length": 256,
        "schedule.learning_rate": 0.1,
        "schedule.exploration": 0.25,
        "data.max_length": 101,
        "data.clean.moses": True,
        "data.vocab.kind": "bpe",
        "data.vocab.size": 32298,
        "data.vocab.balance": "none",
        "evaluate.preprocessed_references": True,
    },
    "wmt": {
        "model.preset": "big-wide",
        "model.dropout": 0.1,
        "optimiser.schedule": "rsqrt",
        "optimiser.learning_rate": 0.01,
        "optimiser.warmup": 10000,
        "optimiser.label_smoothing": 0.1,
        "batch.sentences": 96,
        "decode.beam": 4,
        "decode.max_length": 140,
        "data.dev_pairs": 1000,
        "data.source": "en",
        "data.target": "de",
    },
    "wmt14": {  # Vaswani et al. (2017), section 5: the appendix gives the score alone
        "model.preset": "base",
        "model.dropout": 0.1,
        "optimiser.schedule": "rsqrt",
        "optimiser.learning_rate": 0.0442,
        "optimiser.warmup": 4000,
        "optimiser.label_smoothing": 0.1,
        "train.steps": 100000,
        "decode.beam": 4,
        "decode.length_penalty": 0.6,
        "decode.average": 5,
        "data.vocab.kind": "bpe",
        "data.vocab.size": 37000,
        "data.source": "en",
        "data.target": "de",
    },
    "ted": {
        "model.preset": "base",
        "optimiser.schedule": "rsqrt",
        "optimiser.learning_rate": 0.0625,
        "optimiser.warmup": 4000,
        "batch.sentences": 64,
        "train.steps": 50000,
        "train.validate_every": 2000,
        "decode.beam": 4,
        "data.max_length": 512,
        "data.dev_pairs": 500,
        "data.vocab.size": 32000,
        "data.vocab.balance": "language",
        "data.tags.target_language": True,
    },
    "opus100": {
        "model.preset": "base",
        "optimiser.schedule": "rsqrt",
        "optimiser.learning_rate": 0.0625,
        "optimiser.warmup": 1000,
        "batch.sentences": 256,
        "train.steps": 500000,
        "train.validate_every": 8000,
        "decode.beam": 5,
        "data.dev_pairs": 100,
        "data.vocab.size": 32000,
        "data.vocab.balance": "language",
        "data.tags.target_language": True,
        "schedule.learning_rate": 0.01,
        "schedule.exploration": 0.5,
    },
}
# the paper's rewards for all tasks
COMMON = {
    "schedule.window": 5000,
    "schedule.low": 0.2,
    "schedule.high": 0.8,
    "train.dev_average": "tokens",
    "decode.max_ratio": None,
}


def value_at(recipe: Recipe, key: str) -> Any:
    value: Any = recipe
    for part in key.split("."):
        value = getattr(value, part)
    return value


@each
def test_hyperparameters_are_the_appendix(path):
    recipe = loaded(path)
    expected = {**COMMON, **APPENDIX[path.parent.name]}
    assert {key: value_at(recipe, key) for key in expected} == expected


@each
def test_no_test_line_is_cut_that_training_would_take(path):
    recipe = loaded(path)
    assert recipe.decode.for_training(recipe.data.max_length).max_source == recipe.data.max_length


@pytest.mark.parametrize(
    ("subset", "languages", "rates"),
    [("diverse", "bs mr hi mk el bg fr ko", (0.1, 0.3)), ("related", "az be gl sl tr ru pt cs", (0.01, 0.2))],
)
def test_ted_subsets_have_their_languages_and_rates(subset, languages, rates):
    for path in (RECIPES / "ted").glob(f"{subset}*.yaml"):
        recipe = loaded(path)
        assert recipe.data.languages == tuple(languages.split())
        learnt = recipe.schedule.learning_rate, recipe.schedule.exploration
        assert learnt == ((0.0001, rates[1]) if recipe.schedule.policy == "multidds" else rates)


def test_opus_settings_differ_in_direction_alone():
    directions = {"m2o": "many-to-one", "o2m": "one-to-many", "m2m": "many-to-many"}
    for path in (RECIPES / "opus100").glob("?2?*.yaml"):
        data = loaded(path).data
        assert data.direction == directions[path.stem[:3]]
        assert data.allow_missing_dev
        assert Path(loaded(path).prepared).name == f"opus100-{path.stem[:3]}"


def test_the_check_of_the_implementation_has_the_tokens_of_its_batch():
    batch = loaded(RECIPES / "wmt14" / "base.yaml").batch
    assert batch.sentences is None and batch.rows * batch.length == pytest.approx(25_000, rel=0.01)


def test_subtitles_are_limited_and_the_five_domains_named():
    facets = loaded(RECIPES / "multidomain" / "base.yaml").data.facets
    assert isinstance(facets, dict)
    limits = {name: facet.limit for name, facet in facets.items()}
    assert limits == {"medical": None, "it": None, "law": None, "koran": None, "subtitles": 500_000}


def test_tags_and_selection_are_prepared_apart():
    settings = {}
    for path in (RECIPES / "wmt").glob("*.yaml"):
        recipe = loaded(path)
        key = (recipe.data.tags.facet, recipe.data.keep)
        settings.setdefault(key, set()).add(recipe.prepared)
        assert recipe.data.max_length == (102 if recipe.data.tags.facet else 101)
    assert set(settings) == {(False, None), (True, None), (False, "keep"), (True, "keep")}
    assert all(len(folders) == 1 for folders in settings.values())
    assert len(set.union(*settings.values())) == 4


def test_the_six_test_sets_of_wmt_have_their_facets():
    sets = loaded(RECIPES / "wmt" / "base.yaml").evaluate.sets
    facets = {f"{year}{kind}": facet for year in ("wmt18", "wmt20") for kind, facet in KINDS.items()}
    assert {name: one.facet for name, one in sets.items()} == facets
    assert all(one.source == f"test/{name}.en" for name, one in sets.items())
    assert all(one.target == f"test/{name}.de" for name, one in sets.items())


KINDS = {"": "translationese", "-rev": "natural", "-paraph": "natural"}


SIZES = {"fy-en": 54_342, "ga-en": 289_524, "si-en": 979_109, "de-en": 1_000_000, "ug-en": 72_170}


def test_opus_groups_are_those_of_zhang_et_al():
    evaluate = loaded(RECIPES / "opus100" / "m2o.yaml").evaluate
    assert evaluate.members(SIZES) == {
        "low": ["fy-en", "ug-en"],
        "med": ["ga-en"],
        "high": ["si-en", "de-en"],
    }


def test_many_to_many_is_grouped_by_direction_and_size():
    evaluate = loaded(RECIPES / "opus100" / "m2m.yaml").evaluate
    sizes = {**SIZES, "en-fy": 54_342, "en-de": 1_000_000}
    members = evaluate.members(sizes)
    assert members["o2m"] == ["en-fy", "en-de"]
    assert members["m2o"] == list(SIZES)
    assert members["o2m low"] == ["en-fy"]
    assert members["m2o high"] == ["si-en", "de-en"]
    assert set(members) == {
        f"{way}{size}" for way in ("m2o", "o2m") for size in ("", " low", " med", " high")
    }


def test_groups_take_plain_names_and_patterns():
    config = EvaluateConfig(groups={"formal": ("law", "med[ical]"), "all": ("*",)})
    assert config.members({"law": 1, "it": 2, "med[ical]": 3}) == {
        "formal": ["law", "med[ical]"],
        "all": ["law", "it", "med[ical]"],
    }


@pytest.mark.parametrize("bounds", [(5, 5), (-1, 3), (7, 2)])
def test_size_groups_that_hold_nothing_are_refused(bounds):
    with pytest.raises(ValueError, match=r"size_groups\.low"):
        EvaluateConfig(size_groups={"low": bounds})


def keys(kind: Any, prefix: str = "") -> Iterator[tuple[str, Field[Any]]]:
    """Every leaf key of the schema; NAME stands for a name of the user's."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        hint = hints[field.name]
        nested = [one for one in (hint, *get_args(hint)) if is_dataclass(one)]
        inner = [item for one in get_args(hint) for item in (one, *get_args(one)) if is_dataclass(item)]
        if not nested:
            yield prefix + field.name, field
        for one in nested or inner:
            yield from keys(one, f"{prefix}{field.name}." + ("" if nested and hint is one else "NAME."))


def written(field: Field[Any]) -> str:
    """A default as the page shows it."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "required"
    value = field.default if field.default is not MISSING else field.default_factory()
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value == {} else str(list(value) if isinstance(value, tuple) else value)


def test_the_page_knows_every_key_with_its_default():
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*?) \|", DOCS.read_text("utf-8"), re.MULTILINE))
    documented = {key: value for key, value in rows.items() if not key.endswith(".yaml")}
    schema = {
        key: written(field)
        for key, field in keys(Recipe)
        if not (key == "data.facets.NAME" or key == "evaluate.sets.NAME")
    }
    schema |= {"data.facets": "–", "evaluate.sets": "none"}
    assert documented == schema


def test_the_page_knows_every_recipe_with_its_table():
    page = DOCS.read_text("utf-8")
    for path in PATHS:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name_of(path)}.yaml`"))
        table = re.search(r"Table \d|[Aa]ppendix A\.1", header(path).splitlines()[0])
        assert name_of(path) in SHARED or (table and table[0].lower() in row.lower())
    assert len(re.findall(r"^\| `\w+/[\w-]+\.yaml`", page, re.MULTILINE)) == len(PATHS)


def test_the_page_knows_what_may_change_on_resume():
    section = DOCS.read_text("utf-8").split("## What may change")[1].split("\n## ")[0]
    for key in HARMLESS:
        assert f"`{key}`" in section, key


def test_the_recipes_on_the_page_work(tmp_path):
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    (tmp_path / "base.yaml").write_text(blocks[1], encoding="utf-8")
    for number, block in enumerate(blocks):
        (tmp_path / f"{number}.yaml").write_text(block, encoding="utf-8")
    found = [load_recipe(tmp_path / f"{number}.yaml") for number in range(3)]
    assert found[0].schedule.policy == "auto"
    assert found[1].evaluate.groups == {"formal": ("law", "medical")}
    assert (found[2].schedule.policy, found[2].schedule.tau, found[2].seed) == ("static", math.inf, 7)
