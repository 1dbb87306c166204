import subprocess
import sys
from pathlib import Path

import facetmt


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


def test_data_is_fetched_as_the_recipes_say(tmp_path):
    done = run("data", "get", "sports", "data/sports", cwd=tmp_path)
    assert done.returncode == 2 and "there is no task sports; choose one of multidomain" in done.stderr


def test_an_unknown_verb_is_a_users_mistake():
    assert run("conjure").returncode == 2
