"""The top of the page: which run is best, by how much, how fast, at what cost; then health in words."""

from __future__ import annotations

from collections.abc import Sequence

from facetmt.report.comparable import caveats, sentences
from facetmt.report.digest import Digest
from facetmt.report.health import RANK, examine
from facetmt.report.page.markup import safe
from facetmt.report.progress import Standing, best, choosing_share, judged, standings
from facetmt.report.words import apart, duration, plural, signed

ENOUGH = 10  # log points before a run can be called healthy
TOO_EARLY = "Too little is logged yet to judge it."
WORDS = {"bad": "Problem", "warning": "Watch", "note": "Note", "good": "Healthy"}


def card(label: str, value: str, note: str, style: str = "") -> str:
    look = f"value {style}".strip()
    return (
        f'<div class="card"><p class="label">{safe(label)}</p><p class="{look}">{safe(value)}</p>'
        f'<p class="note">{safe(note)}</p></div>'
    )


def title_of(runs: Sequence[Digest]) -> str:
    names = [run.name for run in runs]
    if len(names) == 1:
        return names[0]
    return (
        f"{', '.join(names[1:])} against {names[0]}"
        if len(names) <= 4
        else f"{len(names)} runs against {names[0]}"
    )


def subtitle(runs: Sequence[Digest]) -> str:
    """Size of what is shown, in one line."""
    facets = max(len(run.facets) for run in runs)
    longest = max(runs, key=lambda run: run.steps)
    of_all = "" if longest.finished else f" of {longest.recipe.train.steps:,}"
    table = next((run.logs.facet_table for run in runs if run.logs.facet_table), {})
    pairs = list(dict.fromkeys(f"{row.get('source')} → {row.get('target')}" for row in table.values()))
    languages = pairs[0] if len(pairs) == 1 else f"{len(pairs)} language pairs" if pairs else ""
    parts = [
        plural(len(runs), "run"),
        plural(facets, "facet"),
        languages,
        f"{longest.steps:,}{of_all} steps",
    ]
    return " · ".join(part for part in parts if part)


def cards(runs: Sequence[Digest]) -> str:
    """Five figures."""
    rows = standings(runs)
    verdict = judged(rows)
    if verdict is None:
        return "".join([system_card(rows[0]), progress_card(runs[0]), speed_card(runs[0]), reward_card(runs)])
    kind, winner = verdict
    if len(rows) == 1:
        parts = [system_card(winner), score_card(kind, winner, rows), dev_card(winner), speed_card(runs[0])]
    else:
        rival = winner if winner is not rows[0] else best_rival(rows)
        parts = [
            card("Best system", winner.digest.name, winner.digest.recipe.schedule.label, "name"),
            score_card(kind, winner, rows),
            gain_card(kind, rival, rows[0]),
            reach_card(rival, rows[0]),
        ]
    return "".join([*parts, reward_card(runs)])


def best_rival(rows: Sequence[Standing]) -> Standing:
    """The best of the runs other than the baseline."""
    return max(rows[1:], key=lambda row: row.gain if row.gain is not None else float("-inf"))


def system_card(row: Standing) -> str:
    return card("System", row.digest.name, row.digest.recipe.schedule.label, "name")


def progress_card(run: Digest) -> str:
    total = run.recipe.train.steps
    return card("Steps", f"{run.steps:,}", f"of {total:,}; not validated yet")


def score_card(kind: str, winner: Standing, rows: Sequence[Standing]) -> str:
    if kind == "test" and winner.test is not None:
        others = [
            f"{row.digest.name} {row.test:.2f}" for row in rows if row is not winner and row.test is not None
        ]
        facets = len((winner.digest.logs.scores or {}).get("facets", {}))
        note = ", ".join(others[:3]) or f"mean of {facets} test sets"
        return card("Average test BLEU", f"{winner.test:.2f}", note)
    score = winner.dev.bleu if winner.dev else 0.0
    others = [f"{row.digest.name} {row.dev.bleu:.2f}" for row in rows if row is not winner and row.dev]
    return card("Best average dev BLEU", f"{score:.2f}", ", ".join(others[:3]) or "test sets not scored yet")


