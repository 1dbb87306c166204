"""Cost of `auto`: a measurement of all facets relative to a plain step, and its share of a training."""

import argparse
import tempfile
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
from benchmarks.bench_step import beside, stepper, synthetic

from facetmt.bandit.auto import Auto, next_measurement
from facetmt.data.batch import EOS
from facetmt.data.config import BatchConfig, DataConfig
from facetmt.data.dev import DevSet
from facetmt.data.store import StoreWriter, open_store
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import create
from facetmt.recipe import Recipe
from facetmt.train.evidence import DEV_EVERY, Evidence
from facetmt.train.place import Placement
from facetmt.train.state import create_state

VOCABULARY, TRAIN, DEV = 4000, 400, 64


def corpus(folder: Path, facets: int) -> SimpleNamespace:
    """`facets` facets of random sentences of 8 to 32 tokens, with dev text."""
    rng = np.random.default_rng(0)

    def store(name: str, split: str, count: int):
        with StoreWriter(folder / f"{name}-{split}", name, split, "v", np.dtype(np.uint16)) as writer:
            for size in rng.integers(8, 33, count).tolist():
                words = rng.integers(4, VOCABULARY, (2, size))
                words[:, -1] = EOS
                writer.append(words.reshape(-1), np.array([[size, size]]))
        return open_store(folder / f"{name}-{split}")

    names = [f"facet{index}" for index in range(facets)]
    stores = {"train": [store(name, "train", TRAIN) for name in names]}
    stores["dev"] = [store(name, "dev", DEV) for name in names]
    return SimpleNamespace(
        facets=[SimpleNamespace(name=name) for name in names],
        stores=stores.__getitem__,
        dev=DevSet(stores["dev"], [np.arange(DEV)] * facets),
    )


def share(cost: float, paced: float, steps: int) -> float:
    """Time spent on measurements that cost `cost` steps, scheduled as if they cost `paced`."""
    step, spent = next_measurement(0, paced), 0.0
    while step < steps:
        spent += cost
        step = next_measurement(step, paced)
    return spent / steps


def cost(facets: int, objective: int, rows: int, length: int, preset: str, repeats: int) -> None:
    """Print what a measurement costs, and what that makes of whole trainings; `objective` facets count."""
    recipe = Recipe(data=DataConfig(root="."), batch=BatchConfig(rows=rows, length=length))
    model = create(ModelConfig(preset=preset), VOCABULARY, seed=0)
    counts = np.where(np.arange(facets) < objective, 1.0, 0.0)
    policy = Auto([f"facet{index}" for index in range(facets)], np.full(facets, 1 / facets), counts)
    batch = jax.tree.map(
        jax.numpy.asarray, synthetic(np.random.default_rng(0), rows, length, VOCABULARY, 0.95)
    )
    state = create_state(model.params)
    with tempfile.TemporaryDirectory() as folder:
        prepared = corpus(Path(folder), facets)
        epochs = dict.fromkeys(policy.facets, 1.0)
        evidence = Evidence(recipe, prepared, model.graph, Placement(), policy, lambda: epochs)
        plain = stepper(model, "none", batch, batch, 1)
        # a cycle of measurements, one of them with dev losses
        cycle = lambda: [evidence(evidence.state()["next"], state) for _ in range(DEV_EVERY)]  # noqa: E731
        total, steps = beside(plain, {"measure": cycle}, repeats)["measure"]
    seconds, ratio = total / DEV_EVERY, steps / DEV_EVERY
    counting = "all count" if objective == facets else f"{objective} counts"
    trainings = ", ".join(
        f"{share(ratio, evidence.cost, n):.1%} of {n:,} steps" for n in (1500, 10_000, 100_000)
    )
    print(
        f"{facets} facets, {counting}, {preset}, {rows} x {length}: a measurement takes {seconds:.2f} s, "
        f"{ratio:.2f} plain steps; {trainings}"
    )


def main() -> None:
    """`python -m benchmarks.bench_auto`: 8 and 99 facets, all counting or one."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    for facets in (8, 99):
        for objective in (facets, 1):
            cost(facets, objective, options.rows, options.length, options.preset, options.repeats)


if __name__ == "__main__":
    main()
