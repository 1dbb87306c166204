"""Downloads from a server on this machine, archives that mean harm, and the layouts that come out."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.data.config import DataConfig
from facetmt.data.discover import discover
from facetmt.errors import UserError
from facetmt.fetch import sources, unpack, wmt
from facetmt.fetch.get import DOWNLOADS, get
from facetmt.fetch.sources import TASKS, Source, Task
from facetmt.fetch.unpack import unpack as unpack_archive

KORAN = {
    "multi/koran/train.de": b"eins\nzwei\n",
    "multi/koran/train.en": b"one\ntwo\n",
    "multi/it/train.de": b"drei\n",
}


class Server(BaseHTTPRequestHandler):
    """Serves `content`; its class attributes say how badly."""

    content: ClassVar[dict[str, bytes]] = {}
    etag: str | None = '"one"'
    breaks_after: int | None = None  # bytes of a first answer; the next one is whole
    always_breaks = False
    understands_ranges = True
    says_length = True
    seen: ClassVar[list[str | None]] = []

    def do_GET(self):
        kind = type(self)
        kind.seen.append(self.headers.get("Range"))
        body = kind.content.get(self.path.lstrip("/"))
        if body is None:
            self.send_error(404)
            return
        start = self._start(body)
        if start > len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if kind.etag:
            self.send_header("ETag", kind.etag)
        if kind.says_length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = kind.breaks_after
        kind.breaks_after = kind.breaks_after if kind.always_breaks else None
        self.wfile.write(body[start:] if cut is None else body[start : start + cut])

    def _start(self, body):
        asked = self.headers.get("Range")
        fresh = self.headers.get("If-Range") == type(self).etag
        return int(asked[6:-1]) if asked and fresh and type(self).understands_ranges else 0

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(content, **behaviour):
    handler = type("Handler", (Server,), {"content": content, "seen": [], **behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


@pytest.fixture(autouse=True)
def direct(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def tarred(content, extra=()):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
        for info in extra:
            archive.addfile(info)
    return buffer.getvalue()


def table(base, name="data.zip", anchor="koran/train.de", **settings):
    source = Source(name, f"{base}/{name}", "the page", **{"limit": 10**6, "unpacked": 10**6, **settings})
    return {"task": Task((source,), anchor)}


def complaint(directory, entries, task="task"):
    with pytest.raises(UserError) as caught:
        get(task, directory, table=entries)
    assert not list(directory.glob(".unpacked-*"))
    return str(caught.value)


@pytest.mark.parametrize(("name", "pack"), [("data.zip", zipped), ("data.tar.gz", tarred)])
def test_the_layout_is_found_inside_the_archive(tmp_path, name, pack):
    body = pack(KORAN)
    with serving({name: body}) as (base, server):
        sums = get("task", tmp_path, table=table(base, name))
        again = get("task", tmp_path, table=table(base, name))
    assert (tmp_path / "koran" / "train.de").read_bytes() == b"eins\nzwei\n"
    assert (tmp_path / "it" / "train.de").is_file()
    assert sums == again == {name: hashlib.sha256(body).hexdigest()}
    assert server.seen == [None]  # the second call found it done


def test_progress_is_told(tmp_path):
    told = []
    with serving({"data.zip": zipped(KORAN)}) as (base, _):
        get("task", tmp_path, lambda *row: told.append(row), table=table(base))
    assert told[-1] == ("data.zip", len(zipped(KORAN)), len(zipped(KORAN)))


def test_a_broken_download_goes_on_where_it_stopped(tmp_path):
    with serving({"data.zip": zipped(KORAN)}, breaks_after=100) as (base, server):
        get("task", tmp_path, table=table(base))
    assert server.seen == [None, "bytes=100-"]
    assert sorted(path.name for path in (tmp_path / DOWNLOADS).iterdir()) == ["data.zip"]


@pytest.mark.parametrize("behaviour", [{"understands_ranges": False}, {"etag": None}, {"etag": 'W/"weak"'}])
def test_without_ranges_or_versions_it_starts_anew(tmp_path, behaviour):
    with serving({"data.zip": zipped(KORAN)}, breaks_after=100, **behaviour) as (base, _):
        get("task", tmp_path, table=table(base))
    assert (tmp_path / "koran" / "train.en").read_bytes() == b"one\ntwo\n"


def test_another_version_of_the_file_is_not_mixed_with_the_first(tmp_path):
    with serving({"data.zip": b"x" * 5000}, breaks_after=100, always_breaks=True) as (base, _):
        assert "ended after" in complaint(tmp_path, table(base))
    part = tmp_path / DOWNLOADS / "data.zip.part"
    assert part.stat().st_size > 0
    with serving({"data.zip": zipped(KORAN)}, etag='"two"') as (base, server):
        get("task", tmp_path, table=table(base))
    assert server.seen == [f"bytes={500}-"]
    assert (tmp_path / "koran" / "train.de").read_bytes() == b"eins\nzwei\n"


def test_a_part_that_is_longer_than_the_file_is_thrown_away(tmp_path):
    folder = tmp_path / DOWNLOADS
    folder.mkdir()
    (folder / "data.zip.part").write_bytes(b"y" * 100_000)
    (folder / "data.zip.part.version").write_text('"one"')
    with serving({"data.zip": zipped(KORAN)}) as (base, server):
        get("task", tmp_path, table=table(base))
    assert server.seen == ["bytes=100000-", None]


def test_truncated_without_a_length_is_found_by_the_checksum(tmp_path):
    body = zipped(KORAN)
    with serving({"data.zip": body}, breaks_after=50, says_length=False) as (base, _):
        message = complaint(tmp_path, table(base, sha256=hashlib.sha256(body).hexdigest()))
    assert "data.zip: not the file that was published" in message


@pytest.mark.parametrize("says_length", [True, False])
def test_more_bytes_than_allowed_are_refused(tmp_path, says_length):
    with serving({"data.zip": zipped(KORAN)}, says_length=says_length) as (base, _):
        assert "at most 99 were expected" in complaint(tmp_path, table(base, limit=99))
    assert not (tmp_path / DOWNLOADS / "data.zip").exists()
    assert not (tmp_path / DOWNLOADS / "data.zip.part").exists()


def test_an_answer_that_is_no_file_says_what_to_do(tmp_path):
    with serving({}) as (base, _):
        message = complaint(tmp_path, table(base))
    assert "answers 404" in message
    assert f"download data.zip from {base}/data.zip into {tmp_path / DOWNLOADS}" in message


def test_a_web_page_is_not_taken_for_an_archive(tmp_path):
    with serving({"data.zip": b"<!DOCTYPE html><p>Sign in"}) as (base, _):
        assert ": a web page, not an archive; delete it" in complaint(tmp_path, table(base))


def test_without_a_network_every_missing_file_is_listed(tmp_path):
    with serving({}) as (base, _):
        pass  # closed again: nothing listens there now
    parts = tuple(Source(name, f"{base}/{name}", "page", 10) for name in ("a.tgz", "b.tgz", "c.tgz"))
    (tmp_path / DOWNLOADS).mkdir()
    (tmp_path / DOWNLOADS / "b.tgz").write_bytes(b"")
    message = complaint(tmp_path, {"task": Task(parts, "x")})
    assert "a.tgz: cannot be fetched" in message
    assert f"download a.tgz from {base}/a.tgz; c.tgz from {base}/c.tgz into" in message


def test_what_only_people_can_fetch_is_used_once_it_is_there(tmp_path):
    entries = {
        "task": Task((Source("d.zip", None, "https://the.page", 10**6, unpacked=10**6),), "koran/train.de")
    }
    message = complaint(tmp_path, entries)
    assert "download d.zip from https://the.page into" in message
    (tmp_path / DOWNLOADS / "d.zip").write_bytes(zipped(KORAN))
    get("task", tmp_path, table=entries)
    assert (tmp_path / "koran" / "train.en").is_file()


def test_nothing_of_the_users_is_overwritten(tmp_path):
    (tmp_path / "koran").mkdir()
    with serving({"data.zip": zipped(KORAN)}) as (base, _):
        assert "koran: already there" in complaint(tmp_path, table(base))
    assert not (tmp_path / "it").exists()


def test_a_folder_of_another_task_is_left_alone(tmp_path):
    (tmp_path / "fetched.json").write_text(json.dumps({"task": "ted", "sha256": {}}))
    assert "holds the data of ted" in complaint(tmp_path, table("http://127.0.0.1:1"))


def test_the_news_crawl_comes_in_both_languages(tmp_path):
    content = {name: gzip.compress(language.encode()) for language, name in sources.NEWS_CRAWL.items()}
    with serving(content) as (base, _):
        entries = tuple(
            Source(source.name, f"{base}/{source.name}", "page", 10**6)
            for source in TASKS["newscrawl"].sources
        )
        get("newscrawl", tmp_path, table={"newscrawl": Task(entries, TASKS["newscrawl"].anchor)})
    found = {
        language: gzip.decompress((tmp_path / name).read_bytes())
        for language, name in sources.NEWS_CRAWL.items()
    }
    assert found == {"de": b"de", "en": b"en"}
    assert [source.url for source in TASKS["newscrawl"].sources] == [
        f"http://data.statmt.org/news-crawl/{language}/news.2019.{language}.shuffled.deduped.gz"
        for language in ("de", "en")
    ]


def test_a_folder_that_was_fetched_before_a_file_was_added_is_not_taken_for_whole(tmp_path):
    sums = {"news.2019.de.shuffled.deduped.gz": "0" * 64}
    (tmp_path / "fetched.json").write_text(json.dumps({"task": "newscrawl", "sha256": sums}))
    with pytest.raises(
        UserError, match=r"without news\.2019\.en\.shuffled\.deduped\.gz; give another folder"
    ):
        get("newscrawl", tmp_path)


def test_an_unknown_task_names_the_known_ones(tmp_path):
    with pytest.raises(UserError, match=r"no task multi; choose one of multidomain, ted, opus100, wmt"):
        get("multi", tmp_path)


def test_an_archive_of_something_else_is_named(tmp_path):
    with serving({"data.zip": zipped({"readme": b"hello"})}) as (base, _):
        assert "does not hold koran/train.de" in complaint(tmp_path, table(base))


def test_a_web_address_is_the_only_kind(tmp_path):
    (tmp_path / "secret").write_text("x")
    entries = {"task": Task((Source("a.zip", (tmp_path / "secret").as_uri(), "page", 10),), "x")}
    assert "is not a web address" in complaint(tmp_path, entries)


@pytest.mark.parametrize(("kind", "pack"), [("data.zip", zipped), ("data.tgz", tarred)])
def test_size_and_number_of_files_are_capped(tmp_path, kind, pack, monkeypatch):
    archive = tmp_path / kind
    archive.write_bytes(pack({f"{number}": b"0" * 1000 for number in range(9)}))
    with pytest.raises(UserError, match="more than 5,000 bytes"):
        unpack_archive(archive, tmp_path / "small", 5000)
    monkeypatch.setattr(unpack, "MAX_FILES", 8)
    with pytest.raises(UserError, match="more than 8 files"):
        unpack_archive(archive, tmp_path / "many", 10**6)


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    with tarfile.open(tmp_path / "data.tar", "w") as archive:
        for text in (b"one", b"two"):
            info = tarfile.TarInfo("same")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    with pytest.raises(UserError, match="twice"):
        unpack_archive(tmp_path / "data.tar", tmp_path / "in", 10**6)


@given(cut=st.floats(0.05, 0.98), kind=st.sampled_from(["data.zip", "data.tgz"]))
def test_a_truncated_archive_is_a_users_error(tmp_path_factory, cut, kind):
    folder = tmp_path_factory.mktemp("cut")
    content = {f"file{number}": bytes(range(256)) * 20 for number in range(3)}
    whole = (zipped if kind == "data.zip" else tarred)(content)
    (folder / kind).write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(UserError, match="not a whole archive"):
        unpack_archive(folder / kind, folder / "in", 10**6)


def test_only_the_members_asked_for_come_out(tmp_path):
    (tmp_path / "data.tgz").write_bytes(tarred({"./cc.de-en.de": b"a", "cc.fr-en.fr": b"b"}))
    unpack_archive(tmp_path / "data.tgz", tmp_path / "in", 10**6, only="cc.de-en.*")
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["cc.de-en.de"]


def test_plain_files_take_the_names_of_the_layout(tmp_path):
    task = TASKS["wmt14"]
    assert {source.name: str(source.url).rsplit("/", 1)[1] for source in task.sources} == {
        f"{split}.{language}": f"{name}.{language}"
        for split, name in (("train", "train"), ("dev", "newstest2013"), ("test", "newstest2014"))
        for language in ("en", "de")
    }
    with serving({source.name: f"{source.name}\n".encode() for source in task.sources}) as (base, _):
        local = [replace(source, url=f"{base}/{source.name}") for source in task.sources]
        get("wmt14", tmp_path, table={"wmt14": replace(task, sources=tuple(local))})
    assert (tmp_path / "dev.de").read_bytes() == b"dev.de\n"
    (facet,) = discover(DataConfig(root=".", source="en", target="de"), tmp_path)
    assert sorted(facet.files) == ["dev", "test", "train"]


def test_the_table_names_every_file_once_and_asks_for_nothing_unsafe():
    for task, entry in TASKS.items():
        assert len({source.name for source in entry.sources}) == len(entry.sources), task
        for source in entry.sources:
            assert source.url is None or source.url.startswith(("http://", "https://"))
            assert source.limit > 0
            assert source.sha256 is None or len(source.sha256) == 64
            assert not unpack.is_archive(source.name) or source.unpacked > source.limit


SETS = {
    ("wmt18", "en-de"): [("e1", "d1", "en"), ("e2", "d2", "de"), ("e3", "d3", "en")],
    ("wmt18", "de-en"): [("d1", "e1", "en"), ("d2", "e2", "de"), ("d3", "e3", "en")],
    ("wmt19", "en-de"): [("f1", "g1", "en")],
    ("wmt19", "de-en"): [("g2", "f2", "de"), ("g3", "f3", "de")],
    ("wmt20", "en-de"): [("h1", "i1", "en")],
    ("wmt20", "de-en"): [("i2", "h2", "de")],
}


def wmt_content(paraphrases="p1\np3\n"):
    return {
        sources.EUROPARL: gzip.compress(b"Haus\thouse\tdoc\n\nnur deutsch\t\t\n"),
        sources.NEWS_COMMENTARY: gzip.compress(b"Tag\tday\n\t\nNacht\tnight\n"),
        sources.PARACRAWL: gzip.compress(b"dog\tHund\ncat\n"),
        sources.COMMON_CRAWL: tarred({"commoncrawl.de-en.de": b"Brot\n", "commoncrawl.de-en.en": b"bread\n"}),
        sources.PARAPHRASED["wmt18"]: paraphrases.encode(),
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


def test_wmt_is_put_together_from_its_parts(tmp_path, newstests):
    with serving(wmt_content()) as (base, _):
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


def test_paraphrases_that_do_not_match_are_named(tmp_path, newstests):
    with serving(wmt_content(paraphrases="p1\n")) as (base, _):
        message = complaint(tmp_path, wmt_table(base), "wmt")
    assert "wmt18-ende-wmtp.ref: 1 lines, but 2 lines of wmt18 were written in English" in message


def sgm(language, lines):
    documents = "".join(
        f'<doc sysid="x" docid="{number}" genre="news" origlang="{original}">\n<seg id="1">{text}</seg>\n</doc>\n'
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


def test_test_sets_come_through_sacrebleu_with_their_original_language(sacrebleu_folder):
    _, raw = sacrebleu_folder
    raw.mkdir(parents=True)
    lines = [("one", "en"), ("two", "de")]
    (raw / "wmt18.test.tgz").write_bytes(
        tarred(
            {
                "test/newstest2018-ende-src.en.sgm": sgm("en", lines),
                "test/newstest2018-ende-ref.de.sgm": sgm("de", [("eins", "en"), ("zwei", "de")]),
            }
        )
    )
    unpack_archive(raw / "wmt18.test.tgz", raw, 10**6)
    assert wmt.newstest("wmt18", "en-de") == [("one", "eins", "en"), ("two", "zwei", "de")]
    assert wmt.forward("wmt18") == [("one", "eins")]


def test_a_test_set_out_of_reach_says_where_to_put_it(sacrebleu_folder, monkeypatch):
    dataset, _ = sacrebleu_folder
    with serving({}) as (base, _):
        monkeypatch.setattr(dataset, "data", [f"{base}/test.tgz"])
        with pytest.raises(UserError, match=rf"download {base}/test.tgz as .*wmt18\.test\.tgz"):
            wmt.newstest("wmt18", "en-de")


def test_a_test_set_with_another_checksum_does_not_end_the_program(sacrebleu_folder, monkeypatch):
    dataset, _ = sacrebleu_folder
    with serving({"test.tgz": tarred({})}) as (base, _):
        monkeypatch.setattr(dataset, "data", [f"{base}/test.tgz"])
        with pytest.raises(UserError, match="sacreBLEU could not fetch the test set wmt18"):
            wmt.newstest("wmt18", "en-de")
