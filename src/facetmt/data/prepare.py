"""A corpus to token stores: only what changed is done again, and nothing half-written is ever opened."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetmt.data import build
from facetmt.data.build import ABOUT, Scan, digest
from facetmt.data.clean import Cleaner
from facetmt.data.codec import copy_codec, open_codec
from facetmt.data.corpus import DataConfig, Facet
from facetmt.data.encode import Encoded, encode_chunk
from facetmt.data.layouts import discover
from facetmt.data.learn import Progress, learn_codec
from facetmt.data.manifest import (
    MANIFEST,
    VERSION,
    Manifest,
    check_settings,
    cuts_dev,
    former_manifest,
    new_manifest,
    read_manifest,
)
from facetmt.data.permutation import permuted, stream_key
from facetmt.data.store import Store, open_store, replace_directory, write_atomic, write_synced
from facetmt.data.vocab import Vocabulary
from facetmt.data.workers import Workers, open_workers
from facetmt.errors import UserError

REPORT, VOCABULARY, FACETS = "report.json", "vocabulary", "facets"
SETTINGS = "settings.sha256"  # what the vocabulary was learned with
SMALL, MOSES_SMALL = 8 << 20, 1 << 19  # bytes of text that are not worth starting processes for

Int = NDArray[np.int64]


class Prepared:
    """A prepared corpus: facets in order, their stores, and all that turns text into ids and back."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        fingerprints: dict[str, str] = dict(manifest["facets"])
        self.directory = directory
        self.codec = open_codec(directory / VOCABULARY)
        self.facets = [self.codec.facet(name) for name in fingerprints]
        self.reports = {name: _about(directory, name)["report"] for name in fingerprints}
        self._stores = {
            split: [open_store(directory / FACETS / facet.name / split) for facet in self.facets]
            for split in build.STORES
        }
        for facet, *stores in zip(self.facets, *self._stores.values(), strict=True):
            if _fingerprint(stores) != fingerprints.get(facet.name):
                raise UserError(f"{directory} was left half prepared (facet {facet.name}): prepare again")
        self.dev_chosen = _balanced(
            self._stores["dev"], int(manifest["dev_pairs"]), manifest["seed"], cut=cuts_dev(manifest)
        )
        self.fingerprint: dict[str, str] = {
            "vocabulary": self.vocabulary.fingerprint,
            "dev set": digest([indices.tolist() for indices in self.dev_chosen]),
            **{f"facet {name}": value for name, value in fingerprints.items()},
        }

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of all facets."""
        return self.codec.vocabulary

    @property
    def cleaner(self) -> Cleaner:
        """What happens to text before and after subwords."""
        return self.codec.cleaner

    def stores(self, split: str) -> list[Store]:
        """One store a facet, in the order of the facets; split is "train" or "dev"."""
        return list(self._stores[split])

    def verify(self) -> int:
        """Read every store and compare it with its hash, which opening one does not; the bytes that were read."""
        damage, size = [], 0
        for store in (*self.stores("train"), *self.stores("dev")):
            try:
                size += store.verify()
            except UserError as error:
                damage.append(str(error))
        if damage:
            raise UserError("; ".join(damage))
        return size

    def text(self, facet: str, split: str) -> tuple[list[str], list[str]]:
        """Raw source and target lines of dev (as in the dev store) or test text."""
        return build.read_text(self.directory / FACETS / facet, split)

    def dev_text(self, facet: str) -> tuple[list[str], list[str]]:
        """Raw source and target lines of the facet's part of the balanced dev set."""
        number = [known.name for known in self.facets].index(facet)
        source, target = self.text(facet, "dev")
        chosen = self.dev_chosen[number].tolist()
        return [source[index] for index in chosen], [target[index] for index in chosen]

    def copy_vocabulary(self, directory: Path) -> None:
        """Copy all that `codec.open_codec` needs, so that a run can translate without this folder."""
        copy_codec(self.directory / VOCABULARY, directory)


