"""Invalid recipes and facets are refused on loading, with the place, the reason and the fix."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data.config import DataConfig, FacetConfig
from facetmt.data.discover import discover
from facetmt.errors import UserError
from facetmt.recipe import load_recipe

SMALL = """\
data:
  root: corpus
  source: de
  target: en
schedule:
  policy: exp3
"""


def complaint(path, text, overrides=()) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_recipe(path, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  polcy: x", "line 7: there is no key schedule.polcy; did you mean schedule.policy?"),
        ("scedule: {}", "line 7: there is no key scedule; did you mean schedule?"),
        ("zzz: {}", "line 7: there is no key zzz; see docs/recipes.md for the keys"),
        ("model: {width: wide}", "line 7: model.width: Input should be a valid integer"),
        ("model: {width: 100}", "line 7: model:"),
        ("train: [1]", "line 7: train:"),
        ("  exploration: 2", "line 7: schedule.exploration: exploration must lie between 0 and 1"),
        ("  tau: 0", "line 7: schedule.tau: tau must be a number other than 0; write .inf for uniform"),
        ("seed: 1\nseed: 2", "line 8: the key seed is written twice; keep one"),
        ("  bad: [1", "not a valid recipe"),
    ],
)
def test_row_26_a_bad_key_is_named_with_its_line_and_the_nearest_valid_one(tmp_path, line, expected):
    said = complaint(tmp_path / "recipe.yaml", f"{SMALL}{line}\n")
    assert f"{tmp_path / 'recipe.yaml'}, " in said and expected in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            SMALL.replace("exp3", "exp4"),
            "line 6: schedule.policy: policy is 'exp4', which does not exist; did you mean exp3",
        ),
        ("data: {source: de, target: en}\n", "line 1: the key data.root is missing; add it"),
        ("seed: 3\n", "the key data is missing; add it"),
        ("- a\n- b\n", "not keys and values"),
        (
            SMALL.replace("  target: en\n", "  target: en\n  facets:\n    it: {limt: 3}\n"),
            "line 6: there is no key data.facets.it.limt; did you mean data.facets.it.limit?",
        ),
        ("x: " + "[" * 5000, "nested too deeply"),
    ],
)
def test_row_26_what_is_missing_or_of_the_wrong_kind_is_named(tmp_path, text, expected):
    said = complaint(tmp_path / "recipe.yaml", text)
    assert expected in said and str(tmp_path / "recipe.yaml") in said


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch {0}']",
        "!!python/object/new:os.system ['touch {0}']",
        "!!python/object:subprocess.Popen {{args: [touch, '{0}']}}",
        "!!python/name:os.system",
        "!!python/module:os",
    ],
)
def test_row_26_a_recipe_runs_no_code(tmp_path, value, refusal):
    trace = tmp_path / "trace"
    path = tmp_path / "recipe.yaml"
    said = complaint(path, f"{SMALL}seed: {value.format(trace)}\n")
    assert f"{path}, line 7: not a valid recipe" in said and "fix the YAML there" in said
    path.write_text(SMALL, encoding="utf-8")
    assert "the value is not valid YAML" in refusal("prepare", path, "--set", f"seed={value.format(trace)}")
    assert not trace.exists()


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.integers() | st.none(), inner, max_size=3)
    ),
)
SECTIONS = ["data", "model", "train", "schedule", "batch", "seed", "prepared", "extends", "x", 1, None]


@given(st.dictionaries(st.sampled_from(SECTIONS), trees))
def test_row_26_any_yaml_is_a_recipe_or_a_user_error(tmp_path_factory, tree):
    complaint(tmp_path_factory.mktemp("fuzz") / "recipe.yaml", yaml.safe_dump(tree, allow_unicode=True))


@given(st.dictionaries(st.sampled_from(SECTIONS[1:7]), trees, min_size=1))
def test_row_26_a_good_corpus_does_not_hide_a_bad_section(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("fuzz") / "recipe.yaml"
    path.write_text(SMALL.split("schedule")[0] + yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    try:
        load_recipe(path)
    except UserError as error:
        assert str(path) in str(error)


@given(st.text(st.sampled_from("a:-[]{}!&*?|>'\"#%@`, \n\t0~<="), max_size=60))
def test_row_26_any_text_is_a_recipe_or_a_user_error(tmp_path_factory, text):
    assert complaint(tmp_path_factory.mktemp("fuzz") / "recipe.yaml", text)


def config(**more) -> DataConfig:
    return DataConfig(root="corpus", source="de", target="en", **more)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a\\b", ".hidden", " a", "a\n", "a,b", "x" * 101])
def test_row_25_a_name_that_is_not_safe_is_refused(corpus, tmp_path, name):
    with pytest.raises(UserError) as caught:
        discover(config(facets=(name,)), tmp_path)
    assert f"{name!r} cannot name a facet" in str(caught.value) and "rename it" in str(caught.value)


def test_row_25_the_command_says_it_in_one_sentence(corpus, tmp_path, refusal):
    path = tmp_path / "recipe.yaml"
    path.write_text("data: {root: corpus, source: de, target: en, facets: [../x]}\n", encoding="utf-8")
    assert "'../x' cannot name a facet" in refusal("prepare", path)
    assert not (tmp_path.parent / "x").exists()


def test_row_25_duplicates_and_case_clashes_are_refused(corpus, tmp_path):
    with pytest.raises(UserError, match="the facet it is listed twice; remove one"):
        discover(config(facets=("it", "it")), tmp_path)
    with pytest.raises(
        UserError, match="it and IT differ in case alone, which some file systems ignore; rename"
    ):
        discover(config(facets=("it", "IT")), tmp_path)
    files = FacetConfig(train=("it/train.de", "it/train.en"), dev=("it/dev.de", "it/dev.en"))
    with pytest.raises(UserError, match="the facets a and b read the same files; remove one of them"):
        discover(config(facets={"a": files, "b": files}), tmp_path)


def test_row_25_one_sentence_is_enough_for_a_facet(corpus, prepare_corpus):
    corpus("tiny", "train", 1)
    corpus("tiny", "dev", 1)
    prepared = prepare_corpus()
    assert len(prepared.stores("train")[2]) == 1
    assert [len(chosen) for chosen in prepared.dev.chosen] == [7, 6, 1]


def test_row_25_empty_facets_and_those_without_dev_are_refused(corpus, prepare_corpus, tmp_path, write_lines):
    tiny = tmp_path / "corpus" / "tiny"
    corpus("tiny", "train", 0)
    corpus("tiny", "dev", 1)
    out = "leave the facet out of data.facets"
    with pytest.raises(UserError, match=rf"facet tiny is empty: {tiny}/train\.de has no pairs.*{out}"):
        prepare_corpus()
    corpus("tiny", "train", 2)
    for language in ("de", "en"):
        write_lines(tiny / f"dev.{language}", ["", " "])
    with pytest.raises(UserError, match=f"facet tiny has no usable dev pair: 2 read, 2 blank; .*{out}"):
        prepare_corpus()
    for language in ("de", "en"):
        (tiny / f"dev.{language}").unlink()
    with pytest.raises(UserError, match=rf"facet tiny has no dev text beside {tiny}/train\.de; add it"):
        prepare_corpus()
    prepared = prepare_corpus(allow_missing_dev=True)
    assert [len(chosen) for chosen in prepared.dev.chosen] == [7, 6, 0]
