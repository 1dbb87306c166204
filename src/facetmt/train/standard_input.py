"""Standard input translated to standard output, with progress; by any engine, and without loading JAX."""

from __future__ import annotations

import os
import stat
import sys

from facetmt.console import progress
from facetmt.translate.pipe import NBest, translate_lines


def translate_standard_input(n_best: NBest, *, batch: int, keep: int, scores: bool, errors: str) -> None:
    """One line out for each line in, in chunks of several batches; line by line from a terminal."""
    size = regular_size(sys.stdin.fileno())
    with progress("translating", "lines", bar=False) as pace:

        def tell(done: int) -> None:
            if not sys.stdout.isatty():  # on a terminal the translations themselves show how far it is
                pace.reached(done, sys.stdin.buffer.tell() / size if size else None)

        translate_lines(
            n_best,
            sys.stdin.buffer,
            sys.stdout,
            chunk=1 if sys.stdin.isatty() else 8 * batch,
            keep=keep,
            scores=scores,
            errors=errors,
            tell=tell,
        )


def regular_size(descriptor: int) -> int | None:
    """Bytes of an open file; None for a pipe or a terminal."""
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None
