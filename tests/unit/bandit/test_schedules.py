"""Every row of the table of schedules: it builds from what it says it needs, and tables can name it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from facetmt.bandit import REWARDS
from facetmt.bandit.config import ScheduleConfig, build_scheduler
from facetmt.bandit.schedules import NOTHING, POLICIES, REWARD, Corpus
from facetmt.bandit.unimax import unimax_probs

CORPUS = Corpus(
    ["a", "b", "c"], [10, 30, 60], tokens=[100, 300, 600], planned=6000.0, with_dev=[True, True, False]
)
CONFIGS = [*({"policy": name} for name in POLICIES), {"policy": "exp3", "prior_tau": 5.0}]


@pytest.mark.parametrize("settings", CONFIGS, ids=str)
def test_a_row_builds_from_the_sizes_that_it_needs_and_from_no_less(settings):
    config = ScheduleConfig(**settings)
    row, needs = config.row, config.row.needs(config)
    sizes = {"pairs": CORPUS.pairs, "tokens": CORPUS.tokens}
    given = {key: value if key == needs else () for key, value in sizes.items()}
    policy = row.build(config, replace(CORPUS, **given))
    assert policy.arms == (1 if row.draws == "whole" else len(CORPUS.facets))
    assert policy.probs().tolist() == row.build(config, CORPUS).probs().tolist()
    if needs:
        with pytest.raises(ValueError, match="non-empty list"):
            row.build(config, replace(CORPUS, **{needs: ()}))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_row_has_a_label_a_group_and_a_reward_that_exists(policy):
    config = ScheduleConfig(policy=policy)
    assert config.label and config.row.group
    assert config.row.reward in REWARDS
    assert (config.step_reward is None) == (config.row.signal != REWARD)
    if config.row.exploration(config):
        assert config.row.signal != NOTHING


def test_labels_tell_systems_apart():
    labels = [ScheduleConfig(policy=name).label for name in POLICIES]
    assert len(set(labels)) == len(labels)
    assert ScheduleConfig(policy="exp3", reward="pg").label == "exp3 pg"
    taus = {1.0: "proportional (τ=1)", 5.0: "upsampled (τ=5)", 0.5: "static (τ=0.5)"}
    taus |= {math.inf: "uniform (τ=∞)", -1.0: "inverse proportional (τ=-1)"}
    for tau, label in taus.items():
        assert ScheduleConfig(policy="static", tau=tau).label == label


@pytest.mark.parametrize("policy", ["auto", "unimax"])
def test_auto_and_unimax_share_out_the_rows_of_every_batch(policy):
    scheduler = build_scheduler(ScheduleConfig(policy=policy, max_epochs=4), CORPUS, seed=1, rows=60)
    shares = unimax_probs(CORPUS.tokens, CORPUS.planned, 4)
    for _ in range(5):
        pull = scheduler.pull()
        assert sum(pull.rows) == 60 and np.abs(np.array(pull.rows) - 60 * shares).max() <= 1
        assert pull.credit == ()  # single batches teach neither of them


def test_exp3_learns_from_how_its_mixed_batches_vary():
    config = ScheduleConfig(policy="exp3", batches="mixed", kappa=2.0)
    scheduler = build_scheduler(config, CORPUS, seed=1, rows=40)
    compositions = set()
    for _ in range(30):
        pull = scheduler.pull()
        assert sum(pull.rows) == 40 and {arm for arm, _ in pull.credit} == {0, 1, 2}
        compositions.add(pull.rows)
        scheduler.policy.update(pull.credit, pull.rows[2] / 40)  # c helps
    assert len(compositions) > 20
    assert scheduler.probs().argmax() == 2
