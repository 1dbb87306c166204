"""The paper's Table 1 for any prepared corpus: sizes, tokens, imbalance, and what was dropped and why."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from facetmt.data.corpus import TOO_LONG
from facetmt.data.layouts import SPLITS
from facetmt.data.prepared import STORES, Prepared

MUCH = 0.2  # if more of a facet than this is too long, the settings or the text are wrong
ADVICE = {  # what to do, by what there is too much of
    "bytes": "put one sentence on each line",
    "characters": "put one sentence on each line",
    "words": "raise data.clean.max_words, or split the lines",
    "subwords": "raise data.max_length and batch.length, or split the lines",
}


class FacetStats(NamedTuple):
    """One facet; tokens are subwords of the training text with tags and EOS."""

    name: str
    source_language: str
    target_language: str
    pairs: int
    source_tokens: int
    target_tokens: int
    dev_pairs: int
    test_pairs: int
    dropped: dict[str, dict[str, int]]  # pairs by split and reason


class CorpusStats(NamedTuple):
    """The whole corpus; entropy of the facet sizes in percent of its maximum, ln(facets)."""

    facets: int
    language_pairs: int
    pairs: int
    source_tokens: int
    target_tokens: int
    entropy: float
    dropped: dict[str, dict[str, int]]


def stats(prepared: Prepared) -> tuple[CorpusStats, list[FacetStats]]:
    """The row of the corpus, and one row per facet."""
    rows = []
    for facet, store in zip(prepared.facets, prepared.stores("train"), strict=True):
        report = prepared.reports[facet.name]
        dropped = {split: dict(report[split]["dropped"]) for split in SPLITS if report[split]["dropped"]}
        rows.append(
            FacetStats(
                facet.name,
                facet.source_language,
                facet.target_language,
                len(store),
                store.header.source_tokens,
                store.header.target_tokens,
                report["dev"]["kept"],
                report["test"]["kept"],
                dropped,
            )
        )
    whole = CorpusStats(
        len(rows),
        len({(row.source_language, row.target_language) for row in rows}),
        sum(row.pairs for row in rows),
        sum(row.source_tokens for row in rows),
        sum(row.target_tokens for row in rows),
        entropy([row.pairs for row in rows]),
        {split: counts for split in SPLITS if (counts := _total(rows, split))},
    )
    return whole, rows


def _total(rows: Sequence[FacetStats], split: str) -> dict[str, int]:
    return dict(sum((Counter(row.dropped.get(split, {})) for row in rows), Counter()))


def losses(prepared: Prepared) -> list[str]:
    """A sentence for each facet of which more than a fifth was dropped for its length."""
    found = []
    for name, report in prepared.reports.items():
        for split in STORES:
            reasons = {
                reason: count
                for reason, count in report[split]["dropped"].items()
                if reason.startswith(TOO_LONG)
            }
            lost, read = sum(reasons.values()), report[split]["read"]
            if lost > MUCH * read:
                main = max(reasons, key=reasons.__getitem__)
                advice = ADVICE.get(main.removeprefix(TOO_LONG).strip(" ()"), ADVICE["subwords"])
                found.append(
                    f"facet {name}: {lost:,} of {read:,} {split} pairs ({lost / read:.0%}) were dropped as"
                    f" {main}; {advice}"
                )
    return found


def entropy(sizes: Sequence[int]) -> float:
    """100 H(p)/ln(n) with p = sizes/sum: 100 % for equal sizes, and for one facet."""
    if len(sizes) < 2:
        return 100.0
    total = sum(sizes)
    shares = [size / total for size in sizes if size]
    return -100 * math.fsum(share * math.log(share) for share in shares) / math.log(len(sizes))
