"""What `facetmt label` and `facetmt filter` do, and the words that people read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from facetmt.data.config import VocabConfig
from facetmt.errors import UserError
from facetmt.select.cds import WORK, scores_of, training_texts
from facetmt.select.keep import KEEP, NOTE, SCORES, write_choice
from facetmt.select.language_models import LabelConfig, load_models, train_models
from facetmt.select.translationese import Labeller, agreement, label_file, work_folder
from facetmt.select.trusted import Check, FilterConfig
from facetmt.train.interrupt import EXIT_CODE, Interrupt, Interrupted
from facetmt.train.restore import TrainedModel
from facetmt.train.session import VOCABULARY

FAIR_BLEU = 5  # a model below it has hardly learned to translate


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def stopped(kept: Path) -> int:
    """What people read when a signal ends the work; the exit code."""
    say(f"stopped by a signal; what is done is kept in {kept}: run the same command again to continue")
    return EXIT_CODE


def label_text(
    models: Path,
    natural: Path | None,
    translated: Path | None,
    texts: Sequence[Path],
    outs: Sequence[Path],
    gold: Path | None,
    steps: int,
    vocab: int,
) -> int:
    """Train the two language models where text for them is given; label where a text is given. The exit code."""
    if (natural is None) != (translated is None) or len(texts) != len(outs):
        raise UserError("give --natural with --translated to train, and an --out for each --text to label")
    if natural is None and not texts:
        raise UserError("nothing to do: give --natural and --translated, or --text and --out, or all four")
    if gold is not None and len(texts) != 1:
        raise UserError("--gold has the known labels of one text: give one --text with it")
    kept = models
    with Interrupt() as interrupt:
        try:
            if natural is not None and translated is not None:
                config = LabelConfig(steps=steps, vocab=VocabConfig(size=vocab, exact=False))
                train_models((natural, translated), models, config, say, interrupt.check)
            if texts:
                labeller = Labeller(load_models(models))
            for text, out in zip(texts, outs, strict=True):
                kept = work_folder(out)
                shares = label_file(labeller, text, out, interrupt.check)
                print(f"{out}: {', '.join(f'{share:.1%} {name}' for name, share in shares.items())}")
        except Interrupted:
            return stopped(kept)
    if gold is not None:
        print(f"agreement with {gold}: {agreement(outs[0], gold):.1%}")
    return 0


def filter_run(
    run: Path,
    model: TrainedModel,
    bleu: float | None,
    trusted: tuple[Path, Path],
    facet: str | None,
    config: FilterConfig,
    out: Path,
    check: Check,
) -> int:
    """Fine-tune on the trusted text, score the training text, write scores and keep files. The exit code."""
    warn_of_quality(run, model.steps[0], bleu)
    root = Path(model.recipe.data.root)
    texts = training_texts(model.recipe.data)
    work = out / WORK
    try:
        scores = scores_of(model, texts, trusted, facet, config, run / VOCABULARY, work, say, check)
    except Interrupted:
        return stopped(work)
    about = {"run": str(run), "steps": list(model.steps), "trusted": [str(path) for path in trusted]}
    for one in write_choice(texts, scores, config, out, about):
        share = one.kept / max(1, one.pairs)
        print(
            f"{', '.join(one.facets)}: {one.kept:,} of {one.pairs:,} pairs kept ({share:.1%}) in {one.path}"
        )
    print(f"the scores are in {SCORES} beside each {KEEP}; {out / NOTE} says what they were computed from")
    if out.resolve() != root.resolve():
        print(f"to use it (data.keep), copy each {KEEP} beside its training text below {root}")
    return 0


def warn_of_quality(run: Path, step: int, bleu: float | None) -> None:
    """A model that cannot translate cannot tell noise either."""
    if bleu is None:
        say(f"warning: step {step:,} of {run} was never validated: make sure that it can translate")
    elif bleu < FAIR_BLEU:
        say(
            f"warning: {run} has a dev BLEU of {bleu:.1f} at step {step:,}, below {FAIR_BLEU}: a model that cannot "
            "translate cannot tell good pairs from noise; train it longer first"
        )