def dev_card(row: Standing) -> str:
    if row.dev is None:
        return card("Best dev BLEU", "–", "not validated yet")
    return card(
        "Best dev BLEU", f"{row.dev.bleu:.2f}", f"at step {row.dev.step:,}, after {duration(row.dev.seconds)}"
    )


def gain_card(kind: str, row: Standing, base: Standing) -> str:
    if row.gain is None:
        return card(f"Gain over {base.digest.name}", "–", "not validated yet")
    scores = [(one.digest.logs.scores or {}).get("facets", {}) for one in (row, base)]
    shared = [name for name in scores[0] if name in scores[1]]
    better = sum(scores[0][name]["bleu"] > scores[1][name]["bleu"] for name in shared)
    note = (
        f"{row.digest.name}: better on {better} of {len(shared)} facets"
        if shared
        else f"{row.digest.name}, on dev"
    )
    style = "up" if row.gain > 0 else "down" if row.gain < 0 else ""
    return card(f"Gain over {base.digest.name}", signed(row.gain), note, style)


def reach_card(row: Standing, base: Standing) -> str:
    """The paper's "72 % of the baseline's time to converge"."""
    label = f"Time to {base.digest.name}’s best"
    target = best(base.digest)
    if target is None or row.dev is None:
        return card(label, "–", "not validated yet")
    if row.reach is None or row.time_ratio is None or row.step_ratio is None:
        goal, own = apart(target.bleu, row.dev.bleu)
        return card(label, "–", f"{row.digest.name} has not reached {goal} dev BLEU (best {own})")
    style = "up" if row.time_ratio < 1 else ""
    note = f"of its wall-clock, {row.step_ratio:.0%} of its steps ({row.reach.step:,} of {target.step:,})"
    return card(label, f"{row.time_ratio:.0%}", note, style)


def speed_card(run: Digest) -> str:
    return card("Wall-clock", duration(run.seconds), f"{run.steps:,} steps")


def reward_card(runs: Sequence[Digest]) -> str:
    """Of the run with the most expensive rewards."""
    known = [(share, run) for run in runs if (share := choosing_share(run))]
    if not known:
        if any(run.learns for run in runs):
            return card("Time spent on rewards", "–", "not measured")
        return card("Time spent on rewards", "0 %", "no run learns what to draw")
    share, run = max(known, key=lambda pair: pair[0])
    schedule = run.recipe.schedule
    what = schedule.reward if schedule.step_reward else f"measuring {schedule.row.signal}"
    return card("Time spent on rewards", f"{share:.0%}", f"of {run.name}’s wall-clock ({what})")


def warnings(runs: Sequence[Digest]) -> str:
    """Why the runs are not like for like, or a score is not what it seems; nothing where all is well."""
    lines = sentences(caveats([run.logs for run in runs]))
    items = "".join(f'<li class="warning"><b>Careful</b>{safe(line)}</li>' for line in lines)
    return f'<ul class="health careful">{items}</ul>' if items else ""


def health(runs: Sequence[Digest]) -> str:
    """Findings of all runs as a list, worst first; a run without findings is healthy."""
    items: list[tuple[int, str]] = []
    for run in runs:
        name = f'<span class="who">{safe(run.name)}</span>' if len(runs) > 1 else ""
        found = examine(run)
        for finding in found:
            line = (
                f'<li class="{finding.severity}"><b>{WORDS[finding.severity]}</b>{name}{safe(finding.what)}'
                f'<span class="try">{safe(finding.remedy)}</span></li>'
            )
            items.append((RANK[finding.severity], line))
        if not found and len(run.metrics) < ENOUGH:
            items.append((RANK["note"], f'<li class="note"><b>{WORDS["note"]}</b>{name}{TOO_EARLY}</li>'))
        elif not found:
            learned = "No collapse, no starved facet, rewards in range, loss steady."
            state = learned if run.rewards is not None else "Loss steady, no facet repeated too often."
            items.append((len(RANK), f'<li class="good"><b>{WORDS["good"]}</b>{name}{state}</li>'))
    lines = [line for _, line in sorted(items, key=lambda item: item[0])]
    return f'<ul class="health">{"".join(lines)}</ul>'
