"""Runs that are interrupted, out of space, damaged, moved or changed, and what --resume does with them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from facetmt.files import sole_user
from facetmt.train import checkpoint
from facetmt.train.interrupt import EXIT_CODE

SCHEDULE = "lagged"
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").is_file(), reason="needs /proc; run it on Linux"
)


@pytest.fixture
def run(undisturbed, tmp_path) -> Path:
    """A copy of a finished run, elsewhere."""
    return Path(shutil.copytree(undisturbed(SCHEDULE), tmp_path / "elsewhere" / "run"))


@pytest.fixture
def resume(facetmt, lives, project):
    """Continue a run as a user does."""

    def go(directory, *settings, recipe=None):
        words = lives.overrides([*lives.SCHEDULES[SCHEDULE], *settings])
        return facetmt("train", recipe or lives.write_recipe(project), "--run", directory, "--resume", *words)

    return go


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The answer to a user error: one sentence and exit code 2."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def moment_of(lives, run, process, name):
    """What to wait for, so that a signal reaches the run in the phase `name`."""
    former, base = lives.partial_saves(run), lives.steps_logged(run)
    return {
        "compiling": lambda: lives.handles_signals(process),
        "step": lambda: lives.steps_logged(run) > base + 2,
        "saving": lambda: bool(lives.partial_saves(run) - former),
        # with late feedback, the pull of a step is logged one step later, its probabilities at once
        "validation": lambda: (run / "probs.csv").read_bytes().count(b"\n") > lives.VALIDATE,
    }[name]


@needs_proc
def test_row_06_a_signal_at_any_moment_saves_and_exits_75_and_the_run_goes_on(project, lives, undisturbed):
    run = project / "signalled"
    both = [signal.SIGTERM, signal.SIGINT]
    for name in ("compiling", "step", "saving", "validation"):
        process = lives.start(project, run, lives.SCHEDULES[SCHEDULE])
        assert lives.await_moment(process, moment_of(lives, run, process, name)), name
        if name == "compiling":
            time.sleep(0.4)  # compiling has started by now
        for number in both:  # the second changes nothing, whichever it is
            process.send_signal(number)
        _, said = process.communicate(timeout=lives.PATIENCE)
        assert process.returncode == EXIT_CODE == 75, f"{name}: {said}"
        assert "everything is saved: continue with --resume" in said and "Traceback" not in said
        newest, complaints = checkpoint.newest_whole(run / "checkpoints")
        assert newest is not None and not complaints and not list(run.glob("checkpoints/.partial-*"))
        awaited = newest.host()["tally"]["pending"]  # the last step, whose reward is not known yet
        assert newest.step == lives.steps_logged(run) + len(awaited)
        both.reverse()
    assert newest.step == lives.VALIDATE and newest.host()["tally"]["validated"] == 0
    lives.finish(project, run, lives.SCHEDULES[SCHEDULE])
    assert lives.differences(undisturbed(SCHEDULE), run) == []


@needs_proc
@pytest.mark.parametrize("stop", ["last step", "patience"])
def test_row_31_a_signal_in_the_last_validation_does_not_lose_its_result(project, lives, stop, facetmt):
    """The signal saves the step's checkpoint; --resume repeats the validation and saves its result."""
    steps = 8
    settings = [f"train.steps={steps}", f"train.validate_every={steps}", "train.save_every=100"]
    if stop == "patience":
        settings = [
            "train.steps=100",
            f"train.validate_every={steps // 2}",
            "train.patience=1",
            "train.save_every=100",
        ]
        settings += ["optimiser.learning_rate=1.0e-9"]  # no validation is better than the first
    run = project / f"last-validation-{stop.replace(' ', '-')}"
    process = lives.start(project, run, settings)
    probs = run / "probs.csv"
    assert lives.await_moment(process, lambda: probs.is_file() and probs.read_bytes().count(b"\n") > steps)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=lives.PATIENCE)
    assert process.returncode == EXIT_CODE, said
    (interrupted, _) = checkpoint.newest_whole(run / "checkpoints")
    assert interrupted.step == steps and interrupted.host()["tally"]["validated"] < steps
    words = lives.overrides(settings)
    done = facetmt("train", lives.write_recipe(project), "--run", run, "--resume", *words)
    assert done.returncode == 0 and f"step {steps}: dev loss" in done.stderr, done.stderr
    newest, complaints = checkpoint.newest_whole(run / "checkpoints")
    saved, rows = newest.host()["tally"], (run / "validation.jsonl").read_text(encoding="utf-8").splitlines()
    assert newest.step == saved["validated"] == steps and not complaints
    scores = {row["step"]: row["bleu"]["average"] for row in map(json.loads, rows)}
    (score, step), *_ = saved["best"]
    assert score == scores[step] == max(scores.values())
    again = facetmt("train", lives.write_recipe(project), "--run", run, "--resume", *words)
    assert again.returncode == 0 and "dev loss" not in again.stderr  # nothing left to validate
    assert f"at step {step:,}" in again.stdout and f"at step {step:,}" in done.stdout


