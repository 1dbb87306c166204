"""Reading a prepared corpus: facets, stores, dev set and text, checked against the manifest."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facetmt.data.clean import Cleaner
from facetmt.data.codec import copy_codec, open_codec
from facetmt.data.dev import balanced
from facetmt.data.manifest import MANIFEST, Manifest, cuts_dev, read_manifest
from facetmt.data.store import Store, open_store
from facetmt.data.vocab import Vocabulary
from facetmt.errors import UserError
from facetmt.files import sha256_of

REPORT, VOCABULARY, FACETS = "report.json", "vocabulary", "facets"
ABOUT = "facet.json"  # in a facet's folder: what it was made from, and what was dropped
STORES = ("train", "dev")  # splits with a token store

Report = dict[str, dict[str, Any]]  # by split: pairs read and kept, dropped by reason


class Prepared:
    """A prepared corpus: facets in order, their stores, and everything that turns text into ids and back."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        fingerprints: dict[str, str] = dict(manifest["facets"])
        self.directory = directory
        self.codec = open_codec(directory / VOCABULARY)
        self.facets = [self.codec.facet(name) for name in fingerprints]
        self.reports = {name: facet_report(directory, name) for name in fingerprints}
        self._stores = {
            split: [open_store(directory / FACETS / facet.name / split) for facet in self.facets]
            for split in STORES
        }
        for facet, *stores in zip(self.facets, *self._stores.values(), strict=True):
            if fingerprint_of(stores) != fingerprints.get(facet.name):
                raise UserError(f"{directory}: left half prepared (facet {facet.name}); prepare again")
        self.dev = balanced(
            self._stores["dev"], int(manifest["dev_pairs"]), manifest["seed"], cut=cuts_dev(manifest)
        )
        self.fingerprint: dict[str, str] = {
            "vocabulary": self.vocabulary.fingerprint,
            "dev set": sha256_of([indices.tolist() for indices in self.dev.chosen]),
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
        """One store per facet, in the order of the facets; split is "train" or "dev"."""
        return list(self._stores[split])

    def verify(self) -> int:
        """Read every store and compare it with its hash, which opening does not do; return the bytes read."""
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
        return read_text(self.directory / FACETS / facet, split)

    def dev_text(self, facet: str) -> tuple[list[str], list[str]]:
        """Raw source and target lines of the facet's part of the balanced dev set."""
        number = [known.name for known in self.facets].index(facet)
        source, target = self.text(facet, "dev")
        chosen = self.dev.chosen[number].tolist()
        return [source[index] for index in chosen], [target[index] for index in chosen]

    def copy_vocabulary(self, directory: Path) -> None:
        """Copy everything that `codec.open_codec` needs, so that a run can translate without this folder."""
        copy_codec(self.directory / VOCABULARY, directory)


def open_prepared(output: Path) -> Prepared:
    """What `prepare` left in a folder; an error says if it is missing, damaged or half done."""
    manifest = read_manifest(output)
    try:
        return Prepared(output, manifest)
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{output / MANIFEST}: damaged; prepare again") from None


def facet_report(directory: Path, facet: str) -> Report:
    """Pairs of a prepared facet that were read, kept and dropped."""
    path = directory / FACETS / facet / ABOUT
    try:
        return dict(json.loads(path.read_text("utf-8"))["report"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{path}: missing or damaged; prepare again") from None


def fingerprint_of(stores: Sequence[Store]) -> str:
    """What the manifest says of a facet: a hash of its stores' hashes."""
    return sha256_of([store.header.sha256 for store in stores])


def read_text(folder: Path, split: str) -> tuple[list[str], list[str]]:
    """Raw source and target lines of a facet's dev or test text; empty lists where there is none."""
    sides = []
    for side in ("source", "target"):
        path = folder / f"{split}.{side}"
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        sides.append(text.split("\n")[:-1])
    return sides[0], sides[1]