def _about(directory: Path, facet: str) -> dict[str, Any]:
    path = directory / FACETS / facet / ABOUT
    try:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return {"report": dict(about["report"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{path} is missing or damaged: prepare again") from None


def _fingerprint(stores: Sequence[Store]) -> str:
    return digest([store.header.sha256 for store in stores])


def _balanced(stores: Sequence[Store], pairs: int, seed: int, *, cut: bool) -> list[Int]:
    """Indices of so many dev pairs of each facet, or all that it has; `cut`: no more than the smallest has."""
    count = min([pairs, *(len(store) for store in stores if len(store) and cut)])
    return [
        np.sort(
            permuted(
                np.arange(min(count, len(store))), max(1, len(store)), stream_key(seed, "dev", store.name)
            )
        )
        for store in stores
    ]


def open_prepared(output: Path) -> Prepared:
    """What `prepare` left in a folder; an error says so if it is missing, damaged or half done."""
    manifest = read_manifest(output)
    try:
        return Prepared(output, manifest)
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{output / MANIFEST} is damaged: prepare again") from None


def prepare(
    config: DataConfig,
    base: Path,
    output: Path,
    workers: int | None = None,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> Prepared:
    """Bring `output` up to date with the corpus; `workers` processes (None: one per core, 1: none besides this).

    A folder that was prepared with other settings is left alone, unless `overwrite` says so.
    """
    tell: Progress = progress or (lambda stage, done, total: None)
    root = base / config.root
    facets = discover(config, base)
    former = None if overwrite else former_manifest(output)
    if former is not None:
        check_settings(former, config, [facet.name for facet in facets], output)
    given = config
    if config.tags.target_language is None:
        several = len({facet.target_language for facet in facets}) > 1
        config = replace(config, tags=replace(config.tags, target_language=several))
    try:
        _refresh(config, root, facets, output, workers, tell)
        _finish(output, facets, lambda fingerprints: new_manifest(given, fingerprints, former))
    except OSError as error:
        raise UserError(
            f"cannot write to {output} ({error.strerror or error}): make room and prepare again"
        ) from error
    return open_prepared(output)


def _refresh(
    config: DataConfig, root: Path, facets: Sequence[Facet], output: Path, count: int | None, tell: Progress
) -> None:
    """Redo what is out of date: the vocabulary with all facets, or single facets."""
    settings = vocabulary_settings(config, facets)
    learned = _is_learned(output / VOCABULARY, settings)
    stale = _stale(config, root, facets, output) if learned else list(facets)
    if stale:
        output.mkdir(parents=True, exist_ok=True)
        with open_workers(
            count, worthwhile=_size(stale) > (MOSES_SMALL if config.clean.moses else SMALL)
        ) as workers:
            scans = _scan(stale, root, workers, tell)
            if not learned:
                _learn(config, facets, scans, output / VOCABULARY, settings, workers, tell)
            _build(config, root, stale, scans, output, workers, tell)


def vocabulary_settings(config: DataConfig, facets: Sequence[Facet]) -> str:
    """A digest of what the vocabulary depends on; the text itself is not part of it (docs/data.md)."""
    names = sorted([facet.name, facet.source_language, facet.target_language] for facet in facets)
    # as earlier versions wrote it, so that what they learned is not learned again
    balance = {"facet": True, "none": False}.get(str(config.vocab.balance), config.vocab.balance)
    vocab = {**asdict(config.vocab), "balance": balance}
    return digest([VERSION, vocab, config.clean.moses, asdict(config.tags), config.seed, names])


def _is_learned(directory: Path, settings: str) -> bool:
    """Whether the folder holds a whole vocabulary that was learned with these settings."""
    try:
        open_codec(directory)
        return (directory / SETTINGS).read_text("utf-8") == settings
    except (OSError, UserError):
        return False


def _stale(config: DataConfig, root: Path, facets: Sequence[Facet], output: Path) -> list[Facet]:
    vocabulary = open_codec(output / VOCABULARY).vocabulary.fingerprint
    return [
        facet
        for facet in facets
        if not build.is_fresh(
            output / FACETS / facet.name, facet, root, build.facet_settings(facet, config, root, vocabulary)
        )
    ]


def _size(facets: Sequence[Facet]) -> int:
    """Bytes of text, roughly: gzip packs text to a third."""
    files = {path for facet in facets for split in facet.files.values() for path in split.paths()}
    return sum(path.stat().st_size * (3 if path.suffix == ".gz" else 1) for path in files)


def _scan(facets: Sequence[Facet], root: Path, workers: Workers, tell: Progress) -> dict[str, Scan]:
    scans = {}
    results = workers.run(build.scan_facet, [(facet, root) for facet in facets])
    for facet, scan in zip(facets, results, strict=True):
        scans[facet.name] = scan
        tell("scan", len(scans), len(facets))
    return scans


def _learn(
    config: DataConfig,
    facets: Sequence[Facet],
    scans: Mapping[str, Scan],
    directory: Path,
    settings: str,
    workers: Workers,
    tell: Progress,
) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{VOCABULARY}-", dir=directory.parent))
    try:
        counts = {name: scan.pairs["train"] for name, scan in scans.items()}
        learn_codec(sorted(facets, key=lambda facet: facet.name), config, counts, work, workers, tell)
        write_synced(work / SETTINGS, settings.encode())
        replace_directory(work, directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _build(
    config: DataConfig,
    root: Path,
    facets: Sequence[Facet],
    scans: Mapping[str, Scan],
    output: Path,
    workers: Workers,
    tell: Progress,
) -> None:
    """Encode the facets one after the other, but as one stream of jobs that keeps the processes busy."""
    codec = open_codec(output / VOCABULARY)
    jobs = chain.from_iterable(build.encode_jobs(facet, config, output / VOCABULARY) for facet in facets)
    total = sum(count for scan in scans.values() for count in scan.pairs.values())
    parts = _told(workers.run(encode_chunk, jobs), total, tell)
    for facet, (_, own) in zip(facets, groupby(parts, key=lambda part: part.facet), strict=True):
        settings = build.facet_settings(facet, config, root, codec.vocabulary.fingerprint)
        about = {"settings": settings, "inputs": scans[facet.name].inputs}
        build.build_facet(own, facet, output / FACETS / facet.name, about, codec, config.allow_missing_dev)


def _told(parts: Iterator[Encoded], total: int, tell: Progress) -> Iterator[Encoded]:
    done = 0
    for part in parts:
        done += part.read
        tell("encode", min(done, total), total)  # lines filtered on purpose are read, but were not counted
        yield part


def _finish(output: Path, facets: Sequence[Facet], manifest: Callable[[dict[str, str]], Manifest]) -> None:
    """Write the manifest if it changed, then remove what no longer belongs to the corpus."""
    fingerprints = {
        facet.name: _fingerprint([open_store(output / FACETS / facet.name / split) for split in build.STORES])
        for facet in facets
    }
    reports = {facet.name: _about(output, facet.name)["report"] for facet in facets}
    contents: dict[str, Any] = {REPORT: reports, MANIFEST: manifest(fingerprints)}
    for name, value in contents.items():
        data = json.dumps(value, indent=1, ensure_ascii=False).encode()
        path = output / name
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data)
    others = (folder for folder in (output / FACETS).iterdir() if folder.name not in fingerprints)
    # what prepare did not write is not its to remove, wherever `prepared` points
    own = (folder for folder in others if (folder / ABOUT).is_file() or folder.name.startswith("."))
    for folder in (*own, *output.glob(f".{VOCABULARY}-*")):
        shutil.rmtree(folder)
