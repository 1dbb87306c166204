"""The corpus of a recipe, prepared and described."""

import pytest

from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.train.corpus import check_recipe, prepare, print_corpus

RECIPE = """\
data: {root: corpus, source: de, target: en, dev_pairs: 7, vocab: {kind: bpe, size: 120, coverage: 1.0}}
evaluate: {groups: {formal: [law]}}
"""


@pytest.fixture
def recipe(corpus, tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    return tmp_path / "recipe.yaml"


def test_it_is_prepared_where_the_recipe_says_and_described(recipe, tmp_path, write_lines, capsys):
    folder = tmp_path / "corpus" / "it"
    for language in ("de", "en"):
        lines = (folder / f"train.{language}").read_text("utf-8").splitlines()
        write_lines(folder / f"train.{language}", [*lines, ""])
    prepared = prepare(load_recipe(recipe))
    assert prepared.directory == tmp_path / "prepared"
    print_corpus(prepared)
    said = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if "│" in line]
    assert [row[:3] for row in rows] == [["it", "de-en", "60"], ["law", "de-en", "20"]]
    assert "dropped from it, train: 1 blank" in said
    assert "2 facets, 1 language pairs, 80 training pairs, entropy of the facet sizes 81.1 %" in said


def test_contradictions_are_found_before_the_text_is_read(recipe):
    check_recipe(load_recipe(recipe))  # facets that are still to be found may have any name
    with pytest.raises(UserError, match=r"evaluate\.groups\.formal: law is not a facet"):
        check_recipe(load_recipe(recipe, ["data.facets=[it]"]))
    with pytest.raises(UserError, match=r"data\.max_length is 99, .* or raise batch\.length"):
        check_recipe(load_recipe(recipe, ["data.max_length=99", "batch.length=64"]))
