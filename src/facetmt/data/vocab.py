"""Subwords: SentencePiece models behind one id space with reserved tags that no text can spell."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from facetmt.data.batch import BOS, EOS, PAD, UNK
from facetmt.data.config import SPECIAL_IDS, VocabConfig
from facetmt.data.lines import MAX_LINE
from facetmt.errors import UserError
from facetmt.files import write_whole

PIECES = ("<pad>", "<unk>", "<s>", "</s>")
# Their names in the model files: training skips a piece's name in the text, and "</s>" does occur in text.
HIDDEN = ("⟦pad⟧", "⟦unk⟧", "⟦s⟧", "⟦/s⟧")
# Fixed: the sums of unigram training depend on it, and the same text must always give the same pieces.
THREADS = 4

Side = Literal["source", "target"]
Int = NDArray[np.int64]


class Vocabulary:
    """ids of a side: PAD UNK BOS EOS, the tags, the pieces of its SentencePiece model."""

    def __init__(self, models: Sequence[bytes], tags: Sequence[str]) -> None:
        self.models = list(models)  # one for both sides, or source and target
        self.tags = list(tags)
        self._processors = [sentencepiece.SentencePieceProcessor(model_proto=model) for model in models]
        self._ids = {tag: SPECIAL_IDS + index for index, tag in enumerate(tags)}

    @property
    def joint(self) -> bool:
        """Whether an id means the same on both sides, so that embeddings may be shared."""
        return len(self.models) == 1

    @property
    def source_size(self) -> int:
        """Ids of the source side."""
        return len(self.tags) + len(self._processor("source"))

    @property
    def target_size(self) -> int:
        """Ids of the target side."""
        return len(self.tags) + len(self._processor("target"))

    @property
    def fingerprint(self) -> str:
        """sha256 over the models and the tags."""
        digest = hashlib.sha256("\n".join(self.tags).encode())
        for model in self.models:
            digest.update(hashlib.sha256(model).digest())
        return digest.hexdigest()

    def tag(self, name: str) -> int:
        """Id of a reserved symbol such as <2en>."""
        if name not in self._ids:
            raise UserError(f"the vocabulary has no tag {name}; it has {', '.join(self.tags) or 'none'}")
        return self._ids[name]

    @property
    def forbidden(self) -> Int:
        """Target ids that a decoder must never emit: PAD, UNK, BOS and the tags."""
        return np.array([PAD, UNK, BOS, *self._ids.values()])

    def encode(self, lines: Sequence[str], side: Side = "source") -> list[list[int]]:
        """Ids of each line, without EOS."""
        return as_lists(*self.encode_flat(lines, side))

    def encode_flat(self, lines: Sequence[str], side: Side = "source") -> tuple[Int, Int]:
        """Ids of all lines back to back, and the length of each."""
        encoded = self._processor(side).encode(list(lines), out_type=int, num_threads=1)
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        ids = np.fromiter(chain.from_iterable(encoded), np.int64, int(lengths.sum()))
        ids[ids >= SPECIAL_IDS] += len(self.tags)
        return ids, lengths

    def decode(self, ids: Iterable[Sequence[int]], side: Side = "target") -> list[str]:
        """Text of each sequence up to its first EOS; special symbols and tags vanish."""
        processor, first = self._processor(side), SPECIAL_IDS + len(self.tags)
        texts = []
        for sequence in ids:
            line = [int(index) for index in sequence]
            line = line[: line.index(EOS)] if EOS in line else line
            texts.append(processor.decode([index - len(self.tags) for index in line if index >= first]))
        return texts

    def pieces(self, side: Side = "target") -> list[str]:
        """The symbol of every id of a side, to show and to export."""
        processor = self._processor(side)
        return [
            *PIECES,
            *self.tags,
            *(processor.id_to_piece(index) for index in range(SPECIAL_IDS, len(processor))),
        ]

    def _processor(self, side: Side) -> Any:
        return self._processors[-1 if side == "target" else 0]


def as_lists(ids: Int, lengths: Int) -> list[list[int]]:
    """The ids of each line, from those of all lines back to back."""
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])] if len(lengths) else []


MODELS = {1: ("spm.model",), 2: ("source.model", "target.model")}


def save_vocabulary(vocabulary: Vocabulary, directory: Path) -> None:
    """Models and vocabulary.json, which holds tags and fingerprint."""
    names = MODELS[len(vocabulary.models)]
    for name, model in zip(names, vocabulary.models, strict=True):
        write_whole(directory / name, model)
    about = {"models": names, "tags": vocabulary.tags, "fingerprint": vocabulary.fingerprint}
    write_whole(directory / "vocabulary.json", json.dumps(about, indent=1, ensure_ascii=False))


def load_vocabulary(directory: Path) -> Vocabulary:
    """The vocabulary saved in a directory; refuses files that changed since they were saved."""
    try:
        about = json.loads((directory / "vocabulary.json").read_text("utf-8"))
        models = [(directory / name).read_bytes() for name in MODELS[len(about["models"])]]
        vocabulary = Vocabulary(models, about["tags"])
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: no vocabulary; run prepare first") from None
    except (ValueError, KeyError, TypeError, RuntimeError):
        raise UserError(f"{directory}: the vocabulary is damaged; delete it and prepare again") from None
    if vocabulary.fingerprint != about["fingerprint"]:
        raise UserError(
            f"{directory}: the vocabulary is not the one that was prepared; put it back or prepare again"
        )
    return vocabulary


def train_model(lines: Iterable[str], config: VocabConfig) -> bytes:
    """A SentencePiece model learned from all the lines; deterministic."""
    found: list[bytes] = []

    class Writer:
        def write(self, model: bytes) -> None:
            found.append(model)

    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=Writer(),
            model_type=config.kind,
            vocab_size=config.size,
            hard_vocab_limit=config.exact,
            character_coverage=config.coverage,
            byte_fallback=config.byte_fallback,
            # nmt_nfkc would also turn ZWNJ into a space; clean.plain has done the rest of what it does
            normalization_rule_name="nfkc",
            max_sentence_length=2 * MAX_LINE,
            num_threads=THREADS,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            pad_piece=HIDDEN[PAD],
            unk_piece=HIDDEN[UNK],
            bos_piece=HIDDEN[BOS],
            eos_piece=HIDDEN[EOS],
            minloglevel=2,
        )
    except RuntimeError as error:
        raise UserError(_explain(str(error), config)) from None
    return found[0]


def _explain(message: str, config: VocabConfig) -> str:
    """SentencePiece's complaint as one sentence that says what to do."""
    if match := re.search(r"value <= (\d+)", message):
        return f"data.vocab.size is {config.size}, but the text supports {match[1]} pieces at most; lower it"
    if match := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"data.vocab.size is {config.size}, but the characters alone need {match[1]};"
            " raise it or lower data.vocab.coverage"
        )
    if "sentences_.empty()" in message:
        return (
            "there is no text to learn a vocabulary from: all training lines are blank or too long; add text"
        )
    return f"SentencePiece could not learn a vocabulary ({message}); change data.vocab"
