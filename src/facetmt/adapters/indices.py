"""Which samples of a data set belong to which facet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
CHUNK = 1 << 16  # rows of a facet column that are read at once


class Indices:
    """The samples of one facet: an array that is as narrow as they allow, or a range that takes no memory."""

    def __init__(self, samples: Sequence[int] | npt.NDArray[Any] | range) -> None:
        self._samples: range | npt.NDArray[Any]
        if isinstance(samples, range):
            self._samples = samples
            ends = samples[:1], samples[-1:]
            lowest = min((index for end in ends for index in end), default=0)
        else:
            array = np.asarray(samples)
            if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
                raise ValueError("the samples of a facet must be one list of whole numbers")
            lowest = int(array.min(initial=0))
            narrow = array.size == 0 or int(array.max()) <= np.iinfo(np.int32).max
            self._samples = array.astype(np.int32 if narrow else np.int64, copy=False)
        if lowest < 0:
            raise ValueError(f"a sample has the index {lowest}; indices start at 0")

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, places: Int) -> Int:
        """Indices into the data set [P] at these places [P] of the facet."""
        samples = self._samples
        if isinstance(samples, range):
            return samples.start + places * samples.step
        return samples[places].astype(np.int64)


def indices_by_facet(
    facets: Mapping[str, Sequence[int] | npt.NDArray[Any] | range] | Sequence[Any] | npt.NDArray[Any],
    names: Sequence[str],
) -> list[Indices]:
    """The samples of each of the `names`, from lists by name or from one column with a name per sample."""
    found = facets if isinstance(facets, Mapping) else grouped(facets, names)
    if strangers := sorted(set(found) - set(names)):
        raise ValueError(f"the scheduler does not know the facet {strangers[0]!r}; it has {', '.join(names)}")
    indices = [Indices(found.get(name, ())) for name in names]
    for name, samples in zip(names, indices, strict=True):
        if not len(samples):
            raise ValueError(f"the facet {name!r} has no samples; leave it out of the scheduler")
    return indices


def grouped(column: Sequence[Any] | npt.NDArray[Any], names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Name -> the rows of the column that hold it, in their order."""
    codes = {name: code for code, name in enumerate(names)}
    width = np.min_scalar_type(len(codes))
    code = np.empty(len(column), width)
    for start in range(0, len(column), CHUNK):
        part = column[start : start + CHUNK]
        cells = part.tolist() if isinstance(part, np.ndarray) else part
        try:
            code[start : start + len(cells)] = [codes[str(cell)] for cell in cells]
        except KeyError as error:
            raise ValueError(
                f"the scheduler does not know the facet {error.args[0]!r}; it has {', '.join(names)}"
            ) from None
    ends = np.cumsum(np.bincount(code, minlength=len(names)))
    return dict(zip(names, np.split(sorted_rows(code, ends), ends[:-1]), strict=True))


def sorted_rows(code: npt.NDArray[Any], ends: Int) -> npt.NDArray[Any]:
    """All rows [N] by their code, in chunks: sorting them at once would take four times the memory."""
    rows = np.empty(len(code), np.int32 if len(code) <= np.iinfo(np.int32).max else np.int64)
    free = np.concatenate([[0], ends[:-1]])  # the next free place of each code
    for start in range(0, len(code), CHUNK):
        part = code[start : start + CHUNK]
        order = np.argsort(part, kind="stable")
        count = np.bincount(part, minlength=len(ends))
        first = np.cumsum(count) - count  # of each code in the sorted chunk
        rows[np.arange(len(part)) + np.repeat(free - first, count)] = start + order
        free += count
    return rows
