import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data import lines
from facetmt.data.lines import MAX_LINE, count_lines, decode, read_lines
from facetmt.errors import UserError


def read(path, data):
    path.write_bytes(data)
    found = list(read_lines(path))
    assert count_lines(path) == len(found)
    return found


@given(st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=30), max_size=8))
def test_lines_come_back_however_odd_their_characters(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "f"
    expected = [text.encode().removesuffix(b"\r") for text in texts]
    if expected:
        expected[0] = expected[0].removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
    if sum(map(len, expected)) > 4 * sum(text.count("\x00") for text in texts):  # else it is taken for UTF-16
        assert read(path, "".join(f"{text}\n" for text in texts).encode()) == expected


def test_missing_final_newline_crlf_bom_and_empty_files(tmp_path):
    assert read(tmp_path / "a", b"one\ntwo") == [b"one", b"two"]
    assert read(tmp_path / "b", b"one\r\ntwo\r\n") == [b"one", b"two"]
    assert read(tmp_path / "c", b"one\r\ntwo\r") == [b"one", b"two"]
    assert read(tmp_path / "d", b"\xef\xbb\xbfone\n\n") == [b"one", b""]
    assert read(tmp_path / "e", b"") == []
    assert read(tmp_path / "f", b"\n") == [b""]


def test_gzip_is_transparent_and_a_cut_file_is_an_error(tmp_path):
    packed = gzip.compress(b"one\ntwo\n" * 1000)
    assert len(read(tmp_path / "a.gz", packed)) == 2000
    with pytest.raises(UserError, match="not a whole gzip file"):
        read(tmp_path / "b.gz", packed[:-12])
    with pytest.raises(UserError, match="not a whole gzip file"):
        read(tmp_path / "c.gz", b"plain text\n")


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(UserError, match="nowhere: does not exist; check"):
        list(read_lines(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="cannot be read"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_blocks_do_not_show(tmp_path, monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    data = "ein Satz\r\nnoch\u2028einer\n\nder letzte".encode()
    assert read(tmp_path / "f", data) == [b"ein Satz", "noch\u2028einer".encode(), b"", b"der letzte"]


def test_an_endless_line_is_none_and_the_next_is_whole(tmp_path):
    data = b"short\n" + b"x" * (3 << 20) + b"\nafter\r\n" + b"y" * MAX_LINE + b"\r\n" + b"z" * (MAX_LINE + 1)
    assert read(tmp_path / "f", data) == [b"short", None, b"after", b"y" * MAX_LINE, None]


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf8\x88\x80\x80\x80"])
def test_invalid_utf8_is_an_error_with_the_place_or_is_replaced(tmp_path, bad):
    with pytest.raises(UserError, match=r"some.de, line 17, byte 4: not valid UTF-8"):
        decode([b"gut", b"oben" + bad], tmp_path / "some.de", [16, 17], "strict")
    first, text, last = decode([b"a", b"oben" + bad, b"unten"], tmp_path / "some.de", [1, 2, 3], "replace")
    assert text.startswith("oben\ufffd") and (first, last) == ("a", "unten")
    with pytest.raises(UserError, match=r"some.de, line 3, byte 0"):
        decode(bad, tmp_path / "some.de", 3, "strict")
    assert decode("für".encode(), tmp_path, 1, "strict") == "für"
    assert decode([], tmp_path, [], "strict") == [] and decode([b""], tmp_path, [1], "strict") == [""]
