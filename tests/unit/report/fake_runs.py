"""Run directories with plausible curves, written by the project's own writer; nothing is trained."""

import json
import math
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from facetmt.bandit.auto import Auto, next_measurement
from facetmt.bandit.config import ScheduleConfig, build_scheduler
from facetmt.bandit.schedules import Corpus
from facetmt.data.config import DataConfig
from facetmt.recipe import Recipe, dump_recipe
from facetmt.runlog import FACETS, OUTCOMES, RECIPE, SCORES, TRANSLATIONS, Run, RunLog
from facetmt.train.config import TrainConfig
from facetmt.translate.config import EvaluateConfig
from facetmt.translate.evaluate import collect, corpus_scores

DOMAINS = {"Med": 248_000, "IT": 467_300, "Law": 222_900, "Koran": 18_000, "Subs": 500_000}
SENTENCE = (
    "the committee of patients shall read every dose before a law opens this window and people speak "
    "softly when water falls on an old house where nobody knows which file was saved in it again"
)
WORDS = SENTENCE.split()
HOSTILE = "<script>document.title='run by a corpus line'</script> & \"quoted\""
PASS = 0.21  # duration of a reward pass here, relative to a step
COMPILE, PROBE = 8.0, 0.5  # seconds of compiling, and of a measurement
TOKENS, ROWS = 20, 24  # of a sentence pair, and of a batch
USELESS = "Koran"  # the facet whose translations do not depend on its sources


