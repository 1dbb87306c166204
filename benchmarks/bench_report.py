"""The report of a very long run: time, page size, peak memory."""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from facetmt.bandit.config import ScheduleConfig
from facetmt.data.config import DataConfig
from facetmt.recipe import Recipe, dump_recipe
from facetmt.runlog import FACETS, METRICS, PROBS, PULL_COLUMNS, PULLS, RECIPE, VALIDATION
from facetmt.train.config import TrainConfig

LOG_EVERY, VALIDATE_EVERY = 50, 2000


def write_run(directory: Path, steps: int, facets: int) -> None:
    """Logs as training writes them, filled with noise."""
    rng = np.random.default_rng(1)
    names = [f"f{place:03}" for place in range(facets)]
    directory.mkdir(parents=True)
    recipe = Recipe(data=DataConfig(root="."), schedule=ScheduleConfig(), train=TrainConfig(steps=steps))
    (directory / RECIPE).write_text(dump_recipe(recipe), encoding="utf-8")
    sizes = {
        name: {"source": "de", "target": "en", "train": 10_000 + place} for place, name in enumerate(names)
    }
    (directory / FACETS).write_text(json.dumps(sizes), encoding="utf-8")
    arms, numbers = rng.integers(facets, size=steps), rng.random((steps, 5))
    with (directory / PULLS).open("w", encoding="utf-8") as file:
        file.write(",".join(PULL_COLUMNS) + "\n")
        for step, (arm, row) in enumerate(zip(arms.tolist(), numbers.tolist(), strict=True), start=1):
            file.write(f"{step},{names[arm]},{','.join(map(str, row))}\n")
    with (
        (directory / PROBS).open("w", encoding="utf-8") as file,
        (directory / METRICS).open("w", encoding="utf-8") as log,
    ):
        file.write(",".join(["step", *names]) + "\n")
        for step in range(LOG_EVERY, steps + 1, LOG_EVERY):
            file.write(f"{step},{','.join(map(str, rng.dirichlet(np.ones(facets)).tolist()))}\n")
            log.write(json.dumps(metrics_row(step, names)) + "\n")
    with (directory / VALIDATION).open("w", encoding="utf-8") as file:
        for step in range(VALIDATE_EVERY, steps + 1, VALIDATE_EVERY):
            values = dict(zip(names, rng.random(facets).tolist(), strict=True))
            part = {"facets": values, "average": 0.5}
            file.write(json.dumps({"step": step, "seconds": step / 4, "loss": part, "bleu": part}) + "\n")


def metrics_row(step: int, names: list[str]) -> dict[str, object]:
    health = {"starved": 0.0, "entropy": 90.0, "dropped": 0, "saturation": 0.4}
    spent = {"train": step / 4, "input": step / 100, "validate": 1.0, "save": 1.0}
    epochs = {name: round(step / 1e5, 4) for name in names}
    return {"step": step, "seconds": step / 4, "loss": 2.0, "time": spent, "epochs": epochs, "health": health}


def measure(run: Path, out: Path) -> None:
    """Run in its own process, so that the peak is the report's."""
    from facetmt.report.page import write_report

    start = time.perf_counter()
    write_report([run], out)
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"report: {seconds:.1f} s, {out.stat().st_size / 1e6:.1f} MB, peak {peak:,.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--facets", type=int, default=198)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        measure(given.run, given.run / "report.html")
        return
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder) / "run", given.steps, given.facets)
        print(f"{given.steps:,} steps, {given.facets} facets")
        subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_report", "--run", f"{folder}/run"], check=True
        )


if __name__ == "__main__":
    main()
