"""The run directory of another training loop, as `facetmt` reads it."""

import pytest

from facetmt.adapters.batches import FacetBatches
from facetmt.adapters.log import FacetLog, schedule_of
from facetmt.bandit import Exp3, Exp3S, FacetScheduler, Odm, Static
from facetmt.bandit.config import ScheduleConfig, build_scheduler
from facetmt.bandit.odm import AsMeasured
from facetmt.bandit.schedules import Corpus
from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.report.card import model_card
from facetmt.report.digest import digest
from facetmt.report.page import write_report
from facetmt.report.replay import replay
from facetmt.report.tables import compare
from facetmt.runlog import RECIPE, Run

FACETS = {"a": range(10), "b": range(10, 40), "c": range(40, 200)}


def sampler(policy=None, rows=None, reward="dev-pgnorm", **settings):
    policy = policy or Exp3(3, learning_rate=0.3, exploration=0.25, prior=[0.5, 0.3, 0.2])
    scheduler = FacetScheduler(list(FACETS), policy, reward, seed=3, rows=rows, kappa=4.0)
    return FacetBatches(scheduler, FACETS, batch_size=6, **settings)


def train(batches, log, steps):
    for batch, _ in zip(batches, range(steps), strict=False):
        log(batches.feedback(before=2.0, after=2.0 - 0.1 * batch[0] / 200), loss=float(batch[0]))


def texts(folder):
    return {name: (folder / name).read_text() for name in ("pulls.csv", "probs.csv", RECIPE, "facets.json")}


@pytest.mark.parametrize("rows", [None, 6])
def test_report_replay_and_compare_read_it(tmp_path, rows):
    for name in ("one", "two"):
        batches = sampler(rows=rows)
        log = FacetLog(tmp_path / name, batches, steps=120, every=10)
        train(batches, log, 120)
        log.scores({"a": {"bleu": 20.0, "chrf": 50.0}, "b": {"bleu": 40.0, "chrf": 60.0}})
        log.close()
    run = Run(tmp_path / "one")
    assert run.last_step == 120 and len(run.metrics) == 12 and run.pulls.step.size == 120
    assert run.probs[0].tolist() == list(range(0, 121, 10))
    assert run.metrics[-1]["epochs"].keys() == FACETS.keys()
    page = write_report([tmp_path / "one", tmp_path / "two"], tmp_path / "page.html").read_text()
    assert "exp3 dev-pgnorm" in page and "Trained by a loop of its own" in page
    with pytest.raises(ValueError, match="give bleu and chrf"):
        log.scores({"a": {"bleu": 20.0}})
    assert "30.00" in compare([tmp_path / "one", tmp_path / "two"])
    if rows is None:
        assert replay(run, exploration=0.5).steps == 120
    with pytest.raises(UserError, match="trained by another loop"):
        model_card(run)


def test_a_resumed_log_is_that_of_an_undisturbed_run(tmp_path):
    whole = sampler()
    with FacetLog(tmp_path / "whole", whole, steps=40, every=7) as log:
        train(whole, log, 40)
    first = sampler()
    log = FacetLog(tmp_path / "again", first, steps=40, every=7)
    train(first, log, 17)
    state = first.state_dict(), log.state_dict()
    train(first, log, 5)  # lost with the process
    log.close()
    second = sampler()
    second.load_state_dict(state[0])
    log = FacetLog(tmp_path / "again", second, steps=40, every=7)
    log.load_state_dict(state[1])
    train(second, log, 23)
    log.close()
    assert texts(tmp_path / "again") == texts(tmp_path / "whole")
    again, before = (Run(tmp_path / name).metrics for name in ("again", "whole"))
    assert [row | {"seconds": 0} for row in again] == [row | {"seconds": 0} for row in before]


def test_batches_without_a_reward_are_logged_too(tmp_path):
    batches = sampler(Static([0.2, 0.3, 0.5]))
    log = FacetLog(tmp_path, batches, steps=20, every=10)
    for _, _ in zip(batches, range(20), strict=False):
        log(batches.used())
    log.close()
    seen = digest(Run(tmp_path))
    assert seen.batches is not None and seen.batches.sum() == 20
    assert seen.share.tolist() == pytest.approx(list(batches.shares().values()))
    assert seen.rewards is None and not seen.learns


def test_another_runs_logs_are_neither_replaced_nor_made_up(tmp_path):
    batches = sampler()
    log = FacetLog(tmp_path, batches, steps=9)
    train(batches, log, 3)
    state = log.state_dict()
    log.close()
    with pytest.raises(UserError, match="logs of another training are there"):
        train(batches, FacetLog(tmp_path, batches, steps=9), 1)
    with pytest.raises(UserError, match="logs to continue are missing"):
        FacetLog(tmp_path / "elsewhere", batches, steps=9).load_state_dict(state)


def test_only_the_first_rank_writes(tmp_path):
    batches = sampler(rank=1, world=2)
    log = FacetLog(tmp_path / "run", batches, steps=9)
    train(batches, log, 3)
    log.load_state_dict(log.state_dict())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("policy", "scaler"),
    [
        (Exp3(3, learning_rate=0.3), None),
        (Exp3S(3), None),
        (Odm(3), AsMeasured()),
        (Static([0.2, 0.3, 0.5]), None),
    ],
)
def test_the_recipe_describes_the_scheduler(policy, scaler, tmp_path):
    scheduler = FacetScheduler(list(FACETS), policy, "loss", scaler=scaler)
    config = ScheduleConfig(**schedule_of(scheduler))
    rebuilt = build_scheduler(config, Corpus(list(FACETS), [1, 1, 1]), seed=1)
    assert type(rebuilt.policy) is type(policy) and type(rebuilt.scaler) is type(scheduler.scaler)
    assert rebuilt.probs().tolist() == pytest.approx(policy.probs().tolist())
    assert (rebuilt.rows, rebuilt.reward_name) == (None, "loss")
    batches = FacetBatches(scheduler, FACETS, batch_size=2)
    log = FacetLog(tmp_path, batches, steps=77, seed=5)
    log.state_dict()
    log.close()
    recipe = load_recipe(tmp_path / RECIPE)
    assert (recipe.train.steps, recipe.seed) == (77, 5)


def test_what_no_recipe_can_describe_is_refused():
    class Own(Static):
        def state(self):
            return {"kind": "own"}

    def gain(before, after):
        return before - after

    with pytest.raises(ValueError, match="needs a policy of facetmt"):
        schedule_of(FacetScheduler(["a"], Own([1.0])))
    with pytest.raises(ValueError, match="one of the rewards"):
        schedule_of(FacetScheduler(["a"], Exp3(1), gain))
