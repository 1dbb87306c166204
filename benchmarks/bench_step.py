"""Cost of a training step: the reward's passes relative to a plain step, and matrix-multiply throughput."""

import argparse
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from facetmt.bandit import REWARDS
from facetmt.data.batch import BOS, EOS, Batch
from facetmt.model.config import ModelConfig
from facetmt.model.transformer import Model, create
from facetmt.train.config import OptimiserConfig, TrainConfig
from facetmt.train.loss import token_count, training_loss
from facetmt.train.state import create_state
from facetmt.train.step import make_step

FACETS = 4


def synthetic(rng: np.random.Generator, rows: int, length: int, vocabulary: int, fill: float) -> Batch:
    """Packed rows of random sentences of 8 to 32 tokens, filled to about `fill`."""
    arrays = {name: np.zeros((rows, length), np.int32) for name in Batch._fields}
    for row in range(rows):
        start, segment = 0, 0
        while (room := round(fill * length) - start) > 2:
            size = room if room < 12 else min(int(rng.integers(8, 33)), room)
            words, segment, span = (
                rng.integers(4, vocabulary, (2, size)),
                segment + 1,
                slice(start, start + size),
            )
            words[:, -1] = EOS
            arrays["source"][row, span], arrays["label"][row, span] = words
            arrays["target"][row, span] = [BOS, *words[1, :-1]]
            for side in ("source", "target"):
                arrays[f"{side}_segment"][row, span] = segment
                arrays[f"{side}_position"][row, span] = np.arange(size)
            arrays["facet"][row, span] = rng.integers(FACETS)
            start += size
    return Batch(**arrays)


def interleaved(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each call; each runs once per round, after one warm-up round."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                seconds[name].append(time.perf_counter() - began)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def beside(
    plain: Callable[[], object], calls: dict[str, Callable[[], object]], repeats: int
) -> dict[str, tuple[float, float]]:
    """Median seconds of each call, and its median ratio to the plain calls just before and after it.

    Only neighbours are compared, because a shared machine is fast one minute and slow the next.
    """

    def timed(call: Callable[[], object]) -> float:
        began = time.perf_counter()
        jax.block_until_ready(call())
        return time.perf_counter() - began

    for call in (plain, *calls.values()):
        timed(call)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    ratios: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        former = timed(plain)
        for name, call in calls.items():
            spent, latter = timed(call), timed(plain)
            seconds[name].append(spent)
            ratios[name].append(2 * spent / (former + latter))
            former = latter
    return {name: (float(np.median(seconds[name])), float(np.median(ratios[name]))) for name in calls}


def stepper(model: Model, reward: str, batch: Batch, dev: Batch, steps: int) -> Callable[[], object]:
    """`steps` steps per call, as the loop takes them: the dev batch is new at the first."""
    step = make_step(model.graph, OptimiserConfig(), reward=REWARDS.get(reward), num_facets=FACETS, seed=0)
    state = create_state(model.params)

    def call() -> object:
        nonlocal state
        for number in range(steps):
            state, values = step(state, batch, dev if reward.startswith("dev") else None, number == 0)
        return values

    return call


def forward(model: Model, batch: Batch) -> Callable[[], object]:
    """The loss of the training batch with dropout, without its gradient."""
    run = jax.jit(lambda params: training_loss(nnx.merge(model.graph, params), batch, 0.1, jax.random.key(0)))
    return lambda: run(model.params)


def backward(model: Model, batch: Batch) -> Callable[[], object]:
    """The gradient of the loss of one batch."""

    def loss(params: object) -> object:
        return training_loss(nnx.merge(model.graph, params), batch, 0.1, jax.random.key(0))

    run = jax.jit(jax.grad(loss))
    return lambda: run(model.params)


