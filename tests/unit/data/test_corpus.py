from pathlib import Path

import pytest

from facetmt.data.chunks import Chunk, Files
from facetmt.data.corpus import decode_chunk
from facetmt.errors import UserError

FILES = Files(Path("t.de"), Path("t.en"))


def test_pairs_stay_as_they_are_and_those_too_long_to_read_are_counted():
    chunk = Chunk([4, 5, 7], [b" a\x00", None, b""], [b"A", b"B", b"C"], {"missing": 2})
    pairs, dropped = decode_chunk(chunk, FILES, "strict")
    assert pairs == [(" a\x00", "A", 4), ("", "C", 7)]
    assert dropped == {"missing": 2, "too long (bytes)": 1}


def test_invalid_text_is_an_error_with_its_place_or_replaced():
    chunk = Chunk([4], [b"a"], [b"A\xff"], {})
    with pytest.raises(UserError, match=r"t\.en, line 4, byte 1: not valid UTF-8"):
        decode_chunk(chunk, FILES, "strict")
    assert decode_chunk(chunk, FILES, "replace").pairs == [("a", "A\ufffd", 4)]