def test_the_last_reward_is_settled_and_logged_despite_late_feedback(undisturbed, lives):
    run = undisturbed("lagged")
    rows = (run / "pulls.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(rows) == lives.STEPS and all(rows[-1].split(","))
    newest, _ = checkpoint.newest_whole(run / "checkpoints")
    assert len(newest.host()["tally"]["pending"]) == 1  # in case the run is given more steps


def test_a_run_that_failed_before_its_first_step_can_be_started_again(project, refusal, facetmt, lives):
    run = project / "failed-at-once"
    recipe = lives.write_recipe(project)
    few = lives.overrides(["train.steps=2", "train.validate_every=2"])
    said = refusal(
        "train", recipe, "--run", run, *few, "--set", "batch.length=8", "--set", "data.max_length=40"
    )
    assert "batch.length" in said
    done = facetmt("train", recipe, "--run", run, *few)
    assert done.returncode == 0, done.stderr
    assert "already holds a run" in refusal("train", recipe, "--run", run, *few)


def test_two_trainings_do_not_share_a_run_directory(project, lives, refusal):
    run = project / "shared"
    with sole_user_of(run):
        said = refusal("train", lives.write_recipe(project), "--run", run)
    assert f"{run}: another process is training there" in said


@contextmanager
def sole_user_of(run: Path):
    run.mkdir()
    with sole_user(run, "training"):
        yield


def test_a_run_directory_that_cannot_be_made_is_one_sentence(project, lives, refusal, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    said = refusal("train", lives.write_recipe(project), "--run", tmp_path / "file" / "x")
    assert f"--run {tmp_path / 'file' / 'x'}: cannot make that folder (Not a directory); give another" in said


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_row_06_decoding_ends_at_once_and_leaves_nothing_half_written(run, verb):
    command = [sys.executable, "-m", "facetmt", verb, str(run)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)
    if verb == "translate":
        process.stdin.write("Die Frau kommt.\n" * 300)
        process.stdin.flush()
        assert process.stdout.readline().endswith("\n")
    else:
        assert "BLEU" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode not in (0, 2, 75) and "Traceback" not in said
    assert not (run / "scores.json").exists() and not list(run.rglob("*.partial"))
    assert out == "" or out.endswith("\n")


def largest_file(folder: Path) -> Path:
    return max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


def without_the_last(run: Path) -> checkpoint.Checkpoint:
    """Remove the last checkpoint; returns the one before."""
    before, last = checkpoint.finished(run / "checkpoints")[-2:]
    shutil.rmtree(last.path)
    return before


def test_row_03_without_room_for_a_checkpoint_the_run_ends_and_the_earlier_ones_stay(project, lives, run):
    before = without_the_last(run)
    # enough for the logs, too little for the arrays
    process = lives.start(project, run, lives.SCHEDULES[SCHEDULE], room=100_000)
    _, said = process.communicate(timeout=lives.PATIENCE)
    assert process.returncode == 2, said
    assert "Traceback" not in said
    (answer,) = [line for line in said.splitlines() if line.startswith("facetmt: ")]
    place = run / "checkpoints"
    assert answer.startswith(f"facetmt: could not save the checkpoint of step {lives.STEPS} in {place} (")
    assert "File too large" in answer and answer.endswith(
        "make room or fix the permissions, then continue with --resume"
    )
    assert checkpoint.newest_whole(run / "checkpoints") == (before, [])


def test_row_04_row_05_a_damaged_checkpoint_is_named_and_the_older_one_used(
    run, resume, lives, undisturbed, tmp_path
):
    newest = checkpoint.finished(run / "checkpoints")[-1]
    victim = largest_file(newest.path)
    content = bytearray(victim.read_bytes())
    content[len(content) // 3] ^= 4
    victim.write_bytes(content)
    shutil.copytree(newest.path, run / "checkpoints" / "my-copy")
    moved = tmp_path / "moved"
    run.rename(moved)
    done = resume(moved)
    assert done.returncode == 0, done.stderr
    damage = f"{moved / victim.relative_to(run)} is damaged: its content does not match manifest.json"
    assert f"{damage}; using an older checkpoint" in done.stderr
    assert lives.differences(undisturbed(SCHEDULE), moved) == []
    assert (moved / "checkpoints" / "my-copy" / "manifest.json").is_file()  # the user's own files stay


def test_row_04_translating_says_that_it_uses_an_older_checkpoint(run, facetmt):
    victim = largest_file(checkpoint.finished(run / "checkpoints")[-1].path)
    victim.write_bytes(victim.read_bytes()[:-1])
    done = facetmt("translate", run, text="Hallo\n")
    assert done.returncode == 0 and done.stdout.count("\n") == 1
    assert f"{victim} is damaged" in done.stderr and "; using step" in done.stderr


def test_row_09_another_recipe_is_refused_with_the_difference(run, resume):
    before = (run / "pulls.csv").read_bytes()
    said = complaint(resume(run, "schedule.exploration=0.5", "seed=2", "decode.beam=1"))
    assert "seed: 1 -> 2; schedule.exploration: 0.25 -> 0.5)" in said and "decode" not in said
    assert str(run) in said and "undo the change, or start a new run" in said
    assert (run / "pulls.csv").read_bytes() == before


def test_row_10_another_text_is_refused_by_the_name_of_its_facet(run, resume, lives, project, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("corpus", "prepared"):
        shutil.copytree(project / name, folder / name)
    shutil.copy(project / "recipe.yaml", folder)
    train = folder / "corpus" / "law" / "train.de"
    train.write_text(train.read_text(encoding="utf-8").replace("Die ", "Diese "), encoding="utf-8")
    said = complaint(resume(run, recipe=lives.write_recipe(folder)))
    assert "the prepared data changed since the checkpoint was saved (facet law)" in said
    assert "restore the former text, or start a new run" in said


def test_row_28_a_vocabulary_that_is_whole_but_not_the_runs_is_refused(run, facetmt, tmp_path):
    from facetmt.data.codec import Codec, open_codec, save_codec
    from facetmt.data.config import VocabConfig
    from facetmt.data.vocab import Vocabulary, train_model

    own = open_codec(run / "vocabulary")
    text = [f"ganz anderer text nummer {number} über häuser und bäume" for number in range(99)]
    other = Vocabulary([train_model(text, VocabConfig("bpe", 80, coverage=1.0))], own.vocabulary.tags)
    save_codec(Codec(other, own.cleaner, own.facets, own.tags), run / "vocabulary")
    said = complaint(facetmt("translate", run, text="Hallo\n"))
    assert f"{run / 'vocabulary'} is not the vocabulary that the run was trained with; put back" in said


def test_row_29_a_run_is_not_overwritten(run, facetmt, lives, project, tmp_path):
    recipe = lives.write_recipe(project)
    before = (run / "pulls.csv").read_bytes()
    said = complaint(facetmt("train", recipe, "--run", run))
    assert f"{run} already holds a run; continue it with --resume or give another --run" in said
    assert (run / "pulls.csv").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine", encoding="utf-8")
    said = complaint(facetmt("train", recipe, "--run", tmp_path / "mine"))
    assert "is not empty and not a run directory; give another --run" in said
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]
    said = complaint(facetmt("train", recipe, "--run", tmp_path / "nowhere", "--resume"))
    assert "holds no run to resume; leave out --resume to start one" in said


ODD_LINES = [
    "Die Frau kommt.",
    "",
    "   ",
    "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh",
    "<2de> </s> <pad> <facet:law>",
    "Der Arzt hilft dem Kind. " * 60,
    "emoji 🙂 und NUL \x00 und BOM \ufeff",
    "x" * 1_000_000,
    "Ende",  # without a newline
]


def test_row_20_one_line_out_per_line_in_whatever_the_lines_are(undisturbed):
    command = [
        sys.executable,
        "-m",
        "facetmt",
        "translate",
        str(undisturbed(SCHEDULE)),
        "--errors",
        "replace",
    ]
    text = b"schl\xffecht\n" + "\n".join(ODD_LINES).encode()
    done = subprocess.run(command, input=text, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode().split("\n")
    assert len(out) == len(ODD_LINES) + 2 and out[-1] == ""
    assert out[2:4] == ["", ""]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"gut\nschl\xffecht\n", "line 2, byte 4: not valid UTF-8"),
        (b"ein \xed\xa0\x80 Surrogat\n", "line 1, byte 4: not valid UTF-8"),
        ("Das Haus\nDer Baum\n".encode("utf-16-le"), "line 1, byte 0: this looks like UTF-16"),
    ],
)
def test_row_21_what_is_not_utf8_is_an_error_with_its_place(text, place):
    from io import BytesIO

    from facetmt.errors import UserError
    from facetmt.translate.pipe import read_lines

    with pytest.raises(UserError) as caught:
        list(read_lines(BytesIO(text), "strict"))
    assert f"standard input, {place}" in str(caught.value) and "--errors replace" in str(caught.value)
    lines = list(read_lines(BytesIO(text), "replace"))
    assert len(lines) == text.count(b"\n") + (not text.endswith(b"\n"))
