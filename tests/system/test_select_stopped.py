"""Labelling and filtering give the same result when stopped by signals and on several devices."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from facetmt.cli import main
from facetmt.demo.corpus import DemoConfig, write
from facetmt.select import shards

LINES = 64
# the process sends itself a real signal after a given amount of work of one kind
CHILD = f"""
import os, signal, sys
from facetmt import console
from facetmt.select import shards
shards.LINES = {LINES}
what, left = sys.argv.pop(1), int(sys.argv.pop(1))
worked = console.Pace.worked
def counted(self, count):
    global left
    worked(self, count)
    left -= self._what.startswith(what)
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)
console.Pace.worked = counted
from facetmt.cli import main
main()
"""


def child(what: str, count: int, *arguments: object, flags: str = "") -> subprocess.CompletedProcess[str]:
    """The command in its own process, which stops itself after `count` portions of `what`."""
    environment = {**os.environ, "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} {flags}"}
    command = [sys.executable, "-c", CHILD, what, str(count), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


def undisturbed(*arguments: object) -> int:
    """Run the command to its end in this process; returns the exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "LINES", LINES)
        patch.setattr("sys.argv", ["facetmt", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
    return int(left.value.code)


def lives(stops: list[tuple[str, int]], *arguments: object) -> str:
    """Stop the command at each place, then let it finish; returns the messages of the last process."""
    for what, count in stops:
        done = child(what, count, *arguments)
        assert done.returncode == 75, done.stderr
        assert "stopped by a signal; what is done is kept in" in done.stderr
        assert done.stderr.endswith("run the same command again to continue\n")
        assert "Traceback" not in done.stderr
    done = child("nothing", 1, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def filtering(project, facetmt, tmp_path_factory) -> list[object]:
    """A filter command without its --out."""
    folder = tmp_path_factory.mktemp("filtering")
    settings = ["schedule.policy=mixed", "train.steps=4", "train.validate_every=4", "train.log_every=4"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = facetmt("train", project / "recipe.yaml", "--run", folder / "run", *words)
    assert done.returncode == 0, done.stderr
    domain = sorted((project / "corpus").iterdir())[0]
    trusted = ("--trusted", domain / "train.de", domain / "train.en")
    return ["filter", folder / "run", *trusted, "--stages", 2, "--steps", 3, "--out"]


@pytest.fixture(scope="module")
def filtered(filtering, tmp_path_factory) -> Path:
    """The output of an undisturbed filter."""
    out = tmp_path_factory.mktemp("filtered")
    assert undisturbed(*filtering, out) == 0
    return out


def results(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in [*out.rglob("train.keep"), *out.rglob("train.scores")]
    }


def test_filter_loses_nothing_to_signals(filtering, filtered, tmp_path):
    last = lives([("fine-tuning, stage 2", 2), ("scoring law", 1)], *filtering, tmp_path)
    assert "trusted model is already in" in last  # not trained again
    assert results(tmp_path) == results(filtered) != {}


def test_filter_on_two_devices_gives_the_same_scores(filtering, filtered, tmp_path):
    done = child("nothing", 1, *filtering, tmp_path, flags="--xla_force_host_platform_device_count=2")
    assert done.returncode == 0, done.stderr
    for one in filtered.rglob("train.scores"):
        two = tmp_path / one.relative_to(filtered)
        assert np.loadtxt(two) == pytest.approx(np.loadtxt(one), abs=1e-4)


def test_another_share_needs_no_scoring_and_other_settings_are_refused(filtering, filtered, tmp_path, capsys):
    out = shutil.copytree(filtered, tmp_path / "copy")
    before = {path: path.stat().st_mtime_ns for path in (out / ".filter").rglob("*.scores")}
    assert undisturbed(*filtering, out, "--keep", "0.4", "--rank", "within") == 0
    said = capsys.readouterr()
    assert "pairs kept (40." in said.out and str(out / "it" / "train.keep") in said.out
    assert "has a dev BLEU of" in said.err and "below 5: a model that cannot translate" in said.err
    assert before == {path: path.stat().st_mtime_ns for path in before} != {}
    assert results(out) != results(filtered)
    assert json.loads((out / "filter.json").read_text())["rank"] == "within"
    assert undisturbed(*filtering, out, "--stages", "1") == 2
    assert "started with other settings (other fine-tuning); delete it" in capsys.readouterr().err


def test_source_use_loses_nothing_to_signals_and_leaves_other_work_alone(
    filtering, filtered, tmp_path, capsys
):
    words = [*filtering[:2], "--by", "source-use", "--others", 2, "--out"]
    lives([("scoring law", 1)], *words, tmp_path / "stopped")
    assert undisturbed(*words, tmp_path / "whole") == 0
    assert results(tmp_path / "stopped") == results(tmp_path / "whole") != {}
    note = json.loads((tmp_path / "whole" / "filter.json").read_text())
    assert (note["by"], note["others"]) == ("source-use", 2)
    assert 0 <= note["facets"]["law"]["estimated share misaligned"] <= 1
    capsys.readouterr()
    assert undisturbed(*words, filtered) == 2
    assert "started with other settings (other criterion, directions, fine-tun" in capsys.readouterr().err
    assert undisturbed(*words, tmp_path / "whole", "--others", 3) == 2
    assert "started with other settings (other criterion); delete it" in capsys.readouterr().err


@pytest.fixture(scope="module")
def labelling(tmp_path_factory) -> list[object]:
    """A label command that trains and labels, without its --models and --out."""
    folder = tmp_path_factory.mktemp("labelling")
    write(DemoConfig(size=150, dev=5, test=5, translationese=True), folder)
    natural, translated = (folder / name / "train.de" for name in ("natural", "translationese"))
    texts = ("--natural", natural, "--translated", translated, "--text", natural)
    return ["label", *texts, "--steps", 4, "--vocab", 200]


@pytest.fixture(scope="module")
def labelled(labelling, tmp_path_factory) -> Path:
    """A folder with the models and labels of an undisturbed command."""
    folder = tmp_path_factory.mktemp("labelled")
    assert undisturbed(*labelling, "--models", folder / "lm", "--out", folder / "out") == 0
    return folder


def margins(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.with_name(f".{out.name}.work").glob("*.scores")}


def test_label_loses_nothing_to_signals(labelling, labelled, tmp_path):
    stops = [("translationese language", 2), ("labelling", 1)]
    last = lives(stops, *labelling, "--models", tmp_path / "lm", "--out", tmp_path / "out")
    assert "are already trained" in last
    assert (tmp_path / "out").read_bytes() == (labelled / "out").read_bytes()
    assert margins(tmp_path / "out") == margins(labelled / "out") and len(margins(labelled / "out")) > 1


def test_label_on_two_devices_gives_the_same_labels(labelling, labelled, tmp_path):
    words = ("label", "--models", labelled / "lm", *labelling[5:7], "--out", tmp_path / "out")
    done = child("nothing", 1, *words, flags="--xla_force_host_platform_device_count=2")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_bytes() == (labelled / "out").read_bytes()
