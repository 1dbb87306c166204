"""Hugging Face Trainer: the scheduler decides the batches, and the loss on a held dev batch rewards them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import ExportableState

from facetmt.adapters.log import FacetLog
from facetmt.adapters.torch import FacetBatchSampler, check_agreement, mean_over_ranks, ranks
from facetmt.bandit import REWARDS, FacetScheduler
from facetmt.bandit.schedules import NOTHING, POLICIES
from facetmt.permutation import permuted, stream_key

if TYPE_CHECKING:
    Base = Any
else:
    Base = object

CALLBACK = "FacetCallback"  # whose state is in the Trainer's trainer_state.json


class FacetTrainerMixin(Base):
    """To be named before a Trainer: `class MyTrainer(FacetTrainerMixin, Seq2SeqTrainer)`.

    Rewards are those of a dev batch (`dev-pgnorm`, `dev-pg`, `dev-loss`), or `loss`, the training loss. With
    gradient accumulation, every batch of an update is rewarded by the effect of the update.
    """

    def __init__(
        self,
        *args: Any,
        scheduler: FacetScheduler,
        facets: Mapping[str, Sequence[int]] | Sequence[Any] | npt.NDArray[Any],
        tokens: int | None = None,
        lengths: Sequence[int] | npt.NDArray[Any] | None = None,
        dev_dataset: Any = None,
        dev_rows: int = 16,
        dev_hold: int = 1,
        **kwargs: Any,
    ) -> None:
        """`facets`, `tokens` and `lengths` are those of `FacetBatchSampler`; without `tokens`, batches have
        the Trainer's size. A dev batch has `dev_rows` samples of `dev_dataset` (by default `eval_dataset`;
        of a dictionary of data sets, evenly from each), and is kept for `dev_hold` updates.
        """
        super().__init__(*args, **kwargs)
        self._reward = needed_reward(scheduler)
        dev = self.eval_dataset if dev_dataset is None else dev_dataset
        self._dev_sets = list(dev.values()) if isinstance(dev, Mapping) else [] if dev is None else [dev]
        self._dev_rows, self._dev_hold = dev_rows, dev_hold
        self._check_settings()
        self.args.ignore_data_skip = True  # the sampler itself continues where it was
        self.facet_sampler = FacetBatchSampler(
            scheduler,
            facets,
            batch_size=None if tokens else self.args.train_batch_size,
            tokens=tokens,
            lengths=lengths,
            seed=self.args.seed,
        )
        accumulated = self.args.gradient_accumulation_steps
        self.facet_log = FacetLog(
            self.args.output_dir,
            self.facet_sampler,
            steps=self.args.max_steps * accumulated,
            every=max(1, int(self.args.logging_steps)) * accumulated,
            seed=self.args.seed,
        )
        self._dev_loaders: list[Any] = []  # for their collators and columns
        self._held: tuple[int, float] | None = None  # number of the dev batch, and the latest loss on it
        self._update: list[torch.Tensor] = []  # training loss of each batch of this update
        self._by_facet: dict[str, list[float]] = {}  # training losses since the last log point
        self.add_callback(callback_of(self))

    def get_train_dataloader(self) -> Any:
        """The Trainer's loader with our sampler, which has already divided the samples among the ranks."""
        plain = super().get_train_dataloader()
        generator = torch.Generator()  # of its own: a new loader must not change the random state of training
        generator.manual_seed(self.args.seed)
        return DataLoader(
            plain.dataset,
            batch_sampler=self.facet_sampler,
            collate_fn=plain.collate_fn,
            num_workers=plain.num_workers,
            prefetch_factor=plain.prefetch_factor,
            persistent_workers=plain.persistent_workers,
            pin_memory=plain.pin_memory,
            worker_init_fn=plain.worker_init_fn,
            generator=generator,
        )

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        loss = super().training_step(*args, **kwargs)
        # the Trainer has divided it by the number of accumulated batches
        self._update.append(loss.detach() * self.current_gradient_accumulation_steps)
        return loss

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Beside the training loss: π, shares of training, epochs and losses by facet, and health."""
        if "loss" in logs:
            check_agreement(self.facet_sampler, self.args.device)
            scheduler = self.facet_sampler.scheduler
            columns: dict[str, Mapping[str, float]] = {
                "pi": dict(zip(scheduler.facets, scheduler.probs().tolist(), strict=True)),
                "share": self.facet_sampler.shares(),
                "epochs": self.facet_sampler.epochs(),
                "loss": {name: sum(losses) / len(losses) for name, losses in self._by_facet.items()},
                "health": asdict(scheduler.health()),
            }
            rows = {f"{what}/{name}": value for what, row in columns.items() for name, value in row.items()}
            logs = {**logs, **rows}
            self._by_facet = {}
        super().log(logs, *args, **kwargs)

    def dev_loss(self, number: int) -> float:
        """The loss on dev batch `number`, without dropout; the same on all ranks."""
        rank, world = ranks()
        self._dev_loaders = self._dev_loaders or [self.get_eval_dataloader(data) for data in self._dev_sets]
        rows, samples = -(-max(self._dev_rows, world) // len(self._dev_loaders)), []
        for place, loader in enumerate(self._dev_loaders):
            key = stream_key(self.args.seed, "adapter dev", place)
            positions = np.arange(number * rows, (number + 1) * rows)
            chosen = permuted(positions, len(loader.dataset), key).tolist()
            samples += [loader.dataset[index] for index in chosen]
        model = self.model_wrapped
        if isinstance(model, DistributedDataParallel):
            model = model.module  # the ranks' dev rows need no synchronising
        training = model.training
        model.eval()
        with torch.no_grad(), self.compute_loss_context_manager():
            inputs = self._prepare_inputs(self._dev_loaders[0].collate_fn(samples[rank::world]))
            loss = self.compute_loss(model, inputs)
        model.train(training)
        return float(mean_over_ranks(loss.detach().float()))

    def before_update(self) -> None:
        """Measure the dev loss where the dev batch changes; else it is that after the last update."""
        number = self.state.global_step // self._dev_hold
        if self._reward.startswith("dev-") and (self._held is None or self._held[0] != number):
            self._held = number, self.dev_loss(number)

    def after_update(self) -> None:
        """Reward and log every batch of the update; one that was skipped teaches nothing."""
        losses = mean_over_ranks(torch.stack(self._update).float()).tolist()
        self._update = []
        before = after = None
        if self._held is not None:
            number, before = self._held
            after = self.dev_loss(number)
            self._held = number, after
        for loss in losses:
            facet = self.facet_sampler.name(self.facet_sampler.waiting[0])
            self._by_facet.setdefault(facet, []).append(loss)
            if self._reward and not self.accelerator.optimizer_step_was_skipped:
                first = loss if before is None else before
                record = self.facet_sampler.feedback(before=first, after=after)
            else:
                record = self.facet_sampler.used()
            self.facet_log(record, loss=loss)

    def facet_state(self) -> dict[str, Any]:
        """What a checkpoint needs beside the Trainer's own state."""
        log = self.facet_log.state_dict() if self.facet_log.started else None
        sampler = self.facet_sampler.state_dict()
        return {"sampler": sampler, "log": log, "held": self._held, "losses": self._by_facet}

    def load_facet_state(self, state: Mapping[str, Any]) -> None:
        self.facet_sampler.load_state_dict(state["sampler"])
        if state["log"] is not None:
            self.facet_log.load_state_dict(state["log"])
        self._held = None if state["held"] is None else (int(state["held"][0]), float(state["held"][1]))
        self._by_facet = {name: list(losses) for name, losses in state["losses"].items()}

    def _check_settings(self) -> None:
        """ValueError where the Trainer's settings cannot work with a scheduler."""
        if self.args.max_steps < 1:
            raise ValueError("facets are repeated at different rates, so there are no epochs: give max_steps")
        if self.args.auto_find_batch_size:
            raise ValueError("auto_find_batch_size trains some batches twice; give a batch size")
        if not getattr(self.args, "dataloader_in_order", True):
            raise ValueError("rewards need batches in the order of their draws: dataloader_in_order=True")
        if self._reward.startswith("dev-") and not self._dev_sets:
            raise ValueError(f"the reward {self._reward} needs a dev_dataset or an eval_dataset")
        if min(self._dev_rows, self._dev_hold) < 1:
            raise ValueError("dev_rows and dev_hold must be at least 1")


