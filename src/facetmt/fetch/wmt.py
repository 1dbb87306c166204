"""WMT English-German as the paper uses it: one training text, a dev set in two facets, six test sets."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from facetmt.data.lines import read_lines
from facetmt.errors import UserError
from facetmt.fetch.sources import COMMON_CRAWL, EUROPARL, NEWS_COMMENTARY, PARACRAWL, PARAPHRASED

# Columns of English and German in the published tables.
TABLES = {EUROPARL: (1, 0), NEWS_COMMENTARY: (1, 0), PARACRAWL: (0, 1)}
TRUSTED = NEWS_COMMENTARY  # what the paper's data selection trusts
TESTS = ("wmt18", "wmt20")
DEV = "wmt19"

Pair = tuple[bytes, bytes]  # English, German


class Segment(NamedTuple):
    """A line of a WMT test set; `original` is the language that it was written in."""

    source: str
    reference: str
    original: str


def assemble(files: Mapping[str, Path], unpacked: Path, out: Path) -> None:
    """train.{en,de}, trusted.{en,de}, dev.{en,de,facet} and test/*.{en,de} from what was downloaded."""
    write_sets(files, out)
    with (
        open(out / "train.en", "wb") as english,
        open(out / "train.de", "wb") as german,
        open(out / "trusted.en", "wb") as trusted_english,
        open(out / "trusted.de", "wb") as trusted_german,
    ):
        for name, (source, target) in training_pairs(files, unpacked):
            english.write(source + b"\n")
            german.write(target + b"\n")
            if name == TRUSTED:
                trusted_english.write(source + b"\n")
                trusted_german.write(target + b"\n")


def training_pairs(files: Mapping[str, Path], unpacked: Path) -> Iterator[tuple[str, Pair]]:
    """(corpus, pair) of all four corpora; lines without text on both sides are left out."""
    for name, columns in TABLES.items():
        for line in read_lines(files[name]):
            cells = (line or b"").split(b"\t")
            if len(cells) > max(columns):
                yield from _whole(name, cells[columns[0]], cells[columns[1]])
    sides = [unpacked / f"commoncrawl.de-en.{language}" for language in ("en", "de")]
    for side in sides:
        if not side.is_file():
            raise UserError(
                f"{files[COMMON_CRAWL]}: does not hold {side.name}; delete it and fetch the right file"
            )
    try:
        for source, target in zip(*map(read_lines, sides), strict=True):
            yield from _whole(COMMON_CRAWL, source, target)
    except ValueError:
        raise UserError(
            f"{files[COMMON_CRAWL]}: its two sides differ in length; delete it and fetch it again"
        ) from None


def _whole(name: str, source: bytes | None, target: bytes | None) -> Iterator[tuple[str, Pair]]:
    if source and target and source.strip() and target.strip():
        yield name, (source, target)


def write_sets(files: Mapping[str, Path], out: Path) -> None:
    """German originals, turned round, are natural; translations from English are translationese."""
    (out / "test").mkdir(parents=True)
    dev = {"natural": backward(DEV), "translationese": forward(DEV)}
    write_pairs(out / "dev", [pair for pairs in dev.values() for pair in pairs])
    labels = [label for label, pairs in dev.items() for _ in pairs]
    (out / "dev.facet").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    for name in TESTS:
        pairs = forward(name)
        write_pairs(out / "test" / name, pairs)
        write_pairs(out / "test" / f"{name}-rev", backward(name))
        path = files[PARAPHRASED[name]]
        paraphrases = [(line or b"").decode("utf-8") for line in read_lines(path)]
        if len(paraphrases) != len(pairs):
            raise UserError(
                f"{path}: {len(paraphrases)} lines, but {len(pairs)} lines of {name} were written in English;"
                " delete it and fetch it again"
            )
        references = [(source, reference) for (source, _), reference in zip(pairs, paraphrases, strict=True)]
        write_pairs(out / "test" / f"{name}-paraph", references)


def forward(name: str) -> list[tuple[str, str]]:
    """English originals with their German translations."""
    return [(one.source, one.reference) for one in newstest(name, "en-de") if one.original == "en"]


def backward(name: str) -> list[tuple[str, str]]:
    """German originals as references of their English translations (the paper's `-rev`)."""
    return [(one.reference, one.source) for one in newstest(name, "de-en") if one.original == "de"]


def write_pairs(stem: Path, pairs: list[tuple[str, str]]) -> None:
    for side, language in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (stem.parent / f"{stem.name}.{language}").write_text(text, encoding="utf-8", newline="\n")


def newstest(name: str, pair: str) -> list[Segment]:
    """A test set through sacreBLEU, which downloads it once to a folder of its own."""
    from sacrebleu.dataset import DATASETS
    from sacrebleu.utils import SACREBLEU_DIR

    dataset = DATASETS[name]
    try:
        names, paths = dataset.fieldnames(pair), dataset.get_files(pair)  # type: ignore[no-untyped-call]
        fields = dict(zip(names, paths, strict=True))
    except (OSError, SystemExit) as error:  # it exits if a checksum is wrong
        url = (dataset.data or [""])[0]
        place = Path(SACREBLEU_DIR) / name / "raw" / f"{name}.{url.rsplit('/', 1)[-1]}"
        raise UserError(
            f"sacreBLEU could not fetch the test set {name} ({error}); download {url} as {place}"
            " and unpack it beside itself, then run the same command again"
        ) from None
    columns = [Path(fields[key]).read_text("utf-8").split("\n")[:-1] for key in ("src", "ref", "origlang")]
    return [Segment(*line) for line in zip(*columns, strict=True)]
