"""Packed batches: several sentence pairs per row, one static shape, little padding."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PAD, UNK, BOS, EOS = 0, 1, 2, 3

Int = NDArray[np.int64]
Int32 = NDArray[np.int32]


class Batch(NamedTuple):
    """R rows of int32; segment 0 is padding, segments count from 1 in a row and pair source with target."""

    source: Int32  # [R, S] tags x EOS
    source_segment: Int32  # [R, S]
    source_position: Int32  # [R, S] restarts at 0 in every segment
    target: Int32  # [R, T] BOS y
    label: Int32  # [R, T] y EOS
    target_segment: Int32  # [R, T]
    target_position: Int32  # [R, T]
    facet: Int32  # [R, T] facet index of each target token, 0 at padding


class Tokens(NamedTuple):
    """P pairs, their tokens back to back: source = tags x EOS, target = y EOS."""

    source: NDArray[Any]  # [sum(source_length)]
    target: NDArray[Any]  # [sum(target_length)]
    source_length: Int  # [P]
    target_length: Int  # [P]
    facet: Int  # [P]


def assign_rows(source: Int, target: Int, aged: NDArray[np.bool_], rows: int, width: tuple[int, int]) -> Int:
    """Row of each pair [P], -1 where it did not fit; aged pairs first, then large ones, then best fit."""
    row = np.full(len(source), -1)
    room = np.repeat(np.array(width)[:, None], rows, axis=1)  # [2, R]
    size = np.maximum(source, target)
    for group, reserve in ((aged, 0.0), (~aged, 2.0 * float(size.mean()))):
        order = np.flatnonzero(group)
        _place_largest(source, target, order[np.argsort(size[order], kind="stable")], reserve, row, room)
    _place_best(source, target, np.flatnonzero(row < 0), row, room)
    return row


def _place_largest(source: Int, target: Int, order: Int, reserve: float, row: Int, room: Int) -> None:
    """Every row with at least `reserve` tokens free takes the largest pair that fits, again and again."""
    size = np.maximum(source, target)
    rank = np.arange(room.shape[1])
    while len(order):
        free = room.min(axis=0)
        rows = np.argsort(-free, kind="stable")
        free = free[rows]
        # choice[j] = min(largest that fits row j, choice[j-1] - 1): rows by falling room never collide
        choice = np.searchsorted(size[order], free, side="right") - 1
        choice = np.minimum.accumulate(choice + rank) - rank
        taken = (choice >= 0) & (free >= reserve)
        if not taken.any():
            return
        pair, into = order[choice[taken]], rows[taken]
        row[pair] = into
        room[:, into] -= np.stack([source[pair], target[pair]])
        order = np.delete(order, choice[taken])


def _place_best(source: Int, target: Int, order: Int, row: Int, room: Int) -> None:
    """Fill each row with the pair that leaves the smallest gap: argmin max(free_s - s, free_t - t)."""
    if not len(order):
        return
    # unsigned, so that a pair which does not fit has a gap of more than 2^31 and is never the smallest
    sizes_s, sizes_t = source[order].astype(np.uint32), target[order].astype(np.uint32)
    gone = np.uint32(1 << 31)
    smallest_s, smallest_t = int(sizes_s.min()), int(sizes_t.min())
    for index in np.argsort(room.min(axis=0), kind="stable").tolist():
        free_s, free_t = room[:, index].tolist()
        while free_s >= smallest_s and free_t >= smallest_t:
            gap = np.maximum(free_s - sizes_s, free_t - sizes_t)
            best = int(gap.argmin())
            if gap[best] >= gone:
                break
            row[order[best]] = index
            free_s -= int(sizes_s[best])
            free_t -= int(sizes_t[best])
            sizes_s[best] = gone


def fill(tokens: Tokens, row: Int, rows: int, width: tuple[int, int]) -> Batch:
    """The batch of P pairs, given in the order of their rows (`row` [P] never decreases)."""
    first = np.searchsorted(row, row)  # index of the first pair in the same row
    segment = np.arange(len(row)) - first + 1
    source, source_segment, source_position = _lay(
        tokens.source, tokens.source_length, row, first, segment, rows, width[0]
    )
    label, target_segment, target_position = _lay(
        tokens.target, tokens.target_length, row, first, segment, rows, width[1]
    )
    target = np.roll(label, 1, axis=1)
    target[target_position == 0] = BOS
    target[target_segment == 0] = PAD
    facet = np.zeros_like(label)
    facet[target_segment > 0] = np.repeat(tokens.facet, tokens.target_length)
    return Batch(
        source, source_segment, source_position, target, label, target_segment, target_position, facet
    )


def _lay(
    ids: NDArray[Any], length: Int, row: Int, first: Int, segment: Int, rows: int, width: int
) -> tuple[Int32, Int32, Int32]:
    """Ids, segments and positions [R, width] of one side."""
    begin = np.cumsum(length) - length  # [P] where a pair begins in `ids`
    column = begin - begin[first]
    position = np.arange(len(ids)) - np.repeat(begin, length)
    where = np.repeat(row * width + column, length) + position
    laid = np.zeros((3, rows * width), np.int32)
    for plane, values in zip(laid, (ids, np.repeat(segment, length), position), strict=True):
        plane[where] = values
    out = laid.reshape(3, rows, width)
    return out[0], out[1], out[2]
