from collections import Counter
from dataclasses import replace

import pytest

from facetmt.data import chunks
from facetmt.data.chunks import Files, count_pairs, read_chunks
from facetmt.data.clean import plain_pairs
from facetmt.data.corpus import Facet, decode_chunk
from facetmt.errors import UserError


@pytest.fixture
def facet(tmp_path, write_lines):
    def make(source, target, **more):
        files = Files(write_lines(tmp_path / "t.de", source), write_lines(tmp_path / "t.en", target), **more)
        return Facet("it", "de", "en", {"train": files})

    return make


def texts(facet, errors="strict"):
    files = facet.files["train"]
    return [plain_pairs(decode_chunk(chunk, files, errors)) for chunk in read_chunks(files)]


def pairs(facet, errors="strict"):
    return [tuple(pair) for text in texts(facet, errors) for pair in text.pairs]


def report(facet):
    return sum((text.dropped for text in texts(facet)), Counter())


def test_labels_and_keep_select_lines_and_keep_their_numbers(tmp_path, facet, write_lines):
    labels = write_lines(tmp_path / "t.facet", ["x", "y", "x ", "x", "y"])
    keep = write_lines(tmp_path / "t.keep", ["1", "1", "0", "1", "1"])
    made = facet(list("abcde"), list("ABCDE"), labels=labels, label="x", keep=keep)
    assert pairs(made) == [("a", "A", 1), ("d", "D", 4)]
    assert report(made) == {"filtered": 1}
    keep.write_text("1\n1\nyes\n1\n1\n")
    with pytest.raises(UserError, match=r"t\.keep, line 3: expected 0 or 1, found b'yes'"):
        pairs(made)
    keep.write_text("1\n1\n")
    with pytest.raises(UserError, match=r"t\.keep has 2"):
        pairs(made)


def test_the_limit_counts_pairs_of_the_facet(facet):
    assert [pair[2] for pair in pairs(facet(list("abcd"), list("ABCD"), limit=3))] == [1, 2, 3]


def test_tsv_takes_its_columns_and_no_quotes(tmp_path, write_lines):
    path = write_lines(tmp_path / "t.tsv", ['1\t"a\tA"\tx', "2\tb\t\ty", "3\tc\tC\tx"])
    files = Files(path, path, columns=(1, 2))
    made = Facet("it", "de", "en", {"train": files})
    assert pairs(made) == [('"a', 'A"', 1), ("c", "C", 3)]
    labelled = Facet("it", "de", "en", {"train": Files(path, path, (1, 2), labels=3, label="y")})
    assert pairs(labelled) == []


def test_missing_marks_and_header_are_left_out(tmp_path, write_lines):
    rows = ["talk\tde\ten", "t\ta\tA", "t\t__NULL__\tB", "t\tc\t_ _ NULL _ _ ."]
    path = write_lines(tmp_path / "t.tsv", rows)
    files = Files(path, path, (1, 2), header=True, missing=("__NULL__", "_ _ NULL _ _"))
    made = Facet("it", "de", "en", {"train": files})
    assert pairs(made) == [("a", "A", 2)]
    assert report(made) == {"missing": 2}


def test_chunks_are_bounded_in_lines_and_bytes(facet, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_LINES", 10)
    made = facet(["x"] * 25, ["y"] * 25)
    assert [len(chunk.numbers) for chunk in read_chunks(made.files["train"])] == [10, 10, 5]
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 7)
    parts = list(read_chunks(made.files["train"]))
    assert [len(chunk.numbers) for chunk in parts] == [3, 3, 3, 1, 3, 3, 3, 1, 3, 2]
    assert [n for chunk in parts for n in chunk.numbers] == list(range(1, 26))


def test_counting_reads_everything_and_applies_the_limit(tmp_path, facet, write_lines):
    files = facet(list("abcd"), list("ABCD")).files["train"]
    assert count_pairs(files) == 4 and count_pairs(replace(files, limit=3)) == 3
    labels = write_lines(tmp_path / "t.facet", ["x", "y", "x", "x"])
    assert count_pairs(replace(files, labels=labels, label="x")) == 3
    write_lines(tmp_path / "t.en", ["A"])
    with pytest.raises(UserError, match="line counts differ"):
        count_pairs(replace(files, limit=1))
