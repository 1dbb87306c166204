"""Clauses: one structure, rendered in German and in English word order."""

import re
from dataclasses import dataclass, replace

from facetmt.demo.grammar.nominal import NOTHING, Nominal, Phrase, prepositional
from facetmt.demo.grammar.verb import (
    PRESENT,
    Mode,
    Verb,
    bracket,
    deny,
    english_bracket,
    imperative,
    reflexive,
    zu_infinitive,
)

BEREITS = Phrase("bereits", "already")
BEVOR = Phrase("bevor", "before")
DASS = Phrase("dass", "that")
OB = Phrase("ob", "whether")
UM = Phrase("um", "to")
WEIL = Phrase("weil", "because")
WENN = Phrase("wenn", "if")
_SPOKEN = re.compile(
    r"\b(I am|(?:you|we|they) are|(?:he|she|it|that) is"
    r"|(?:I|you|he|she|we|they) (?:will|would(?= like)))(?= )"
)
_SHORT = {"am": "'m", "are": "'re", "is": "'s", "will": "'ll", "would": "'d"}


@dataclass(frozen=True)
class Clause:
    """Who does what to whom; `adverb` may be fronted, `place` and `predicate` follow the negation."""

    subject: Nominal
    verb: Verb
    mode: Mode = PRESENT
    accusative: Nominal | None = None
    dative: Nominal | None = None
    adverb: Phrase = NOTHING
    mid: Phrase = NOTHING  # an adverb that English puts before the main verb: always, already
    place: Phrase = NOTHING
    predicate: Phrase = NOTHING
    negated: bool = False
    casual: bool = False  # don't, I'm

    def main(self, front: Phrase = NOTHING) -> Phrase:
        """The German verb in second position, after the subject or a fronted phrase."""
        finite, end = self._bracket()
        opening = [front.de, finite, self._subject] if front.de else [self._subject, finite]
        english = self._english()
        return Phrase(
            self._german([*opening, *self._middle(), *end]), f"{front.en}, {english}" if front.en else english
        )

    def fronted(self) -> Phrase:
        """The main clause with its own adverb first."""
        return replace(self, adverb=NOTHING).main(self.adverb)

    def inverted(self) -> Phrase:
        """The main clause after a dependent one: the German verb comes first, English is unchanged."""
        return Phrase(self.question().de, self._english())

    def question(self, asking: Phrase = NOTHING) -> Phrase:
        """The verb first, or second after a question word; English puts an auxiliary before the subject."""
        finite, end = self._bracket()
        german = self._german([asking.de, finite, self._subject, *self._middle(), *end])
        return Phrase(german, self._english(asking=asking.en))

    def after(self, opening: Phrase) -> Phrase:
        """The German verb at the end, after a conjunction or a relative pronoun."""
        finite, (end, prefix) = self._bracket()
        german = self._german([opening.de, self._subject, *self._middle(), end, prefix + finite])
        return Phrase(german, _join([opening.en, self._english()]))

    def imperative(self) -> Phrase:
        """A request; German expresses the subject only if it is formal (Nehmen Sie)."""
        finite, (_, prefix) = self._bracket()
        formal = self.subject.german("nom") == "Sie"
        opening = [finite, "Sie"] if formal else [finite if self.subject.plural else imperative(self.verb)]
        english = [deny("do", self.casual) if self.negated else "", self.infinitive(NOTHING).en]
        return Phrase(self._german([*opening, *self._middle(), prefix]), _join(english))

    def infinitive(self, opening: Phrase = UM) -> Phrase:
        """An infinitive clause: um ... zu öffnen, to open ..."""
        _, main = english_bracket(self.verb.en, Mode("", "to"), 3, True, False)
        english = _join([opening.en, self.mid.en, main, *self._complements()])
        return Phrase(self._german([opening.de, *self._middle(), zu_infinitive(self.verb)]), english)

    @property
    def _subject(self) -> str:
        return self.subject.german("nom") + self.subject.after.de

    def _bracket(self) -> tuple[str, tuple[str, str]]:
        """The finite verb, and what closes the bracket: infinitive or participle, separated prefix."""
        finite, prefix, end = bracket(self.verb, self.mode, self.subject.person, self.subject.plural)
        return finite, (end, prefix)

    def _german(self, words: list[str]) -> str:
        """The words, followed by the object's relative clause."""
        return _join(words) + (self.accusative.after.de if self.accusative else "")

    @property
    def _governed(self) -> Phrase:
        """The object with the preposition that the verb governs."""
        if self.accusative is None or self.verb.government is None:
            return NOTHING
        preposition, case, translation = self.verb.government
        return prepositional(preposition, case, self.accusative, translation)

    @property
    def _direct(self) -> Nominal | None:
        return None if self.verb.government else self.accusative

    def _middle(self) -> list[str]:
        """The German middle field: pronouns, known things, adverbs, new things, negation, the rest."""
        direct, dative = self._direct, self.dative.german("dat") if self.dative else ""
        thing = direct.german("acc") if direct else ""
        words = [reflexive(self.subject.person, self.subject.plural)] if self.verb.reflexive else []
        adverbs = [self.adverb.de, self.mid.de]
        if direct and direct.pronoun:
            words += [thing, dative, *adverbs]
        elif direct and direct.definite and not dative:
            words += [thing, *adverbs]
        else:
            words += [dative, *adverbs, thing]
        denial = "nicht" if self.negated and not (direct and direct.kein) else ""
        return [*words, denial, self._governed.de, self.place.de, self.predicate.de]

    def _complements(self) -> list[str]:
        """What follows the verb in English, the adverb last."""
        direct, particle = self._direct, "" if self.mode.passive else self.verb.en.particle
        thing = direct.en[1] + direct.after.en if direct else ""
        words = [thing, particle] if direct and direct.pronoun else [particle, thing]
        if self.dative:
            # give him the key, but give it to him
            link = self.verb.dative or ("to" if direct and direct.pronoun else "")
            words = [*words, link, self.dative.en[1]] if link else [self.dative.en[1], *words]
        if self.accusative and self.verb.government:
            words.append(self._governed.en + self.accusative.after.en)
        return [*words, self.predicate.en, self.place.en, self.adverb.en]

    def _english(self, asking: str | None = None) -> str:
        """A statement, or a question when `asking` is given (empty for yes or no)."""
        person, plural = self.subject.person, self.subject.plural
        support = self.negated or asking is not None
        auxiliary, main = english_bracket(self.verb.en, self.mode, person, plural, support)
        denied = deny(auxiliary, self.casual) if self.negated else auxiliary
        subject = self.subject.en[0] + self.subject.after.en
        if asking is None:
            opening = [subject, denied]
        elif self.negated and not self.casual:
            opening = [asking, auxiliary, subject, "not"]
        else:
            opening = [asking, denied, subject]
        words = _join([*opening, self.mid.en, main, *self._complements()])
        return _SPOKEN.sub(_shorten, words) if self.casual else words


