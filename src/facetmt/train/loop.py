"""The training loop (paper, Algorithm 1): pull, train, measure, feed back; validate and save on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from facetmt.errors import UserError
from facetmt.runlog import CHECKPOINTS
from facetmt.train import checkpoint
from facetmt.train.display import Watcher
from facetmt.train.feed import make_feed
from facetmt.train.interrupt import Interrupt, Interrupted
from facetmt.train.measure import MeasuredStep, RewardCost
from facetmt.train.processes import Agreement, on_first_process
from facetmt.train.session import Session
from facetmt.train.step import make_step
from facetmt.train.tally import Clock, Pending, Window
from facetmt.train.validate import Validator


class Loop:
    """Runs a session to its last step, or to the first signal."""

    def __init__(self, session: Session, watchers: Sequence[Watcher], interrupt: Interrupt) -> None:
        self.session, self.tally, self._signal = session, session.tally, session.signal
        self._watchers = watchers
        recipe, placement = session.recipe, session.placement
        self._config = recipe.train
        self._agreement = Agreement(interrupt, self._config.agree_every)
        names = [facet.name for facet in session.prepared.facets]
        step = make_step(
            session.graph,
            recipe.optimiser,
            reward=self._signal.reward,
            num_facets=len(names),
            seed=recipe.seed,
            dev_average=self._config.dev_average,
            objective=recipe.schedule.weights(names) if recipe.schedule.objective else None,
            shardings=(placement.shardings(session.state), placement.everywhere),
        )
        self._step = MeasuredStep(step)
        self._feed = make_feed(session.sampler, session.share.put, recipe.optimiser.accumulate)
        self._reward_cost = RewardCost(session)
        self._validator = Validator(session)
        self._clock = Clock(self.tally)
        self._window = Window(self.tally)
        self._unsaved = self.tally.saved < self.tally.step  # whether the last checkpoint is out of date

    def run(self) -> bool:
        """Train to the end; False if a signal stopped it, with everything saved."""
        self._feed.start()
        try:
            self._validator.rehearse(self.session.state.params)
            while not self._check_in():
                self._agreement.at(self.tally.step)
                self._advance()
                if self.tally.step % self._config.log_every == 0:
                    self._log()
        except Interrupted:
            if self._unsaved:
                self._save()
            return False
        finally:
            self._feed.close()
        # The last checkpoint still holds these rewards as pending, so that a run that is later given more
        # steps continues as if it had had them from the start.
        self._settle(lag=0)
        self.session.log.flush()
        return True

    def _check_in(self) -> bool:
        """Validate and save where that is due at this step; then say whether it was the last one."""
        tally, config = self.tally, self._config
        last = tally.step >= config.steps
        if tally.step > tally.validated and (last or tally.step % config.validate_every == 0):
            self._validate()
        stop = last or (config.patience is not None and tally.stale >= config.patience)
        due = tally.step == tally.validated or (config.save_every and tally.step % config.save_every == 0)
        if self._unsaved and (stop or due):
            self._save()
        return stop

    def _advance(self) -> None:
        """One step of Algorithm 1; with lag 1 the reward of the step before is read while this one runs."""
        session, tally = self.session, self.tally
        with self._clock.spend("probe"):
            self._tell(self._signal.before_step(tally.step, session.state))
        pull = session.scheduler.pull()
        with self._clock.spend("train"), self._clock.spend("input"):
            batch, filled = self._feed.take(pull)
            dev, fresh = self._signal.dev(tally.step)
        with self._clock.spend("compile"):
            self._step.compile(session.state, batch, dev, fresh)
        with self._clock.spend("train"):
            session.state, values = self._step(session.state, batch, dev, fresh)
            tally.step += 1
            self._unsaved = True
            self._window.add_batch(filled.tokens, filled.room)
            self._reward_cost.show(batch, dev)
            tally.pending.append(Pending(tally.step, pull, values))
            self._settle(session.recipe.schedule.lag)

    def _settle(self, lag: int) -> None:
        """Wait for the figures of all but the last `lag` steps, teach the scheduler, log the pulls."""
        scheduler, log = self.session.scheduler, self.session.log
        while len(self.tally.pending) > lag:
            waiting = self.tally.pending.pop(0)
            step, pull, metrics = waiting.step, waiting.pull, waiting.metrics()
            facet = scheduler.name(pull)
            row = (pull.prob, *self._signal.settle(pull, metrics))
            log.pull(step, facet, row)
            self._agreement.record(step, pull.arm, *row, *(pull.rows or ()))
            self._window.add_metrics(metrics)
            if metrics.skipped_in_row >= self._config.max_skipped:
                raise UserError(
                    f"the loss was not finite for {metrics.skipped_in_row} steps in a row, "
                    f"the last at step {step} on facet {facet}; lower optimiser.learning_rate or "
                    "optimiser.clip, or look at that facet's text, then --resume from the last checkpoint"
                )

    def _tell(self, news: Sequence[str]) -> None:
        """Sentences for the screen at once, and for the log at its next point."""
        self.tally.news += news
        for watcher in self._watchers:
            for sentence in news:
                watcher.say(sentence)

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
            **({"news": tally.news} if tally.news else {}),
        }
        tally.news = []
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
        self._unsaved = True
        self.session.log.validation(row)
        for watcher in self._watchers:
            watcher.validation(row, best)

    def _save(self) -> None:
        session, tally = self.session, self.tally
        with self._clock.spend("save"):
            tally.pending = [one._replace(values=one.metrics()) for one in tally.pending]
            tally.saved, tally.seconds = tally.step, self._clock.seconds()
            directory = session.directory / CHECKPOINTS
            checkpoint.save(directory, tally.step, session.state, session.host())
            wanted = {step for _, step in tally.best}
            on_first_process(lambda: checkpoint.prune(directory, self._config.keep, wanted))
        self._unsaved = False
