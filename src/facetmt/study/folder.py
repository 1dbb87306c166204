"""The folder of a study, made by the first call and refused to a study of other settings."""

from __future__ import annotations

from pathlib import Path

from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.recipe import differences, dump_recipe, load_recipe
from facetmt.report.studies import folder
from facetmt.study.plan import LOCATIONS, Study

SHOWN = 5  # differences that a refusal lists


def enter(study: Study, out: Path) -> None:
    """Write down what the cells are before any of them starts; systems and seeds may be added later."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: this is a file; give a folder")
    content = [path.name for path in out.iterdir()] if out.exists() else []
    if any(not name.startswith(".") for name in content) and folder.STUDY not in content:
        raise UserError(f"--out {out}: not empty and not the folder of a study; give another")
    recipes = out / folder.RECIPES
    check(study, recipes, out)
    try:
        recipes.mkdir(parents=True, exist_ok=True)
        systems = {one.name: folder.System(one.described, one.seeds) for one in study.systems}
        text = folder.study_json(dump_recipe(study.base), study.baseline, systems)
        write_changed(out / folder.STUDY, text)
        for one in study.systems:
            write_changed(recipes / f"{one.name}.yaml", dump_recipe(one.recipe))
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written ({error.strerror or error})") from error


def check(study: Study, recipes: Path, out: Path) -> None:
    """Refuse a folder whose cells were made from other settings."""
    changed = [
        f"{one.name}: {difference}"
        for one in study.systems
        if (recipes / f"{one.name}.yaml").is_file()
        for difference in differences(load_recipe(recipes / f"{one.name}.yaml"), one.recipe, LOCATIONS)
    ]
    if changed:
        more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise UserError(
            f"{out}: made from other settings ({'; '.join(changed[:SHOWN])}{more}); undo the change, "
            "give the system a new name, or give another --out"
        )


def write_changed(path: Path, text: str) -> None:
    """Many processes may do so at once; most find that there is nothing to write."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_whole(path, text)
