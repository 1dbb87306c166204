"""The table of docs/mixtures.md: final dev losses of runs, by corpus and system, as mean and standard error.

`python -m benchmarks.mixtures --collect RUNS` reads RUNS/CORPUS/SYSTEM/SEED into studies/mixtures/losses.csv;
without it, the table is printed from that file. OBJECTIVE marks systems that are judged by one facet.
"""

import argparse
import csv
import json
import math
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

LOSSES = Path(__file__).parents[1] / "studies" / "mixtures" / "losses.csv"
OBJECTIVE, FACET = "objective", "medical"  # corpus O: that of D where only this facet counts


def collect(runs: Path) -> None:
    """One row per run and facet; only runs that were validated at their last step."""
    rows = []
    for log in sorted(runs.glob("*/*/*/validation.jsonl")):
        corpus, system, seed = log.parent.relative_to(runs).parts
        last = json.loads(log.read_text("utf-8").splitlines()[-1])
        for facet, loss in {**last["loss"]["facets"], "average": last["loss"]["average"]}.items():
            rows.append((corpus, system, seed, last["step"], facet, f"{loss:.4f}"))
    with LOSSES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("corpus", "system", "seed", "step", "facet", "loss"), *rows])


def table() -> list[str]:
    """Markdown: a corpus after the other, the lowest loss first."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with LOSSES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["facet"] == (FACET if row["corpus"] == OBJECTIVE else "average"):
                found[row["corpus"], row["system"]].append(float(row["loss"]))
    lines = ["| corpus | system | dev loss | seeds |", "|---|---|---|---|"]
    for (corpus, system), losses in sorted(found.items(), key=lambda item: (item[0][0], mean(item[1]))):
        error = f" ± {stdev(losses) / math.sqrt(len(losses)):.3f}" if len(losses) > 1 else ""
        lines.append(f"| {corpus} | {system} | {mean(losses):.3f}{error} | {len(losses)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collect", type=Path, metavar="RUNS")
    if (runs := parser.parse_args().collect) is not None:
        collect(runs)
    print("\n".join(table()))


if __name__ == "__main__":
    main()
