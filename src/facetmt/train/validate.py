"""Validation: the dev loss of each facet, and SacreBLEU of the balanced dev set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from facetmt.data.stream import dev_batches
from facetmt.model.transformer import Params
from facetmt.train.session import Session
from facetmt.train.step import make_facet_loss
from facetmt.translate.evaluate import bleu_metric
from facetmt.translate.testsets import scored_references
from facetmt.translate.translate import Translator

Report = dict[str, Any]  # {"facets": {name: value}, "average": value}


class Validator:
    """Callable on parameters; `check` is called between batches, so that a signal need not wait for the end."""

    def __init__(self, session: Session) -> None:
        self._prepared, self._batch = session.prepared, session.recipe.batch
        self._share, self._placement = session.share, session.placement
        everywhere = session.placement.everywhere
        self._loss = make_facet_loss(session.graph, len(session.prepared.facets), everywhere)
        recipe = session.recipe
        decode = replace(recipe.decode.for_training(recipe.data.longest), beam=recipe.train.validation_beam)
        self._translator = Translator(session.graph, session.prepared.codec, decode, session.placement)
        self._evaluate = recipe.evaluate

    def __call__(self, params: Params, check: Callable[[], None]) -> tuple[Report, Report]:
        """(dev loss, dev BLEU), by facet and on average over facets."""
        return self._losses(params, check), self._bleu(self._placement.whole(params), check)

    def rehearse(self, params: Params) -> None:
        """Compile the largest search and take its memory, so that a lack of it shows before the first step."""
        prepared = self._prepared
        stores = zip(prepared.stores("dev"), prepared.dev_chosen, strict=True)
        sizes = [
            (int(store.lengths(chosen)[0].max()), len(chosen)) for store, chosen in stores if len(chosen)
        ]
        longest, most = map(max, zip(*sizes, strict=True))
        self._translator.rehearse(self._placement.whole(params), longest, most)

    def _losses(self, params: Params, check: Callable[[], None]) -> Report:
        prepared = self._prepared
        total = np.zeros((2, len(prepared.facets)))
        rows = self._share.rows
        for batch in dev_batches(prepared.stores("dev"), prepared.dev_chosen, self._batch, rows):
            check()
            total += np.asarray(self._loss(params, self._share.put(batch)), dtype=np.float64)
        loss, tokens = total
        return self._report(loss / np.maximum(tokens, 1), tokens > 0)

    def _bleu(self, params: Params, check: Callable[[], None]) -> Report:
        """Against the same kind of references, by the same tokenisers, as the test."""
        scores, present, cleaner = [], [], self._prepared.cleaner
        for facet in self._prepared.facets:
            sources, given = self._prepared.dev_text(facet.name)
            references = scored_references(given, facet.target_language, cleaner, self._evaluate)
            hypotheses = self._translator.translate(params, sources, facet.name, check=check)
            present.append(bool(references))
            metric = bleu_metric(facet.target_language, self._evaluate.tokenisers)
            scores.append(metric.corpus_score(hypotheses, [references]).score if references else 0.0)
        return self._report(np.array(scores), np.array(present))

    def _report(self, values: np.ndarray[Any, Any], present: np.ndarray[Any, Any]) -> Report:
        names = [facet.name for facet in self._prepared.facets]
        facets = {
            name: float(value) for name, value, there in zip(names, values, present, strict=True) if there
        }
        return {"facets": facets, "average": fmean(facets.values())}
