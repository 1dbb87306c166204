"""What is scored: the test text of every facet of the model, and the further test sets that a recipe names."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from facetmt.data.clean import Cleaner
from facetmt.data.codec import Codec
from facetmt.data.corpus import Facet
from facetmt.data.lines import MAX_LINE, decode, read_lines
from facetmt.data.prepared import Prepared
from facetmt.errors import UserError
from facetmt.files import sha256_of
from facetmt.translate.config import EvaluateConfig, SetConfig
from facetmt.translate.evaluate import bleu_metric


class ScoredText(NamedTuple):
    """One row of scores.json before it is translated."""

    name: str
    facet: Facet  # whose languages, cleaning and tags apply
    sources: list[str]
    references: list[str]

    def sha256(self) -> str:
        """Of the text as it is read, so that scores of other text can be told apart."""
        return sha256_of([self.sources, self.references])


def check_groups(config: EvaluateConfig, names: Collection[str]) -> None:
    """Every member of every group is one of the names of facets and sets, or a pattern that fits some."""
    for group, member in config.unmatched(names).items():
        known = ", ".join(list(names)[:12]) + (", ..." if len(names) > 12 else "")
        raise UserError(
            f"evaluate.groups.{group}: {member} is no facet or set that can be scored; there are {known}"
        )


def check_scoring(config: EvaluateConfig, codec: Codec, names: Collection[str]) -> None:
    """Refuse what `evaluate` names and is not there, before anything long begins; `names` are those to be scored."""
    check_groups(config, names)
    facets = {facet.name for facet in codec.facets}
    for name, one in config.sets.items():
        if name in facets:
            raise UserError(f"evaluate.sets.{name} has the name of a facet; give it another")
        codec.facet(one.facet)
    if config.tag is not None:
        codec.prefix(codec.facets[0].name, config.tag)
    languages = {facet.target_language for facet in codec.facets}
    for language in config.tokenisers:
        if not any(
            target == language or target.startswith((f"{language}-", f"{language}_")) for target in languages
        ):
            raise UserError(
                f"evaluate.tokenisers.{language}: the model translates to {', '.join(sorted(languages))} alone"
            )
    for language in sorted(languages):
        bleu_metric(language, config.tokenisers)


def scored_texts(
    prepared: Prepared, codec: Codec, config: EvaluateConfig, root: Path, run: Path
) -> list[ScoredText]:
    """The model's facets with test text in their order, then `evaluate.sets`; `root` is the recipe's data.root."""
    if missing := [facet.name for facet in codec.facets if facet not in prepared.facets]:
        raise UserError(
            f"{run} was trained on {', '.join(missing)}, which {prepared.directory} no longer holds as the run knew "
            f"it; prepare the run's text in another folder with `facetmt prepare {run / 'recipe.yaml'} --set "
            f"prepared=FOLDER`, then score with `facetmt evaluate {run} --set prepared=FOLDER`"
        )
    own = [
        ScoredText(facet.name, facet, *prepared.text(facet.name, "test"))
        for facet in prepared.facets
        if facet in codec.facets
    ]
    further = [
        ScoredText(name, codec.facet(one.facet), *read_set(name, one, root))
        for name, one in config.sets.items()
    ]
    if texts := [text for text in (*own, *further) if text.sources]:
        return texts
    raise UserError("no facet has a test set; add test files beside the training text and prepare again")


def read_set(name: str, one: SetConfig, root: Path) -> tuple[list[str], list[str]]:
    """Source and reference lines of a set, which must be equally many."""
    sources, references = read_text(root / one.source), read_text(root / one.target)
    if not sources or len(sources) != len(references):
        raise UserError(
            f"evaluate.sets.{name}: {root / one.source} has {len(sources)} lines and {root / one.target}"
            f" {len(references)}; they must be equally many, and some"
        )
    return sources, references


def read_text(path: Path) -> list[str]:
    lines = []
    for number, line in enumerate(read_lines(path), 1):
        if line is None:
            raise UserError(f"{path}, line {number} has more than {MAX_LINE:,} bytes: is it a sentence?")
        lines.append(line)
    return decode(lines, path, range(1, len(lines) + 1), "strict")


def scored_references(
    lines: Sequence[str], language: str, cleaner: Cleaner, config: EvaluateConfig
) -> list[str]:
    """What dev and test output is compared with: the references as they are, or cleaned and back as the output is."""
    if not config.preprocessed_references:
        return list(lines)
    return [cleaner.backward(cleaner.forward(line, language), language) for line in lines]


def row_sizes(
    texts: Sequence[ScoredText], reports: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> dict[str, int]:
    """Training pairs behind every row as the corpus has them, before any were dropped (`Prepared.reports`)."""
    return {text.name: reports[text.facet.name]["train"]["read"] for text in texts}
