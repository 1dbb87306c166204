"""From ids to ids through an engine, here one that returns what it is told to."""

from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.data.batch import EOS, PAD
from facetmt.errors import UserError
from facetmt.export.engine import EngineSearch, compare
from facetmt.translate.config import DecodeConfig

SYMBOLS = ["<pad>", "<unk>", "<s>", "</s>", "a", "b", "c"]
VOCABULARY = SimpleNamespace(pieces=lambda side: SYMBOLS, forbidden=np.array([0, 1, 2]))


class Engine:
    """Answers every sentence with the same hypotheses and scores, and remembers how it was called."""

    def __init__(self, *hypotheses):
        self.hypotheses = [(text.split(), score) for text, score in hypotheses]
        self.calls = []

    def translate_batch(self, symbols, **options):
        self.calls.append((symbols, options))
        alpha = options["length_penalty"]
        answer = SimpleNamespace(
            hypotheses=[words for words, _ in self.hypotheses],
            scores=[total / len(words) ** alpha for words, total in self.hypotheses],
        )
        return [answer] * len(symbols)


def test_hypotheses_are_ranked_by_our_penalty_and_not_by_the_engines():
    # at length^0.6 the longer one wins (-2.79 against -2.86), at ((5 + length)/6)^0.6 the shorter
    engine = Engine(("a b c a b c a b </s>", -10.4), ("a b c </s>", -6.57))
    (found,) = EngineSearch(engine, VOCABULARY, DecodeConfig(beam=2, max_source=9))([[4, 5, EOS]], 2)
    assert found.ids[0].tolist() == [4, 5, 6, EOS, PAD, PAD, PAD, PAD, PAD]
    np.testing.assert_allclose(found.score, [-6.57 / 1.5**0.6, -10.4 / (14 / 6) ** 0.6], rtol=1e-5)


def test_sentences_keep_their_numbers_and_each_its_own_limit():
    engine = Engine(("a </s>", -1.0))
    search = EngineSearch(engine, VOCABULARY, DecodeConfig(max_ratio=2.0, max_source=9))
    found = list(search([[4, EOS], [4, 5, 6, EOS], [5, EOS]], 1))
    assert sorted(one.sentence for one in found) == [0, 1, 2]
    assert all(one.ids.shape == (1, 2) for one in found)
    limits = {options["max_decoding_length"]: symbols for symbols, options in engine.calls}
    assert limits == {11: [["a"], ["b"]], 15: [["a", "b", "c"]]}
    assert all(
        options["suppress_sequences"] == [["<pad>"], ["<unk>"], ["<s>"]] for _, options in engine.calls
    )


def test_an_output_that_was_cut_ends_with_eos_and_missing_ones_have_no_score():
    search = EngineSearch(Engine(("a b", -2.0)), VOCABULARY, DecodeConfig(beam=2, max_source=9))
    (found,) = search([[4, EOS]], 2)
    assert found.ids[0].tolist() == [4, 5, EOS] and found.score[1] == -np.inf


def test_a_check_comes_before_each_batch():
    engine, checks = Engine(("a </s>", -1.0)), []
    search = EngineSearch(engine, VOCABULARY, DecodeConfig(batch=2, max_source=9))
    assert len(list(search([[4, EOS]] * 5, 1, lambda: checks.append(len(engine.calls))))) == 5
    assert checks == [0, 1, 2] and [len(symbols) for symbols, _ in engine.calls] == [2, 2, 1]


@pytest.mark.parametrize(
    ("found", "refused"), [([-1.0, -2.001], False), ([-1.0, -2.1], True), ([-1.0], True)]
)
def test_an_engine_must_compute_what_our_model_computed(tmp_path, found, refused):
    engine = SimpleNamespace(score_batch=lambda source, target: [SimpleNamespace(log_probs=found)])
    probe = [{"source": [4, EOS], "target": [5, EOS], "log_probability": [-1.0, -2.0]}]
    about = {"probe": probe, "quantization": "float32", "engine": "4.8.4"}
    if refused:
        with pytest.raises(UserError, match=r"does not compute .* install CTranslate2 4\.8\.4"):
            compare(engine, VOCABULARY, about, tmp_path, "9.0")
    else:
        compare(engine, VOCABULARY, about, tmp_path, "9.0")
