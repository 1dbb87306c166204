from dataclasses import replace

import numpy as np
import pytest

from facetmt.bandit import FacetScheduler, Static
from facetmt.report.digest import digest
from facetmt.report.health import examine, findings
from facetmt.runlog import Run


@pytest.fixture(scope="module")
def healthy(fake, tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "calm"
    calm = {"learning_rate": 0.001, "exploration": 0.5, "window": 100}
    run = digest(Run(fake.write_run(directory, steps=1500, scored=False, **calm)))
    assert examine(run) == []
    return run


def last(run, **values):
    return replace(run, metrics=(*run.metrics[:-1], {**run.metrics[-1], **values}))


def said(run):
    return " ".join(f"{finding.severity}: {finding.what}" for finding in examine(run))


def test_findings_reads_a_run_directory(healthy):
    assert findings(healthy.logs) == []


def test_collapse(healthy):
    probs = np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (40, 1))
    assert "warning: The bandit has collapsed to Med: π is 60%" in said(replace(healthy, probs=probs))
    nearly = np.tile([0.5, 0.2, 0.1, 0.1, 0.1], (40, 1))
    assert "collapsed" not in said(replace(healthy, probs=nearly))


def test_starved_facets_are_those_of_the_scheduler(healthy):
    probs = np.tile([0.5, 0.2, 0.11, 0.1, 0.09], (40, 1))
    text = said(replace(healthy, probs=probs))
    assert "note: 1 of 5 facets starved, with π lately below half of uniform (10.0%): Subs (9.0%)" in text
    policy = Static(probs[-1])
    assert FacetScheduler(healthy.facets, policy).health().starved == pytest.approx(1 / 5)
    fixed = replace(healthy.recipe, schedule=replace(healthy.recipe.schedule, policy="static"))
    assert "starved" not in said(replace(healthy, probs=probs, recipe=fixed))  # it does as it was told


@pytest.mark.parametrize(
    ("bleu", "words"),
    [
        (0.03, "bad: The model does not translate: average best dev BLEU 0.03"),
        (3.0, "warning: The model hardly translates: average best dev BLEU 3.00"),
    ],
)
def test_a_model_that_does_not_translate_is_not_healthy(healthy, bleu, words):
    rows = tuple({**row, "bleu": {"facets": {}, "average": bleu}} for row in healthy.validation)
    assert words in said(replace(healthy, validation=rows))


def test_rewards_off_their_scale(healthy):
    off = replace(healthy, rewards=replace(healthy.rewards, mean=-0.6))
    assert "warning: The rewards are off-centre: the mean scaled reward is −0.60" in said(off)
    odm = replace(healthy.recipe, schedule=replace(healthy.recipe.schedule, policy="odm"))
    assert "off-centre" not in said(replace(off, recipe=odm))  # its rewards are losses, as they are measured


def test_a_facet_that_forgets(healthy):
    rows = [
        {**row, "bleu": {**row["bleu"], "facets": {**row["bleu"]["facets"], "Law": 40.0 if n < 10 else 20.0}}}
        for n, row in enumerate(healthy.validation)
    ]
    assert "1 facet lost dev BLEU since the best validation: Law (−20.0)" in said(
        replace(healthy, validation=tuple(rows))
    )


@pytest.mark.parametrize(
    ("health", "words"),
    [
        ({"saturation": 0.7}, "warning: The reward scale is saturated: 70%"),
        ({"dropped": 1}, "note: Dropped 1 reward (0.1%) for not being finite"),
        ({"dropped": 900}, "bad: Dropped 900 rewards (60.0%)"),
    ],
)
def test_rewards_in_trouble(healthy, health, words):
    assert words in said(last(healthy, health={**healthy.metrics[-1]["health"], **health}))


def test_repetition(healthy):
    assert "warning: 1 facet repeated more than 20 times: Koran (30 epochs)" in said(
        replace(healthy, epochs=np.array([1, 1, 1, 30.0, 2]))
    )
    assert "bad: 2 facets" in said(replace(healthy, epochs=np.array([1, 25, 1, 130.0, 2])))


def test_divergence(healthy):
    worse = tuple({**row, "loss": 2.0 if n < 50 else 9.0} for n, row in enumerate(healthy.metrics))
    assert "bad: The training loss diverges: 9.00 lately, 2.00 at its lowest" in said(
        replace(healthy, metrics=worse)
    )
    assert "bad: Skipped the last 3 updates: the loss was not finite" in said(last(healthy, skipped_in_row=3))
    rows = tuple(
        {**row, "loss": {**row["loss"], "average": 1.0 + n / 4}} for n, row in enumerate(healthy.validation)
    )
    assert "warning: The dev loss rises" in said(replace(healthy, validation=rows))


def test_no_progress_any_more(healthy):
    rows = tuple(
        {**row, "bleu": {**row["bleu"], "average": 30.0 if n == 3 else 20.0}}
        for n, row in enumerate(healthy.validation)
    )
    assert "note: Dev BLEU was best at step 400 (30.00); the 1,100 steps since then" in said(
        replace(healthy, validation=rows)
    )


def test_costs(healthy):
    row = healthy.metrics[-1]
    assert "Training waits for its input" in said(last(healthy, time={**row["time"], "input": 100.0}))
    dear = tuple({**row, "reward_share": 0.6, "padding": 0.5} for row in healthy.metrics)
    text = said(replace(healthy, metrics=dear))
    assert "note: Reward passes take" in text and "50% of the batches is padding" in text


def test_the_worst_comes_first_and_every_finding_says_what_to_try(healthy):
    run = last(replace(healthy, epochs=np.array([1, 25.0, 1, 1, 1])), skipped_in_row=2)
    found = examine(run)
    assert [finding.severity for finding in found] == ["bad", "warning"] and all(f.remedy for f in found)


@pytest.mark.parametrize("policy", ["mixed", "static", "exp3"])
def test_a_run_without_a_single_log_point_is_no_trouble(fake, tmp_path, policy):
    directory = fake.write_run(
        tmp_path / "x", policy=policy, steps=2, log_every=5, validations=0, scored=False
    )
    assert findings(Run(directory)) == []


def test_planned_shares_are_not_called_starved_or_collapsed(auto_dir):
    run = digest(Run(auto_dir))
    assert run.probs[-1, run.facets.index("Koran")] < 0.01 and examine(run) == []


def test_a_bandit_with_mixed_batches_is_judged_by_what_applies_to_it(blend_dir):
    run = digest(Run(blend_dir))
    assert abs(run.rewards.mean) > 0.3  # which cancels out here
    text = said(run)
    assert "off-centre" not in text and "starved" in text


@pytest.mark.parametrize(
    ("policy", "advice"),
    [
        ("exp3", "raise schedule.exploration"),
        ("auto", "lower schedule.max_epochs"),
        ("unimax", "lower schedule.max_epochs"),
        ("static", "train for fewer steps"),
    ],
)
def test_advice_names_only_settings_that_the_policy_has(healthy, policy, advice):
    recipe = replace(healthy.recipe, schedule=replace(healthy.recipe.schedule, policy=policy))
    (finding,) = examine(replace(healthy, recipe=recipe, epochs=np.array([1, 25.0, 1, 1, 1])))
    assert finding.remedy.endswith(f"add text, or {advice}.")
