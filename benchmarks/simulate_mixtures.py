"""Mixtures on simulated facets with known best shares: how the rules of `auto` were chosen.

L_k = c_k − a_k·ln(own text of k and its relatives) − b_k·ln(all text), where repeated text is worth less and
less, and text repeated too often does harm. The figures are modelled on runs with real text; each seed
draws its facets around them. Measurements have the same noise as there.

D  six domains, moderately unequal     M  eight languages, tiny to large, some related
N  D plus a facet of misaligned text   O  D where one facet counts    o  the same, but that facet is small
"""

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np

from facetmt.bandit import Exp3, FacetScheduler, temperature_probs
from facetmt.bandit.auto import Auto, next_measurement
from facetmt.bandit.schedules import HELPERS
from facetmt.bandit.unimax import unimax_probs
from facetmt.train.evidence import DEV_EVERY

STEPS, ROWS = 1500, 24
# noise in units of the loss; of the median use; of the mean r, per row
DEV_NOISE, USE_NOISE, ROW_NOISE = 0.01, 0.1, 0.75
# a measurement in steps of training, as of 24 rows of 48 tokens; with alignment
COST, ALIGNED_COST = 2.3, 5.0
# slopes of groups of dev pairs differ by this much from the facet's
TILT, GROUPS = 0.15, 8
# rows of a facet for r; rows of dev text per measurement, and in its average
ALIGNED_ROWS, DEV_ROWS, DEV_LONG = 4, 32, 160
# in units of the mean r, with one row and 8 rows of dev text; also the noise of a one-step reward
STEP_NOISE = 3.5
# below 1: for the shared part, text of several facets is worth more than the same amount of one
VARIETY = 0.8
# epochs over which the value of repeated text fades (Muennighoff et al. 2023)
MEMORY = 15.0


@dataclass(frozen=True)
class World:
    """Facets and their curves. Arrays are [facets], `kin` [facet, text]."""

    names: list[str]
    size: np.ndarray  # rows of text
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    kin: np.ndarray  # value of another facet's row, relative to a row of the facet itself
    help: np.ndarray  # value of a row for the shared part
    counts: np.ndarray
    bias: np.ndarray  # of one-step signals: facets that are learned quickly look better than they are
    source: np.ndarray  # source use at step 900

    def worth(self, rows: np.ndarray) -> np.ndarray:
        """Rows of new text equivalent to `rows` with repetitions."""
        epochs = np.maximum(rows / self.size, 1.0)
        return np.minimum(rows, self.size) + self.size * MEMORY * (1 - np.exp(-(epochs - 1) / MEMORY))

    def losses(self, rows: np.ndarray) -> np.ndarray:
        """Loss of each facet after `rows` [..., facets]."""
        worth = self.worth(rows)
        own = worth @ self.kin.T + 50
        total = ((worth + 50) ** VARIETY @ self.help)[..., None] ** (1 / VARIETY)
        overfitting = 0.1 * np.log1p((rows / self.size / 40) ** 2)
        return self.c - self.a * np.log(own) - self.b * np.log(total) + overfitting

    def loss(self, rows: np.ndarray) -> np.ndarray:
        return self.losses(rows) @ self.counts / self.counts.sum()

    def gains(self, rows: np.ndarray) -> np.ndarray:
        """−∂ loss/∂ rows of each facet, by finite differences."""
        return self.loss(rows) - self.loss(rows + np.eye(rows.size))


def spread(rng, centre, scale=0.25):
    return np.asarray(centre) * np.exp(rng.normal(0, scale, len(centre)))


