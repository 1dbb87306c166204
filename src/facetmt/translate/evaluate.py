"""Scores of translations: SacreBLEU and chrF with their signatures, by facet, on average, and by group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from facetmt.errors import UserError

Scores = dict[str, Any]  # the content of scores.json
OBJECTIVE = "objective"  # the group of the facets that schedule.objective names


# Target language -> SacreBLEU's tokeniser, for languages whose words 13a, the default, does not separate.
# Those without a tokeniser of their own are scored by characters: flores200 would download a model.
TOKENISERS: dict[str, str] = {
    **dict.fromkeys(("zh", "zho", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz", "dzo"), "char"),
}
EXTRAS = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}  # what to install for a tokeniser


def tokeniser_of(target_language: str, chosen: Mapping[str, str] | None = None) -> str:
    """The tokeniser behind BLEU in a language such as zh or zh-CN; `chosen` is evaluate.tokenisers."""
    general = re.split("[-_]", target_language)[0]
    ours = TOKENISERS.get(general, "13a")
    return (chosen or {}).get(target_language, (chosen or {}).get(general, ours))


def bleu_metric(target_language: str, chosen: Mapping[str, str] | None = None) -> BLEU:
    """SacreBLEU with the tokeniser of the target language; a missing one is the user's to install."""
    name = tokeniser_of(target_language, chosen)
    other = f"or choose another with --set evaluate.tokenisers.{target_language}=char"
    if name not in BLEU.TOKENIZERS:
        raise UserError(
            f"evaluate.tokenisers: SacreBLEU has no {name}; choose from {', '.join(BLEU.TOKENIZERS)}"
        )
    try:
        return BLEU(tokenize=name)
    except (RuntimeError, ImportError):
        package = EXTRAS.get(name, "sacrebleu")
        raise UserError(
            f"evaluate.tokenisers: BLEU in {target_language} needs {name}, which is not installed; "
            f"pip install '{package}', {other}"
        ) from None
    except OSError as error:
        raise UserError(
            f"evaluate.tokenisers: SacreBLEU could not download {name} ({error}); try again, {other}"
        ) from None


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    target_language: str,
    tokenisers: Mapping[str, str] | None = None,
) -> tuple[dict[str, float], dict[str, str]]:
    """BLEU and chrF of one facet, and the signature of each."""
    metrics = {"bleu": bleu_metric(target_language, tokenisers), "chrf": CHRF()}
    values = {
        name: round(float(metric.corpus_score(hypotheses, [references]).score), 4)
        for name, metric in metrics.items()
    }
    return values, {name: str(metric.get_signature()) for name, metric in metrics.items()}


def mean_scores(
    facets: Mapping[str, Mapping[str, float]], names: Sequence[str], weights: Sequence[float] | None = None
) -> dict[str, float]:
    """The macro average over some facets, all with the same weight unless weights are given."""
    return {
        metric: round(fmean((facets[name][metric] for name in names), weights), 4)
        for metric in ("bleu", "chrf")
    }


def collect(
    facets: Mapping[str, dict[str, float]],
    signatures: Mapping[str, dict[str, str]],
    groups: Mapping[str, Sequence[str]],
    objective: Mapping[str, float] | None = None,
) -> Scores:
    """The content of scores.json; a signature that differs from the first facet's is listed separately.

    An `objective` adds a group of that name: the average of what counts, by its weights.
    """
    counting = {name: weight for name, weight in (objective or {}).items() if weight > 0 and name in facets}
    counts = {OBJECTIVE: mean_scores(facets, list(counting), list(counting.values()))} if counting else {}
    first = next(iter(signatures.values()))
    other = {name: signature for name, signature in signatures.items() if signature != first}
    scores: Scores = {
        "facets": dict(facets),
        "average": mean_scores(facets, list(facets)),
        "groups": counts
        | {
            group: mean_scores(facets, present)
            for group, names in groups.items()
            if (present := [name for name in names if name in facets])
        },
        "signature": first,
    }
    return {**scores, "signature_of": other} if other else scores
