import os
from dataclasses import replace

import pytest

from facetmt.data.build import facet_settings, is_fresh, scan_facet, write_text
from facetmt.data.chunks import Files
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet, SentencePair
from facetmt.data.prepared import read_text
from facetmt.errors import UserError


@pytest.fixture
def facet(tmp_path, write_lines):
    files = Files(write_lines(tmp_path / "t.de", ["a", "b"]), write_lines(tmp_path / "t.en", ["A", "B"]))
    return Facet("it", "de", "en", {"train": files, "dev": replace(files, limit=1)})


def test_a_scan_counts_and_remembers_the_files(facet, tmp_path):
    scan = scan_facet((facet, tmp_path))
    assert scan.pairs == {"train": 2, "dev": 1} and set(scan.inputs) == {"t.de", "t.en"}
    size, changed, sha256 = scan.inputs["t.de"]
    assert (size, changed) == (4, os.stat(tmp_path / "t.de").st_mtime_ns) and len(sha256) == 64


def test_an_empty_facet_is_refused(facet, tmp_path):
    for name in ("t.de", "t.en"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(UserError, match="facet it is empty"):
        scan_facet((facet, tmp_path))


def test_settings_do_not_depend_on_where_the_corpus_lies(facet, tmp_path):
    config = DataConfig(root=".")
    first = facet_settings(facet, config, tmp_path, "v")
    moved = {
        split: replace(f, source=tmp_path / "x" / "t.de", target=tmp_path / "x" / "t.en")
        for split, f in facet.files.items()
    }
    assert facet_settings(replace(facet, files=moved), config, tmp_path / "x", "v") == first
    assert facet_settings(facet, config, tmp_path, "w") != first
    assert facet_settings(facet, replace(config, max_length=9), tmp_path, "v") != first
    assert facet_settings(facet, replace(config, dev_pairs=9), tmp_path, "v") == first
    assert not is_fresh(tmp_path / "nothing", facet, tmp_path, first)


def test_raw_text_survives_every_odd_character(tmp_path):
    odd = ["a\u2028b", "\u0085", "x\x0cy\rz", "\ufeff", " space ", "tab\there", "\x00"]
    pairs = [SentencePair(text, text[::-1], number) for number, text in enumerate(odd)]
    write_text(tmp_path, "dev", pairs[:3])
    write_text(tmp_path, "dev", pairs[3:])
    assert read_text(tmp_path, "dev") == (odd, [text[::-1] for text in odd])
    assert read_text(tmp_path, "test") == ([], [])