def domains(rng, noise=False, only=None, small=False) -> World:
    names = ["it", "koran", "law", "medical", "parliament", "subtitles"]
    size = spread(rng, [20e3, 20e3, 40e3, 30e3, 60e3, 30e3])
    a = spread(rng, [0.61, 0.32, 0.27, 0.31, 0.26, 0.19])
    b = spread(rng, [0.13, 0.15, 0.43, 0.36, 0.13, 0.21])
    source = spread(rng, [0.94, 0.6, 0.6, 0.6, 0.25, 0.4])
    counts = np.ones(6) if only is None else np.eye(6)[only]
    if only is not None:
        a[only] = spread(rng, [0.6])[0]
        size[only] = 2e3 if small else size[only]
    kin, helps, bias = np.eye(6) * 0.98 + 0.02, np.ones(6), spread(rng, np.ones(6), 0.25)
    if noise:
        names, counts, source = [*names, "noise"], np.append(counts, 0), np.append(source, 0.0)
        size, a, b = np.append(size, 50e3), np.append(a, 0.3), np.append(b, 0.2)
        kin = np.pad(kin, (0, 1))
        helps, bias = np.append(helps, 0.15), np.append(bias, 3.0)  # its target side trains the decoder
    world = World(names, size, a, b, np.zeros(a.size), kin, helps, counts, bias, source)
    return settled(world, np.where(helps == 1, 1 / 6, 0.0), 4.09)


def languages(rng) -> World:
    names = ["az", "be", "cs", "gl", "pt", "ru", "sk", "tr"]
    size = np.array([5_900, 4_500, 100_000, 280, 51_000, 100_000, 61_000, 100_000]) / 6
    a = spread(rng, [0.3, 0.3, 0.3, 0.3, 0.35, 0.25, 0.3, 0.25])
    b = spread(rng, np.full(8, 0.3))
    kin = np.eye(8)
    for one, other in ((0, 7), (1, 5), (2, 6), (3, 4)):
        kin[one, other] = kin[other, one] = 0.4
    source = spread(rng, np.full(8, 0.5), 0.4)
    bias = spread(rng, np.ones(8), 0.25)
    world = World(names, size, a, b, np.zeros(8), kin, np.ones(8), np.ones(8), bias, source)
    return settled(world, unimax_probs(size, STEPS * ROWS), 3.15)


def settled(world: World, shares, loss: float) -> World:
    """The world in which all facets end with this loss when trained with these shares."""
    return replace(world, c=loss - world.losses(shares * STEPS * ROWS))


SCENARIOS = {
    "D": domains,
    "M": languages,
    "N": lambda rng: domains(rng, noise=True),
    "O": lambda rng: domains(rng, only=3),
    "o": lambda rng: domains(rng, only=3, small=True),
}


def static(world: World, shares) -> float:
    return float(world.loss(np.asarray(shares) * STEPS * ROWS))


def best_shares(world: World) -> np.ndarray:
    """Best shares in hindsight: descent on the final loss."""
    weights = np.zeros(len(world.names))
    for _ in range(300):
        shares = np.exp(weights - weights.max())
        shares /= shares.sum()
        gains = world.gains(shares * STEPS * ROWS)
        weights += 2 * (gains / (shares @ gains) - 1).clip(-1, 1) * 0.2
    return shares


def play_exp3(world: World, rng) -> float:
    """EXP3 (μ 0.1, γ 0.25) on the dev gain of a step; homogeneous batches carry no penalty here."""
    scheduler = FacetScheduler(world.names, Exp3(len(world.names)), "pg", seed=int(rng.integers(2**31)))
    rows = np.zeros(len(world.names))
    gains = None
    for step in range(STEPS):
        if gains is None or step % 10 == 0:  # gains change slowly
            gains = world.gains(rows + 1) * world.bias
            noise = STEP_NOISE * abs(gains.mean())
        pull = scheduler.pull()
        rows[pull.arm] += ROWS
        scheduler.feedback(pull, before=gains[pull.arm] + rng.normal(0, noise), after=0.0)
    return float(world.loss(rows))


def measure(policy: Auto, world: World, rows, step: int, time: int, level, evidence, rng) -> list[str]:
    """What a training run would measure at this step, the `time`th measurement, with noise."""
    news = []
    if "epochs" in evidence:
        news += policy.observe_epochs(step, rows / world.size)
    if "alignment" in evidence and policy.aligns:
        gains = world.gains(rows) * world.bias
        direction = STEP_NOISE * math.sqrt(8 / min(DEV_ROWS * time, DEV_LONG))  # of the average dev gradient
        noise = math.hypot(ROW_NOISE, direction) / math.sqrt(ALIGNED_ROWS)
        error = np.full(rows.size, noise * abs(gains.mean()))
        news += policy.observe_alignment(step, gains + error * rng.normal(0, 1, rows.size), error)
    if "dev" in evidence and time % DEV_EVERY == 1:
        losses = world.losses(rows) + level * math.log(step / STEPS) + rng.normal(0, DEV_NOISE, level.shape)
        news += policy.observe_dev(step, np.where(world.counts > 0, losses, np.nan))
    if "use" in evidence:
        usual = np.median(world.source[world.counts > 0]) * step / 900
        error = np.full(rows.size, 0.005 + USE_NOISE * usual)
        use = world.source * step / 900 + error * rng.normal(0, 1, rows.size)
        news += policy.observe_use(step, use, error)
    return news


