import numpy as np
import pytest

from facetmt.report.digest import digest, digests, shares, unique_names
from facetmt.runlog import Run


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


def test_shares_of_mixed_batches_are_means_over_the_steps(auto_dir):
    seen = digest(Run(auto_dir))
    assert (seen.kind, seen.recipe.schedule.label, seen.composed, seen.learns) == ("Auto", "auto", True, True)
    assert seen.batches is None and seen.rewards is None and seen.mean_rewards is None
    assert seen.share.sum() == pytest.approx(1) and seen.probs.shape == (75, 5)
    # the sampler counted rows; 60 pairs per batch and 18,000 in the facet turn its epochs into a share
    koran = seen.facets.index("Koran")
    assert seen.share[koran] == pytest.approx(seen.epochs[koran] * 18_000 / 60 / 1500, rel=0.05)
    assert seen.share[koran] < 0.02 < seen.probs[0, koran]


def test_distant_log_points_weigh_more():
    probs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert shares(None, np.array([0, 10, 20]), probs, 20).tolist() == [0.75, 0.25]
    assert shares(None, np.array([10, 20]), probs[1:], 100).tolist() == [0.15, 0.85]  # the last one holds on
    assert shares(None, np.array([], int), np.empty((0, 2)), 5) is None
    assert shares(np.array([3, 1]), np.array([10]), probs[:1], 20).tolist() == [0.75, 0.25]  # counted


def test_all_news_are_kept_however_many_log_points(fake, tmp_path, monkeypatch):
    run = fake.write_run(
        tmp_path / "auto", policy="auto", steps=300, log_every=1, scored=False, validations=0
    )
    monkeypatch.setattr("facetmt.report.digest.POINTS", 5)
    seen = digest(Run(run), points=5)
    assert len(seen.metrics) == 5
    assert len(seen.news) >= 2 and all("hardly depend on its sources" in line for line in seen.news)
    assert not any("news" in row for row in seen.metrics)


def test_a_bandit_with_mixed_batches_has_rewards_of_no_single_facet(blend_dir):
    seen = digest(Run(blend_dir))
    assert seen.kind == "Bandit" and seen.batches is None and seen.share.sum() == pytest.approx(1)
    assert seen.rewards.step.size and seen.rewards.by_facet is None and seen.mean_rewards is None
    assert seen.prob_step[0] == 0 and seen.probs[0].tolist() == [0.2] * 5


def test_unimax_has_fixed_shares(fake, tmp_path):
    run = fake.write_run(tmp_path / "unimax", policy="unimax", steps=60, scored=False)
    seen = digest(Run(run))
    assert (seen.kind, seen.learns, seen.news) == ("Static", False, ()) and seen.share == pytest.approx(
        [0.2] * 5
    )


def test_a_run_that_has_just_begun(fake, tmp_path):
    seen = digest(Run(fake.write_run(tmp_path / "new", steps=3, log_every=10, validations=0, scored=False)))
    assert seen.steps == 3 and seen.seconds == 0 and not seen.metrics and seen.average_bleu is None


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
