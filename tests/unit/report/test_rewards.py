import numpy as np

from facetmt.bandit import QuantileScaler
from facetmt.report.rewards import rewards
from facetmt.runlog import SEVERAL, Pulls


def pulls_of(raw, scaled=None, facets=2):
    count = len(raw)
    blank = np.full(count, np.nan)
    arms = np.arange(count, dtype=np.int32) % facets
    names = tuple(f"f{n}" for n in range(facets))
    raw = np.array(raw, dtype=float)
    scaled = np.sign(raw) if scaled is None else np.array(scaled, dtype=float)
    return Pulls(np.arange(1, count + 1), arms, names, blank, blank, blank, raw, scaled)


def test_the_clipping_quantiles_are_those_of_the_scaler():
    rng = np.random.default_rng(3)
    raw = rng.standard_normal(120)
    seen = rewards(pulls_of(raw), window=40, quantiles=(0.2, 0.8))
    scaler = QuantileScaler(40, 0.2, 0.8)
    bounds = {}
    for step, value in enumerate(raw, start=1):
        scaler.scale(value)
        bounds[step] = scaler.bounds()
    assert np.allclose([bounds[step][0] for step in seen.step], seen.low)
    assert np.allclose([bounds[step][1] for step in seen.step], seen.high)


def test_means_by_facet_leave_out_dropped_rewards():
    seen = rewards(pulls_of([1, -1, np.nan, -1, 1, -1], [1, -1, np.nan, -1, 1, -1]), 10, (0.2, 0.8))
    assert seen.by_facet.mean.tolist() == [1, -1] and seen.clipped == 1
    assert np.isnan(seen.by_facet.scaled).any()  # five bins cannot all have both facets


def test_no_rewards_at_all():
    assert rewards(pulls_of([np.nan, np.nan]), 10, (0.2, 0.8)) is None


def test_rewards_of_mixed_batches_belong_to_no_facet():
    pulls = pulls_of([1, -1, 2, -2])
    pulls.facet[:] = SEVERAL
    seen = rewards(pulls, 10, (0.2, 0.8))
    assert seen.by_facet is None and seen.mean == 0 and seen.raw.size
