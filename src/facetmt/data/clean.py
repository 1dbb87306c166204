"""Cleaning: what happens to text before subwords (and is undone after them), and which pairs it drops."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from facetmt.data.config import CleanConfig
from facetmt.data.corpus import TOO_LONG, Decoded, SentencePair

if TYPE_CHECKING:  # half a second to import, and only the Moses pipeline needs it
    from sacremoses import MosesDetokenizer, MosesDetruecaser, MosesTruecaser

MOSES_LIMIT = 4_096  # characters; some of its regular expressions need quadratic time
SENTENCE_ENDS = (". ", "! ", "? ", "… ", "。", "！", "？")

# NUL and the other control characters, tab and lone CR among them, and the Unicode line ends
_TO_SPACE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# BOM, zero-width space, word joiner, soft hyphen, bidi marks; not ZWNJ and ZWJ, which spell words and emoji
_TO_NOTHING = re.compile(r"[\ufeff\u200b\u2060\u00ad\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+")


def plain(text: str) -> str:
    """The text without odd characters (docs/data.md has the table) and without space around it."""
    if text.isprintable():
        return text.strip()
    return _TO_SPACE.sub(" ", _TO_NOTHING.sub("", text)).strip()


class Text(NamedTuple):
    """Pairs with text on both sides, and a count of the pairs dropped so far by reason."""

    pairs: list[SentencePair]
    source: list[str]  # of the pairs: plain, later cleaned
    target: list[str]
    dropped: Counter[str]

    def where(self, keep: Sequence[bool]) -> "Text":
        """The pairs for which `keep` holds."""
        source, target = list(compress(self.source, keep)), list(compress(self.target, keep))
        return Text(list(compress(self.pairs, keep)), source, target, self.dropped)


def plain_pairs(decoded: Decoded) -> Text:
    """The pairs with plain sides; those that are blank on a side are dropped."""
    source = [plain(pair.source) for pair in decoded.pairs]
    target = [plain(pair.target) for pair in decoded.pairs]
    text = Text(decoded.pairs, source, target, decoded.dropped)
    if not (all(source) and all(target)):
        full = [bool(left and right) for left, right in zip(source, target, strict=True)]
        text.dropped["blank"] += len(full) - sum(full)
        text = text.where(full)
    return text._replace(dropped=+text.dropped)


def portions(text: str, limit: int = MOSES_LIMIT) -> list[str]:
    """The text in parts of at most `limit` characters, cut at sentence ends, spaces, or anywhere."""
    parts, start = [], 0
    while len(text) - start > limit:
        window = text[start : start + limit]
        end = 1 + max(map(window.rfind, SENTENCE_ENDS)) or 1 + window.rfind(" ") or limit
        parts.append(window[:end])
        start += end
    return [*parts, text[start:]]


class Cleaner:
    """From text to what subwords are learned on, and back, by language."""

    def __init__(self, moses: bool, truecasers: Mapping[str, Path] | None = None) -> None:
        self.moses = moses
        self.truecasers = dict(truecasers or {})
        self._languages: dict[str, _Moses] = {}

    def forward(self, text: str, language: str) -> str:
        """Text as it stands in a file or comes from a user, cleaned."""
        return self.forward_plain(plain(text), language)

    def forward_plain(self, text: str, language: str) -> str:
        """Plain text; with Moses normalised, tokenised and, where there is a truecasing model, truecased."""
        return self.truecase(self._of(language).tokenise(text), language) if self.moses else text

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


NO_LIMITS = CleanConfig()


def clean_pairs(
    text: Text, cleaner: Cleaner, languages: tuple[str, str], limits: CleanConfig = NO_LIMITS
) -> Text:
    """Plain pairs cleaned; pairs too long for Moses and those beyond the limits are dropped."""
    if not cleaner.moses and limits.max_words is None and limits.max_ratio is None:
        return text
    keep, sides, dropped = [], [], text.dropped.copy()
    for pair in zip(text.source, text.target, strict=True):
        if cleaner.moses and max(map(len, pair)) > MOSES_LIMIT:
            reason: str | None = f"{TOO_LONG} (characters)"
        else:
            source, target = map(cleaner.forward_plain, pair, languages)
            reason = verdict(source, target, limits)
        if reason is None:
            sides.append((source, target))
        else:
            dropped[reason] += 1
        keep.append(reason is None)
    source_side, target_side = [source for source, _ in sides], [target for _, target in sides]
    return Text(list(compress(text.pairs, keep)), source_side, target_side, dropped)


def verdict(source: str, target: str, limits: CleanConfig) -> str | None:
    """Why a cleaned pair is dropped, or None."""
    if limits.max_words is None and limits.max_ratio is None:
        return None
    short, long = sorted((len(source.split()), len(target.split())))
    if limits.max_words is not None and long > limits.max_words:
        return f"{TOO_LONG} (words)"
    return "ratio" if limits.max_ratio is not None and long > limits.max_ratio * short else None
