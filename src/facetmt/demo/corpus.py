"""The demo corpus: German-English pairs from our own grammar, in facets with the paper's size ratios."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from facetmt.demo.grammar import it, koran, law, medical, subtitles, translationese
from facetmt.demo.grammar.draw import Draw, Lexicon, Template
from facetmt.errors import UserError

T = TypeVar("T")
Pair = tuple[str, str]  # source, target

# Sizes of the five domains in the paper, in thousands of pairs.
PAPER_SIZES = {"medical": 248.0, "it": 467.3, "law": 222.9, "koran": 18.0, "subtitles": 500.0}
STYLES = {"natural": True, "translationese": False}
NOISE = "noise"
SPLITS = ("train", "dev", "test")
MARKS = ("noise", "origin")
_GRAMMARS: dict[str, tuple[Lexicon, tuple[tuple[int, Template], ...]]] = {
    "medical": (medical.LEXICON, medical.TEMPLATES),
    "it": (it.LEXICON, it.TEMPLATES),
    "law": (law.LEXICON, law.TEMPLATES),
    "koran": (koran.LEXICON, koran.TEMPLATES),
    "subtitles": (subtitles.LEXICON, subtitles.TEMPLATES),
}
_PATIENCE = 5_000  # consecutive draws without a new sentence after which a grammar counts as exhausted


@dataclass(frozen=True)
class DemoConfig:
    """What the demo corpus holds."""

    seed: int = 1  # same seed, same bytes
    size: int = 6_000  # train pairs of the largest facet; the others follow the paper's ratios
    dev: int = 200  # dev pairs per facet
    test: int = 200  # test pairs per facet
    noise: float = 0.0  # size of an added facet of misaligned pairs, as a fraction of all clean train pairs
    misaligned: float = 0.0  # fraction of misaligned pairs in the train split of each facet
    # en-de with the facets natural and translationese instead of the five domains
    translationese: bool = False

    def __post_init__(self) -> None:
        if self.size < 1 or self.dev < 0 or self.test < 0:
            raise ValueError(
                "demo corpus: a split is too small; give size at least 1, dev and test at least 0"
            )
        if self.noise < 0:
            raise ValueError(f"demo corpus: noise is {self.noise}; give a fraction of at least 0")
        if not 0 <= self.misaligned <= 1:
            raise ValueError(f"demo corpus: misaligned is {self.misaligned}; give a fraction from 0 to 1")

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language."""
        return ("en", "de") if self.translationese else ("de", "en")

    @property
    def sizes(self) -> dict[str, int]:
        """Train pairs of each clean facet."""
        if self.translationese:
            return dict.fromkeys(STYLES, self.size)
        largest = max(PAPER_SIZES.values())
        return {name: max(1, round(self.size * part / largest)) for name, part in PAPER_SIZES.items()}


@dataclass(frozen=True)
class DemoSplit:
    """The pairs of one split and their marks, one per pair (`noise`: 0 or 1; `origin`: the style)."""

    pairs: list[Pair]
    marks: dict[str, list[str]] = field(default_factory=dict)


