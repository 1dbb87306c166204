import math

import pytest

from facetmt.errors import UserError
from facetmt.recipe import SCORING, differences, dump_recipe, load_recipe

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


def test_a_missing_recipe_is_named(tmp_path):
    with pytest.raises(UserError, match=r"there is no recipe .*nothing\.yaml"):
        load_recipe(tmp_path / "nothing.yaml")


def test_only_harmless_keys_may_change(tmp_path):
    old = load_recipe(recipe_file(tmp_path))
    harmless = [
        "train.steps=5",
        "decode.beam=1",
        "data.root=elsewhere",
        "train.log_every=3",
        "evaluate.tag=it",
    ]
    assert differences(old, load_recipe(recipe_file(tmp_path), harmless)) == []
    changed = load_recipe(recipe_file(tmp_path), ["schedule.exploration=0.5", "seed=2"])
    assert differences(old, changed) == ["seed: 1 -> 2", "schedule.exploration: 0.25 -> 0.5"]


@pytest.mark.parametrize(
    "override",
    [
        "decode.length_penalty=1",
        "decode.exact=true",
        "decode.max_length=9",
        "decode.max_ratio=7",
        "evaluate.preprocessed_references=true",
        "evaluate.tokenisers.en=char",
    ],
)
def test_what_changes_dev_bleu_may_change_when_scoring_but_not_on_resume(tmp_path, override):
    old, new = (load_recipe(recipe_file(tmp_path), given) for given in ([], [override]))
    assert override.split("=")[0] in [line.split(":")[0] for line in differences(old, new)]
    assert differences(old, new, SCORING) == []


def test_aliases_that_spell_out_any_number_of_keys_are_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "repeats itself without end" in complaint(tmp_path, "\n".join(lines))
    assert "repeats itself without end" in complaint(tmp_path, "data: &self {root: *self}")
