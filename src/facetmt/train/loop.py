"""The training loop (paper, Algorithm 1): pull, train, measure, feed back; validate and save on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from facetmt.bandit import Pull
from facetmt.errors import UserError
from facetmt.runlog import CHECKPOINTS
from facetmt.train import checkpoint
from facetmt.train.alignment import Alignment
from facetmt.train.cost import RewardCost
from facetmt.train.display import Watcher
from facetmt.train.feed import Feed, HeldBatch
from facetmt.train.interrupt import Interrupt, Interrupted
from facetmt.train.memory import MeasuredStep
from facetmt.train.processes import Agreement, lead
from facetmt.train.session import Session, dev_rows
from facetmt.train.step import Metrics, make_step, read_metrics
from facetmt.train.tally import Clock, Window
from facetmt.train.validate import Validator


class Loop:
    """Runs a session to its last step, or to the first signal."""

    def __init__(self, session: Session, watchers: Sequence[Watcher], interrupt: Interrupt) -> None:
        self.session, self.tally = session, session.tally
        self._watchers = watchers
        recipe = session.recipe
        self._config, self._learns = recipe.train, recipe.schedule.learns
        self._lag = recipe.schedule.feedback_lag
        reward = recipe.schedule.reward if self._learns else "none"
        self._agreement = Agreement(interrupt, self._config.agree_every)
        placement = session.placement
        step = make_step(
            session.graph,
            recipe.optimiser,
            reward=reward,
            num_facets=len(session.prepared.facets),
            seed=recipe.seed,
            dev_average=self._config.dev_average,
            shardings=(placement.shardings(session.state), placement.everywhere),
        )
        self._step = MeasuredStep(step)
        self._feed = Feed(session.sampler, session.share.put, recipe.optimiser.accumulate)
        put = placement.share(dev_rows(recipe)).put
        self._held = (
            HeldBatch(session.dev_sampler, put, self._config.dev_hold) if session.dev_sampler else None
        )
        self._alignment = Alignment(session) if recipe.schedule.probes else None
        self._reward_cost = RewardCost(session, reward)
        self._validator = Validator(session)
        self._clock = Clock(self.tally)
        self._window = Window(self.tally)

    def run(self) -> bool:
        """Train to the end; False if a signal stopped it, with everything saved."""
        self._feed.start()
        try:
            self._validator.rehearse(self.session.state.params)
            while not self._finished():
                self._agreement.at(self.tally.step)
                self._advance()
                if self.tally.step % self._config.log_every == 0:
                    self._log()
        except Interrupted:
            if self.tally.saved < self.tally.step:
                self._save()
            return False
        finally:
            self._feed.close()
        return True

    def _finished(self) -> bool:
        """Do what is due at this step; then say whether it was the last one."""
        tally, config = self.tally, self._config
        last = tally.step >= config.steps
        if tally.step > tally.validated and (last or tally.step % config.validate_every == 0):
            self._validate()
        stop = last or (config.patience is not None and tally.stale >= config.patience)
        due = tally.step == tally.validated or (config.save_every and tally.step % config.save_every == 0)
        if tally.step > tally.saved and (stop or due):
            self._save()
        return stop

    def _advance(self) -> None:
        """One step of Algorithm 1; with lag 1 the reward of the step before is read while this one runs."""
        session, tally = self.session, self.tally
        if self._alignment is not None and tally.step % session.recipe.schedule.probe_every == 0:
            with self._clock.spend("probe"):
                session.scheduler.policy.update(self._alignment.credit(session.state.params), 1.0)
        with self._clock.spend("train"):
            pull = session.scheduler.pull()
            waiting = time.perf_counter()
            batch, filled = self._feed.take(pull.arm)
            tally.spent["input"] += time.perf_counter() - waiting
            dev, fresh = self._held.get(tally.step) if self._held else (None, False)
            session.state, values = self._step(session.state, batch, dev, fresh)
            tally.step += 1
            self._window.add_batch(filled.tokens, filled.room)
            self._reward_cost.show(batch, dev)
            tally.pending.append((tally.step, pull, values))
            while len(tally.pending) > self._lag:
                self._settle(*tally.pending.pop(0))

    def _settle(self, step: int, pull: Pull, values: Any) -> None:
        """Wait for the step's figures, teach the scheduler, log the pull."""
        metrics = values if isinstance(values, Metrics) else read_metrics(values)
        scheduler, log = self.session.scheduler, self.session.log
        facet = scheduler.facets[pull.arm]
        if self._learns:
            record = scheduler.feedback(pull, before=metrics.before, after=metrics.after)
            row = (pull.prob, record.before, record.after, record.raw, record.scaled)
        else:
            row = (pull.prob, metrics.loss, math.nan, math.nan, math.nan)
        log.pull(step, facet, row)
        self._agreement.record(step, pull.arm, *row)
        self._window.add_metrics(metrics)
        if metrics.skipped_in_row >= self._config.max_skipped:
            raise UserError(
                f"the loss was no finite number for {metrics.skipped_in_row} steps in a row, the last at step {step} "
                f"on facet {facet}; lower optimiser.learning_rate or optimiser.clip, or look at that facet's text, "
                "then --resume from the last checkpoint"
            )

    def _log(self) -> None:
        tally, session = self.tally, self.session
        health = session.scheduler.health()
        shares = dict(zip(session.scheduler.facets, session.scheduler.probs().tolist(), strict=True))
        row = {
            "step": tally.step,
            "seconds": round(self._clock.seconds(), 3),
            **self._window.summary(),
            "reward_share": self._reward_cost.share(self._window.step_seconds()),
            "time": {name: round(spent, 3) for name, spent in tally.spent.items()},
            "epochs": {name: round(value, 4) for name, value in session.sampler.epochs().items()},
            "health": asdict(health),
        }
        self._window = Window(tally)
        session.log.metrics(row)
        session.log.probs(tally.step, session.scheduler.probs())
        session.log.flush()
        for watcher in self._watchers:
            watcher.metrics(row, shares)

    def _validate(self) -> None:
        """Dev loss and dev BLEU of every facet; remember the best."""
        tally = self.tally
        with self._clock.spend("validate"):
            loss, bleu = self._validator(self.session.state.params, self._agreement.check)
        row = {"step": tally.step, "seconds": round(self._clock.seconds(), 3), "loss": loss, "bleu": bleu}
        best = tally.rank(bleu["average"], self._config.keep_best)
        tally.validated = tally.step
        self.session.log.validation(row)
        for watcher in self._watchers:
            watcher.validation(row, best)

    def _save(self) -> None:
        session, tally = self.session, self.tally
        with self._clock.spend("save"):
            tally.pending = [
                (step, pull, values if isinstance(values, Metrics) else read_metrics(values))
                for step, pull, values in tally.pending
            ]
            tally.saved, tally.seconds = tally.step, self._clock.seconds()
            directory = session.directory / CHECKPOINTS
            checkpoint.save(directory, tally.step, session.state, session.host())
            lead(lambda: checkpoint.prune(directory, self._config.keep, {step for _, step in tally.best}))
