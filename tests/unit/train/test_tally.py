import json

from facetmt.bandit import Pull
from facetmt.train.step import Metrics
from facetmt.train.tally import Clock, Pending, Tally, Window


def metrics(loss=2.0, tokens=10.0, finite=True):
    return Metrics(loss, tokens, 2.5, 2.25, 1.0, 1e-3, finite, 0, [], [])


def test_ranking_keeps_the_best_and_counts_what_is_stale():
    tally = Tally()
    outcomes = []
    for step, score in ((10, 5.0), (20, 7.0), (30, 7.0), (40, 6.0), (50, 8.0)):
        tally.step = step
        outcomes.append((tally.rank(score, 2), tally.stale))
    assert outcomes == [(True, 0), (True, 0), (False, 1), (False, 2), (True, 0)]
    assert tally.best == [(8.0, 50), (7.0, 20)]  # the earlier of equals


def test_state_survives_json():
    tally = Tally(step=7, validated=5, saved=7, stale=1, best=[(3.25, 5)], seconds=1.5)
    tally.pending = [Pending(7, Pull(2, 0.125), metrics())]
    again = Tally.restored(json.loads(json.dumps(tally.state())))
    assert again == tally


def test_the_clock_goes_on_where_the_last_session_ended():
    clock = Clock(Tally(seconds=100.0))
    assert 100.0 <= clock.seconds() < 101.0


def test_time_is_booked_even_if_interrupted():
    tally = Tally()
    try:
        with Clock(tally).spend("validate"):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert tally.spent["validate"] > 0


def test_a_window_weighs_by_tokens_and_leaves_out_what_was_skipped():
    tally = Tally()
    window = Window(tally)
    window.add_metrics(metrics(2.0, 10.0))
    window.add_metrics(metrics(4.0, 30.0))
    window.add_metrics(metrics(float("nan"), 30.0, finite=False))
    tally.spent["train"] += 2.0
    summary = window.summary()
    assert summary["loss"] == 3.5
    assert summary["tokens_per_second"] == 20.0
    assert summary["lr"] == 1e-3


def test_an_empty_window_has_no_loss():
    assert Window(Tally()).summary()["loss"] is None
