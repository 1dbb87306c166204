import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.bandit import REWARDS, QuantileScaler

finite = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("name", "value"),
    [("loss", 4.0), ("pg", 1.0), ("pgnorm", 0.25), ("dev-loss", 3.0), ("dev-pg", 1.0), ("dev-pgnorm", 0.25)],
)
def test_rewards_of_the_paper(name, value):
    assert REWARDS[name](4.0, 3.0) == value


def test_relative_gain_of_a_zero_loss_is_no_number():
    assert math.isnan(REWARDS["pgnorm"](0.0, 1.0))


@given(st.lists(finite, min_size=1, max_size=120), st.integers(1, 40))
def test_scaling_equals_numpy_quantiles_of_the_window(stream, window):
    scaler = QuantileScaler(window)
    for index, reward in enumerate(stream):
        scaled = scaler.scale(reward)
        latest = stream[max(0, index + 1 - window) : index + 1]
        low, high = np.quantile(latest, [0.2, 0.8])
        assert np.allclose(scaler.bounds(), (low, high), rtol=1e-12, atol=1e-300)
        assert -1.0 <= scaled <= 1.0
        if high - low > 1e-9 * max(abs(low), abs(high)):
            assert math.isclose(
                scaled, 2 * (np.clip(reward, low, high) - low) / (high - low) - 1, abs_tol=1e-5
            )


@pytest.mark.parametrize("value", [0.0, -3.5, 0.1, 1e300])
def test_a_flat_stream_gives_zero(value):
    scaler = QuantileScaler(10)
    assert [scaler.scale(value) for _ in range(25)] == [0.0] * 25


def test_the_first_reward_gives_zero():
    assert QuantileScaler().scale(12.5) == 0.0


def test_bounds_beyond_the_range_of_floats_give_zero_not_nan():
    scaler = QuantileScaler(low=0, high=1)
    scaler.scale(1.7e308)
    assert scaler.scale(-1.7e308) == 0.0


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_non_finite_rewards_never_enter_the_window(reward):
    scaler = QuantileScaler()
    with pytest.raises(ValueError, match="only finite"):
        scaler.scale(reward)
    assert scaler.state()["recent"] == []


@given(st.lists(finite, max_size=60), st.lists(finite, max_size=60))
def test_restore_continues_bit_for_bit(head, tail):
    whole, first, second = QuantileScaler(20), QuantileScaler(20), QuantileScaler(20)
    expected = [whole.scale(reward) for reward in head + tail]
    begun = [first.scale(reward) for reward in head]
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + [second.scale(reward) for reward in tail] == expected
    assert second.state() == whole.state()


def test_a_smaller_window_keeps_the_latest():
    wide, narrow = QuantileScaler(10), QuantileScaler(3)
    for reward in range(10):
        wide.scale(float(reward))
    narrow.restore(wide.state())
    assert narrow.state()["recent"] == [7.0, 8.0, 9.0]


def test_saturation_tells_a_drifting_stream_from_a_steady_one():
    steady, drifting = QuantileScaler(500), QuantileScaler(500)
    for index, reward in enumerate(np.random.default_rng(1).normal(size=2000)):
        steady.scale(float(reward))
        drifting.scale(float(reward) + index)
    assert 0.3 < steady.saturation < 0.5
    assert drifting.saturation > 0.95


@pytest.mark.parametrize(
    "arguments", [{"window": 0}, {"low": 0.8, "high": 0.2}, {"low": -0.1}, {"high": 1.1}]
)
def test_impossible_settings_are_refused(arguments):
    with pytest.raises(ValueError, match=r"window must be|quantiles must"):
        QuantileScaler(**arguments)
