"""The README's recipe and commands, word for word, on generated text with shorter training."""

import random
import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest

from facetmt.cli import main

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8").split("## On your own text")[1]
RECIPE = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)[1]
COMMANDS = [
    shlex.split(command, comments=True)
    for line in re.search(r"```\n(facetmt prepare .*?)```", README, re.DOTALL)[1].splitlines()
    for command in line.split("&&")
]
DECODE = ["decode.max_length=6", "decode.batch=8"]
SMALL = [
    "model.width=32",
    "model.mlp=64",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
]
SHORT = ["train.steps=4", "train.validate_every=4", "train.log_every=2", *SMALL, *DECODE]
SETS = {"train": SHORT, "evaluate": DECODE, "translate": DECODE}  # a reader would train for longer
SYLLABLES = [a + b for a in "bdfghklmnprst" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "os", "un")]


def write_corpus(root: Path) -> None:
    """Two facets with enough words for 8,000 subwords; in each, two pairs too long for a row of 64."""
    rng = random.Random(1)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(9000)]
    for facet in ("law", "it"):
        for split, count in (("train", 2500), ("dev", 6), ("test", 4)):
            lines = [rng.choices(words, k=rng.randint(2, 9)) for _ in range(count)]
            lines += [rng.choices(words, k=45), rng.choices(words, k=200)] if split == "train" else []
            for language, ending in (("de", ""), ("en", "s")):
                path = root / facet / f"{split}.{language}"
                path.parent.mkdir(parents=True, exist_ok=True)
                text = "".join(" ".join(word + ending for word in line) + "\n" for line in lines)
                path.write_text(text, encoding="utf-8")


@pytest.fixture
def stack():
    with ExitStack() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What a reader starts with: a corpus, the recipe, and a text to translate."""
    path = tmp_path_factory.mktemp("newcomer")
    write_corpus(path / "corpus")
    (path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (path / "in.de").write_text((path / "corpus" / "law" / "test.de").read_text("utf-8"), encoding="utf-8")
    return path


def test_the_readmes_recipe_and_commands_work(folder, monkeypatch, capsys, stack):
    monkeypatch.chdir(folder)
    verbs = []
    for program, verb, *rest in COMMANDS:
        assert program == "facetmt"
        verbs.append(verb)
        if "<" in rest:
            text = stack.enter_context((folder / rest[rest.index("<") + 1]).open(encoding="utf-8"))
            monkeypatch.setattr("sys.stdin", text)
            rest = rest[: rest.index("<")]
        more = [word for change in SETS.get(verb, []) for word in ("--set", change)]
        monkeypatch.setattr("sys.argv", ["facetmt", verb, *rest, *more])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert left.value.code == 0, said.err
        if verb == "prepare":
            assert "dropped from law, train: 2 too long (subwords)\n" in said.out and "2 facets" in said.out
    assert verbs == ["prepare", "train", "train", "evaluate", "evaluate", "compare", "report", "translate"]
    assert (folder / "report.html").is_file()
    assert said.out.count("\n") == 4  # one line out per line in
