"""Hugging Face: an encoder-decoder on the facets of the generated corpus. `python hf_seq2seq.py [RUN]`"""

import sys
import tempfile
from pathlib import Path

from transformers import T5Config, T5ForConditionalGeneration, TrainingArguments

from facetmt.adapters.trainer import FacetTrainer
from facetmt.bandit import Exp3, FacetScheduler
from facetmt.demo.corpus import DemoConfig, write

run, corpus = sys.argv[1] if len(sys.argv) > 1 else "runs/hf", Path(tempfile.mkdtemp())
write(DemoConfig(size=300, dev=20, test=20), corpus)
names = sorted(path.name for path in corpus.iterdir() if path.is_dir())


def encoded(path: Path, padding: int) -> list[list[int]]:  # bytes; 1 is the end
    lines = [[*(byte + 2 for byte in line.encode()[:60]), 1] for line in path.read_text("utf-8").splitlines()]
    return [line + [padding] * (61 - len(line)) for line in lines]


def read(name: str, split: str) -> list[dict[str, list[int]]]:
    sides = encoded(corpus / name / f"{split}.de", 0), encoded(corpus / name / f"{split}.en", -100)
    return [
        {"input_ids": source, "attention_mask": [int(token > 0) for token in source], "labels": target}
        for source, target in zip(*sides, strict=True)
    ]


texts = {name: read(name, "train") for name in names}
size = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
trainer = FacetTrainer(
    model=T5ForConditionalGeneration(T5Config(vocab_size=258, **size)),
    args=TrainingArguments(run, max_steps=30, learning_rate=0.003, logging_steps=10, report_to=[]),
    train_dataset=[row for name in names for row in texts[name]],
    eval_dataset={name: read(name, "dev") for name in names},
    scheduler=FacetScheduler(names, Exp3(len(names), learning_rate=0.1, exploration=0.25), "dev-pgnorm"),
    facets=[name for name in names for _ in texts[name]],
    dev_rows=10,
)
trainer.train()
print(trainer.facet_sampler.shares())
