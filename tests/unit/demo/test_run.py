"""What surrounds the trainings of `facetmt demo`: its folder, its recipe and its plot."""

import pytest

from facetmt.demo.run import MARKER, RECIPE, SYSTEMS, bandit_demo, clear
from facetmt.errors import UserError
from facetmt.recipe import load_recipe


def test_a_folder_of_the_demo_is_emptied_and_no_other(tmp_path):
    out = tmp_path / "demo"
    clear(out)
    (out / "old").write_text("of the last demo", encoding="utf-8")
    clear(out)
    assert [path.name for path in out.iterdir()] == [MARKER]
    (tmp_path / "thesis.tex").write_text("dear to somebody", encoding="utf-8")
    with pytest.raises(UserError, match="not made by the demo; choose another --out"):
        clear(tmp_path)
    assert (tmp_path / "thesis.tex").is_file()


def test_the_recipe_of_each_system_is_valid(tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    recipes = {name: load_recipe(tmp_path / "recipe.yaml", settings) for name, settings in SYSTEMS.items()}
    assert {name: recipe.schedule.policy for name, recipe in recipes.items()} == {
        "mixed": "mixed",
        "bandit": "exp3",
    }


def test_the_bandits_demo_prints_shares_and_writes_its_plot(tmp_path, capsys):
    bandit_demo(tmp_path, steps=20, seed=1)
    printed = capsys.readouterr().out
    assert "random labels" in printed and "uniform" in printed
    assert (tmp_path / "bandit.html").is_file()
