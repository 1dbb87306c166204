"""Lays out the text of the studies as their recipes expect it: python studies/corpora.py TEXT [STUDY ...]

TEXT has multidomain_de_en, multilingual_x_en and translationese_en_de, each with one folder per facet and
gzipped files (train.de.gz ...). It is not part of the project. Every `corpus` is made beside its recipe.
"""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

STUDIES = Path(__file__).parent
TEST_PAIRS = 500
DOMAINS = ("captions", "chat", "conversation", "it", "medical", "pkgdesc")
NOISE = ("news", "bible", "games", "talks", "education", "koran", "subtitles", "law")  # in this order
LANGUAGES = ("be", "bg", "fr", "gl", "mk", "pt", "ru", "sk")
MIXTURES_D = ("it", "koran", "law", "medical", "parliament", "subtitles")
MIXTURES_NOISE = ("news", "bible", "games", "talks", "education", "chat", "captions", "pkgdesc")
MIXTURES_M = ("az", "be", "cs", "gl", "pt", "ru", "sk", "tr")
NATURAL, TRANSLATED = "natural", "translationese"
ORIGINS = {NATURAL: "orig_de", TRANSLATED: "orig_en"}  # of the German side
TRAIN_PAIRS, MODEL_LINES = 35_000, 15_000  # of each origin: to translate, and for the models of `label`


def lines(path: Path, most: int | None = None) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return list(islice(file, most))


def write(path: Path, text: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(text), encoding="utf-8", newline="\n")


def copy_facets(source: Path, corpus: Path, facets: Sequence[str]) -> None:
    """Whole train and dev, the first pairs of test."""
    for facet in facets:
        for path in sorted((source / facet).glob("*.gz")):
            split = path.name.split(".")[0]
            if split in ("train", "dev", "test"):
                write(corpus / facet / path.stem, lines(path, TEST_PAIRS if split == "test" else None))


def misaligned(source: Path, facets: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """The first pairs of these facets, the targets of each facet shifted by one line."""
    german: list[str] = []
    english: list[str] = []
    for facet in facets:
        german += lines(source / facet / "train.de.gz")
        target = lines(source / facet / "train.en.gz")
        english += target[1:] + target[:1]
    return german[:most], english[:most]


def noise(source: Path, corpus: Path, facets: Sequence[str], most: int) -> None:
    german, english = misaligned(source, facets, most)
    write(corpus / "noise" / "train.de", german)
    write(corpus / "noise" / "train.en", english)


def translationese(source: Path, corpus: Path) -> None:
    """German by origin, shuffled: the pairs, their origins, and other lines for the language models."""
    pairs = []
    for label, origin in ORIGINS.items():
        folder = source / f"europarl_{origin}"
        english = lines(folder / "train.en.gz", TRAIN_PAIRS + MODEL_LINES)
        german = lines(folder / "train.de.gz", TRAIN_PAIRS + MODEL_LINES)
        pairs += [(*pair, f"{label}\n") for pair in zip(english, german, strict=True)][:TRAIN_PAIRS]
        write(corpus / "models" / f"{label}.de", german[TRAIN_PAIRS:])
    random.Random(1).shuffle(pairs)
    split(corpus, "train", pairs)
    dev = []
    for label, origin in ORIGINS.items():
        english, german = (
            lines(source / "newstest" / f"newstest2019.{origin}.{side}.gz", 1000) for side in ("en", "de")
        )
        dev += [(*pair, f"{label}\n") for pair in zip(english, german, strict=True)]
        for side in ("en", "de"):
            for year in (2018, 2020):
                name = f"newstest{year}.{origin}.{side}"
                write(corpus / name, lines(source / "newstest" / f"{name}.gz", TEST_PAIRS))
            test = source / f"europarl_{origin}" / f"test.{side}.gz"
            write(corpus / f"europarl.{origin}.{side}", lines(test, TEST_PAIRS))
    split(corpus, "dev", dev)
    write(corpus / "dev.facet", [row[2] for row in dev])  # known, so not left to `label`


def split(corpus: Path, name: str, rows: Sequence[tuple[str, str, str]]) -> None:
    for column, ending in enumerate(("en", "de", "origin")):
        write(corpus / f"{name}.{ending}", [row[column] for row in rows])


def main(text: Path, studies: Sequence[str]) -> None:
    domains, languages = text / "multidomain_de_en", text / "multilingual_x_en"
    if "domains" in studies:
        copy_facets(domains, STUDIES / "domains/corpus", DOMAINS)
    if "languages" in studies:
        copy_facets(languages, STUDIES / "languages/corpus", LANGUAGES)
    if "noise" in studies:
        corpus = STUDIES / "noise/corpus"
        copy_facets(domains, corpus, DOMAINS)
        noise(domains, corpus, NOISE, len(lines(domains / "it/train.de.gz")))
    if "translationese" in studies:
        translationese(text / "translationese_en_de", STUDIES / "translationese/corpus")
    if "mixtures" in studies:
        corpus = STUDIES / "mixtures/corpus"
        copy_facets(domains, corpus / "D", MIXTURES_D)
        copy_facets(languages, corpus / "M", MIXTURES_M)
        copy_facets(domains, corpus / "N", MIXTURES_D)
        noise(domains, corpus / "N", MIXTURES_NOISE, 100_000)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:] or ["domains", "languages", "noise", "translationese", "mixtures"])
