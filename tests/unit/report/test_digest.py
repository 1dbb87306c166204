import numpy as np
import pytest

from facetmt.bandit import QuantileScaler
from facetmt.report.digest import digest, digests, rewards, unique_names
from facetmt.runlog import Pulls, Run


def pulls_of(raw, scaled=None, facets=2):
    count = len(raw)
    blank = np.full(count, np.nan)
    arms = np.arange(count, dtype=np.int32) % facets
    names = tuple(f"f{n}" for n in range(facets))
    raw = np.array(raw, dtype=float)
    scaled = np.sign(raw) if scaled is None else np.array(scaled, dtype=float)
    return Pulls(np.arange(1, count + 1), arms, names, blank, blank, blank, raw, scaled)


def test_a_bandit_run(bandit_dir):
    seen = digest(Run(bandit_dir))
    assert seen.kind == "Bandit" and seen.finished and seen.steps == 1500
    assert seen.batches.sum() == 1500 and seen.share.sum() == pytest.approx(1)
    assert np.allclose(seen.probs.sum(axis=1), 1)
    assert seen.sizes.sum() == 1_456_200
    assert seen.seconds_at([0, 1500])[0] == 0 and seen.seconds_at([1500])[0] == pytest.approx(
        seen.metrics[-1]["seconds"]
    )


def test_the_mixed_baseline_has_facets_but_no_curriculum(mixed_dir):
    seen = digest(Run(mixed_dir))
    assert seen.facets == ("Med", "IT", "Law", "Koran", "Subs")
    assert seen.probs is None and seen.rewards is None and seen.batches is None
    assert seen.share == pytest.approx(seen.sizes / seen.sizes.sum())
    assert len(set(seen.epochs.tolist())) == 1


def test_a_static_run_has_draws_but_no_rewards(static_dir):
    seen = digest(Run(static_dir))
    assert seen.rewards is None and seen.batches.sum() == 1500
    assert seen.recipe.schedule.label == "upsampled (τ=5)"


def test_a_run_that_has_just_begun(fake, tmp_path):
    seen = digest(Run(fake.write_run(tmp_path / "new", steps=3, log_every=10, validations=0, scored=False)))
    assert seen.steps == 3 and seen.seconds == 0 and not seen.metrics and seen.average_bleu is None


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
    assert seen.mean_scaled.tolist() == [1, -1] and seen.clipped == 1
    assert np.isnan(seen.facet_scaled).any()  # five bins cannot all have both facets


def test_no_rewards_at_all():
    assert rewards(pulls_of([np.nan, np.nan]), 10, (0.2, 0.8)) is None


def test_names_of_runs_differ(tmp_path, bandit_dir):
    runs = [Run(bandit_dir), Run(bandit_dir)]
    assert len(set(unique_names(runs))) == 2
    for parent in ("a", "b"):
        (tmp_path / parent / "x").mkdir(parents=True)
        (tmp_path / parent / "x" / "recipe.yaml").write_text("", encoding="utf-8")
    assert unique_names([Run(tmp_path / "a/x"), Run(tmp_path / "b/x"), Run(bandit_dir)]) == [
        "a/x",
        "b/x",
        "bandit",
    ]


def test_many_facets_get_coarser_curves(fake, tmp_path):
    directory = fake.write_run(
        tmp_path / "many", sizes=fake.many_facets(198), steps=1100, log_every=1, validations=2, scored=False
    )
    one, *_ = digests([Run(directory)])
    assert one.probs.shape == (1000, 198)
    four = digests([Run(directory)] * 4)
    assert four[0].probs.shape == (400_000 // (4 * 198), 198)
