import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer

import facetmt
from facetmt.cli import app, main


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "facetmt", *arguments], capture_output=True, text=True, cwd=cwd
    )


def test_version():
    assert run("--version").stdout.strip() == facetmt.__version__


def test_the_bandits_demonstration(tmp_path):
    done = run("demo", "bandit", "--steps", "1500", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shares = {
        row.split("│")[1].strip(): float(row.split("│")[3].strip().rstrip("%"))
        for row in done.stdout.splitlines()
        if row.startswith("│")
    }
    assert shares["noise"] < 15 < min(shares["grammar"], shares["lexicon"])
    page = (tmp_path / "demo-bandit" / "bandit.html").read_text(encoding="utf-8")
    assert "Probability of each facet" in page
    assert 'src="http' not in page  # opens without a network


def test_an_unknown_verb_is_a_users_mistake():
    assert run("conjure").returncode == 2


def commands(group: click.Group, name: str = "facetmt") -> Iterator[tuple[str, click.Command]]:
    for word, command in group.commands.items():
        yield f"{name} {word}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")


def test_every_verb_and_every_option_has_a_help_that_ends_well():
    for name, command in commands(typer.main.get_command(app)):
        assert command.help, name
        for parameter in command.params:
            text = parameter.help or ""
            where = f"{name} {parameter.name}"
            assert text[:1].isupper() or text.startswith("multidomain"), where
            assert text.endswith(".") or "=" in text.split()[-1], where  # a sentence, or an example to type


def test_a_choice_that_does_not_exist_is_a_users_mistake(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["facetmt", "compare", "run", "--format", "pdf"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2 and "'latex'" in capsys.readouterr().err


@pytest.mark.parametrize("keep", ["0", "1.5", "nan"])
def test_a_share_that_is_none_is_refused_before_the_run_is_opened(monkeypatch, capsys, keep):
    arguments = ["filter", "nowhere", "--trusted", "a", "b", "--out", "c", "--keep", keep]
    monkeypatch.setattr("sys.argv", ["facetmt", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert (
        capsys.readouterr().err
        == f"facetmt: --keep {float(keep)}: not a share; give more than 0 and at most 1\n"
    )
