"""The study file: what it gives, and the one sentence for each mistake in it."""

import pytest

from facetmt.errors import UserError
from facetmt.report.studies.folder import Cell
from facetmt.study.plan import load_study

RECIPE = "data: {root: text, source: de, target: en}\nprepared: stores\ntrain: {steps: 30}\n"
STUDY = """\
recipe: base/recipe.yaml
seeds: [1, 2, 3]
baseline: take-it-all
systems:
  uniform:
    seeds: [2]
    schedule: {policy: static, tau: .inf}
  take-it-all: {schedule: {policy: mixed}}
  auto:
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "recipe.yaml").write_text(RECIPE, encoding="utf-8")

    def go(text: str):
        path = tmp_path / "study.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return go


@pytest.fixture
def refused(write, tmp_path):
    def go(text: str) -> str:
        with pytest.raises(UserError) as caught:
            load_study(write(text), tmp_path / "out")
        return str(caught.value)

    return go


def test_systems_lay_their_keys_over_the_base_recipe(write, tmp_path):
    study = load_study(write(STUDY), tmp_path / "out")
    uniform, mixed, auto = study.systems
    assert (uniform.recipe.schedule.policy, uniform.recipe.schedule.tau) == ("static", float("inf"))
    assert mixed.recipe.schedule.policy == "mixed" and auto.recipe == study.base
    assert uniform.described == "{schedule: {policy: static, tau: .inf}}" and auto.described == "{}"
    assert study.baseline == "take-it-all" and uniform.recipe.train.steps == 30
    assert study.base.data.root == str(tmp_path / "base" / "text")
    assert study.recipe_of(Cell("auto", 3)).seed == 3


def test_cells_are_run_seed_by_seed_so_that_early_results_cover_all_systems(write, tmp_path):
    cells = [str(cell) for cell in load_study(write(STUDY), tmp_path / "out").cells]
    assert cells == [
        "uniform,2",
        "take-it-all,1",
        "auto,1",
        "take-it-all,2",
        "auto,2",
        "take-it-all,3",
        "auto,3",
    ]


def test_seeds_and_baseline_have_defaults(write, tmp_path):
    study = load_study(write("recipe: base/recipe.yaml\nsystems: {a: {}}\n"), tmp_path / "out")
    assert study.baseline == "a" and study.systems[0].seeds == (study.base.seed,)


def test_text_that_is_prepared_differently_gets_a_folder_of_its_own(write, tmp_path):
    text = STUDY + "  small: {data: {vocab: {size: 500}}}\n  same: {data: {vocab: {size: 500}}, seeds: [1],"
    text += " schedule: {policy: mixed}}\n  named: {data: {dev_pairs: 3}, prepared: elsewhere}\n"
    study = load_study(write(text), tmp_path / "out")
    auto, small, same, named = (study.system(name) for name in ("auto", "small", "same", "named"))
    assert auto.recipe.prepared == str(tmp_path / "base" / "stores")
    assert small.recipe.prepared == same.recipe.prepared
    assert small.recipe.prepared.startswith(str(tmp_path / "out" / "prepared"))
    assert named.recipe.prepared == str(tmp_path / "elsewhere")  # relative to the study file


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds: [1, 2, 3]", "seds: [1]", "line 2: there is no key seds; did you mean seeds?"),
        ("recipe: base", "recipe: bse", "line 1: there is no recipe"),
        ("recipe: base/recipe.yaml\n", "", "the key recipe is missing"),
        ("recipe: base/recipe.yaml", "recipe: 3", "line 1: recipe is not a path"),
        (
            "policy: static",
            "polcy: static",
            "line 7: there is no key schedule.polcy; did you mean schedule.policy?",
        ),
        ("policy: mixed", "policy: mxed", "line 8: schedule.policy"),
        ("tau: .inf", "tau: [x]", "line 7: schedule.tau"),
        ("auto:\n", "uniform:\n", "line 9: the key systems.uniform is written twice"),
        ("auto:\n", "Uniform:\n", "differ in case alone"),
        ("auto:\n", "../auto:\n", "cannot name a system"),
        ("auto:\n", "a/b:\n", "cannot name a system because of the character /"),
        ("auto:\n", "'a,1':\n", "cannot name a system because of the character ,"),
        ("auto:\n", ".hidden:\n", "cannot name a system"),
        ("auto:\n", "7:\n", "cannot name a system because it is not text"),
        ("auto:\n", "auto: 7\n", "line 9: auto is not a table of keys"),
        ("auto:\n", "auto: {seed: 3}\n", "line 9: a system has no seed of its own"),
        (
            "auto:\n",
            "auto: {schedule: {policy: mixed}}\n",
            "line 9: auto is the same as take-it-all; remove one",
        ),
        (
            "auto:\n",
            "auto: {batch: {length: 8}, data: {max_length: 40}}\n",
            "line 9: auto: data.max_length is 40",
        ),
        ("seeds: [2]", "seeds: []", "line 6: seeds is not a list of whole numbers"),
        ("seeds: [2]", "seeds: [true]", "line 6: seeds is not a list of whole numbers"),
        ("seeds: [2]", "seeds: [-1]", "line 6: seeds is not a list of whole numbers"),
        ("seeds: [2]", "seeds: [2, 2]", "line 6: a seed is listed twice"),
        (
            "baseline: take-it-all",
            "baseline: base",
            "line 3: there is no system base; choose the baseline among",
        ),
        (STUDY[STUDY.index("systems:") :], "systems: {}\n", "line 4: systems is not a table of names"),
        (STUDY, "- a\n", "not keys and values, such as `recipe:`"),
        (STUDY, "recipe: [", "not a valid study"),
        (STUDY, "recipe: !!python/object:os.system x\n", "not a valid study"),
    ],
)
def test_a_mistake_is_named_with_its_line(refused, old, new, said):
    assert old in STUDY
    answer = refused(STUDY.replace(old, new, 1))
    assert said in answer and "\n" not in answer


def test_a_missing_study_and_a_broken_base_recipe_are_named(write, tmp_path):
    with pytest.raises(UserError, match="there is no such study"):
        load_study(tmp_path / "none.yaml", tmp_path)
    path = write(STUDY)
    (tmp_path / "base" / "recipe.yaml").write_text("data: {rot: x}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"recipe.yaml, line 1: the key data.root is missing"):
        load_study(path, tmp_path)
