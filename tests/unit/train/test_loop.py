"""The loop over parts that only count: what is validated, saved, settled and logged, and in which order."""

from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.bandit import Exp3, FacetScheduler
from facetmt.bandit.config import ScheduleConfig
from facetmt.errors import UserError
from facetmt.train import loop as loop_module
from facetmt.train.config import OptimiserConfig, TrainConfig
from facetmt.train.feed import Filled
from facetmt.train.interrupt import Interrupt, Interrupted
from facetmt.train.loop import Loop
from facetmt.train.signals import StepReward
from facetmt.train.step import Metrics
from facetmt.train.tally import Tally

FACETS = ["it", "law"]


@pytest.fixture
def run_loop(monkeypatch, tmp_path):
    """Settings of the recipe -> the loop and the list of what happened."""

    def make(*, bleu=lambda step: float(step), skipped=lambda step: 0, tally=None, lag=0, **train):
        happened: list[tuple] = []
        schedule = ScheduleConfig(policy="exp3", reward="pg", feedback_lag=lag)
        recipe = SimpleNamespace(
            train=TrainConfig(**{"log_every": 100, "validate_every": 100, **train}),
            schedule=schedule,
            optimiser=OptimiserConfig(),
            seed=1,
        )
        scheduler = FacetScheduler(FACETS, Exp3(2), "pg", seed=1)
        log = SimpleNamespace(
            pull=lambda step, facet, row: happened.append(("reward", step)),
            validation=lambda row: happened.append(("validation", row["step"])),
            metrics=lambda row: happened.append(("metrics", row["step"])),
            probs=lambda step, probs: None,
            flush=lambda: None,
        )
        session = SimpleNamespace(
            recipe=recipe,
            directory=tmp_path,
            graph=None,
            state=SimpleNamespace(params=None),
            prepared=SimpleNamespace(facets=[SimpleNamespace(name=name) for name in FACETS]),
            placement=SimpleNamespace(shardings=lambda state: None, everywhere=None),
            share=SimpleNamespace(put=None),
            scheduler=scheduler,
            signal=StepReward(SimpleNamespace(recipe=recipe, scheduler=scheduler)),
            sampler=SimpleNamespace(epochs=dict),
            log=log,
            tally=tally or Tally(),
            host=dict,
        )

        class Step:
            def __init__(self, step):
                pass

            def compile(self, *inputs):
                pass

            def __call__(self, state, batch, dev, fresh):
                step = session.tally.step + 1
                happened.append(("step", step))
                bad = skipped(step)
                return state, Metrics(2.0, 1, 2.0, 1.0, 1.0, 1e-3, not bad, bad, np.zeros(2), np.zeros(2))

        class Validator:
            def __init__(self, session):
                pass

            def rehearse(self, params):
                pass

            def __call__(self, params, check):
                check()
                score = {"facets": {}, "average": bleu(session.tally.step)}
                return score, score

        class Feed:
            def __init__(self, *parts):
                pass

            def start(self):
                pass

            def close(self):
                happened.append(("closed",))

            def take(self, arm):
                return None, Filled(3, 4)

        for name, value in {"MeasuredStep": Step, "Validator": Validator, "make_feed": Feed}.items():
            monkeypatch.setattr(loop_module, name, value)
        monkeypatch.setattr(loop_module, "make_step", lambda *parts, **settings: None)
        monkeypatch.setattr(
            loop_module.checkpoint,
            "save",
            lambda folder, step, state, host: happened.append(("save", step, len(session.tally.pending))),
        )
        monkeypatch.setattr(loop_module.checkpoint, "prune", lambda folder, keep, wanted: None)
        return Loop(session, [], Interrupt()), happened

    return make


def of_kind(happened, *kinds):
    return [one for one in happened if one[0] in kinds]


def test_every_validation_is_followed_by_a_save(run_loop):
    loop, happened = run_loop(steps=5, validate_every=2, save_every=3)
    assert loop.run()
    assert of_kind(happened, "validation", "save") == [
        ("save", 0, 0), ("validation", 2), ("save", 2, 0), ("save", 3, 0),
        ("validation", 4), ("save", 4, 0), ("validation", 5), ("save", 5, 0),
    ]  # fmt: skip


def test_a_validation_that_a_signal_kept_from_happening_is_made_up_and_saved(run_loop):
    """The checkpoint of step 4 is there; the validation of step 4 is not in it."""
    loop, happened = run_loop(steps=4, tally=Tally(step=4, validated=2, saved=4, best=[(1.0, 2)]))
    assert loop.run()
    assert happened == [("validation", 4), ("save", 4, 0), ("closed",)]
    assert loop.tally.best == [(4.0, 4)]


def test_so_is_one_after_which_patience_ends_the_run(run_loop):
    tally = Tally(step=4, validated=2, saved=4, best=[(9.0, 2)])
    loop, happened = run_loop(steps=100, validate_every=2, patience=1, tally=tally)
    assert loop.run()
    assert happened == [("validation", 4), ("save", 4, 0), ("closed",)]
    assert loop.tally.best == [(9.0, 2)] and loop.tally.stale == 1


def test_a_finished_run_does_nothing_again(run_loop):
    loop, happened = run_loop(steps=4, tally=Tally(step=4, validated=4, saved=4, best=[(1.0, 2)]))
    assert loop.run() and happened == [("closed",)]


def test_patience_ends_it(run_loop):
    loop, happened = run_loop(steps=100, validate_every=2, patience=2, bleu=lambda step: 7.0)
    assert loop.run() and loop.tally.step == 6
    assert of_kind(happened, "save")[-1] == ("save", 6, 0)


@pytest.mark.parametrize("lag", [0, 1])
def test_a_reward_comes_after_its_step_or_after_the_next_and_the_last_one_at_the_end(run_loop, lag):
    loop, happened = run_loop(steps=3, lag=lag)
    assert loop.run()
    order = of_kind(happened, "step", "reward", "save")[1:]
    if lag:
        rewards = [("step", 1), ("step", 2), ("reward", 1), ("step", 3), ("reward", 2)]
        assert order == [*rewards, ("save", 3, 1), ("reward", 3)]  # the checkpoint still awaits it
    else:
        rewards = [(kind, step) for step in (1, 2, 3) for kind in ("step", "reward")]
        assert order == [*rewards, ("save", 3, 0)]


def test_updates_skipped_in_a_row_end_it_with_step_and_facet(run_loop):
    loop, happened = run_loop(steps=9, max_skipped=2, skipped=lambda step: max(0, step - 3))
    with pytest.raises(
        UserError, match=r"not finite for 2 steps in a row, the last at step 5 on facet (it|law)"
    ):
        loop.run()
    assert happened[-1] == ("closed",)
    assert loop.session.scheduler.health().dropped == 2


def test_a_signal_saves_what_is_not_saved_and_leaves(run_loop, monkeypatch):
    loop, happened = run_loop(steps=9, validate_every=4)

    def stop(step):
        if step == 3:
            raise Interrupted

    monkeypatch.setattr(loop._agreement, "at", stop)
    assert not loop.run()
    assert of_kind(happened, "save") == [("save", 0, 0), ("save", 3, 0)]
