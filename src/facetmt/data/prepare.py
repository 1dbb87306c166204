"""From a corpus to token stores: only what changed is redone, and nothing half-written is ever opened."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from facetmt.data import build
from facetmt.data.build import Scan
from facetmt.data.codec import open_codec
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet
from facetmt.data.discover import discover
from facetmt.data.encode import Encoded, encode_chunk
from facetmt.data.learn import Progress, learn_codec
from facetmt.data.manifest import (
    MANIFEST,
    VERSION,
    Manifest,
    check_settings,
    former_manifest,
    new_manifest,
)
from facetmt.data.prepared import (
    ABOUT,
    FACETS,
    REPORT,
    STORES,
    VOCABULARY,
    Prepared,
    facet_report,
    fingerprint_of,
    open_prepared,
)
from facetmt.data.store import open_store
from facetmt.data.workers import Workers, open_workers
from facetmt.errors import UserError
from facetmt.files import replace_directory, sha256_of, write_whole

SETTINGS = "settings.sha256"  # what the vocabulary was learned with
SMALL, MOSES_SMALL = 8 << 20, 1 << 19  # bytes of text too few to start processes for


def prepare(
    config: DataConfig,
    base: Path,
    output: Path,
    workers: int | None = None,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> Prepared:
    """Bring `output` up to date with the corpus; `workers` processes (None: one per core, 1: only this one).

    A folder prepared with other settings is refused, unless `overwrite` says so.
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
            f"{output}: cannot be written ({error.strerror or error}); make room and prepare again"
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
    """A hash of what the vocabulary depends on; the text itself is not part of it (docs/data.md)."""
    names = sorted([facet.name, facet.source_language, facet.target_language] for facet in facets)
    # as earlier versions wrote it, so that their vocabularies are not learned again
    balance = {"facet": True, "none": False}.get(str(config.vocab.balance), config.vocab.balance)
    vocab = {**asdict(config.vocab), "balance": balance}
    return sha256_of([VERSION, vocab, config.clean.moses, asdict(config.tags), config.seed, names])


def _is_learned(directory: Path, settings: str) -> bool:
    """Whether the folder holds a complete vocabulary learned with these settings."""
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
        (work / SETTINGS).write_text(settings, encoding="utf-8")
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
        facet.name: fingerprint_of([open_store(output / FACETS / facet.name / split) for split in STORES])
        for facet in facets
    }
    reports = {facet.name: facet_report(output, facet.name) for facet in facets}
    contents: dict[str, Any] = {REPORT: reports, MANIFEST: manifest(fingerprints)}
    for name, value in contents.items():
        data = json.dumps(value, indent=1, ensure_ascii=False).encode()
        path = output / name
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, data)
    others = (folder for folder in (output / FACETS).iterdir() if folder.name not in fingerprints)
    # remove only what prepare wrote, wherever `prepared` points
    own = (folder for folder in others if (folder / ABOUT).is_file() or folder.name.startswith("."))
    for folder in (*own, *output.glob(f".{VOCABULARY}-*")):
        shutil.rmtree(folder)