def _join(words: list[str]) -> str:
    return " ".join(word for word in words if word)


def _shorten(match: re.Match[str]) -> str:
    """Spoken English: I am -> I'm, she will -> she'll."""
    pronoun, verb = match.group(1).split()
    return pronoun + _SHORT[verb]


def relative_subject(head: Nominal, clause: Clause, pronoun: str = "that") -> Nominal:
    """The head with a clause of which it is the subject: der Patient, der Fieber hat."""
    gap = replace(head, de=("", "", "", ""), en=("", ""), after=NOTHING)
    inner = replace(clause, subject=gap).after(Phrase(head.relative("nom"), pronoun))
    return replace(head, after=Phrase(f", {inner.de},", f" {inner.en}"))


def relative_object(head: Nominal, clause: Clause) -> Nominal:
    """The head with a clause of which it is the object: die Datei, die Sie geöffnet haben."""
    inner = replace(clause, accusative=None).after(Phrase(head.relative("acc"), "that"))
    return replace(head, after=Phrase(f", {inner.de},", f" {inner.en}"))


def passive(clause: Clause, agent: bool = False) -> Clause:
    """The object as subject, the subject as agent or left out."""
    if clause.accusative is None:
        raise ValueError("a clause without an object has no passive")
    by = prepositional("von", "dat", clause.subject, "by") if agent else clause.place
    mode = clause.mode._replace(passive=True)
    return replace(clause, subject=clause.accusative, accusative=None, mode=mode, place=by)


def then(first: Phrase, second: Phrase) -> Phrase:
    """Two parts with a comma in both languages."""
    return Phrase(f"{first.de}, {second.de}", f"{first.en}, {second.en}")


def tail(first: Phrase, second: Phrase) -> Phrase:
    """A dependent clause after its main clause, with a comma in German only."""
    return Phrase(f"{first.de}, {second.de}", f"{first.en} {second.en}")


def both_clauses(first: Phrase, second: Phrase) -> Phrase:
    """Two parts joined by und, without a comma."""
    return Phrase(f"{first.de} und {second.de}".strip(), f"{first.en} and {second.en}".strip())


def sentence(words: Phrase, end: str = ".") -> Phrase:
    """Clean up commas, capitalise the first letter and add the final punctuation mark."""
    return Phrase(_finish(words.de, end), _finish(words.en, end))


def _finish(words: str, end: str) -> str:
    words = re.sub(r"\s*,(?:\s*,)*\s*", ", ", words).strip(" ,")
    return words[0].upper() + words[1:] + end
