import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from facetmt.errors import UserError
from facetmt.recipe import differences, dump_recipe, load_recipe

SMALL = """\
data:
  root: corpus
  source: de
  target: en
schedule:
  policy: exp3
"""


def recipe_file(tmp_path, text=SMALL, name="recipe.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(tmp_path, text, overrides=()):
    with pytest.raises(UserError) as caught:
        load_recipe(recipe_file(tmp_path, text), overrides)
    return str(caught.value)


def test_defaults_fill_what_is_not_written(tmp_path):
    recipe = load_recipe(recipe_file(tmp_path))
    assert recipe.schedule.reward == "dev-pgnorm"
    assert recipe.model.preset == "base"
    assert recipe.seed == 1


def test_folders_are_seen_from_the_recipe(tmp_path):
    recipe = load_recipe(recipe_file(tmp_path))
    assert recipe.data.root == str(tmp_path / "corpus")
    assert recipe.prepared == str(tmp_path / "prepared")


def test_overlays_change_single_keys(tmp_path):
    (tmp_path / "base").mkdir()
    recipe_file(tmp_path / "base", SMALL + "  exploration: 0.5\n")
    overlay = recipe_file(tmp_path, "extends: base/recipe.yaml\nschedule: {policy: static, tau: .inf}\n")
    recipe = load_recipe(overlay)
    assert (recipe.schedule.policy, recipe.schedule.tau, recipe.schedule.exploration) == (
        "static",
        math.inf,
        0.5,
    )
    assert recipe.data.root == str(tmp_path / "base" / "corpus")  # seen from the file that names it


def test_a_circle_of_overlays_is_refused(tmp_path):
    recipe_file(tmp_path, "extends: b.yaml\n", "a.yaml")
    recipe_file(tmp_path, "extends: a.yaml\n", "b.yaml")
    with pytest.raises(UserError, match="extends itself"):
        load_recipe(tmp_path / "a.yaml")


def test_overrides_win(tmp_path):
    recipe = load_recipe(
        recipe_file(tmp_path), ["schedule.tau=inf", "optimiser.learning_rate=1e-3", "train.steps=7"]
    )
    assert (recipe.schedule.tau, recipe.optimiser.learning_rate, recipe.train.steps) == (math.inf, 0.001, 7)


@pytest.mark.parametrize("override", ["train.steps", "=3", "seed.x=1", "train.steps={"])
def test_an_override_that_cannot_be_read_is_named(tmp_path, override):
    assert complaint(tmp_path, SMALL + "seed: 2\n", [override]).startswith(f"--set {override}")


def test_norwegian_is_not_a_boolean(tmp_path):
    recipe = load_recipe(recipe_file(tmp_path, SMALL.replace("target: en", "target: no")))
    assert recipe.data.target == "no"


def test_a_resolved_recipe_reads_back_equal(tmp_path):
    recipe = load_recipe(
        recipe_file(tmp_path, SMALL + "  tau: .inf\nevaluate: {groups: {low: [a, b]}}\ndecode: {beam: 3}\n")
    )
    assert load_recipe(recipe_file(tmp_path, dump_recipe(recipe), "again.yaml")) == recipe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            SMALL + "  polcy: x\n",
            "recipe.yaml, line 7: there is no key schedule.polcy; did you mean schedule.policy?",
        ),
        (SMALL + "scedule: {}\n", "recipe.yaml, line 7: there is no key scedule; did you mean schedule?"),
        (SMALL + "model: {width: wide}\n", "recipe.yaml, line 7: model.width:"),
        (SMALL + "model: {width: 100}\n", "recipe.yaml, line 7: model:"),
        (SMALL.replace("exp3", "exp4"), "recipe.yaml, line 6: schedule.policy:"),
        (SMALL + "  tau: 0\n", "tau must be a number other than 0"),
        ("data: {source: de, target: en}\n", "recipe.yaml, line 1: the key data.root is missing"),
        ("seed: 3\n", "the key data is missing"),
        ("- a\n- b\n", "must hold keys and values"),
        (SMALL + "seed: 1\nseed: 2\n", "recipe.yaml, line 8: the key seed is written twice"),
        (SMALL + "x: !!python/object/apply:os.system [ls]\n", "recipe.yaml, line 7: not a valid recipe"),
        (SMALL + "  bad: [1\n", "not a valid recipe"),
        (
            SMALL.replace("  target: en\n", "  target: en\n  facets:\n    it: {limt: 3}\n"),
            "recipe.yaml, line 6: there is no key data.facets.it.limt; did you mean data.facets.it.limit?",
        ),
    ],
)
def test_bad_recipes_are_refused_with_place_and_remedy(tmp_path, text, expected):
    assert expected in complaint(tmp_path, text)


def test_a_missing_recipe_is_named(tmp_path):
    with pytest.raises(UserError, match=r"there is no recipe .*nothing\.yaml"):
        load_recipe(tmp_path / "nothing.yaml")


def test_only_harmless_keys_may_change(tmp_path):
    old = load_recipe(recipe_file(tmp_path))
    harmless = ["train.steps=5", "decode.beam=1", "data.root=elsewhere", "train.log_every=3"]
    assert differences(old, load_recipe(recipe_file(tmp_path), harmless)) == []
    changed = load_recipe(recipe_file(tmp_path), ["schedule.exploration=0.5", "seed=2"])
    assert differences(old, changed) == ["seed: 1 -> 2", "schedule.exploration: 0.25 -> 0.5"]


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["data", "model", "train", "seed", "extends", "x"]), trees))
def test_any_yaml_is_a_recipe_or_a_users_mistake(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("fuzz") / "recipe.yaml"
    path.write_text(yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    with pytest.raises(UserError):
        load_recipe(path)
