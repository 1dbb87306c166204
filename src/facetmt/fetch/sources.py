"""The one table of addresses: where the public corpora of the paper's tasks are."""

from dataclasses import dataclass

MB, GB = 10**6, 10**9
STATMT, STATMT_DATA = "http://www.statmt.org", "http://data.statmt.org"
STANFORD = "https://nlp.stanford.edu/projects/nmt"
PARAPHRASES = "https://raw.githubusercontent.com/google/wmt19-paraphrased-references"
PARAPHRASES_COMMIT = "4c2493c5171e63fc6ee52bfd37cf55a94492d125"

EUROPARL = "europarl-v10.de-en.tsv.gz"
NEWS_COMMENTARY = "news-commentary-v15.de-en.tsv.gz"
PARACRAWL = "paracrawl-v5.1.en-de.txt.gz"
COMMON_CRAWL = "training-parallel-commoncrawl.tgz"
NEWS_CRAWL = {language: f"news.2019.{language}.shuffled.deduped.gz" for language in ("de", "en")}
PARAPHRASED = {"wmt18": "wmt18-ende-wmtp.ref", "wmt20": "wmt20-ende-wmtp.ref"}


@dataclass(frozen=True)
class Source:
    """One published file."""

    name: str  # under which it is kept
    url: str | None  # None: the publisher offers no address that a program can fetch, only the page
    page: str  # where a person finds it
    limit: int  # bytes; more is refused
    sha256: str | None = None  # None: not published and not known to us, so only recorded when fetched
    only: str | None = None  # pattern of the archive's members that are wanted; None: all
    unpacked: int = 0  # bytes that an archive may hold


@dataclass(frozen=True)
class Task:
    """What `get` fetches for one task."""

    sources: tuple[Source, ...]
    # A file of the layout, relative to its root, which becomes the corpus folder.
    # None: fetch/wmt.py puts the parts together.
    anchor: str | None = None


TASKS: dict[str, Task] = {
    # Aharoni and Goldberg (2020): five German-English domains, with a new split. On a file-sharing service.
    "multidomain": Task(
        (
            Source(
                "multi_domain_new_split.zip",
                None,
                "https://github.com/roeeaharoni/unsupervised-domain-clusters",
                limit=2 * GB,
                unpacked=8 * GB,
            ),
        ),
        anchor="koran/train.de",
    ),
    # Qi et al. (2018): TED talks in 58 languages.
    "ted": Task(
        (
            Source(
                "ted_talks.tar.gz",
                "http://phontron.com/data/ted_talks.tar.gz",
                "https://github.com/neulab/word-embeddings-for-nmt",
                limit=352_222_045,
                sha256="03457b9ebc6d60839f1a48c5a03c940266aff78b81fcda4c6d9e2a5a7fb670ae",
                unpacked=4 * GB,
            ),
        ),
        anchor="all_talks_train.tsv",
    ),
    # Zhang et al. (2020): 99 languages paired with English, and 15 pairs for zero-shot tests.
    "opus100": Task(
        (
            Source(
                "opus-100-corpus-v1.0.tar.gz",
                "https://object.pouta.csc.fi/OPUS-100/v1.0/opus-100-corpus-v1.0.tar.gz",
                "https://opus.nlpl.eu/OPUS-100",
                limit=8 * GB,
                unpacked=40 * GB,
            ),
        ),
        anchor="supervised/de-en/opus.de-en-train.de",
    ),
    # WMT 2020 news translation, English-German; the test sets come through sacreBLEU.
    "wmt": Task(
        (
            Source(
                EUROPARL,
                f"{STATMT}/europarl/v10/training/{EUROPARL}",
                f"{STATMT}/wmt20/translation-task.html",
                limit=1 * GB,
            ),
            Source(
                NEWS_COMMENTARY,
                f"{STATMT_DATA}/news-commentary/v15/training/{NEWS_COMMENTARY}",
                f"{STATMT}/wmt20/translation-task.html",
                limit=1 * GB,
            ),
            Source(
                PARACRAWL,
                "https://s3.amazonaws.com/web-language-models/paracrawl/release5.1/en-de.txt.gz",
                f"{STATMT}/wmt20/translation-task.html",
                limit=12 * GB,
            ),
            Source(
                COMMON_CRAWL,
                f"{STATMT}/wmt13/{COMMON_CRAWL}",
                f"{STATMT}/wmt20/translation-task.html",
                limit=918_311_367,
                sha256="c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
                only="commoncrawl.de-en.*",
                unpacked=8 * GB,
            ),
            *(
                Source(
                    name,
                    f"{PARAPHRASES}/{PARAPHRASES_COMMIT}/{year}/ende/{name}",
                    "https://github.com/google/wmt19-paraphrased-references",
                    limit=10 * MB,
                )
                for year, name in PARAPHRASED.items()
            ),
        ),
    ),
    # WMT 2014 English-German, prepared by Stanford's NMT project (Luong et al. 2015): tokenised, 4.5M pairs.
    "wmt14": Task(
        tuple(
            Source(
                f"{split}.{language}",
                f"{STANFORD}/data/wmt14.en-de/{name}.{language}",
                f"{STANFORD}/",
                limit=1 * GB,
            )
            for split, name in (("train", "train"), ("dev", "newstest2013"), ("test", "newstest2014"))
            for language in ("en", "de")
        ),
        anchor="train.en",
    ),
    # For `facetmt label`: natural German, and the English whose translations are the translated German
    # (docs/translationese.md). The paper names the collection, not the year.
    "newscrawl": Task(
        tuple(
            Source(
                name,
                f"{STATMT_DATA}/news-crawl/{language}/{name}",
                f"{STATMT_DATA}/news-crawl/",
                limit=12 * GB,
            )
            for language, name in NEWS_CRAWL.items()
        ),
        anchor=NEWS_CRAWL["de"],
    ),
}
