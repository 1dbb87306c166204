from facetmt.fetch.sources import TASKS
from facetmt.fetch.unpack import is_archive


def test_the_table_names_every_file_once_and_asks_for_nothing_unsafe():
    for task, entry in TASKS.items():
        assert len({source.name for source in entry.sources}) == len(entry.sources), task
        for source in entry.sources:
            assert source.url is None or source.url.startswith(("http://", "https://"))
            assert source.limit > 0
            assert source.sha256 is None or len(source.sha256) == 64
            assert not is_archive(source.name) or source.unpacked > source.limit


def test_the_plain_files_of_wmt14_are_kept_under_the_names_of_the_layout():
    assert {source.name: str(source.url).rsplit("/", 1)[1] for source in TASKS["wmt14"].sources} == {
        f"{split}.{language}": f"{name}.{language}"
        for split, name in (("train", "train"), ("dev", "newstest2013"), ("test", "newstest2014"))
        for language in ("en", "de")
    }


def test_the_news_crawl_comes_in_both_languages():
    assert [source.url for source in TASKS["newscrawl"].sources] == [
        f"http://data.statmt.org/news-crawl/{language}/news.2019.{language}.shuffled.deduped.gz"
        for language in ("de", "en")
    ]