def many_facets(count=198):
    """Names and sizes as in a massively multilingual corpus."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [f"{letters[i // 26]}{letters[i % 26]}-en" for i in range(count)]
    return {name: int(1_000_000 / (1 + 0.03 * i) ** 3) + 600 for i, name in enumerate(names)}


@dataclass
class World:
    """Facets that differ in what they can reach and how fast; a little of what is learned helps all."""

    floor: np.ndarray  # [facets] loss in the end
    ceiling: np.ndarray  # [facets] BLEU in the end
    scale: np.ndarray  # [facets] batches to learn 63 %

    @classmethod
    def of(cls, count, steps):
        rng = np.random.default_rng(7)
        return cls(
            floor=1.2 + 0.9 * rng.random(count),
            ceiling=18 + 36 * rng.random(count),
            scale=steps / count * (0.25 + 0.9 * rng.random(count)),
        )

    def learned(self, counts, total):
        return 1 - np.exp(-(0.75 * counts + 0.25 * total / len(counts)) / self.scale)

    def loss(self, counts, total):
        return self.floor + (7.5 - self.floor) * (1 - self.learned(counts, total))

    def bleu(self, counts, total):
        return self.ceiling * self.learned(counts, total) ** 2


def write_run(
    directory,
    *,
    sizes=None,
    policy="exp3",
    reward="dev-pgnorm",
    steps=3000,
    seed=1,
    log_every=20,
    validations=15,
    scored=True,
    sentences=30,
    seconds_a_step=0.25,
    hostile=False,
    broken_rewards=0,
    planned=None,
    data=None,
    **schedule,
) -> Path:
    """A whole run directory; `scored=False` omits the test scores, `planned` steps make it unfinished.

    The decisions are those of the real scheduler; `auto` explains its changes of shares, as in training.
    """
    directory = Path(directory)
    sizes = dict(DOMAINS if sizes is None else sizes)
    config = ScheduleConfig(policy=policy, reward=reward, **schedule)
    whole = config.draws == "whole"
    names, rng = list(sizes), np.random.default_rng(seed)
    world, counts = World.of(len(names), steps), np.zeros(len(names))
    tokens = [TOKENS * size for size in sizes.values()]
    corpus = Corpus(names, list(sizes.values()), tokens, 60 * TOKENS * steps, [True] * len(names))
    scheduler = build_scheduler(config, corpus, seed, ROWS)
    log = RunLog(directory, scheduler.facets, fresh=True)
    every = max(1, steps // validations) if validations else steps + 1
    recipe = Recipe(
        data=DataConfig(root="corpus", source="de", target="en", **(data or {})),
        seed=seed,
        schedule=config,
        train=TrainConfig(steps=planned or steps, validate_every=every, log_every=log_every),
        evaluate=EvaluateConfig(groups={"Small": tuple(sorted(sizes, key=sizes.get)[: len(sizes) // 2])}),
    )
    (directory / RECIPE).write_text(dump_recipe(recipe), encoding="utf-8")
    (directory / FACETS).write_text(
        json.dumps({name: {"source": "de", "target": "en", "train": size} for name, size in sizes.items()}),
        encoding="utf-8",
    )
    share = np.array(list(sizes.values())) / sum(sizes.values())
    clock, pending, news = COMPILE, [], []
    measure = Measurements(scheduler.policy, names) if isinstance(scheduler.policy, Auto) else None
    loss_now = float(world.loss(counts, 0).mean())
    for step in range(1, steps + 1):
        if measure and measure.due(step):
            news += measure(step, world.loss(counts, step), rng)
            clock += PROBE
        pull = scheduler.pull()
        before = loss_now
        drawn = np.eye(1, len(names), pull.arm)[0] if pull.rows is None else np.array(pull.rows) / ROWS
        counts += share if whole else drawn
        loss_now = float(world.loss(counts, step).mean()) if len(names) < 50 or step % 50 == 0 else loss_now
        clock += seconds_a_step * (1 + PASS * bool(config.step_reward))
        after = math.nan if step <= broken_rewards else loss_now + 0.0004 * rng.standard_normal()
        pending.append((step, pull, before, after))
        while len(pending) > config.feedback_lag:
            _settle(log, scheduler, config, *pending.pop(0))
        if step % log_every == 0:
            probed = PROBE * measure.times if measure else 0.0
            row = _metrics(step, clock, loss_now, scheduler, counts, sizes, config, seconds_a_step, probed)
            log.metrics({**row, **({"news": news} if news else {})})
            log.probs(step, scheduler.probs())
            news = []
        if step % every == 0:
            clock += 4.0
            log.validation(_validation(step, clock, names, world, counts, rng))
    log.close()
    if scored:
        _score(directory, names, world.bleu(counts, steps), recipe, sentences, seed, hostile)
    return directory


def _settle(log, scheduler, config, step, pull, before, after):
    row = (pull.prob, before, math.nan, math.nan, math.nan)
    if config.step_reward:
        record = scheduler.feedback(pull, before=before, after=after)
        row = (pull.prob, record.before, record.after, record.raw, record.scaled)
    log.pull(step, scheduler.name(pull), row)


class Measurements:
    """What `auto` sees: dev losses, and that one facet's translations do not depend on its sources."""

    def __init__(self, policy, names):
        self.policy, self.times = policy, 0
        self.use = np.array([0.0 if name == USELESS else 0.4 for name in names])
        self._next = next_measurement(0)

    def due(self, step):
        return step >= self._next

    def __call__(self, step, losses, rng):
        self._next, self.times = next_measurement(step), self.times + 1
        noise = 0.002 * rng.standard_normal(len(losses))
        errors = np.full(len(losses), 0.12)
        return [
            *self.policy.observe_dev(step, np.tile(losses + noise, (self.policy.groups, 1))),
            *self.policy.observe_use(step, self.use + noise, errors),
        ]


def _metrics(step, clock, loss, scheduler, counts, sizes, config, seconds_a_step, probed):
    health = scheduler.health()
    total = sum(sizes.values())
    epochs = (
        {"mixed": round(60 * step / total, 4)}
        if config.draws == "whole"
        else {name: round(60 * n / size, 4) for (name, size), n in zip(sizes.items(), counts, strict=True)}
    )
    trained = step * seconds_a_step * (1 + PASS * bool(config.step_reward))
    share = {"reward_share": round(PASS / (1 + PASS), 4)} if config.step_reward else {}
    return {
        "step": step,
        "seconds": round(clock, 3),
        "loss": loss,
        "tokens_per_second": 5200.0,
        "lr": 0.001 * min(1, step / 400) / math.sqrt(max(step, 400) / 400),
        "gradient_norm": 0.8,
        "padding": 0.031,
        "skipped_in_row": 0,
        **share,
        "time": {
            "train": round(trained, 3),
            "input": round(step * 0.004, 3),
            "validate": round(clock - trained - COMPILE - probed, 3),
            "compile": COMPILE,
            "probe": probed,
            "save": 1.5,
        },
        "epochs": epochs,
        "health": {
            "starved": health.starved,
            "entropy": health.entropy,
            "dropped": health.dropped,
            "saturation": health.saturation,
        },
    }