def generate(config: DemoConfig) -> dict[str, dict[str, DemoSplit]]:
    """The corpus by facet and split; no source and no target occurs twice within a facet."""
    sizes = config.sizes
    total = sum(sizes.values())
    noisy = round(config.noise * total)
    spare = noisy + config.dev + config.test if noisy else 0
    pools = _pools(config, {name: -(-spare * size // total) for name, size in sizes.items()})
    corpus: dict[str, dict[str, DemoSplit]] = {}
    leftover: list[Pair] = []
    for name, pairs in pools.items():
        splits, rest = _split(pairs, sizes[name], config)
        corpus[name] = {split: _marked(config, name, split, part) for split, part in splits.items()}
        leftover += rest
    if noisy:
        rng = random.Random(f"{config.seed}:{NOISE}")
        splits, _ = _split(_shuffled(_rotated(leftover), rng), noisy, config)
        corpus[NOISE] = {split: DemoSplit(part) for split, part in splits.items()}
        corpus[NOISE]["train"].marks["noise"] = ["1"] * noisy
    return corpus


def write(config: DemoConfig, directory: Path) -> None:
    """Write `<directory>/<facet>/<split>.<language>` and the marks as `<split>.<mark>`, one line per pair."""
    for name, splits in generate(config).items():
        folder = directory / name
        folder.mkdir(parents=True, exist_ok=True)
        for mark in MARKS:  # left by an earlier corpus in the same folder
            (folder / f"train.{mark}").unlink(missing_ok=True)
        for split, part in splits.items():
            columns = {
                language: [pair[i] for pair in part.pairs] for i, language in enumerate(config.languages)
            }
            for suffix, lines in (columns | part.marks).items():
                text = "".join(f"{line}\n" for line in lines)
                (folder / f"{split}.{suffix}").write_text(text, encoding="utf-8", newline="\n")


def _pools(config: DemoConfig, spare: dict[str, int]) -> dict[str, list[Pair]]:
    """Distinct pairs per facet, enough for its splits and for the noise made from the rest."""
    counts = {name: size + config.dev + config.test + spare[name] for name, size in config.sizes.items()}
    if not config.translationese:
        return {
            name: _distinct(name, count, _domain(config.seed, name), set()) for name, count in counts.items()
        }
    seen: set[str] = set()  # shared, so that no English and no German sentence occurs in both styles
    pools = {name: _distinct(name, count, _style(config.seed, name), seen) for name, count in counts.items()}
    return {name: [(english, german) for german, english in pairs] for name, pairs in pools.items()}


def _domain(seed: int, name: str) -> Callable[[], Pair]:
    """Draws German-English pairs of one domain, choosing templates in proportion to their weights."""
    lexicon, templates = _GRAMMARS[name]
    draw = Draw(lexicon, random.Random(f"{seed}:{name}"))
    weighted = [template for weight, template in templates for _ in range(weight)]
    return lambda: draw.pick(weighted)(draw)


def _style(seed: int, name: str) -> Callable[[], Pair]:
    """Draws German-English pairs whose German is natural or translationese."""
    draw = Draw(translationese.LEXICON, random.Random(f"{seed}:{name}"))
    writer = translationese.Writer(draw, native=STYLES[name])
    return lambda: draw.pick(translationese.TEMPLATES)(writer)


def _distinct(name: str, count: int, produce: Callable[[], Pair], seen: set[str]) -> list[Pair]:
    """Draw until there are `count` pairs whose two sides are both new."""
    pairs: list[Pair] = []
    failures = 0
    while len(pairs) < count:
        german, english = produce()
        if german in seen or english in seen or _unfit(german, english):
            failures += 1
            if failures > _PATIENCE:
                raise UserError(
                    f"demo corpus: the grammar of facet {name!r} yields only about {len(pairs)} distinct "
                    f"pairs, and {count} are needed; choose a smaller size, dev, test or noise"
                )
            continue
        failures = 0
        seen.update((german, english))
        pairs.append((german, english))
    return pairs


def _unfit(german: str, english: str) -> bool:
    """Very short, or the same noun twice in any form (the server reports that the server is down)."""
    nouns = [word[:6] for word in re.findall(r"(?<=\s)[A-ZÄÖÜ]\w{3,}", german)]
    return len(nouns) != len(set(nouns)) or min(german.count(" "), english.count(" ")) < 3


def _split(pairs: list[Pair], size: int, config: DemoConfig) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """Test first, then dev, then train, so that a larger train split does not change the other two."""
    first, second = config.test, config.test + config.dev
    last = second + size
    return {"train": pairs[second:last], "dev": pairs[first:second], "test": pairs[:first]}, pairs[last:]


def _marked(config: DemoConfig, name: str, split: str, pairs: list[Pair]) -> DemoSplit:
    """The pairs with their marks; a share of the train pairs is misaligned if the config says so."""
    part = DemoSplit(pairs)
    if split == "train" and (config.misaligned or config.noise):
        rng = random.Random(f"{config.seed}:{name}:misaligned")
        chosen = sorted(_shuffled(list(range(len(pairs))), rng)[: round(config.misaligned * len(pairs))])
        chosen = chosen if len(chosen) > 1 else []
        wrong = dict(zip(chosen, _rotated([pairs[i] for i in chosen]), strict=True))
        part = DemoSplit([wrong.get(i, pair) for i, pair in enumerate(pairs)])
        part.marks["noise"] = ["1" if i in wrong else "0" for i in range(len(pairs))]
    if config.translationese:
        part.marks["origin"] = [name] * len(pairs)
    return part


def _rotated(pairs: list[Pair]) -> list[Pair]:
    """Each source with the target of the previous pair; all targets differ, so no pair stays aligned."""
    return [(source, pairs[i - 1][1]) for i, (source, _) in enumerate(pairs)]


def _shuffled(items: list[T], rng: random.Random) -> list[T]:
    """The items in random order; only random() is used, so the order never changes."""
    return [items[i] for i in sorted(range(len(items)), key=lambda _: rng.random())]
