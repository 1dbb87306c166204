"""What happens to text before subwords and, undone, after them: odd characters, and the Moses pipeline."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:  # half a second to import, and only the Moses pipeline needs it
    from sacremoses import MosesDetokenizer, MosesDetruecaser, MosesTruecaser

MOSES_LIMIT = 4_096  # characters; some of its regular expressions are quadratic beyond reason above that
SENTENCE_ENDS = (". ", "! ", "? ", "… ", "。", "！", "？")

# NUL and the other control characters, tab and lone CR among them, and the Unicode line ends
_TO_SPACE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# BOM, zero-width space, word joiner, soft hyphen, bidi marks; not ZWNJ and ZWJ, which spell words and emoji
_TO_NOTHING = re.compile(r"[\ufeff\u200b\u2060\u00ad\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True)
class CleanConfig:
    """The recipe's `data.clean`: what is done to the text, and which pairs are dropped for their length."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    moses: bool = False  # normalise punctuation, tokenise and truecase; undone in the output
    max_words: int | None = None  # drop pairs with more words (tokens, with Moses) on either side
    max_ratio: float | None = (
        None  # drop pairs in which one side has more than so many times the other's words
    )

    def __post_init__(self) -> None:
        if self.max_words is not None and self.max_words < 1:
            raise ValueError("clean.max_words must be at least 1, or left out")
        if self.max_ratio is not None and self.max_ratio < 1:
            raise ValueError("clean.max_ratio must be at least 1, or left out")

    def verdict(self, source: str, target: str) -> str | None:
        """Why the pair is dropped ("words" or "ratio"), or None."""
        if self.max_words is None and self.max_ratio is None:
            return None
        short, long = sorted((len(source.split()), len(target.split())))
        if self.max_words is not None and long > self.max_words:
            return "words"
        return "ratio" if self.max_ratio is not None and long > self.max_ratio * short else None


def plain(text: str) -> str:
    """The text without odd characters (docs/data.md has the table) and without space around it."""
    if text.isprintable():
        return text.strip()
    return _TO_SPACE.sub(" ", _TO_NOTHING.sub("", text)).strip()


def portions(text: str, limit: int = MOSES_LIMIT) -> list[str]:
    """The text in parts of at most `limit` characters: cut at sentence ends, else at spaces, else anywhere."""
    parts, start = [], 0
    while len(text) - start > limit:
        window = text[start : start + limit]
        end = 1 + max(map(window.rfind, SENTENCE_ENDS)) or 1 + window.rfind(" ") or limit
        parts.append(window[:end])
        start += end
    return [*parts, text[start:]]


class Cleaner:
    """Text to what subwords are learned on, and back, by language."""

    def __init__(self, moses: bool, truecasers: Mapping[str, Path] | None = None) -> None:
        self.moses = moses
        self.truecasers = dict(truecasers or {})
        self._languages: dict[str, _Moses] = {}

    def forward(self, text: str, language: str) -> str:
        """Plain text, with Moses also normalised, tokenised and truecased."""
        tokens = self.tokenise(text, language)
        return self.truecase(tokens, language) if self.moses else tokens

    def tokenise(self, text: str, language: str) -> str:
        """`forward` without truecasing: what a truecaser is trained on."""
        text = plain(text)
        return self._of(language).tokenise(text) if self.moses else text

    def truecase(self, tokens: str, language: str) -> str:
        """The usual case at the start of a sentence, and for words never seen as they are spelt."""
        return self._of(language).truecase(tokens)

    def backward(self, text: str, language: str) -> str:
        """The inverse, for output: detruecased and detokenised."""
        return self._of(language).backward(text) if self.moses else text

    def _of(self, language: str) -> "_Moses":
        if language not in self._languages:
            self._languages[language] = _Moses(language, self.truecasers.get(language))
        return self._languages[language]


class _Moses:
    """The Moses steps of one language."""

    def __init__(self, language: str, truecaser: Path | None) -> None:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer

        self._language = language
        self._truecaser = truecaser
        self._normaliser = MosesPunctNormalizer(lang=language)
        self._tokeniser = MosesTokenizer(lang=language)

    @cached_property
    def _model(self) -> "MosesTruecaser | None":
        from sacremoses import MosesTruecaser

        return None if self._truecaser is None else MosesTruecaser(str(self._truecaser))

    @cached_property
    def _inverse(self) -> "tuple[MosesDetruecaser, MosesDetokenizer]":
        from sacremoses import MosesDetokenizer, MosesDetruecaser

        return MosesDetruecaser(), MosesDetokenizer(lang=self._language)

    def tokenise(self, text: str) -> str:
        # XML escapes would cost subwords for nothing: no Moses decoder reads this text
        return str(self._tokeniser.tokenize(self._normaliser.normalize(text), return_str=True, escape=False))

    def truecase(self, tokens: str) -> str:
        # use_known is what Moses does: a word that was seen as it is spelt is left alone inside a sentence
        return str(self._model.truecase(tokens, return_str=True, use_known=True)) if self._model else tokens

    def backward(self, text: str) -> str:
        detruecaser, detokeniser = self._inverse
        tokens = text.split() if self._truecaser is None else detruecaser.detruecase(text)
        return str(detokeniser.detokenize(tokens, return_str=True, unescape=False))


def train_truecaser(lines: Iterable[str], path: Path) -> None:
    """Learn the usual case of each word from tokenised lines and save it in the Moses text format."""
    from sacremoses import MosesTruecaser

    MosesTruecaser().train((line.split() for line in lines), save_to=str(path))
