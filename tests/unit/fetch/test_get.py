"""Downloads from a server on this machine, and the layouts that come out."""

import gzip
import hashlib
import json
from dataclasses import replace

import pytest

from facetmt.data.config import DataConfig
from facetmt.data.discover import discover
from facetmt.errors import UserError
from facetmt.fetch import sources
from facetmt.fetch.get import DOWNLOADS, get
from facetmt.fetch.sources import TASKS, Source, Task

KORAN = {
    "multi/koran/train.de": b"eins\nzwei\n",
    "multi/koran/train.en": b"one\ntwo\n",
    "multi/it/train.de": b"drei\n",
}


@pytest.fixture
def koran(pack):
    return pack("data.zip", KORAN)


def table(base, name="data.zip", anchor="koran/train.de", **settings):
    source = Source(name, f"{base}/{name}", "the page", **{"limit": 10**6, "unpacked": 10**6, **settings})
    return {"task": Task((source,), anchor)}


def complaint(directory, entries):
    with pytest.raises(UserError) as caught:
        get("task", directory, table=entries)
    assert not list(directory.glob(".unpacked-*"))
    return str(caught.value)


@pytest.mark.parametrize("name", ["data.zip", "data.tar.gz"])
def test_the_layout_is_found_inside_the_archive(tmp_path, name, serving, pack):
    body = pack(name, KORAN)
    with serving({name: body}) as (base, server):
        sums = get("task", tmp_path, table=table(base, name))
        again = get("task", tmp_path, table=table(base, name))
    assert (tmp_path / "koran" / "train.de").read_bytes() == b"eins\nzwei\n"
    assert (tmp_path / "it" / "train.de").is_file()
    assert sums == again == {name: hashlib.sha256(body).hexdigest()}
    assert server.seen == [None]  # the second call found it done


def test_progress_is_told(tmp_path, serving, koran):
    told = []
    with serving({"data.zip": koran}) as (base, _):
        get("task", tmp_path, lambda *row: told.append(row), table=table(base))
    assert told[-1] == ("data.zip", len(koran), len(koran))


def test_a_broken_download_goes_on_where_it_stopped(tmp_path, serving, koran):
    with serving({"data.zip": koran}, breaks_after=100) as (base, server):
        get("task", tmp_path, table=table(base))
    assert server.seen == [None, "bytes=100-"]
    assert sorted(path.name for path in (tmp_path / DOWNLOADS).iterdir()) == ["data.zip"]


@pytest.mark.parametrize("behaviour", [{"understands_ranges": False}, {"etag": None}, {"etag": 'W/"weak"'}])
def test_without_ranges_or_versions_it_starts_anew(tmp_path, behaviour, serving, koran):
    with serving({"data.zip": koran}, breaks_after=100, **behaviour) as (base, _):
        get("task", tmp_path, table=table(base))
    assert (tmp_path / "koran" / "train.en").read_bytes() == b"one\ntwo\n"


def test_another_version_of_the_file_is_not_mixed_with_the_first(tmp_path, serving, koran):
    with serving({"data.zip": b"x" * 5000}, breaks_after=100, always_breaks=True) as (base, _):
        assert "ended after" in complaint(tmp_path, table(base))
    part = tmp_path / DOWNLOADS / "data.zip.part"
    assert part.stat().st_size > 0
    with serving({"data.zip": koran}, etag='"two"') as (base, server):
        get("task", tmp_path, table=table(base))
    assert server.seen == [f"bytes={500}-"]
    assert (tmp_path / "koran" / "train.de").read_bytes() == b"eins\nzwei\n"


def test_a_part_that_is_longer_than_the_file_is_thrown_away(tmp_path, serving, koran):
    folder = tmp_path / DOWNLOADS
    folder.mkdir()
    (folder / "data.zip.part").write_bytes(b"y" * 100_000)
    (folder / "data.zip.part.version").write_text('"one"')
    with serving({"data.zip": koran}) as (base, server):
        get("task", tmp_path, table=table(base))
    assert server.seen == ["bytes=100000-", None]


def test_truncated_without_a_length_is_found_by_the_checksum(tmp_path, serving, koran):
    with serving({"data.zip": koran}, breaks_after=50, says_length=False) as (base, _):
        message = complaint(tmp_path, table(base, sha256=hashlib.sha256(koran).hexdigest()))
    assert "data.zip: not the file that was published" in message