class FacetTrainer(FacetTrainerMixin, Trainer):
    """The Trainer with facets."""


def needed_reward(scheduler: FacetScheduler) -> str:
    """The reward that steps are measured by; "" where the policy learns nothing from it."""
    kind = scheduler.policy.state().get("kind")
    if kind in POLICIES and POLICIES[kind].signal == NOTHING:
        return ""
    reward = REWARDS.get(scheduler.reward_name)
    if reward is None or (reward.batch == "train" and reward.after):
        raise ValueError(
            f"the reward {scheduler.reward_name!r} cannot be measured here; choose dev-pgnorm, dev-pg, "
            "dev-loss or loss"
        )
    return scheduler.reward_name


def callback_of(trainer: FacetTrainerMixin) -> TrainerCallback:
    """What the Trainer tells us. It may replace the callback by a new object of the same class on resuming:
    a class for each trainer needs no arguments for that."""

    class FacetCallback(TrainerCallback, ExportableState):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step:
                saved = state.stateful_callbacks.get(CALLBACK)
                if saved is None:
                    raise ValueError("this checkpoint was saved without facets, so their state is unknown")
                trainer.load_facet_state(saved["attributes"]["saved"])

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            trainer.before_update()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            state.epoch = state.global_step / state.max_steps  # the Trainer counts from the last start
            trainer.after_update()

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            trainer.facet_log.close()

        def state(self) -> dict[str, Any]:
            return {"args": {}, "attributes": {"saved": trainer.facet_state()}}

    return FacetCallback()
