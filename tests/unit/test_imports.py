"""The import rules of the house: who may know whom. Read from the source, not from what happens to run."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from facetmt.recipe import _Loader

ROOT = Path(__file__).parents[2] / "src" / "facetmt"
RUN = Path(__file__).parents[1] / "reliability" / "data" / "run-0.1.0.zip"

# part -> the parts of facetmt that it may import; a part is a package, or a module of the top level
ALLOWED: dict[str, set[str]] = {
    "bandit": set(),
    "data": {"errors", "files", "permutation"},
    "model": {"errors"},
    "runlog": {"errors", "files"},
    "errors": set(),
    "permutation": set(),
    "files": {"errors"},
    "compiled": {"files"},
    "fetch": {"errors", "files", "data"},
    "recipe_errors": {"errors"},
    "recipe": {
        "errors",
        "recipe_errors",
        "bandit.config",
        "data.config",
        "model.config",
        "train.config",
        "translate.config",
    },
    # what prints: the verbs, and the two parts whose work takes hours
    "console": set(),
    "train": {
        "errors",
        "files",
        "permutation",
        "console",
        "bandit",
        "data",
        "model",
        "runlog",
        "recipe",
        "translate",
    },
    "translate": {"errors", "files", "data", "model"},
    "select": {"errors", "files", "permutation", "console", "data", "model", "train", "translate"},
    "study": {"errors", "files", "console", "recipe_errors", "recipe", "data", "runlog", "train", "report"},
    "adapters": {"errors", "files", "permutation", "bandit", "runlog"},
    "report": {"errors", "files", "runlog", "recipe", "bandit", "translate.evaluate"},
    "export": {"errors", "files", "console", "data", "model", "train", "translate"},
    "demo": {"errors", "bandit", "runlog", "recipe", "train", "report"},
    "cli": {"*"},
    "cli_data": {"*"},
    "cli_runs": {"*"},
    "cli_study": {"*"},
    "__main__": {"cli"},
    "__init__": set(),
}
NO_JAX = [
    "adapters",
    "bandit",
    "data",
    "fetch",
    "runlog",
    "errors",
    "files",
    "recipe",
    "console",
    "compiled",
    "report",
    "study",
    "demo",
    "cli",
    "model/config.py",
    "train/config.py",
    "train/corpus.py",
    "train/interrupt.py",
    "train/display.py",
    "train/trials.py",
    "train/best.py",
    "train/standard_input.py",
    "translate/config.py",
    "translate/pipe.py",
    "translate/text.py",
    "export/engine.py",
    "export/folder.py",
    "export/serve.py",
    "translate/evaluate.py",
    "translate/testsets.py",
]
FILES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def module_imports(path: Path) -> set[str]:
    """Every module that the file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_part_imports_only_what_it_may(path):
    part = part_of(path)
    allowed = ALLOWED[part] | {part}
    if "*" in allowed:
        return
    known = {name.removeprefix("facetmt.") for name in module_imports(path) if name.startswith("facetmt.")}
    modules = {name for name in known if (ROOT / name.replace(".", "/")).exists() or is_module(name)}
    for name in modules - {"__version__"}:
        assert any(name == a or name.startswith(f"{a}.") or a.startswith(f"{name}.") for a in allowed), (
            f"{part} must not import facetmt.{name}"
        )


def is_module(name: str) -> bool:
    return (ROOT / f"{name.replace('.', '/')}.py").exists()


def test_nothing_imports_the_command_line():
    for path in FILES:
        if part_of(path) not in ("cli", "__main__"):
            assert "facetmt.cli" not in module_imports(path), path


@pytest.mark.parametrize("place", NO_JAX)
def test_parts_that_stay_light_never_import_jax(place):
    files = [path for path in FILES if path.relative_to(ROOT).as_posix().startswith(place)]
    for path in files:
        heavy = {name.split(".")[0] for name in module_imports(path)} & {"jax", "flax", "optax", "orbax"}
        assert not heavy, f"{path.relative_to(ROOT)} imports {heavy}"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; base = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - base))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_bandit_loads_numpy_and_nothing_else():
    third_party = (
        loaded_by("import facetmt.bandit") - set(sys.stdlib_module_names) - loaded_by("import numpy")
    )
    assert third_party == {"facetmt"}


