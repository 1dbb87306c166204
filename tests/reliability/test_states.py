"""Any sequence of steps, saves, kills and damage matches an undisturbed twin (with fake arrays)."""

import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import orbax.checkpoint as ocp
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from facetmt.bandit import Exp3S, FacetScheduler
from facetmt.data.batch import EOS
from facetmt.data.config import BatchConfig
from facetmt.data.dev import DevSet
from facetmt.data.sampler import DevSampler, FacetSampler
from facetmt.data.store import StoreWriter, open_store
from facetmt.errors import UserError
from facetmt.runlog import RunLog
from facetmt.train import checkpoint
from facetmt.train.session import Session, restore
from facetmt.train.step import Metrics
from facetmt.train.tally import Pending, Tally

FACETS = {"it": 40, "law": 11, "talks": 1}
LAG, KEEP, STEPS = 1, 2, 120
LOGS = ("pulls.csv", "probs.csv", "validation.jsonl")


class FakeArrays:
    """Replaces orbax: keeps the one array of these tests in a plain file."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def save(self, path, tree):
        path.mkdir()
        (path / "w").write_bytes(tree["w"].tobytes())

    def restore(self, path, like):
        return {"w": np.frombuffer((path / "w").read_bytes(), np.float64).copy()}


@pytest.fixture(scope="module", autouse=True)
def fake_arrays():
    with patch.object(ocp, "StandardCheckpointer", FakeArrays), patch.object(os, "fsync", id):
        yield


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    for name, count in FACETS.items():
        lengths = np.random.default_rng(count).integers(2, 9, (count, 2))
        with StoreWriter(folder / name, name, "train", "v", np.dtype(np.uint16)) as writer:
            for number, (left, right) in enumerate(lengths.tolist()):
                ids = [10 + number] * (left - 1) + [EOS] + [60 + number] * (right - 1) + [EOS]
                writer.append(np.array(ids), np.array([[left, right]]))
    return [open_store(folder / name) for name in FACETS]


def new_life(directory: Path, stores, fresh: bool) -> SimpleNamespace:
    """Everything that a run holds besides the model, at step 0."""
    shape = BatchConfig(2, 16)
    return SimpleNamespace(
        prepared=SimpleNamespace(fingerprint={"vocabulary": "v"}),
        state={"w": np.zeros(4)},
        scheduler=FacetScheduler(list(FACETS), Exp3S(len(FACETS)), "pg", seed=3),
        sampler=FacetSampler(stores, shape, seed=3),
        signal=DevSampler(DevSet(stores, [np.arange(1)] * 3), shape, seed=3),
        log=RunLog(directory, list(FACETS), fresh=fresh),
        tally=Tally(),
    )


def advance(life: SimpleNamespace) -> None:
    """One step, in the order of the training loop; the arrays depend on every token drawn."""
    tally, scheduler = life.tally, life.scheduler
    pull = scheduler.pull()
    batch = life.sampler.next(pull.arm)
    dev = life.signal.next()
    before = float(np.abs(life.state["w"]).sum())
    life.state["w"] = np.cos(
        life.state["w"] + [batch.source.sum(), batch.label.sum(), dev.label.sum(), pull.prob]
    )
    after = float(np.abs(life.state["w"]).sum())
    tally.step += 1
    metrics = Metrics(
        before, 1, before, after if tally.step % 13 else float("nan"), 1.0, 1e-3, True, 0, [], []
    )
    tally.pending.append(Pending(tally.step, pull, metrics))
    while len(tally.pending) > LAG:
        step, drawn, seen = tally.pending.pop(0)
        record = scheduler.feedback(drawn, before=seen.before, after=seen.after)
        life.log.pull(
            step, record.facet, (drawn.prob, record.before, record.after, record.raw, record.scaled)
        )
    life.log.probs(tally.step, scheduler.probs())
    if tally.step % 5 == 0:
        tally.rank(round(after, 3), 2)
        tally.validated = tally.step
        life.log.validation({"step": tally.step, "bleu": after})


def save(life: SimpleNamespace, directory: Path) -> None:
    life.tally.saved = life.tally.step
    checkpoint.save(directory / "checkpoints", life.tally.step, life.state, Session.host(life))
    wanted = {step for _, step in life.tally.best}
    checkpoint.prune(directory / "checkpoints", KEEP, wanted)


def resumed(directory: Path, stores) -> SimpleNamespace:
    """Continue as --resume does."""
    whole, _ = checkpoint.newest_whole(directory / "checkpoints")
    life = new_life(directory, stores, fresh=whole is None)
    if whole is not None:
        restore(life, whole)
    return life


def picture(life: SimpleNamespace, directory: Path) -> tuple[bytes, str, list[bytes]]:
    """Everything that two equal runs share; the time of the last save may differ."""
    life.log.flush()
    host = Session.host(life)
    del host["log"], host["tally"]["saved"]
    return life.state["w"].tobytes(), json.dumps(host), [(directory / name).read_bytes() for name in LOGS]


@pytest.fixture(scope="module")
def twin(stores, tmp_path_factory):
    """Pictures of an undisturbed run after each step."""
    directory = tmp_path_factory.mktemp("twin")
    life = new_life(directory, stores, fresh=True)
    pictures = [picture(life, directory)]
    for _ in range(STEPS):
        advance(life)
        pictures.append(picture(life, directory))
    life.log.close()
    return pictures


def damage(path: Path, kind: str) -> None:
    content = path.read_bytes()
    if kind == "delete":
        path.unlink()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1 :]
        path.write_bytes({"flip": flipped, "truncate": content[:middle], "empty": b""}[kind])


def machine(stores, twin):
    class Lives(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.directory = Path(tempfile.mkdtemp())
            self.checkpoints = self.directory / "checkpoints"
            self.life = new_life(self.directory, stores, fresh=True)

        def whole(self):
            good = []
            for one in checkpoint.finished(self.checkpoints):
                with suppress(checkpoint.DamagedCheckpoint):
                    checkpoint.verify(one)
                    good.append(one)
            return good

        @precondition(lambda self: self.life.tally.step < STEPS - 9)
        @rule(steps=st.integers(1, 9))
        def train(self, steps):
            for _ in range(steps):
                advance(self.life)

        @rule()
        def save(self):
            save(self.life, self.directory)

        @rule(torn=st.floats(0, 1))
        def kill(self, torn):
            """What was logged since the last save may be on disk fully, in part or not at all."""
            good = self.whole()
            self.life.log.close()
            kept = good[-1].host()["log"] if good else dict.fromkeys(LOGS, 0)
            for name in LOGS:
                size = (self.directory / name).stat().st_size
                os.truncate(self.directory / name, kept[name] + int(torn * (size - kept[name])))
            self.life = resumed(self.directory, stores)
            assert self.life.tally.step == (good[-1].step if good else 0)

        @rule(files=st.integers(0, 3))
        def kill_in_save(self, files):
            """The save in progress has written only some of its files."""
            partial = self.checkpoints / f".partial-{self.life.tally.step:09d}"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            for name in ("arrays", "host.json", "manifest.json")[:files]:
                (partial / name).write_bytes(b"{")
            self.kill(1.0)

        @precondition(lambda self: len(self.whole()) > 1)
        @rule(kind=st.sampled_from(["flip", "truncate", "delete", "empty"]), pick=st.integers(0, 2))
        def damage_the_newest_and_kill(self, kind, pick):
            good = self.whole()
            files = sorted(path for path in good[-1].path.rglob("*") if path.is_file())
            damage(files[pick], kind)
            self.kill(1.0)
            assert self.life.tally.step == good[-2].step

        @invariant()
        def equals_its_twin(self):
            assert picture(self.life, self.directory) == twin[self.life.tally.step]

        def teardown(self):
            self.life.log.close()
            shutil.rmtree(self.directory)

    return Lives


def test_row_01_row_02_row_04_any_sequence_of_saves_kills_and_damage_equals_an_undisturbed_run(stores, twin):
    run_state_machine_as_test(
        lambda: machine(stores, twin)(), settings=settings(max_examples=40, stateful_step_count=25)
    )


@pytest.fixture
def life(tmp_path, stores):
    life = new_life(tmp_path, stores, fresh=True)
    for _ in range(31):
        advance(life)
    save(life, tmp_path)
    yield life
    life.log.close()


def parts(host) -> list[tuple[str, ...]]:
    """The keys of everything that must not be lost."""
    scheduler = [("scheduler", name) for name in ("policy", "scaler", "rng", "counts", "dropped")]
    inner = [
        ("scheduler", "policy", "weights"),
        ("scheduler", "policy", "updates"),
        ("scheduler", "scaler", "recent"),
    ]
    cursors = [("sampler", "streams", "law", name) for name in ("position", "pending")]
    tally = [("tally", name) for name in host["tally"]]
    log = [("log", name) for name in host["log"]]
    return [(name,) for name in host] + scheduler + inner + cursors + tally + log


def test_row_11_anything_missing_from_the_checkpoint_is_an_error(life, stores, tmp_path):
    (whole,) = checkpoint.finished(tmp_path / "checkpoints")
    host = whole.host()
    assert len(host["scheduler"]["scaler"]["recent"]) > 20 and host["tally"]["best"]
    for key in parts(host):
        incomplete = json.loads(json.dumps(host))
        *above, last = key
        branch = incomplete
        for name in above:
            branch = branch[name]
        del branch[last]
        broken = checkpoint.save(tmp_path / "broken", 31, life.state, incomplete)
        other = new_life(tmp_path / "other", stores, fresh=True)
        with pytest.raises((UserError, KeyError, TypeError)):
            restore(other, broken)
        other.log.close()


def test_row_11_parameters_and_the_rest_are_saved_together(life, tmp_path, twin):
    """A checkpoint is one folder that appears with one rename; arrays and host state are of the same step."""
    (whole,) = checkpoint.finished(tmp_path / "checkpoints")
    assert whole.arrays(life.state)["w"].tobytes() == twin[31][0]
    saved = whole.host()
    expected = json.loads(twin[31][1])
    assert {name: saved[name] for name in ("scheduler", "sampler", "dev_sampler")} == {
        name: expected[name] for name in ("scheduler", "sampler", "dev_sampler")
    }
    (whole.path / "host.json").unlink()
    with pytest.raises(checkpoint.DamagedCheckpoint, match=r"host\.json cannot be read"):
        checkpoint.verify(whole)
