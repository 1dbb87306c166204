"""The bandit's cost per step, and its regret on stochastic and switching rewards."""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from facetmt.bandit import Exp3, Exp3S, FacetScheduler, Policy
from facetmt.bandit.policy import draw

ARMS, STEPS, SEEDS, SWITCHES = (2, 5, 99), 20_000, 20, 4


def cost(arms: int = 198, steps: int = 12_000) -> None:
    """Median time of pull and feedback with a full window, and of one NumPy call of the same size."""
    rewards = np.random.default_rng(0).normal(3.0, 1.0, steps)
    vector = rewards[:arms].copy()
    print(f"cost per step, {arms} facets, full window of 5,000 rewards (median, µs)")
    for kind in (Exp3, Exp3S):
        scheduler = FacetScheduler(
            [str(arm) for arm in range(arms)], kind(arms, learning_rate=0.01, exploration=0.5)
        )
        times, calls = [], []
        for reward in rewards.tolist():
            start = time.perf_counter()
            scheduler.feedback(scheduler.pull(), before=reward, after=1.0)
            middle = time.perf_counter()
            np.exp(vector)
            calls.append(time.perf_counter() - middle)
            times.append(middle - start)
        own, numpy_call = (1e6 * float(np.median(values[6000:])) for values in (times, calls))
        print(
            f"  {kind.__name__:6} {own:6.1f}   one np.exp {numpy_call:5.2f}   ratio {own / numpy_call:5.1f}"
        )


def stochastic(arms: int, rng: np.random.Generator) -> np.ndarray:
    """Bernoulli rewards [steps, arms]: one arm pays 0.7, the others 0.5."""
    means = np.full(arms, 0.5)
    means[rng.integers(arms)] = 0.7
    return (rng.random((STEPS, arms)) < means).astype(np.float64)


def switching(arms: int, rng: np.random.Generator) -> np.ndarray:
    """An adversary: the paying arm (0.9 against 0.1) changes SWITCHES times."""
    means = np.full((STEPS, arms), 0.1)
    best = -1
    for part in np.array_split(np.arange(STEPS), SWITCHES + 1):
        best = int((best + rng.integers(1, arms)) % arms) if best >= 0 else int(rng.integers(arms))
        means[part, best] = 0.9
    return (rng.random((STEPS, arms)) < means).astype(np.float64)


def play(policy: Policy, rewards: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cumulative reward [steps]."""
    earned = np.empty(len(rewards))
    for step, row in enumerate(rewards):
        pull = draw(policy.probs(), rng)
        earned[step] = row[pull.arm]
        policy.update(pull.credit, float(row[pull.arm]))
    return earned.cumsum()


def tuned(arms: int) -> tuple[float, float]:
    """γ of Auer et al. (2002), Corollary 3.2, with g = T, and its bound on the regret of EXP3."""
    gamma = min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1) * STEPS)))
    return gamma, 2 * math.sqrt(math.e - 1) * math.sqrt(STEPS * arms * math.log(arms))


def tuned_sharing(arms: int, segments: int) -> float:
    """γ of Auer et al. (2002), Corollary 8.2, for EXP3.S against a sequence of `segments` arms."""
    return min(1.0, math.sqrt(arms * (segments * math.log(arms * STEPS) + math.e) / ((math.e - 1) * STEPS)))


def regret(seeds: int, out: Path | None) -> None:
    streams: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
        "stochastic": stochastic,
        "switching": switching,
    }
    figure = make_subplots(
        len(streams), len(ARMS), subplot_titles=[f"{s}, n={n}" for s in streams for n in ARMS]
    )
    print(f"\nregret against the best single arm, T={STEPS:,}, mean of {seeds} seeds (standard error)")
    for row, (name, stream) in enumerate(streams.items(), start=1):
        segments = SWITCHES + 1 if stream is switching else 1
        for column, arms in enumerate(ARMS, start=1):
            gamma, bound = tuned(arms)
            rates = {Exp3: gamma, Exp3S: tuned_sharing(arms, segments)}
            curves: dict[str, list[np.ndarray]] = {"Exp3": [], "Exp3S": []}
            for seed in range(seeds):
                rewards = stream(arms, np.random.default_rng(seed))
                best = rewards[:, rewards.sum(axis=0).argmax()].cumsum()
                for kind, rate in rates.items():
                    # Auer's update: μ = γ/K
                    policy = kind(arms, learning_rate=rate / arms, exploration=rate)
                    curves[kind.__name__].append(
                        best - play(policy, rewards, np.random.default_rng(1000 + seed))
                    )
            report(name, arms, bound, curves, figure, row, column)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        figure.update_layout(template="plotly_white", height=700, title="Regret over time (mean over seeds)")
        figure.write_html(out / "regret.html", include_plotlyjs=True)
        print(f"plot: {out / 'regret.html'}")


def report(name, arms, bound, curves, figure, row, column) -> None:
    means = {}
    for kind, colour in (("Exp3", "#1f77b4"), ("Exp3S", "#d62728")):
        final = np.array([curve[-1] for curve in curves[kind]])
        means[kind] = (
            f"{final.mean():8.0f} ({final.std(ddof=1) / math.sqrt(len(final)):4.0f})"
            if len(final) > 1
            else ""
        )
        mean = np.mean(curves[kind], axis=0)[:: STEPS // 200]
        line = go.Scatter(x=np.arange(0, STEPS, STEPS // 200), y=mean, name=kind, line_color=colour)
        figure.add_trace(line.update(showlegend=row == column == 1), row, column)
    exp3 = np.mean([curve[-1] for curve in curves["Exp3"]])
    verdict = f"bound for Exp3 {bound:6.0f}: {'holds' if exp3 < bound else 'BROKEN'}"
    print(f"  {name:10} n={arms:3}  Exp3 {means['Exp3']}  Exp3S {means['Exp3S']}  {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=None, help="folder for the regret plot")
    arguments = parser.parse_args()
    cost()
    regret(arguments.seeds, arguments.out)


if __name__ == "__main__":
    main()
