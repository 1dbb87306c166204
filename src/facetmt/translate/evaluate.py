"""Scores of translations: SacreBLEU and chrF with their signatures, by facet, on average, and by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

Scores = dict[str, Any]  # the content of scores.json


def bleu_metric(target_language: str) -> BLEU:
    """SacreBLEU with the tokeniser of the target language: 13a, or zh for Chinese."""
    return BLEU(tokenize="zh" if target_language.startswith("zh") else "13a")


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str
) -> tuple[dict[str, float], dict[str, str]]:
    """BLEU and chrF of one facet, and the signature of each."""
    metrics = {"bleu": bleu_metric(target_language), "chrf": CHRF()}
    values = {
        name: round(float(metric.corpus_score(hypotheses, [references]).score), 4)
        for name, metric in metrics.items()
    }
    return values, {name: str(metric.get_signature()) for name, metric in metrics.items()}


def mean_scores(facets: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    """The macro average over some facets: each counts alike."""
    return {metric: round(fmean(facets[name][metric] for name in names), 4) for metric in ("bleu", "chrf")}


def collect(
    facets: Mapping[str, dict[str, float]],
    signatures: Mapping[str, dict[str, str]],
    groups: Mapping[str, Sequence[str]],
) -> Scores:
    """The whole of scores.json; a facet whose signature differs from the first facet's is listed with its own."""
    first = next(iter(signatures.values()))
    other = {name: signature for name, signature in signatures.items() if signature != first}
    scores: Scores = {
        "facets": dict(facets),
        "average": mean_scores(facets, list(facets)),
        "groups": {
            group: mean_scores(facets, present)
            for group, names in groups.items()
            if (present := [name for name in names if name in facets])
        },
        "signature": first,
    }
    return {**scores, "signature_of": other} if other else scores
