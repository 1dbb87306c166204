"""From a trained run to keep files: what `facetmt filter` does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from facetmt.console import say
from facetmt.errors import UserError
from facetmt.select.cds import ByTrustedText
from facetmt.select.criterion import Way, score_text
from facetmt.select.keep import AUTO, KEEP, NOTE, SCORES, KeepConfig, Kept, write_choice
from facetmt.select.shards import stopped
from facetmt.select.source_use import BySourceUse
from facetmt.select.texts import training_texts
from facetmt.select.trusted import TuningConfig
from facetmt.train.interrupt import Interrupt, Interrupted
from facetmt.train.restore import TrainedModel, load_model

WORK = ".filter"  # below the folder of the keep files: the trusted model and the scores so far
FAIR_BLEU = 5  # a model below this has hardly learned to translate


def way(
    by: str,
    trusted: tuple[Path, Path] | None,
    facet: str | None,
    stages: int | None,
    steps: int | None,
    others: int | None,
    keep: float | Literal["auto"],
) -> Way:
    """The criterion with its settings; an option that means nothing to it is refused."""
    if by == "source-use":
        given = {"--trusted": trusted, "--facet": facet, "--stages": stages, "--steps": steps}
        if unused := ", ".join(name for name, value in given.items() if value is not None):
            raise UserError(f"{unused}: --by source-use uses no trusted text; leave it out, or use --by cds")
        return BySourceUse() if others is None else BySourceUse(others)
    if others is not None:
        raise UserError("--others: --by cds compares no sources; leave it out, or use --by source-use")
    if keep == AUTO:
        raise UserError("--keep auto: only --by source-use estimates how much is misaligned; give a share")
    if trusted is None:
        raise UserError(
            "--trusted: --by cds needs text that you trust; give its source and target file, "
            "or use --by source-use, which needs none"
        )
    usual = TuningConfig()
    return ByTrustedText(trusted, facet, TuningConfig(stages or usual.stages, steps or usual.steps))


def filter_corpus(run: Path, by: Way, config: KeepConfig, out: Path) -> int:
    """Score the training text of the run, write scores and keep files; the exit code."""
    work = out / WORK
    with Interrupt() as interrupt:
        model = load_model(run)
        warn_of_model(run, model)
        data, check = model.recipe.data, interrupt.check
        texts = training_texts(data)
        try:
            criterion = by.criterion(model, texts, run, work, say, check)
            found = [score_text(criterion, text, data.errors, work, check) for text in texts]
        except Interrupted:
            return stopped(work)
    about = {"run": str(run), "steps": list(model.steps), **by.about()}
    for one in write_choice(texts, found, config, out, about):
        print(line_of(one))
    print(f"the scores are in {SCORES} beside each {KEEP}; {out / NOTE} says what they were computed from")
    root = Path(data.root)
    if out.resolve() != root.resolve():
        print(f"to use it (data.keep), copy each {KEEP} beside its training text below {root}")
    return 0


def line_of(one: Kept) -> str:
    """What became of a facet."""
    kept = f"{one.kept:,} of {one.pairs:,} pairs kept ({one.kept / max(1, one.pairs):.1%})"
    wrong = (
        "" if one.misaligned is None else f"; an estimated {one.misaligned:.1%} of the pairs are misaligned"
    )
    return f"{', '.join(one.facets)}: {kept} in {one.path}{wrong}"


def warn_of_model(run: Path, model: TrainedModel) -> None:
    """Damaged checkpoints, and quality: a model that cannot translate cannot detect noise either."""
    for note in model.notes:
        say(note)
    if model.bleu is None:
        say(f"warning: step {model.steps[0]:,} of {run} was never validated; make sure that it can translate")
    elif model.bleu < FAIR_BLEU:
        say(
            f"warning: {run} has a dev BLEU of {model.bleu:.1f} at step {model.steps[0]:,}, "
            f"below {FAIR_BLEU}: a model that cannot translate cannot tell good pairs from noise; "
            "train it longer first"
        )
