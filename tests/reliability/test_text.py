"""Malformed text: lines stay paired with their translations, or the error names the place."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facetmt.data.batch import UNK
from facetmt.data.chunks import Files, read_chunks
from facetmt.data.clean import MOSES_LIMIT, Cleaner, Text, plain, plain_pairs, portions
from facetmt.data.config import TagConfig, VocabConfig
from facetmt.data.corpus import Facet, decode_chunk
from facetmt.data.lines import MAX_LINE, count_lines, read_lines
from facetmt.data.vocab import Vocabulary, train_model
from facetmt.errors import UserError

LINE_ENDS = ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r"]  # in other programs


def parallel(folder, source: bytes, target: bytes, **more) -> Facet:
    """A facet of two files with these bytes."""
    (folder / "t.de").write_bytes(source)
    (folder / "t.en").write_bytes(target)
    return Facet("it", "de", "en", {"train": Files(folder / "t.de", folder / "t.en", **more)})


def texts(facet: Facet, errors: str = "strict") -> list[Text]:
    files = facet.files["train"]
    return [plain_pairs(decode_chunk(chunk, files, errors)) for chunk in read_chunks(files)]


def pairs(facet: Facet, errors: str = "strict") -> list[tuple[str, str, int]]:
    return [tuple(pair) for text in texts(facet, errors) for pair in text.pairs]


def dropped(facet: Facet) -> dict[str, int]:
    return sum((text.dropped for text in texts(facet)), Counter())


def joined(lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize("odd", LINE_ENDS)
def test_row_17_only_the_newline_ends_a_line(tmp_path, odd):
    facet = parallel(tmp_path, f"eins{odd}zwei\ndrei\n".encode(), b"one two\nthree\n")
    assert pairs(facet) == [(f"eins{odd}zwei", "one two", 1), ("drei", "three", 2)]
    assert count_lines(tmp_path / "t.de") == 2


words = st.text(st.characters(exclude_characters="\n\r\0\ufeff", codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=12))
@settings(max_examples=60)
def test_row_17_row_18_a_line_is_never_paired_with_the_wrong_translation(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("rows")
    facet = parallel(folder, joined(left for left, _ in rows), joined(right for _, right in rows))
    full = [(*row, number) for number, row in enumerate(rows, 1) if plain(row[0]) and plain(row[1])]
    assert pairs(facet) == full
    assert dropped(facet).get("blank", 0) == len(rows) - len(full)


def test_row_18_a_blank_line_on_either_side_drops_the_pair_and_is_counted(tmp_path):
    source, target = ["a", "", " \t", "d", "e", "\u200b"], ["A", "B", "C", "", "E", "F"]
    facet = parallel(tmp_path, joined(source), joined(target))
    assert pairs(facet) == [("a", "A", 1), ("e", "E", 5)]
    assert dropped(facet) == {"blank": 4}


def test_row_18_what_is_dropped_is_in_the_report_of_prepare(corpus, prepare_corpus, tmp_path, write_lines):
    lines = [f"der hund sieht das haus nummer {number}" for number in range(10)]
    write_lines(tmp_path / "corpus" / "it" / "train.de", [*lines[:2], "", *lines[3:]])
    write_lines(tmp_path / "corpus" / "it" / "train.en", [*lines[:5], "  ", *lines[6:]])
    report = prepare_corpus().reports["it"]["train"]
    assert report == {"read": 10, "kept": 8, "dropped": {"blank": 2}}


def test_row_19_unequal_files_are_named_with_their_counts_before_any_work(
    corpus, prepare_corpus, tmp_path, write_lines
):
    target = write_lines(tmp_path / "corpus" / "law" / "train.en", ["one"])
    with pytest.raises(UserError) as caught:
        prepare_corpus()
    assert f"{target.with_suffix('.de')} has 20, {target} has 1;" in str(caught.value)
    assert "need the same number of lines" in str(caught.value)
    assert not (tmp_path / "out" / "prepared.json").exists() and not list((tmp_path / "out").glob(".*"))


def test_row_19_a_missing_final_newline_and_crlf_lose_nothing(tmp_path):
    facet = parallel(tmp_path, b"eins\r\nzwei\r\ndrei", b"one\ntwo\nthree\n")
    assert pairs(facet) == [("eins", "one", 1), ("zwei", "two", 2), ("drei", "three", 3)]


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf8\x88\x80\x80\x80"])
def test_row_21_invalid_utf8_and_surrogates_name_file_line_and_byte(tmp_path, bad):
    facet = parallel(tmp_path, b"a\nb\n", b"A\noben" + bad + b"\n")
    with pytest.raises(UserError) as caught:
        pairs(facet)
    assert f"{tmp_path / 't.en'}, line 2, byte 4: not valid UTF-8" in str(caught.value)
    assert "repair the file or set data.errors to replace" in str(caught.value)
    assert [pair[1].rstrip("\ufffd") for pair in pairs(facet, "replace")] == ["A", "oben"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_row_21_utf16_and_utf32_are_refused_with_or_without_bom(tmp_path, encoding):
    text = "Das ist ein Satz.\n".encode(encoding)
    with pytest.raises(UserError) as caught:
        pairs(parallel(tmp_path, text, text))
    assert f"{tmp_path / 't.de'}, line 1, byte 0" in str(caught.value)
    assert "convert it to UTF-8" in str(caught.value)


def test_row_21_the_command_says_it_in_one_sentence(tmp_path, corpus, write_lines, refusal):
    victim = write_lines(tmp_path / "corpus" / "law" / "dev.de", [*["gut"] * 4, b"schl\xffecht", "gut"])
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "data: {root: corpus, source: de, target: en, vocab: {size: 120, kind: bpe, coverage: 1.0}}\n"
    )
    assert f"{victim}, line 5, byte 4: not valid UTF-8" in refusal("prepare", recipe)


@pytest.mark.parametrize(
    ("odd", "clean"),
    [
        ("\x00", " "), ("\t", " "), ("\r", " "), ("\x0b", " "), ("\x0c", " "), ("\x1c", " "), ("\x85", " "),
        ("\u2028", " "), ("\u2029", " "),
        ("\ufeff", ""), ("\u200b", ""), ("\u2060", ""), ("\xad", ""),
        ("\u200e", ""), ("\u200f", ""), ("\u061c", ""), ("\u202e", ""), ("\u2066", ""), ("\u2069", ""),
        ("\u200c", "\u200c"), ("\u200d", "\u200d"), ("\xa0", "\xa0"), ("\ufffd", "\ufffd"), ("😀", "😀"),
        ("👩\u200d🚀", "👩\u200d🚀"), ("\ue000", "\ue000"), ("<2de>", "<2de>"),
    ],
)  # fmt: skip
def test_row_22_the_policy_on_odd_characters(odd, clean):
    assert plain(f"ab{odd}cd") == f"ab{clean}cd"


def test_row_22_a_tab_in_a_tsv_is_an_error_with_its_line(tmp_path, write_lines):
    for name, lines, place in (
        ("t.tsv", ["a\tA", "b\tB\tagain"], "line 2: 3 columns instead of 2; remove a tab inside a text"),
        ("u.tsv", ["a\tA", "b"], "line 2: 1 columns instead of 2; remove a tab inside a text"),
        ("v.tsv", ["a"], "line 1: there is no column 2, only 1; check data.columns and data.labels"),
    ):
        path = write_lines(tmp_path / name, lines)
        with pytest.raises(UserError) as caught:
            pairs(Facet("it", "de", "en", {"train": Files(path, path, columns=(0, 1))}))
        assert f"{path}, {place}" in str(caught.value)


def test_row_23_a_line_of_a_megabyte_is_dropped_before_it_is_decoded(tmp_path):
    endless = b"\xff" * 1_000_000  # not UTF-8 either
    facet = parallel(tmp_path, b"a\n" + endless + b"\nc\n", b"A\nB\nC\n")
    assert pairs(facet) == [("a", "A", 1), ("c", "C", 3)] and dropped(facet) == {"too long (bytes)": 1}
    (tmp_path / "f").write_bytes(b"y" * MAX_LINE + b"\r\n" + b"z" * (MAX_LINE + 1))
    assert list(read_lines(tmp_path / "f")) == [b"y" * MAX_LINE, None]


@given(st.text(st.sampled_from("ab. !?。"), max_size=400), st.integers(1, 30))
def test_row_23_a_long_text_is_translated_in_bounded_portions_that_lose_nothing(text, limit):
    parts = portions(text, limit)
    assert "".join(parts) == text and all(len(part) <= limit for part in parts)


@pytest.mark.parametrize("text", ["x", "Ab. ", "<a ", "1,"])
def test_row_23_a_text_eight_times_as_long_has_eight_times_the_portions(text):
    # none is longer than the limit, so the time of cleaning grows with their number
    counts = [len(portions(text * (size * MOSES_LIMIT // len(text)))) for size in (4, 32)]
    assert counts[1] <= 8 * counts[0] + 1
    Cleaner(True).forward(portions(text * MOSES_LIMIT)[0], "de")  # one of them can be cleaned


TEXT = ["the small dog sees the old house", "a river between trees", "without a window"] * 5
TAGS = ["<2de>", "<facet:it>"]
VOCABULARY = Vocabulary([train_model(TEXT, VocabConfig(kind="bpe", size=40, coverage=1.0))], TAGS)
SYMBOLS = ["</s>", "<s>", "<pad>", "<unk>", *TAGS, "<0x0A>", "⟦/s⟧", "⟦pad⟧"]


@given(st.lists(st.sampled_from(SYMBOLS) | st.text(max_size=10), max_size=6))
def test_row_24_no_text_at_all_gives_a_reserved_id(parts):
    text = " ".join(parts).encode("utf-8", "ignore").decode()
    assert all(index == UNK or index >= 4 + len(TAGS) for index in VOCABULARY.encode([text])[0])


def test_row_24_text_that_looks_like_symbols_stays_text(corpus, prepare_corpus, tmp_path, write_lines):
    odd = ["</s> <pad> <2en>", "<facet:it> haus", "a\u2028b\x00c\ufeff", "😀 haus"]
    for language in ("de", "en"):
        write_lines(tmp_path / "corpus" / "it" / f"train.{language}", odd)
    prepared = prepare_corpus(tags=TagConfig(True, True), vocab=VocabConfig("bpe", 130, coverage=1.0))
    store = prepared.stores("train")[0]
    assert len(store) == 4
    tags = prepared.codec.prefix("it")
    for index in range(4):
        source, target = store.pair(index)
        assert source[:2] == tags and source[-1] == target[-1] == 3
        assert not set(source[2:-1]) & {0, 2, 3, *tags} and not set(target[:-1]) & {0, 2, 3, *tags}
    assert prepared.codec.decode([store.pair(0)[1]], "it") == ["</s> <pad> <2en>"]
