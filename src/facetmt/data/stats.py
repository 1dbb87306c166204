"""The paper's Table 1 for any prepared corpus: sizes, tokens, imbalance, and what was dropped and why."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from facetmt.data.prepare import Prepared


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
    dropped: dict[str, int]  # training and dev pairs by reason


class CorpusStats(NamedTuple):
    """The whole corpus; entropy of the facet sizes in percent of its maximum, ln(facets)."""

    facets: int
    language_pairs: int
    pairs: int
    source_tokens: int
    target_tokens: int
    entropy: float
    dropped: dict[str, int]


def stats(prepared: Prepared) -> tuple[CorpusStats, list[FacetStats]]:
    """The corpus's row, and a row a facet."""
    rows = []
    for facet, store in zip(prepared.facets, prepared.stores("train"), strict=True):
        report = prepared.reports[facet.name]
        dropped = Counter(report["train"]["dropped"]) + Counter(report["dev"]["dropped"])
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
                dict(dropped),
            )
        )
    whole = CorpusStats(
        len(rows),
        len({(row.source_language, row.target_language) for row in rows}),
        sum(row.pairs for row in rows),
        sum(row.source_tokens for row in rows),
        sum(row.target_tokens for row in rows),
        entropy([row.pairs for row in rows]),
        dict(sum((Counter(row.dropped) for row in rows), Counter())),
    )
    return whole, rows


def entropy(sizes: Sequence[int]) -> float:
    """100 H(p)/ln(n) with p = sizes/sum: 100 % for equal sizes, and for one facet."""
    if len(sizes) < 2:
        return 100.0
    total = sum(sizes)
    shares = [size / total for size in sizes if size]
    return -100 * math.fsum(share * math.log(share) for share in shares) / math.log(len(sizes))
