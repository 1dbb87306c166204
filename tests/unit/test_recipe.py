import math

import pytest
import yaml

from facetmt.errors import UserError
from facetmt.recipe import SCORING, _Loader, check_settings, differences, dump_recipe, load_recipe, read_value

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


def test_folders_are_relative_to_the_recipe(tmp_path):
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
    assert recipe.data.root == str(tmp_path / "base" / "corpus")  # relative to the file that names it


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
    with pytest.raises(UserError, match=r"nothing\.yaml: there is no such recipe"):
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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("no", "no"),
        ("1e-3", 0.001),
        ("true", True),
        ("[a, no]", ["a", "no"]),
        (".inf", math.inf),
    ],
)
def test_values_are_read_alike_everywhere(tmp_path, text, value):
    path = recipe_file(tmp_path, f"data: {{root: {text}}}")
    assert read_value(text, "--grid") == value
    assert yaml.load(path.read_text("utf-8"), Loader=_Loader)["data"]["root"] == value  # noqa: S506


def test_a_missing_space_after_a_colon_is_named():
    with pytest.raises(UserError, match=r"--set x: medical:1 has no value; .* \{medical: 1\}"):
        read_value("{medical:1}", "--set x")
    assert read_value("{a: 1, b: null}", "--set x") == {"a": 1, "b": None}


def test_values_reach_the_recipe_as_they_are(tmp_path):
    path = recipe_file(tmp_path, SMALL + "train: {patience: 3}\n")
    recipe = load_recipe(path, ["data.target=fr"], {"train.patience": None, "data.target": "no"})
    assert (recipe.train.patience, recipe.data.target) == (None, "no")


def test_the_longest_pair_follows_the_rows_where_it_is_not_given(tmp_path):
    def length(text, *overrides):
        return load_recipe(recipe_file(tmp_path, SMALL + text), overrides).data.max_length

    assert length("") == length("batch: {length: 512}\n") == 128
    assert length("batch: {length: 64}\n") == 64
    assert length("batch: {length: 64, target_length: 48}\n") == 48
    assert length("", "batch.length=32") == 32
    assert length("", "batch.length=64", "data.max_length=50") == 50


def test_rows_that_are_too_short_for_the_longest_pair_are_refused(tmp_path):
    both = ["batch.length=64", "data.max_length=100"]
    with pytest.raises(
        UserError, match=r"data\.max_length is 100, but a row .* batch\.length = 64 tokens; lower"
    ):
        check_settings(load_recipe(recipe_file(tmp_path), both))
    with pytest.raises(UserError, match=r"batch\.target_length = 70 tokens"):
        check_settings(
            load_recipe(recipe_file(tmp_path), [*both, "batch.length=128", "batch.target_length=70"])
        )
    check_settings(load_recipe(recipe_file(tmp_path), ["batch.length=64"]))


def test_steps_without_a_learning_rate_are_refused(tmp_path):
    falling = ["optimiser.schedule=linear", "optimiser.warmup=10", "optimiser.decay_until=100"]
    check_settings(load_recipe(recipe_file(tmp_path), [*falling, "train.steps=100"]))
    with pytest.raises(
        UserError, match=r"train\.steps is 101, .* is 0 after optimiser\.decay_until = 100; raise"
    ):
        check_settings(load_recipe(recipe_file(tmp_path), [*falling, "train.steps=101"]))


def test_a_run_of_an_earlier_version_can_be_resumed_with_the_recipe_that_it_had(tmp_path):
    """max_length was 128 wherever it was not given; with shorter rows and pairs that was no fault."""
    path = recipe_file(tmp_path, SMALL + "batch: {length: 64}\n")
    old = load_recipe(path, ["data.max_length=128", "data.vocab.balance=true"])
    assert differences(old, load_recipe(path)) == []
    assert differences(old, load_recipe(path, ["data.max_length=40"])) == ["data.max_length: 64 -> 40"]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            ["seed=2", "schedule.exploration=2"],
            "--set schedule.exploration=2: schedule.exploration: exploration must",
        ),
        (
            ["schedule.tau=0", "schedule.low=0.1"],
            "--set schedule.tau=0: schedule.tau: tau",
        ),
        (["data.limit=0"], "--set data.limit=0: data.limit: limit"),
        (["train.stepz=2"], "--set train.stepz=2: there is no key train.stepz; did you mean train.steps?"),
        (["train.steps=many"], "--set train.steps=many: train.steps: Input should be"),
        (["train=3"], "--set train=3: train:"),
    ],
)
def test_a_fault_of_the_command_line_is_named_there(tmp_path, overrides, said):
    assert complaint(tmp_path, SMALL + "train: {steps: 9}\n", overrides).startswith(said)


def test_a_fault_of_the_file_is_not_blamed_on_the_command_line(tmp_path):
    said = complaint(tmp_path, SMALL + "  exploration: 2\n", ["schedule.low=0.1"])
    assert said.startswith(f"{tmp_path / 'recipe.yaml'}, line 7: schedule.exploration: exploration must")


def test_a_folder_is_no_recipe(tmp_path):
    recipe_file(tmp_path)
    with pytest.raises(
        UserError, match=r"is a folder, not a recipe; give a YAML file, such as .*/recipe\.yaml"
    ):
        load_recipe(tmp_path)
