"""A seeded permutation that is computed, not stored: a Feistel network over a grid just larger than n."""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]

ROUNDS = 8


def stream_key(*parts: object) -> int:
    """A 63-bit key from any parts, the same on every machine and in every process."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def permuted(positions: Int, n: int, key: int) -> Int:
    """Index in [0, n) at each position of an endless stream of epochs, each a fresh permutation of n."""
    epoch, inside = np.divmod(positions, n)
    keys = _mix(epoch.astype(np.uint64) ^ np.uint64(key))
    # n <= height * width < n + height: few cells of the grid are spare, so few draws are repeated
    height = max(1, math.isqrt(n - 1) + 1)
    width = -(-n // height)
    index = _feistel(inside, keys, height, width)
    while (outside := index >= n).any():
        index[outside] = _feistel(index[outside], keys[outside], height, width)
    return index


def _feistel(index: Int, keys: NDArray[np.uint64], height: int, width: int) -> Int:
    """left += F(right) mod height, right += F(left) mod width, in turn: a bijection of the grid."""
    left, right = (half.astype(np.uint64) for half in np.divmod(index, width))
    for number in range(ROUNDS):
        salt = keys + np.uint64(number)
        if number % 2:
            right = (right + _mix(left ^ _mix(salt)) % np.uint64(width)) % np.uint64(width)
        else:
            left = (left + _mix(right ^ _mix(salt)) % np.uint64(height)) % np.uint64(height)
    return (left * np.uint64(width) + right).astype(np.int64)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser: every input bit reaches every output bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