def rewards(preset: str, rows: int, length: int, vocabulary: int, repeats: int) -> None:
    """Print the cost per step of each reward, relative to the plain step of `mixed`."""
    rng = np.random.default_rng(0)
    model = create(ModelConfig(preset=preset), vocabulary, seed=0)
    batch = jax.tree.map(jnp.asarray, synthetic(rng, rows, length, vocabulary, 0.95))
    hold = TrainConfig().dev_hold
    dev = jax.tree.map(jnp.asarray, synthetic(rng, max(1, rows // 8), length, vocabulary, 0.95))
    names = ("none", "loss", "pg", "pgnorm", "dev-loss", "dev-pg", "dev-pgnorm")
    calls = {name: stepper(model, name, batch, dev, hold) for name in names}
    once = forward(model, batch)
    calls["forward"] = lambda: [once() for _ in range(hold)]
    gradient = backward(model, batch)
    calls["gradient"] = lambda: [gradient() for _ in range(hold)]
    plain = stepper(model, "none", batch, dev, hold)
    found = beside(plain, calls, repeats)
    tokens = float(token_count(batch))
    print(f"{preset}, {rows} x {length} rows, {tokens:.0f} target tokens, dev batch held {hold} steps:")
    for name, (total, ratio) in found.items():
        spent = total / hold
        label = {"forward": "one forward pass", "gradient": "one gradient"}.get(name, f"step, reward {name}")
        print(
            f"  {label:24} {spent * 1e3:8.1f} ms {tokens / spent:7.0f} tokens/s  {ratio:6.3f} of a plain step"
        )
    # MultiDDS-S measures all K facets with 2K gradients (train and dev), once every `probe_every` steps
    for facets, every in ((5, 1000), (8, 1000), (99, 1000), (8, 1)):
        ratio = 1 + 2 * facets * found["gradient"][1] / every
        print(
            f"  step, MultiDDS-S, {facets} facets, probed every {every:,} steps: {ratio:6.3f} of a plain step"
        )


def matmul_parameters(config: ModelConfig, vocabulary: int) -> int:
    """Parameters that multiply every token: projections, feed-forward, output; no embedding, norm or bias."""
    s = config.shape
    encoder = s.encoder_layers * (4 * s.width**2 + 2 * s.width * s.mlp)
    decoder = s.decoder_layers * (8 * s.width**2 + 2 * s.width * s.mlp)
    return encoder + decoder + vocabulary * s.width


def peak(config: ModelConfig, tokens: int, vocabulary: int) -> dict[str, Callable[[], object]]:
    """Products of the model's shapes and a large square; the fastest is the machine's peak."""
    s = config.shape
    sizes = [
        (2048, 2048, 2048),
        (tokens, s.width, s.mlp),
        (tokens, s.mlp, s.width),
        (tokens, s.width, vocabulary),
    ]
    run = jax.jit(jnp.matmul)

    def call(size: tuple[int, int, int]) -> Callable[[], object]:
        left, right = jnp.ones(size[:2]), jnp.ones(size[1:])
        return lambda: run(left, right)

    return {f"{2 * m * k * n}": call((m, k, n)) for m, k, n in sizes}


def throughput(preset: str, rows: int, length: int, vocabulary: int, repeats: int) -> None:
    """Print 6·N·(non-padding tokens) per second of a plain step, and the best product of the same run."""
    config = ModelConfig(preset=preset)
    model = create(config, vocabulary, seed=0)
    batch = jax.tree.map(jnp.asarray, synthetic(np.random.default_rng(0), rows, length, vocabulary, 0.95))
    # source and target have the same number of tokens here, so one count serves encoder and decoder
    tokens = float(token_count(batch))
    products = peak(config, rows * length, vocabulary)
    seconds = interleaved({"step": stepper(model, "none", batch, batch, 1), **products}, repeats)
    best = max(float(work) / seconds[work] for work in products)
    done = 6 * matmul_parameters(config, vocabulary) * tokens / seconds["step"]
    print(
        f"{preset}, {rows} x {length} rows, vocabulary {vocabulary}: {seconds['step']:.3f} s per step, "
        f"{tokens / seconds['step']:.0f} target tokens/s; 6·N·tokens = {done / 1e9:.0f} GFLOP/s, "
        f"best matrix product {best / 1e9:.0f} GFLOP/s: {done / best:.1%}"
    )


def main() -> None:
    """`python -m benchmarks.bench_step`: both measurements on synthetic batches."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", choices=["rewards", "throughput"])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=32000, help="for the throughput measurement")
    options = parser.parse_args()
    shape = (options.rows, options.length)
    if options.only != "throughput":
        rewards("small", *shape, 4000, max(3, options.repeats // 2))
    if options.only != "rewards":
        throughput("base", *shape, options.vocabulary, options.repeats)


if __name__ == "__main__":
    main()
