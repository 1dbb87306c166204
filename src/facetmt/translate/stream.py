"""Standard input to standard output: one line out for each line in, whatever the lines are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, TextIO

from facetmt.data.codec import Codec
from facetmt.errors import UserError
from facetmt.translate.translate import Hypothesis

NBest = Callable[[Sequence[str]], list[list[Hypothesis]]]


def translate_stream(
    n_best: NBest, source: BinaryIO, out: TextIO, *, chunk: int, keep: int, scores: bool, errors: str
) -> None:
    """Translate in chunks of lines and write each chunk as it is done; `keep` hypotheses a line, tab-separated."""
    lines = read_lines(source, errors)
    while some := list(islice(lines, chunk)):
        for hypotheses in n_best(some):
            cells = [cell(one, scores) for one in hypotheses[:keep]]
            out.write("\t".join(cells) + "\n")
        out.flush()


def cell(hypothesis: Hypothesis, scores: bool) -> str:
    text = " ".join(hypothesis.text.split())  # a tab or a line end in a hypothesis would break the format
    return f"{hypothesis.score:.4f}\t{text}" if scores else text


def read_lines(source: BinaryIO, errors: str) -> Iterator[str]:
    """Lines split at \\n alone; invalid UTF-8 is an error that names the line, or replaced."""
    for number, raw in enumerate(source, start=1):
        try:
            text = raw.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise UserError(
                f"standard input, line {number}, byte {error.start + 1} is not UTF-8; convert the text, or go on "
                "with --errors replace"
            ) from None
        yield text.removesuffix("\n").removesuffix("\r")


def choose_facet(codec: Codec, facet: str | None, to: str | None) -> str:
    """The facet whose languages and tags a text is translated with; an error lists what there is to choose."""
    if facet is not None:
        return codec.facet(facet).name
    fitting = [one for one in codec.facets if to is None or one.target_language == to]
    if not fitting:
        known = ", ".join(sorted({one.target_language for one in codec.facets}))
        raise UserError(f"no facet translates to {to}; the model translates to {known}")
    kinds = {(one.source_language, one.target_language, tuple(codec.prefix(one.name))) for one in fitting}
    if len({(target, prefix) for _, target, prefix in kinds}) > 1:
        names = ", ".join(one.name for one in fitting[:12])
        raise UserError(f"say what the text is with --facet or --to: the model's facets are {names}")
    return fitting[0].name
