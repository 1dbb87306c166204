import pytest
import sacrebleu

from facetmt.errors import UserError
from facetmt.translate import evaluate
from facetmt.translate.evaluate import bleu_metric, collect, corpus_scores, tokeniser_of

HYPOTHESES = ["the cat sat on the mat today", "a dog barked at the moon"]
REFERENCES = ["the cat sat on a mat today", "a dog barked at the full moon"]


def test_scores_are_sacrebleus_own():
    values, signatures = corpus_scores(HYPOTHESES, REFERENCES, "en")
    assert values["bleu"] == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score, abs=1e-4)
    assert values["chrf"] == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score, abs=1e-4)
    assert "tok:13a" in signatures["bleu"] and "version:" in signatures["bleu"]


@pytest.mark.parametrize(
    ("language", "tokeniser"),
    [
        ("de", "13a"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zho_Hans", "zh"),
        ("ja", "ja-mecab"),
        ("ko", "ko-mecab"),
        ("th", "char"),
        ("my", "char"),
        ("km", "char"),
        ("zu", "13a"),
    ],
)
def test_each_language_has_its_tokeniser(language, tokeniser):
    assert tokeniser_of(language) == tokeniser


@pytest.mark.parametrize(("language", "tokeniser"), [("zh", "zh"), ("th", "char"), ("en", "13a")])
def test_the_signature_names_the_tokeniser(language, tokeniser):
    assert f"tok:{tokeniser}|" in corpus_scores(["你好"], ["你好"], language)[1]["bleu"]


def test_another_tokeniser_can_be_chosen_and_shows_in_the_signature():
    chosen = {"ja": "char", "zh": "13a"}
    assert tokeniser_of("ja", chosen) == "char" and tokeniser_of("zh-TW", chosen) == "13a"
    assert "tok:char|" in corpus_scores(["あい"], ["あい"], "ja", chosen)[1]["bleu"]


@pytest.mark.parametrize(("language", "package"), [("ja", "sacrebleu[ja]"), ("ko", "sacrebleu[ko]")])
def test_a_tokeniser_that_is_not_installed_is_one_sentence(language, package, monkeypatch):
    def missing(**settings):
        raise RuntimeError("install me")

    missing.TOKENIZERS = sacrebleu.metrics.BLEU.TOKENIZERS
    monkeypatch.setattr(evaluate, "BLEU", missing)
    with pytest.raises(UserError) as caught:
        bleu_metric(language)
    assert f"pip install '{package}'" in str(caught.value)
    assert f"--set evaluate.tokenisers.{language}=char" in str(caught.value)


def test_average_and_groups_count_each_facet_alike():
    facets = {
        name: {"bleu": bleu, "chrf": 2 * bleu} for name, bleu in (("a", 10.0), ("b", 20.0), ("c", 60.0))
    }
    signatures = {name: {"bleu": "s", "chrf": "t"} for name in facets}
    scores = collect(facets, signatures, {"low": ["a", "b"], "absent": ["x"]})
    assert scores["average"] == {"bleu": 30.0, "chrf": 60.0}
    assert scores["groups"] == {"low": {"bleu": 15.0, "chrf": 30.0}}
    assert scores["signature"] == {"bleu": "s", "chrf": "t"}
    assert "signature_of" not in scores
    signatures["c"] = {"bleu": "zh", "chrf": "t"}
    assert collect(facets, signatures, {})["signature_of"] == {"c": {"bleu": "zh", "chrf": "t"}}


def test_what_counts_has_an_average_of_its_own():
    facets = {
        name: {"bleu": bleu, "chrf": bleu} for name, bleu in (("law", 10.0), ("it", 40.0), ("koran", 90.0))
    }
    signatures = {name: {"bleu": "s", "chrf": "s"} for name in facets}
    scores = collect(facets, signatures, {}, {"law": 1.0, "it": 2.0, "koran": 0.0})
    assert scores["groups"] == {"objective": {"bleu": 30.0, "chrf": 30.0}}
    assert collect(facets, signatures, {})["groups"] == {}
