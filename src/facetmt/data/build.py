"""Writing a facet's folder: train and dev stores, dev and test text, and what all of it was made from."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from facetmt.data.chunks import count_pairs, read_chunks
from facetmt.data.codec import Codec
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet, SentencePair
from facetmt.data.encode import Encoded, EncodeJob
from facetmt.data.layouts import SPLITS
from facetmt.data.prepared import ABOUT, STORES, Report
from facetmt.data.store import StoreWriter, open_store
from facetmt.errors import UserError
from facetmt.files import replace_directory, sha256, sha256_of

VERSION = 1  # of everything that decides which ids a text becomes


class Scan(NamedTuple):
    """What the first reading of a facet's files found."""

    pairs: dict[str, int]  # by split
    inputs: dict[str, tuple[int, int, str]]  # by file: size, modification time in ns, sha256


def facet_settings(facet: Facet, config: DataConfig, root: Path, vocabulary: str) -> str:
    """A hash of everything that decides the facet's content, except the content of its files."""
    splits = {
        split: {
            key: _name(value, root) if isinstance(value, Path) else value
            for key, value in asdict(files).items()
        }
        for split, files in facet.files.items()
    }
    languages = facet.source_language, facet.target_language
    rules = config.errors, asdict(config.clean), config.longest, asdict(config.tags)
    return sha256_of([VERSION, facet.name, languages, splits, rules, vocabulary])


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _paths(facet: Facet, root: Path) -> dict[str, Path]:
    """Every file that the facet is read from, by its name below the root."""
    return {_name(path, root): path for files in facet.files.values() for path in files.paths()}


def is_fresh(directory: Path, facet: Facet, root: Path, settings: str) -> bool:
    """Whether the folder holds what building the facet now would give (`_unchanged` compares files)."""
    try:
        about = json.loads((directory / ABOUT).read_text("utf-8"))
        for split in STORES:
            open_store(directory / split)
    except (OSError, ValueError, UserError):
        return False
    paths = _paths(facet, root)
    if about["settings"] != settings or set(about["inputs"]) != set(paths):
        return False
    return all(_unchanged(paths[name], *saved) for name, saved in about["inputs"].items())


def _unchanged(path: Path, size: int, changed: int, hashed: str) -> bool:
    """Same size and modification time: yes, without reading. Same size, other time: the hash decides."""
    stat = path.stat()
    return stat.st_size == size and (stat.st_mtime_ns == changed or sha256(path) == hashed)


def scan_facet(job: tuple[Facet, Path]) -> Scan:
    """Read all files of a facet once, so that files which do not match are found before the long work."""
    facet, root = job
    pairs = {split: count_pairs(files) for split, files in facet.files.items()}
    inputs = {}
    for name, path in _paths(facet, root).items():
        stat = path.stat()
        inputs[name] = stat.st_size, stat.st_mtime_ns, sha256(path)
    if not pairs["train"]:
        raise UserError(
            f"facet {facet.name} is empty: {facet.files['train'].source} has no pairs for it; add text,"
            " or leave the facet out of data.facets"
        )
    return Scan(pairs, inputs)


def encode_jobs(facet: Facet, config: DataConfig, codec: Path) -> Iterator[EncodeJob]:
    """The facet's text, chunk by chunk, split by split."""
    for split in SPLITS:
        if split in facet.files:
            files = facet.files[split]
            for chunk in read_chunks(files):
                yield EncodeJob(
                    facet.name, split, chunk, files, codec, config.errors, config.clean, config.longest
                )


def build_facet(
    parts: Iterable[Encoded],
    facet: Facet,
    output: Path,
    about: Mapping[str, Any],
    codec: Codec,
    missing_dev: bool,
) -> Report:
    """Write the facet's folder under a temporary name; it gets its own only when it is complete."""
    output.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        report = _write_splits(parts, facet, work, codec)
        _check_report(report, facet, missing_dev)
        text = json.dumps({**about, "report": report}, indent=1, ensure_ascii=False)
        (work / ABOUT).write_text(text, encoding="utf-8")
        replace_directory(work, output)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return report


def _write_splits(parts: Iterable[Encoded], facet: Facet, work: Path, codec: Codec) -> Report:
    report: Report = {split: {"read": 0, "kept": 0, "dropped": {}} for split in SPLITS}
    with ExitStack() as stack:
        stores = {
            split: stack.enter_context(
                StoreWriter(work / split, facet.name, split, codec.vocabulary.fingerprint, codec.dtype)
            )
            for split in STORES
        }
        for split, group in groupby(parts, key=lambda part: part.split):
            dropped: Counter[str] = Counter()
            for part in group:
                if split in stores:
                    stores[split].append(part.ids, part.lengths)
                if split != "train":
                    write_text(work, split, part.text)
                dropped += part.dropped
                report[split]["read"] += part.read
            report[split]["dropped"] = dict(dropped)
            report[split]["kept"] = report[split]["read"] - dropped.total()
    return report


def write_text(folder: Path, split: str, pairs: Iterable[SentencePair]) -> None:
    """Append raw text, line by line as in the store of the same split."""
    for side in ("source", "target"):
        with open(folder / f"{split}.{side}", "a", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{getattr(pair, side)}\n" for pair in pairs)


def _check_report(report: Report, facet: Facet, missing_dev: bool) -> None:
    for split in STORES:
        if not report[split]["kept"] and not (split == "dev" and missing_dev):
            reasons = "".join(f", {count} {reason}" for reason, count in report[split]["dropped"].items())
            raise UserError(
                f"facet {facet.name} has no usable {split} pair: {report[split]['read']} read{reasons};"
                " fix the text, or leave the facet out of data.facets"
            )
