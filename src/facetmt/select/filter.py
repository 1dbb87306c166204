"""From a trained run and trusted text to keep files: what `facetmt filter` does."""

from __future__ import annotations

from pathlib import Path

from facetmt.console import say
from facetmt.select.cds import WORK, scores_of, training_texts
from facetmt.select.keep import KEEP, NOTE, SCORES, write_choice
from facetmt.select.shards import stopped
from facetmt.select.trusted import FilterConfig
from facetmt.train.interrupt import Interrupt, Interrupted
from facetmt.train.restore import TrainedModel, load_model
from facetmt.train.session import VOCABULARY

FAIR_BLEU = 5  # a model below this has hardly learned to translate


def filter_corpus(
    run: Path, trusted: tuple[Path, Path], facet: str | None, config: FilterConfig, out: Path
) -> int:
    """Fine-tune on the trusted text, score the training text, write scores and keep files; the exit code."""
    work = out / WORK
    with Interrupt() as interrupt:
        model = load_model(run)
        warn_of_model(run, model)
        texts = training_texts(model.recipe.data)
        try:
            codec = run / VOCABULARY
            scores = scores_of(model, texts, trusted, facet, config, codec, work, say, interrupt.check)
        except Interrupted:
            return stopped(work)
    about = {"run": str(run), "steps": list(model.steps), "trusted": [str(path) for path in trusted]}
    for one in write_choice(texts, scores, config, out, about):
        share = one.kept / max(1, one.pairs)
        kept = f"{one.kept:,} of {one.pairs:,} pairs kept ({share:.1%})"
        print(f"{', '.join(one.facets)}: {kept} in {one.path}")
    print(f"the scores are in {SCORES} beside each {KEEP}; {out / NOTE} says what they were computed from")
    root = Path(model.recipe.data.root)
    if out.resolve() != root.resolve():
        print(f"to use it (data.keep), copy each {KEEP} beside its training text below {root}")
    return 0


def warn_of_model(run: Path, model: TrainedModel) -> None:
    """Damaged checkpoints, and quality: a model that cannot translate cannot detect noise either."""
    for note in model.notes:
        say(note)
    if model.bleu is None:
        say(f"warning: step {model.steps[0]:,} of {run} was never validated; make sure that it can translate")
    elif model.bleu < FAIR_BLEU:
        say(
            f"warning: {run} has a dev BLEU of {model.bleu:.1f} at step {model.steps[0]:,}, "
            f"below {FAIR_BLEU}: a model that cannot translate cannot tell good pairs from noise; train it longer first"
        )
