"""The paper's WMT layout from its parts, and test sets through sacreBLEU."""

import gzip

import pytest

from facetmt.errors import UserError
from facetmt.fetch import sources, wmt
from facetmt.fetch.get import get
from facetmt.fetch.sources import TASKS, Source, Task
from facetmt.fetch.unpack import unpack

SETS = {
    ("wmt18", "en-de"): [("e1", "d1", "en"), ("e2", "d2", "de"), ("e3", "d3", "en")],
    ("wmt18", "de-en"): [("d1", "e1", "en"), ("d2", "e2", "de"), ("d3", "e3", "en")],
    ("wmt19", "en-de"): [("f1", "g1", "en")],
    ("wmt19", "de-en"): [("g2", "f2", "de"), ("g3", "f3", "de")],
    ("wmt20", "en-de"): [("h1", "i1", "en")],
    ("wmt20", "de-en"): [("i2", "h2", "de")],
}


@pytest.fixture
def content(pack):
    """What the publishers have, by name."""
    return {
        sources.EUROPARL: gzip.compress(b"Haus\thouse\tdoc\n\nnur deutsch\t\t\n"),
        sources.NEWS_COMMENTARY: gzip.compress(b"Tag\tday\n\t\nNacht\tnight\n"),
        sources.PARACRAWL: gzip.compress(b"dog\tHund\ncat\n"),
        sources.COMMON_CRAWL: pack(
            "data.tgz", {"commoncrawl.de-en.de": b"Brot\n", "commoncrawl.de-en.en": b"bread\n"}
        ),
        sources.PARAPHRASED["wmt18"]: b"p1\np3\n",
        sources.PARAPHRASED["wmt20"]: b"q1\n",
    }


def wmt_table(base):
    entries = [
        Source(source.name, f"{base}/{source.name}", "page", 10**6, None, source.only, 10**6)
        for source in TASKS["wmt"].sources
    ]
    return {"wmt": Task(tuple(entries))}


@pytest.fixture
def newstests(monkeypatch):
    monkeypatch.setattr(wmt, "newstest", lambda name, pair: [wmt.Segment(*row) for row in SETS[name, pair]])


def test_wmt_is_put_together_from_its_parts(tmp_path, newstests, serving, content):
    with serving(content) as (base, _):
        get("wmt", tmp_path, table=wmt_table(base))
    text = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.[ed][ne]")}
    assert text["train.en"] == "house\nday\nnight\ndog\nbread\n"
    assert text["train.de"] == "Haus\nTag\nNacht\nHund\nBrot\n"
    assert (text["trusted.en"], text["trusted.de"]) == ("day\nnight\n", "Tag\nNacht\n")
    assert (text["dev.en"], text["dev.de"]) == ("f2\nf3\nf1\n", "g2\ng3\ng1\n")
    assert (tmp_path / "dev.facet").read_text() == "natural\nnatural\ntranslationese\n"
    assert (text["test/wmt18.en"], text["test/wmt18.de"]) == ("e1\ne3\n", "d1\nd3\n")
    assert (text["test/wmt18-paraph.en"], text["test/wmt18-paraph.de"]) == ("e1\ne3\n", "p1\np3\n")
    assert (text["test/wmt18-rev.en"], text["test/wmt18-rev.de"]) == ("e2\n", "d2\n")
    assert (text["test/wmt20-rev.en"], text["test/wmt20-rev.de"]) == ("h2\n", "i2\n")


def test_paraphrases_that_do_not_match_are_named(tmp_path, newstests, serving, content):
    content |= {sources.PARAPHRASED["wmt18"]: b"p1\n"}
    said = r"wmt18-ende-wmtp\.ref: 1 lines, but 2 lines of wmt18 were written in English"
    with serving(content) as (base, _), pytest.raises(UserError, match=said):
        get("wmt", tmp_path, table=wmt_table(base))
    assert not list(tmp_path.glob(".unpacked-*"))


def sgm(language, lines):
    documents = "".join(
        f'<doc sysid="x" docid="{number}" genre="news" origlang="{original}">\n'
        f'<seg id="1">{text}</seg>\n</doc>\n'
        for number, (text, original) in enumerate(lines)
    )
    return f'<srcset setid="x" srclang="any">\n{documents}</srcset>\n'.encode()


@pytest.fixture
def sacrebleu_folder(tmp_path, monkeypatch):
    from sacrebleu.dataset import DATASETS

    dataset = DATASETS["wmt18"]
    monkeypatch.setattr(dataset, "_outdir", str(tmp_path / "cache"))
    monkeypatch.setattr(dataset, "_rawdir", str(tmp_path / "cache" / "raw"))
    return dataset, tmp_path / "cache" / "raw"


def test_test_sets_come_through_sacrebleu_with_their_original_language(sacrebleu_folder, pack):
    _, raw = sacrebleu_folder
    raw.mkdir(parents=True)
    lines = [("one", "en"), ("two", "de")]
    (raw / "wmt18.test.tgz").write_bytes(
        pack(
            "data.tgz",
            {
                "test/newstest2018-ende-src.en.sgm": sgm("en", lines),
                "test/newstest2018-ende-ref.de.sgm": sgm("de", [("eins", "en"), ("zwei", "de")]),
            },
        )
    )
    unpack(raw / "wmt18.test.tgz", raw, 10**6)
    assert wmt.newstest("wmt18", "en-de") == [("one", "eins", "en"), ("two", "zwei", "de")]
    assert wmt.forward("wmt18") == [("one", "eins")]


def test_a_test_set_out_of_reach_says_where_to_put_it(sacrebleu_folder, monkeypatch, serving):
    dataset, _ = sacrebleu_folder
    with serving({}) as (base, _):
        monkeypatch.setattr(dataset, "data", [f"{base}/test.tgz"])
        with pytest.raises(UserError, match=rf"download {base}/test.tgz as .*wmt18\.test\.tgz"):
            wmt.newstest("wmt18", "en-de")


def test_a_test_set_with_another_checksum_does_not_end_the_program(
    sacrebleu_folder, monkeypatch, serving, pack
):
    dataset, _ = sacrebleu_folder
    with serving({"test.tgz": pack("data.tgz", {})}) as (base, _):
        monkeypatch.setattr(dataset, "data", [f"{base}/test.tgz"])
        with pytest.raises(UserError, match="sacreBLEU could not fetch the test set wmt18"):
            wmt.newstest("wmt18", "en-de")
