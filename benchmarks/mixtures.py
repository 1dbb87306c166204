"""The table of docs/mixtures.md: final dev losses of runs, by corpus and system, as mean and standard error.

`python -m benchmarks.mixtures --collect RUNS` adds RUNS/CORPUS/SYSTEM/SEED to studies/mixtures/losses.csv, or
replaces them there; without it, the table is printed from that file. OBJECTIVE marks systems judged by
one facet.
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
    with LOSSES.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    found = {tuple(row[:3]): [one for one in rows if one[:3] == row[:3]] for row in rows}
    for log in sorted(runs.glob("*/*/*/validation.jsonl")):
        place = log.parent.relative_to(runs).parts  # corpus, system, seed
        last = json.loads(log.read_text("utf-8").splitlines()[-1])
        losses = {**last["loss"]["facets"], "average": last["loss"]["average"]}
        found[place] = [[*place, last["step"], facet, f"{loss:.4f}"] for facet, loss in losses.items()]
    with LOSSES.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [head, *(row for key in sorted(found) for row in found[key])]
        )


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
