"""Standard input to standard output: one line out for each line in, whatever the lines are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, TextIO

from facetmt.data.codec import Codec
from facetmt.data.lines import looks_like_utf16
from facetmt.errors import UserError
from facetmt.translate.text import Hypothesis

NBest = Callable[[Sequence[str]], list[list[Hypothesis]]]


def translate_lines(
    n_best: NBest,
    source: BinaryIO,
    out: TextIO,
    *,
    chunk: int,
    keep: int,
    scores: bool,
    errors: str,
    tell: Callable[[int], None] = lambda lines: None,
) -> None:
    """Translate chunk by chunk and write each at once; `keep` hypotheses per line, tab-separated."""
    lines, done = read_lines(source, errors), 0
    while some := list(islice(lines, chunk)):
        for hypotheses in n_best(some):
            cells = [cell(one, scores) for one in hypotheses[:keep]]
            out.write("\t".join(cells) + "\n")
        out.flush()
        done += len(some)
        tell(done)


def cell(hypothesis: Hypothesis, scores: bool) -> str:
    text = " ".join(hypothesis.text.split())  # a tab or a line end in a hypothesis would break the format
    return f"{hypothesis.score:.4f}\t{text}" if scores else text


def read_lines(source: BinaryIO, errors: str) -> Iterator[str]:
    """Lines, split at \\n only; invalid UTF-8 is replaced, or an error that names the place."""
    for number, raw in enumerate(source, start=1):
        if number == 1 and errors == "strict" and looks_like_utf16(raw):
            raise UserError(
                "standard input, line 1, byte 0: this looks like UTF-16 or UTF-32; convert it to UTF-8, or "
                "use --errors replace"
            )
        try:
            text = raw.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise UserError(
                f"standard input, line {number}, byte {error.start}: not valid UTF-8 ({error.reason}); "
                "convert the text, or use --errors replace"
            ) from None
        yield text.removesuffix("\n").removesuffix("\r")


def choose_facet(codec: Codec, facet: str | None, to: str | None, tag: str | None = None) -> str:
    """The facet whose languages and tags apply; an error lists the choices."""
    if facet is not None:
        chosen = codec.facet(facet)
        if to not in (None, chosen.target_language):
            raise UserError(
                f"--facet {facet} --to {to}: that facet translates to {chosen.target_language}; "
                "leave out one of the two"
            )
        return chosen.name
    fitting = [one for one in codec.facets if to is None or one.target_language == to]
    if not fitting:
        known = ", ".join(sorted({one.target_language for one in codec.facets}))
        raise UserError(f"--to {to}: no facet translates to {to}; choose from {known}")
    if len({(one.target_language, *codec.prefix(one.name, tag)) for one in fitting}) > 1:
        names = ", ".join(one.name for one in fitting[:12])
        raise UserError(f"the model has several facets ({names}); say what the text is with --facet or --to")
    return fitting[0].name
