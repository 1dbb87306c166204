"""`make soak`: kill runs at seeded random moments, resume them, compare them with undisturbed ones."""

import argparse
import importlib.util
import os
import random
import sys
import tempfile
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

import lives

KINDS = ("steps", "save", "any time", "steps", "save")
KILLS_A_RUN = 10
COLUMNS = ("kills", "during a save", "from saved", "resumes", "comparisons", "differences")


def write_project(folder: Path) -> None:
    """Write the project of the tests."""
    spec = importlib.util.spec_from_file_location("shared", Path(__file__).parents[1] / "conftest.py")
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    shared.write_project(folder)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"


def soak_run(project: Path, schedule: str, seed: int, kills: int, deadline: float) -> Counter[str]:
    """Kill one run of a schedule repeatedly, let it finish, compare it with its twin; returns the figures."""
    settings = [*lives.SCHEDULES[schedule], f"seed={seed}"]
    moments = random.Random(f"{schedule} {seed}")
    run, twin = project / f"killed-{schedule}-{seed}", project / f"undisturbed-{schedule}-{seed}"
    figures: Counter[str] = Counter()
    kinds = cycle(KINDS)
    while figures["kills"] < kills and time.monotonic() < deadline:
        figures["resumes"] += run.exists()
        end = lives.kill_once(lives.start(project, run, settings), run, moments, next(kinds))
        if not end.killed:
            assert "best dev BLEU" in end.said or lives.steps_logged(run) >= lives.STEPS, end.said
            break
        figures["kills"] += 1
        figures["during a save"] += end.saving
        figures["from saved"] += end.resumed
    figures["resumes"] += 1
    lives.finish(project, run, settings)
    lives.finish(project, twin, settings)
    found = lives.differences(twin, run)
    for name in found:
        print(f"  DIFFERS: {run.name}: {name}", flush=True)
    figures["comparisons"] += 1
    figures["differences"] += len(found)
    return figures


def show(schedule: str, figures: Counter[str], seconds: float) -> None:
    cells = (figures[name] for name in COLUMNS)
    print(
        f"{schedule:<12}" + "".join(f"{cell:>15,}" for cell in cells) + f"{seconds / 60:>11.1f}", flush=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="total number of kills")
    parser.add_argument("--minutes", type=float, default=40, help="no more kills after this time")
    asked = parser.parse_args()
    begin = time.monotonic()
    deadline = begin + 60 * asked.minutes
    whole: Counter[str] = Counter()
    print(
        "".join(
            (
                "schedule    ",
                *(f"{name:>15}" for name in COLUMNS),
                f"{'minutes':>11}",
            )
        )
    )
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        project = Path(folder)
        write_project(project)
        for number, schedule in enumerate(cycle(lives.SCHEDULES)):
            if whole["kills"] >= asked.kills or time.monotonic() > deadline:
                break
            start = time.monotonic()
            kills = min(KILLS_A_RUN, asked.kills - whole["kills"])
            seed = 1 + number // len(lives.SCHEDULES)
            figures = soak_run(project, schedule, seed, kills, deadline)
            show(schedule, figures, time.monotonic() - start)
            whole += figures
    show("all", whole, time.monotonic() - begin)
    if whole["kills"] < asked.kills:
        print(f"only {whole['kills']} of {asked.kills} kills in {asked.minutes:g} minutes; raise --minutes")
    return int(whole["differences"] > 0 or whole["kills"] < asked.kills)


if __name__ == "__main__":
    sys.exit(main())