# a library of other people's training loops -> the files that may import it, anywhere in them
FOREIGN = {
    "torch": {"torch.py", "trainer.py"},
    "transformers": {"trainer.py"},
    "accelerate": {"trainer.py"},
    "datasets": {"streaming.py"},
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_foreign_libraries_stay_in_their_own_file(path):
    for library in {name.split(".")[0] for name in module_imports(path)} & set(FOREIGN):
        assert part_of(path) == "adapters" and path.name in FOREIGN[library], library


@pytest.mark.parametrize("module", ["batches", "log"])
def test_the_core_of_the_adapters_loads_numpy_and_nothing_else(module):
    loaded = loaded_by(f"import facetmt.adapters.{module}") - set(sys.stdlib_module_names)
    assert loaded - loaded_by("import numpy") == {"facetmt"}


LIGHT = {  # verbs that need no model, by the arguments of a call on a small run of six steps
    "compare": ["compare", "run"],
    "report": ["report", "run", "--out", "page.html"],
    "card": ["card", "run"],
    "replay": ["replay", "run", "--set", "exploration=0.5"],
    "prepare": ["prepare", "recipe.yaml"],
    "data stats": ["data", "stats", "recipe.yaml"],
    "data verify": ["data", "verify", "recipe.yaml"],
    "study --cells": ["study", "study.yaml", "--cells"],
}
HEAVY = {"jax", "flax", "optax", "orbax"}
CALL = """
import sys
from facetmt.cli import main
sys.argv = ["facetmt", *sys.argv[1:]]
try:
    main()
except SystemExit as left:
    assert not left.code, left.code
print("loaded:", *{name.split(".")[0] for name in sys.modules})
"""


@pytest.mark.parametrize("verb", LIGHT)
def test_verbs_that_need_no_model_load_no_jax(verb, tmp_path):
    with zipfile.ZipFile(RUN) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "study.yaml").write_text("recipe: recipe.yaml\nsystems: {a: {}}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CALL, *LIGHT[verb]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())
    assert "facetmt" in loaded and not loaded & HEAVY


def test_help_loads_nothing_heavy():
    heavy = {"jax", "flax", "numpy", "plotly", "pydantic", "sentencepiece", "sacrebleu"}
    assert not heavy & loaded_by("import facetmt.cli")


def test_reading_a_recipe_loads_neither_subwords_nor_jax():
    heavy = {"jax", "flax", "sentencepiece", "sacremoses", "sacrebleu", "plotly"}
    assert not heavy & loaded_by("import facetmt.recipe")


def renames(tree: ast.AST) -> list[str]:
    """Calls that rename, lock or hash a file, by line; `text.replace(old, new)` renames nothing."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            renamed = node.func.attr == "rename" or (node.func.attr == "replace" and len(node.args) == 1)
            if renamed or dotted(node.func) in (
                "os.replace",
                "shutil.move",
                "hashlib.file_digest",
                "fcntl.flock",
            ):
                found.append(f"{dotted(node.func)}, line {node.lineno}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_one_module_renames_locks_and_hashes_files(path):
    assert path.name == "files.py" or renames(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "code", ["os.replace(a, b)", "path.rename(b)", "path.replace(b)", "fcntl.flock(f, 1)"]
)
def test_the_search_for_renames_finds_them(code):
    assert renames(ast.parse(code)) and not renames(ast.parse("text.replace('a', 'b')"))


LOADS_CODE = {
    "pickle",
    "cPickle",
    "_pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "jsonpickle",
}
RUNS_CODE = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "torch.load",
    "yaml.unsafe_load",
    "yaml.full_load",
}


def dotted(node: ast.expr) -> str:
    """os.system for the expression os.system; nothing for what is no plain name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def unsafe_calls(tree: ast.AST) -> list[str]:
    """Calls that could run what a file holds, by name and line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            keywords = {word.arg: ast.unparse(word.value) for word in node.keywords}
            unsafe = (
                name in RUNS_CODE
                or (name in ("yaml.load", "yaml.load_all") and keywords.get("Loader") != "_Loader")
                or keywords.get("allow_pickle", "False") != "False"
                or keywords.get("shell", "False") != "False"
            )
            if unsafe:
                found.append(f"{name}, line {node.lineno}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_executable_is_ever_loaded(path):
    assert not {name.split(".")[0] for name in module_imports(path)} & LOADS_CODE
    assert unsafe_calls(ast.parse(path.read_text(encoding="utf-8"))) == []


def test_the_one_yaml_loader_is_a_safe_one():
    assert issubclass(_Loader, yaml.SafeLoader)
    assert [path.name for path in FILES if "class _Loader" in path.read_text(encoding="utf-8")] == [
        "recipe.py"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "eval('1')",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.Loader)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_the_search_for_unsafe_calls_finds_them(code):
    assert unsafe_calls(ast.parse(code))
