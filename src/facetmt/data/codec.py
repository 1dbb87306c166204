"""From text to ids and back: cleaning, subwords and tags together, the same for training and translation."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetmt.data.batch import EOS
from facetmt.data.clean import Cleaner
from facetmt.data.config import TagConfig
from facetmt.data.corpus import Facet
from facetmt.data.names import check_facets, check_name
from facetmt.data.store import spans
from facetmt.data.vocab import Side, Vocabulary, as_lists, load_vocabulary, save_vocabulary
from facetmt.errors import UserError
from facetmt.files import sha256, write_whole

Int = NDArray[np.int64]

CODEC = "codec.json"


def tag_names(facet: Facet, tags: TagConfig) -> list[str]:
    """The reserved symbols before a source sentence of the facet."""
    language = [f"<2{facet.target_language}>"] if tags.target_language else []
    return language + ([f"<facet:{facet.name}>"] if tags.facet else [])


class Codec:
    """What a model's ids mean: its vocabulary, its cleaner, and the facets with their tags."""

    def __init__(
        self, vocabulary: Vocabulary, cleaner: Cleaner, facets: Sequence[Facet], tags: TagConfig
    ) -> None:
        self.vocabulary = vocabulary
        self.cleaner = cleaner
        self.facets = list(facets)
        self.tags = tags
        self._by_name = {facet.name: facet for facet in facets}

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every id."""
        largest = max(self.vocabulary.source_size, self.vocabulary.target_size) - 1
        return np.dtype(np.uint16 if largest < 1 << 16 else np.uint32)

    def facet(self, name: str) -> Facet:
        """The facet of that name."""
        if name not in self._by_name:
            raise UserError(f"there is no facet {name}; there are {', '.join(self._by_name)}")
        return self._by_name[name]

    def prefix(self, name: str, tag: str | None = None) -> list[int]:
        """Ids of the tags before a source sentence of the facet; `tag` forces the facet tag of another."""
        if tag is not None and not self.tags.facet:
            raise UserError("this model was trained without facet tags (data.tags.facet); leave out the tag")
        tagged = replace(self.facet(name), name=self.facet(tag or name).name)
        return [self.vocabulary.tag(symbol) for symbol in tag_names(tagged, self.tags)]

    def languages(self, name: str) -> tuple[str, str]:
        """Source and target language of the facet."""
        facet = self.facet(name)
        return facet.source_language, facet.target_language

    def ids(self, cleaned: Sequence[str], facet: str, side: Side, tag: str | None = None) -> tuple[Int, Int]:
        """tags x EOS or y EOS of each cleaned line, back to back, and the lengths; all text passes here."""
        prefix = self.prefix(facet, tag) if side == "source" else []
        return with_ends(*self.vocabulary.encode_flat(cleaned, side), prefix)

    def encode(self, lines: Sequence[str], facet: str, side: Side, tag: str | None = None) -> tuple[Int, Int]:
        """`ids` of lines that are not cleaned yet; a blank line has no x."""
        language = self.languages(facet)[side == "target"]
        return self.ids([self.cleaner.forward(line, language) for line in lines], facet, side, tag)

    def encode_source(self, lines: Sequence[str], facet: str, tag: str | None = None) -> list[list[int]]:
        """tags x EOS of each line."""
        return as_lists(*self.encode(lines, facet, "source", tag))

    def encode_target(self, lines: Sequence[str], facet: str) -> list[list[int]]:
        """y EOS of each line."""
        return as_lists(*self.encode(lines, facet, "target"))

    def decode(self, ids: Iterable[Sequence[int]], facet: str) -> list[str]:
        """Finished text of target ids, each up to its first EOS."""
        language = self.facet(facet).target_language
        return [self.cleaner.backward(text, language) for text in self.vocabulary.decode(ids, "target")]


def with_ends(ids: Int, lengths: Int, prefix: list[int]) -> tuple[Int, Int]:
    """prefix x EOS of each line, back to back, and the new lengths."""
    longer = lengths + len(prefix) + 1
    whole = np.full(int(longer.sum()), EOS)
    begin = np.cumsum(longer) - longer
    whole[spans(begin + len(prefix), lengths)] = ids
    for offset, tag in enumerate(prefix):
        whole[begin + offset] = tag
    return whole, longer


def truecaser_path(directory: Path, language: str) -> Path:
    """Where the truecasing model of a language is kept."""
    return directory / f"truecase.{language}.txt"


def save_codec(codec: Codec, directory: Path) -> None:
    """Everything but the truecasing models, which are written where they are learned."""
    save_vocabulary(codec.vocabulary, directory)
    about = {
        "moses": codec.cleaner.moses,
        "tags": {"target_language": bool(codec.tags.target_language), "facet": codec.tags.facet},
        "facets": [[facet.name, facet.source_language, facet.target_language] for facet in codec.facets],
        "truecase": {language: sha256(path) for language, path in codec.cleaner.truecasers.items()},
    }
    write_whole(directory / CODEC, json.dumps(about, indent=1, ensure_ascii=False))


def open_codec(directory: Path) -> Codec:
    """The codec saved in a directory (a prepared corpus's or a run's `vocabulary` folder)."""
    vocabulary = load_vocabulary(directory)
    try:
        about = json.loads((directory / CODEC).read_text("utf-8"))
        facets = [Facet(*names) for names in about["facets"]]
        tags, moses, hashes = TagConfig(**about["tags"]), bool(about["moses"]), dict(about["truecase"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{directory / CODEC}: missing or damaged; prepare again") from None
    # names become paths again, and the file may come from a stranger
    check_facets([facet.name for facet in facets])
    spoken = {side for facet in facets for side in (facet.source_language, facet.target_language)}
    for language in spoken | set(hashes):
        check_name(language, "language")
    truecasers = {language: truecaser_path(directory, language) for language in hashes}
    for language, path in truecasers.items():
        if not path.is_file() or sha256(path) != hashes[language]:
            raise UserError(
                f"{path}: missing, or not the one that was prepared; put it back or prepare again"
            )
    return Codec(vocabulary, Cleaner(moses, truecasers), facets, tags)


def copy_codec(source: Path, target: Path) -> None:
    """Copy what translating needs, so that a run does not depend on the prepared corpus."""
    open_codec(source)
    shutil.copytree(source, target, dirs_exist_ok=True)