@pytest.mark.parametrize("says_length", [True, False])
def test_more_bytes_than_allowed_are_refused(tmp_path, says_length, serving, koran):
    with serving({"data.zip": koran}, says_length=says_length) as (base, _):
        assert "at most 99 were expected" in complaint(tmp_path, table(base, limit=99))
    assert not (tmp_path / DOWNLOADS / "data.zip").exists()
    assert not (tmp_path / DOWNLOADS / "data.zip.part").exists()


def test_an_answer_that_is_no_file_says_what_to_do(tmp_path, serving):
    with serving({}) as (base, _):
        message = complaint(tmp_path, table(base))
    assert "answers 404" in message
    assert f"download data.zip from {base}/data.zip into {tmp_path / DOWNLOADS}" in message


def test_a_web_page_is_not_taken_for_an_archive(tmp_path, serving):
    with serving({"data.zip": b"<!DOCTYPE html><p>Sign in"}) as (base, _):
        assert ": a web page, not an archive; delete it" in complaint(tmp_path, table(base))


def test_without_a_network_every_missing_file_is_listed(tmp_path, serving):
    with serving({}) as (base, _):
        pass  # closed again: nothing listens there now
    parts = tuple(Source(name, f"{base}/{name}", "page", 10) for name in ("a.tgz", "b.tgz", "c.tgz"))
    (tmp_path / DOWNLOADS).mkdir()
    (tmp_path / DOWNLOADS / "b.tgz").write_bytes(b"")
    message = complaint(tmp_path, {"task": Task(parts, "x")})
    assert "a.tgz: cannot be fetched" in message
    assert f"download a.tgz from {base}/a.tgz; c.tgz from {base}/c.tgz into" in message


def test_what_only_people_can_fetch_is_used_once_it_is_there(tmp_path, koran):
    entries = {
        "task": Task((Source("d.zip", None, "https://the.page", 10**6, unpacked=10**6),), "koran/train.de")
    }
    message = complaint(tmp_path, entries)
    assert "download d.zip from https://the.page into" in message
    (tmp_path / DOWNLOADS / "d.zip").write_bytes(koran)
    get("task", tmp_path, table=entries)
    assert (tmp_path / "koran" / "train.en").is_file()


def test_nothing_of_the_users_is_overwritten(tmp_path, serving, koran):
    (tmp_path / "koran").mkdir()
    with serving({"data.zip": koran}) as (base, _):
        assert "koran: already there" in complaint(tmp_path, table(base))
    assert not (tmp_path / "it").exists()


def test_a_folder_of_another_task_is_left_alone(tmp_path):
    (tmp_path / "fetched.json").write_text(json.dumps({"task": "ted", "sha256": {}}))
    assert "holds the data of ted" in complaint(tmp_path, table("http://127.0.0.1:1"))


def test_the_news_crawl_comes_in_both_languages(tmp_path, serving):
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


def test_an_archive_of_something_else_is_named(tmp_path, serving, pack):
    with serving({"data.zip": pack("data.zip", {"readme": b"hello"})}) as (base, _):
        assert "does not hold koran/train.de" in complaint(tmp_path, table(base))


def test_a_web_address_is_the_only_kind(tmp_path):
    (tmp_path / "secret").write_text("x")
    entries = {"task": Task((Source("a.zip", (tmp_path / "secret").as_uri(), "page", 10),), "x")}
    assert "is not a web address" in complaint(tmp_path, entries)


def test_plain_files_take_the_names_of_the_layout(tmp_path, serving):
    task = TASKS["wmt14"]
    with serving({source.name: f"{source.name}\n".encode() for source in task.sources}) as (base, _):
        local = [replace(source, url=f"{base}/{source.name}") for source in task.sources]
        get("wmt14", tmp_path, table={"wmt14": replace(task, sources=tuple(local))})
    assert (tmp_path / "dev.de").read_bytes() == b"dev.de\n"
    (facet,) = discover(DataConfig(root=".", source="en", target="de"), tmp_path)
    assert sorted(facet.files) == ["dev", "test", "train"]
