"""What is scored: the test text of every facet, and the further test sets that a recipe names."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from facetmt.data.corpus import Facet
from facetmt.data.lines import MAX_LINE, decode, read_lines
from facetmt.data.prepare import Prepared
from facetmt.errors import UserError
from facetmt.translate.config import EvaluateConfig, SetConfig


class ScoredText(NamedTuple):
    """One row of scores.json before it is translated."""

    name: str
    facet: Facet  # whose languages, cleaning and tags apply
    sources: list[str]
    references: list[str]


def scored_texts(prepared: Prepared, config: EvaluateConfig, root: Path) -> Iterator[ScoredText]:
    """Facets with test text in their order, then `evaluate.sets`; `root` is the recipe's data.root."""
    names = {facet.name for facet in prepared.facets}
    for facet in prepared.facets:
        sources, references = prepared.text(facet.name, "test")
        if sources:
            yield ScoredText(facet.name, facet, sources, references)
    for name, one in config.sets.items():
        if name in names:
            raise UserError(f"evaluate.sets.{name} has the name of a facet; give it another")
        yield ScoredText(name, prepared.codec.facet(one.facet), *read_set(name, one, root))


def read_set(name: str, one: SetConfig, root: Path) -> tuple[list[str], list[str]]:
    """Source and reference lines of a set, which must be equally many."""
    sources, references = read_text(root / one.source), read_text(root / one.target)
    if not sources or len(sources) != len(references):
        raise UserError(
            f"evaluate.sets.{name}: {root / one.source} has {len(sources)} lines and {root / one.target}"
            f" {len(references)}; they must be equally many, and some"
        )
    return sources, references


def read_text(path: Path) -> list[str]:
    lines = []
    for number, line in enumerate(read_lines(path), 1):
        if line is None:
            raise UserError(f"{path}, line {number} has more than {MAX_LINE:,} bytes: is it a sentence?")
        lines.append(line)
    return decode(lines, path, range(1, len(lines) + 1), "strict")


def row_sizes(texts: list[ScoredText], prepared: Prepared) -> dict[str, int]:
    """Training pairs behind every row, for `EvaluateConfig.members`."""
    sizes = {
        facet.name: len(store) for facet, store in zip(prepared.facets, prepared.stores("train"), strict=True)
    }
    return {text.name: sizes[text.facet.name] for text in texts}
