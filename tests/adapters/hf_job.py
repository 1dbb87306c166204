"""A small Trainer run for the tests, in a process of its own: `hf_job.py OUT [--resume] [--die STEP] ...`."""

import argparse
import json
import os
import signal
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, TrainerCallback, TrainingArguments, set_seed

from facetmt.adapters.trainer import FacetTrainer
from facetmt.bandit import Exp3, FacetScheduler

FACETS = {"up": range(60), "down": range(60, 200), "noise": range(200, 300)}


class Numbers(Dataset):
    """Sequences that count up, count down, or do neither."""

    def __init__(self, size: int = 300) -> None:
        draws = torch.Generator().manual_seed(1)
        start = torch.randint(0, 40, (size, 1), generator=draws)
        steps = torch.arange(12)
        noise = torch.randint(0, 40, (size, 12), generator=draws)
        kind = torch.tensor([next(i for i, f in enumerate(FACETS.values()) if n in f) for n in range(size)])
        rows = [(start + steps) % 40, (start - steps) % 40, noise]
        self.rows = torch.stack([rows[kind[n]][n] for n in range(size)])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


class Die(TrainerCallback):
    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self._step:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--die", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--hold", type=int, default=1)
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--reward", default="dev-pgnorm")
    given = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(7)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=40, attention_dropout=0.1, **size))
    arguments = TrainingArguments(
        output_dir=str(given.out),
        max_steps=24,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=given.accumulate,
        learning_rate=0.01,
        logging_steps=4,
        save_steps=5,
        dataloader_num_workers=given.workers,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        seed=7,
    )
    world = int(os.environ.get("WORLD_SIZE", "1"))
    policy = Exp3(3, learning_rate=0.2, exploration=0.25)
    rows = 4 * world if given.mixed else None
    trainer = FacetTrainer(
        model=model,
        args=arguments,
        train_dataset=Numbers(),
        scheduler=FacetScheduler(list(FACETS), policy, given.reward, seed=7, rows=rows, kappa=4.0),
        facets=FACETS,
        dev_dataset=torch.utils.data.Subset(Numbers(), range(200)),
        dev_rows=8,
        dev_hold=given.hold,
        callbacks=[Die(given.die)] if given.die else [],
    )
    trainer.train(resume_from_checkpoint=given.resume)
    rank = os.environ.get("RANK", "0")
    weights = [float(weight.detach().double().sum()) for weight in model.parameters()]
    result = {"fingerprint": trainer.facet_sampler.fingerprint(), "weights": weights}
    (given.out / f"result-{rank}.json").write_text(json.dumps({**result, "log": trainer.state.log_history}))


if __name__ == "__main__":
    main()