def _validation(step, clock, names, world, counts, rng):
    loss = world.loss(counts, step) + 0.01 * rng.standard_normal(len(names))
    bleu = np.maximum(world.bleu(counts, step) + 0.25 * rng.standard_normal(len(names)), 0)
    return {
        "step": step,
        "seconds": round(clock, 3),
        "loss": {"facets": dict(zip(names, loss.tolist(), strict=True)), "average": float(loss.mean())},
        "bleu": {"facets": dict(zip(names, bleu.tolist(), strict=True)), "average": float(bleu.mean())},
    }


def _score(directory, names, bleu, recipe, sentences, seed, hostile):
    """Translations in which a word is wrong the more often the worse the facet is, and their scores."""
    (directory / TRANSLATIONS).mkdir()
    scores, signatures = {}, {}
    for index, name in enumerate(names):
        text, errors = np.random.default_rng(index), np.random.default_rng([seed, index])
        rows = []
        for number in range(sentences):
            words = text.choice(WORDS, size=9 + int(text.integers(8))).tolist()
            wrong = errors.random(len(words)) > 0.45 + bleu[index] / 100
            output = [
                str(text_word) if not bad else "und" for text_word, bad in zip(words, wrong, strict=True)
            ]
            row = {
                "source": " ".join(words[::-1]),
                "reference": " ".join(words),
                "hypothesis": " ".join(output),
            }
            rows.append(dict.fromkeys(row, HOSTILE) if hostile and number == 0 else row)
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        (directory / TRANSLATIONS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        hypotheses, references = ([row[side] for row in rows] for side in ("hypothesis", "reference"))
        scores[name], signatures[name] = corpus_scores(hypotheses, references, "en")
    table = collect(scores, signatures, recipe.evaluate.groups)
    rows = Run(directory).validation
    best = max(rows, key=lambda row: row["bleu"]["average"])["step"] if rows else recipe.train.steps
    scored = {"steps": [best], "decode": asdict(recipe.decode), "tag": None}
    (directory / SCORES).write_text(json.dumps({**table, **scored}), encoding="utf-8")


def change_scores(directory, **values):
    """Other facts in scores.json."""
    path = directory / SCORES
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), encoding="utf-8")


def write_outcome(directory, name, hypothesis, **values):
    """A named outcome: the plain one's test sentences, translated by a function of the row; rescored."""
    plain = json.loads((directory / SCORES).read_text("utf-8"))
    folder = directory / OUTCOMES / name
    (folder / TRANSLATIONS).mkdir(parents=True)
    scores, signatures = {}, {}
    for path in sorted((directory / TRANSLATIONS).iterdir()):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows = [{**row, "hypothesis": hypothesis(row)} for row in rows]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / TRANSLATIONS / path.name).write_text(text, encoding="utf-8")
        columns = ([row[side] for row in rows] for side in ("hypothesis", "reference"))
        scores[path.stem], signatures[path.stem] = corpus_scores(*columns, "en")
    table = {**plain, **collect(scores, signatures, {}), **values}
    (folder / SCORES).write_text(json.dumps(table), encoding="utf-8")


def rewritten(run, copy, change):
    """A copy of a run whose translations are changed, row by row."""
    directory = shutil.copytree(run.directory, copy)
    for path in (directory / "translations").iterdir():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        path.write_text("".join(json.dumps(change(row)) + "\n" for row in rows), encoding="utf-8")
    return Run(directory)
