from dataclasses import replace

import numpy as np
import pytest

from facetmt.report.digest import digest
from facetmt.report.health import examine, findings
from facetmt.runlog import Run


@pytest.fixture(scope="module")
def healthy(fake, tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "calm"
    run = digest(
        Run(fake.write_run(directory, steps=1500, learning_rate=0.001, exploration=0.5, scored=False))
    )
    assert examine(run) == []
    return run


def last(run, **values):
    return replace(run, metrics=(*run.metrics[:-1], {**run.metrics[-1], **values}))


def said(run):
    return " ".join(f"{finding.severity}: {finding.what}" for finding in examine(run))


def test_findings_reads_a_run_directory(healthy):
    assert findings(healthy.run) == []


def test_collapse(healthy):
    probs = np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (40, 1))
    assert "warning: The bandit has collapsed to Med: π is 60%" in said(replace(healthy, probs=probs))
    nearly = np.tile([0.5, 0.2, 0.1, 0.1, 0.1], (40, 1))
    assert "collapsed" not in said(replace(healthy, probs=nearly))


def test_starved_facets_are_named_and_counted(healthy):
    share = np.array([0.8, 0.01, 0.17, 0.01, 0.01])
    text = said(replace(healthy, share=share))
    assert "2 facets got less than a quarter" in text and "IT, Subs" in text
    assert "Koran" not in text  # 1 % is no less than proportional sampling gives to so small a facet


def test_a_facet_that_forgets(healthy):
    rows = [
        {**row, "bleu": {**row["bleu"], "facets": {**row["bleu"]["facets"], "Law": 40.0 if n < 10 else 20.0}}}
        for n, row in enumerate(healthy.validation)
    ]
    assert "1 facet lost dev BLEU since its best: Law (−20.0)" in said(
        replace(healthy, validation=tuple(rows))
    )


@pytest.mark.parametrize(
    ("health", "words"),
    [
        ({"saturation": 0.7}, "warning: The reward scale is saturated: 70%"),
        ({"dropped": 1}, "note: 1 reward (0.1%)"),
        ({"dropped": 900}, "bad: 900 rewards (60.0%)"),
    ],
)
def test_rewards_in_trouble(healthy, health, words):
    assert words in said(last(healthy, health={**healthy.metrics[-1]["health"], **health}))


def test_repetition(healthy):
    assert "warning: 1 facet went through training more than 20 times: Koran (30 epochs)" in said(
        replace(healthy, epochs=np.array([1, 1, 1, 30.0, 2]))
    )
    assert "bad: 2 facets" in said(replace(healthy, epochs=np.array([1, 25, 1, 130.0, 2])))


def test_divergence(healthy):
    worse = tuple({**row, "loss": 2.0 if n < 50 else 9.0} for n, row in enumerate(healthy.metrics))
    assert "bad: The training loss diverges: 9.00 lately, 2.00 at its lowest" in said(
        replace(healthy, metrics=worse)
    )
    assert "bad: The last 3 updates had a loss that is no number" in said(last(healthy, skipped_in_row=3))
    rows = tuple(
        {**row, "loss": {**row["loss"], "average": 1.0 + n / 4}} for n, row in enumerate(healthy.validation)
    )
    assert "warning: The dev loss rises" in said(replace(healthy, validation=rows))


def test_no_progress_any_more(healthy):
    rows = tuple(
        {**row, "bleu": {**row["bleu"], "average": 30.0 if n == 3 else 20.0}}
        for n, row in enumerate(healthy.validation)
    )
    assert "note: Dev BLEU was best at step 400 (30.0); the 1,100 steps after it" in said(
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
