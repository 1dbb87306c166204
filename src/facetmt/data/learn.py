"""Learning a vocabulary: a re-balanced sample, truecasing models, SentencePiece (paper, appendix)."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from facetmt.data.chunks import Chunk, Files, read_chunks
from facetmt.data.clean import Cleaner, clean_pairs, plain_pairs, train_truecaser
from facetmt.data.codec import Codec, save_codec, tag_names, truecaser_path
from facetmt.data.config import DataConfig, TagConfig, VocabConfig
from facetmt.data.corpus import Facet, decode_chunk
from facetmt.data.vocab import Vocabulary, train_model
from facetmt.data.workers import Workers
from facetmt.files import move_whole
from facetmt.permutation import permuted, stream_key

Progress = Callable[[str, int, int], None]  # stage, done, total
LINE, BLOCK = 200, 1 << 20  # characters of a shuffled line, words shuffled at once


class SampleJob(NamedTuple):
    """Sampled lines of a facet, undecoded."""

    chunk: Chunk
    repeats: list[list[int]]  # of each pair: its source, its target
    files: Files
    languages: tuple[str, str]
    errors: str
    moses: bool


class SampleText(NamedTuple):
    """Sampled text, plain or tokenised, each line repeated as often as it counts."""

    languages: tuple[str, str]
    sides: tuple[list[str], list[str]]
    lines: int  # of both sides, before cleaning


Share = tuple[int, int]  # lines of a facet in the sample: of its source, of its target


def shares(facets: Sequence[Facet], counts: Mapping[str, int], config: VocabConfig) -> dict[str, Share]:
    """Lines of each facet in the sample: facets or languages upsampled to the largest, then cut equally."""
    if config.balance == "language":
        return _language_shares(facets, counts, config.sample)
    budget = max(1, config.sample // 2)
    if config.balance == "facet":
        share = min(max(counts.values()), max(1, budget // len(counts)))
        return dict.fromkeys(counts, (share, share))
    part = min(1.0, budget / sum(counts.values()))
    return {name: (max(1, round(count * part)),) * 2 for name, count in counts.items()}


def _language_shares(facets: Sequence[Facet], counts: Mapping[str, int], sample: int) -> dict[str, Share]:
    """As in the paper: a language is one text, whichever facets and sides its lines are in."""
    sizes: Counter[str] = Counter()
    for facet in facets:
        sizes[facet.source_language] += counts[facet.name]
        sizes[facet.target_language] += counts[facet.name]
    share = min(max(sizes.values()), max(1, sample // len(sizes)))

    def lines(facet: Facet, language: str) -> int:
        return max(1, round(share * counts[facet.name] / sizes[language]))

    return {
        facet.name: (lines(facet, facet.source_language), lines(facet, facet.target_language))
        for facet in facets
    }


def sample_jobs(facet: Facet, config: DataConfig, count: int, share: Share) -> Iterator[SampleJob]:
    """`share` of the facet's `count` training pairs, by side, evenly repeated where it has fewer."""
    key = stream_key(config.seed, "vocabulary", facet.name)
    copies = [side // count for side in share]
    extras = [np.sort(permuted(np.arange(side % count), count, key)) for side in share]
    files = facet.files["train"]
    languages = facet.source_language, facet.target_language
    start = 0
    for numbers, source, target, _ in read_chunks(files):
        end = start + len(numbers)
        repeats = np.tile(copies, (end - start, 1))  # [P, 2]
        for side, extra in enumerate(extras):
            here = extra[np.searchsorted(extra, start) : np.searchsorted(extra, end)] - start
            repeats[here, side] += 1
        picked = np.flatnonzero(repeats.any(axis=1)).tolist()
        start = end
        if picked:
            lines = Chunk(
                [numbers[i] for i in picked], [source[i] for i in picked], [target[i] for i in picked], {}
            )
            yield SampleJob(
                lines, repeats[picked].tolist(), files, languages, config.errors, config.clean.moses
            )


@lru_cache(maxsize=2)
def _cleaner(moses: bool) -> Cleaner:
    return Cleaner(moses)


def sample_text(job: SampleJob) -> SampleText:
    """Decode, clean and repeat; pairs that could not be trained on are left out."""
    repeats = dict(zip(job.chunk.numbers, job.repeats, strict=True))
    cleaner = _cleaner(job.moses)
    result = SampleText(job.languages, ([], []), sum(map(sum, job.repeats)))
    text = clean_pairs(plain_pairs(decode_chunk(job.chunk, job.files, job.errors)), cleaner, job.languages)
    for pair, *sides in zip(text.pairs, text.source, text.target, strict=True):
        for line, lines, times in zip(sides, result.sides, repeats[pair.line], strict=True):
            lines.extend([line] * times)
    return result


Samples = dict[tuple[int, str], Path]  # (0 for source or 1 for target, language): file of sampled lines


def learn_codec(
    facets: Sequence[Facet],
    config: DataConfig,
    counts: Mapping[str, int],
    directory: Path,
    workers: Workers,
    progress: Progress,
) -> None:
    """Learn everything that turns text into ids and save it in `directory`."""
    work = directory / "sample"
    work.mkdir()
    parts = shares(facets, counts, config.vocab)
    jobs = chain.from_iterable(
        sample_jobs(facet, config, counts[facet.name], parts[facet.name]) for facet in facets
    )
    total = sum(map(sum, parts.values()))
    samples = _write_samples(workers.run(sample_text, jobs), work, lambda n: progress("sample", n, total))
    cleaner = Cleaner(config.clean.moses)
    if config.clean.moses:
        cleaner = Cleaner(True, _learn_truecasing(samples, directory, workers))
    groups = [list(samples.values())]
    if not config.vocab.joint:
        groups = [[path for (side, _), path in samples.items() if side == number] for number in (0, 1)]
    progress("vocabulary", 0, len(groups))
    models = []
    for model in workers.run(_train, [(group, config.vocab) for group in groups]):
        models.append(model)
        progress("vocabulary", len(models), len(groups))
    save_codec(
        Codec(Vocabulary(models, all_tags(facets, config.tags)), cleaner, facets, config.tags), directory
    )
    for path in samples.values():
        path.unlink()
    work.rmdir()


def all_tags(facets: Sequence[Facet], tags: TagConfig) -> list[str]:
    """The reserved symbols of all facets, each once, in order."""
    return sorted({tag for facet in facets for tag in tag_names(facet, tags)})


def _write_samples(texts: Iterator[SampleText], work: Path, progress: Callable[[int], None]) -> Samples:
    samples: Samples = {}
    done = 0
    with ExitStack() as stack:
        files: dict[tuple[int, str], TextIO] = {}
        for languages, sides, sampled in texts:
            for side, (language, lines) in enumerate(zip(languages, sides, strict=True)):
                if (side, language) not in files:
                    path = samples[side, language] = work / f"{side}.{len(samples)}.txt"
                    files[side, language] = stack.enter_context(
                        open(path, "w", encoding="utf-8", newline="\n")
                    )
                files[side, language].writelines(f"{line}\n" for line in lines)
            done += sampled
            progress(done)
    return samples


def _learn_truecasing(samples: Samples, directory: Path, workers: Workers) -> dict[str, Path]:
    """One truecasing model per language, learned from its tokenised sample, which is then truecased."""
    languages = sorted({language for _, language in samples})
    models = {language: truecaser_path(directory, language) for language in languages}
    learning = [
        ([p for (_, of), p in samples.items() if of == language], models[language]) for language in languages
    ]
    for _ in workers.run(_train_truecaser, learning):
        pass
    applying = [(path, language, models[language]) for (_, language), path in samples.items()]
    for _ in workers.run(_truecase_file, applying):
        pass
    return models


def _lines(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def _train(job: tuple[list[Path], VocabConfig]) -> bytes:
    paths, config = job
    lines = chain.from_iterable(map(_lines, paths))
    return train_model(shuffled(lines) if config.kind == "unigram" else lines, config)


def shuffled(lines: Iterable[str]) -> Iterator[str]:
    """The words of all lines in a random but fixed order, put into lines again."""
    # SentencePiece needs time quadratic in the number of repeated passages to find its first pieces, and
    # there are many: upsampled facets repeat lines, the two directions of a language pair repeat whole files.
    # Pieces never cross a space, so it learns nothing from the order of words.
    numbers: dict[str, int] = {}
    tokens = array("i")
    for line in lines:
        tokens.extend(numbers.setdefault(word, len(numbers)) for word in line.split(" "))
    words, text = list(numbers), np.asarray(tokens)
    key = stream_key("vocabulary", "shuffle")
    for start in range(0, len(text), BLOCK):
        order = permuted(np.arange(start, min(start + BLOCK, len(text))), len(text), key)
        yield from _filled(words[number] for number in text[order].tolist())


def _filled(words: Iterable[str]) -> Iterator[str]:
    """Lines of about LINE characters, or of one longer word."""
    line: list[str] = []
    size = 0
    for word in words:
        line.append(word)
        size += len(word) + 1
        if size >= LINE:
            yield " ".join(line)
            line, size = [], 0
    if line:
        yield " ".join(line)


def _train_truecaser(job: tuple[list[Path], Path]) -> None:
    train_truecaser(chain.from_iterable(map(_lines, job[0])), job[1])


def _truecase_file(job: tuple[Path, str, Path]) -> None:
    path, language, model = job
    cleaner = Cleaner(True, {language: model})
    cased = path.with_suffix(".cased")
    with open(cased, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{cleaner.truecase(line, language)}\n" for line in _lines(path))
    move_whole(cased, path)
