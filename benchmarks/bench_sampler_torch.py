"""The batch sampler for PyTorch against a plain `RandomSampler`: time per batch, and memory.

The time is that of the sampler alone, with feedback, as a share of a training step.
"""

import argparse
import random
import resource
import statistics
import time

import numpy as np
from torch.utils.data import BatchSampler, RandomSampler

from facetmt.adapters.torch import FacetBatchSampler
from facetmt.bandit import Exp3, FacetScheduler

STEP = 50.0  # ms


def memory() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def column(facets: int, samples: int) -> np.ndarray:
    """The number of each sample's facet; the sizes of facets lie between 1 and 1,000 parts."""
    sizes = np.geomspace(1, 1000, facets)
    edges = np.cumsum(sizes / sizes.sum())
    rng, found = np.random.default_rng(1), np.empty(samples, np.uint8)
    for start in range(0, samples, 1 << 16):
        part = found[start : start + (1 << 16)]
        part[:] = np.searchsorted(edges, rng.random(len(part))).clip(0, facets - 1)
    return found


def made(facets: np.ndarray, rows: int, kind: str) -> FacetBatchSampler:
    names = [str(number) for number in range(int(facets.max()) + 1)]
    policy = Exp3(len(names), learning_rate=0.01, exploration=0.25)
    scheduler = FacetScheduler(names, policy, "dev-pgnorm", rows=rows if kind == "mixed" else None, kappa=8.0)
    if kind == "tokens":
        lengths = np.random.default_rng(2).integers(5, 100, len(facets), dtype=np.uint8)
        return FacetBatchSampler(scheduler, facets, tokens=rows * 50, lengths=lengths)
    return FacetBatchSampler(scheduler, facets, batch_size=rows)


def cost(sampler: FacetBatchSampler | BatchSampler, batches: int) -> list[float]:
    """CPU milliseconds of each batch, with its feedback."""
    times, draws = [], iter(sampler)
    for _ in range(batches):
        begin = time.process_time()
        next(draws)
        if isinstance(sampler, FacetBatchSampler):
            sampler.feedback(before=1.0, after=random.random())
        times.append(1e3 * (time.process_time() - begin))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facets", type=int, default=198)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--kind", choices=["size", "tokens", "mixed", "plain"], help="only this one")
    given = parser.parse_args()
    if given.kind is None:
        raise SystemExit(run_all(given))
    facets = column(given.facets, given.samples)
    base = memory()
    if given.kind == "plain":
        sampler: FacetBatchSampler | BatchSampler = BatchSampler(
            RandomSampler(range(given.samples)), given.rows, drop_last=False
        )
    else:
        sampler = made(facets, given.rows, given.kind)
    times = cost(sampler, given.batches)
    mean = statistics.fmean(times[1:])  # the first batch of the plain one shuffles everything
    print(
        f"{given.kind:>6}: {mean:.3f} ms per batch ({mean / STEP:.2%} of a step of {STEP:.0f} ms), "
        f"first {times[0]:,.1f} ms, peak memory {memory() - base:,.0f} MB",
        flush=True,
    )


def run_all(given: argparse.Namespace) -> int:
    """Each kind in a process of its own, for its memory."""
    import subprocess
    import sys

    print(f"{given.facets} facets, {given.samples:,} samples, batches of {given.rows}")
    sizes = [f"--{name}={getattr(given, name)}" for name in ("facets", "samples", "rows", "batches")]
    command = [sys.executable, "-m", "benchmarks.bench_sampler_torch", *sizes]
    return max(
        subprocess.run([*command, "--kind", kind]).returncode for kind in ("plain", "size", "mixed", "tokens")
    )


if __name__ == "__main__":
    main()