def play_auto(world: World, prior, rng, evidence=("dev", "use", "alignment", "epochs"), log=None) -> float:
    policy = Auto(world.names, prior, world.counts, groups=GROUPS)
    rows = np.zeros(len(world.names))
    level = rng.normal(0, TILT, (GROUPS, len(world.names)))  # of the dev rows that happen to be measured
    step, time, cost = 0, 0, ALIGNED_COST if policy.aligns else COST
    while step < STEPS:
        last, step, time = step, min(next_measurement(step, cost), STEPS), time + 1
        rows += policy.probs() * (step - last) * ROWS
        news = measure(policy, world, rows, step, time, level, evidence, rng)
        if log is not None:
            log.extend(news)
    return float(world.loss(rows))


def first_shares(world: World) -> np.ndarray:
    """As `auto` starts: UniMax, where what does not count has a quarter of a share, or less."""
    counting = np.count_nonzero(world.counts)
    helper = min(HELPERS, counting / max(1, world.size.size - counting))
    return unimax_probs(world.size, STEPS * ROWS, weights=np.where(world.counts > 0, 1.0, helper))


def systems(world: World, rng) -> dict[str, float]:
    size, facets = world.size, len(world.names)
    prior, start = unimax_probs(size, STEPS * ROWS), first_shares(world)
    honest = np.where(world.help == 1, 1.0, 0.0)
    clean = unimax_probs(size[honest > 0], STEPS * ROWS)
    found = {
        "take-it-all": static(world, size / size.sum()),
        "uniform": static(world, np.full(facets, 1 / facets)),
        "tau 5": static(world, temperature_probs(size, 5)),
        "UniMax": static(world, prior),
        "UniMax without noise": static(world, np.concatenate([clean, np.zeros(facets - clean.size)])),
        "EXP3": play_exp3(world, rng),
        "auto": play_auto(world, start, rng),
        "  slopes alone": play_auto(world, start, rng, ("dev",)),
        "  use alone": play_auto(world, start, rng, ("use",)),
        "  alignment alone": play_auto(world, start, rng, ("alignment",)),
        "best shares": static(world, best_shares(world)),
    }
    if world.counts.sum() == 1:
        found["70 % of it"] = static(world, 0.7 * world.counts + 0.3 / (facets - 1) * (1 - world.counts))
        found["it alone"] = static(world, world.counts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--scenarios", default="DMNOo")
    parser.add_argument("--story", action="store_true", help="print what auto reports for one seed")
    arguments = parser.parse_args()
    for name in arguments.scenarios:
        worlds = [SCENARIOS[name](np.random.default_rng(seed)) for seed in range(arguments.seeds)]
        results = [systems(world, np.random.default_rng([7, seed])) for seed, world in enumerate(worlds)]
        print(f"{name}: final loss, mean of {len(worlds)} seeds; auto minus system, ± standard error")
        for system in results[0]:
            values = np.array([result[system] for result in results])
            apart = np.array([result["auto"] - result[system] for result in results])
            error = apart.std(ddof=1) / math.sqrt(apart.size) if apart.size > 1 else math.nan
            print(f"  {system:22} {values.mean():.4f}   {apart.mean():+.4f} ± {error:.4f}")
        if arguments.story:
            log: list[str] = []
            play_auto(worlds[0], first_shares(worlds[0]), np.random.default_rng(1), log=log)
            print("  " + "\n  ".join(log))
            print(
                "  best shares",
                dict(zip(worlds[0].names, best_shares(worlds[0]).round(2).tolist(), strict=True)),
            )


if __name__ == "__main__":
    main()
