import pytest
import sacrebleu

from facetmt.translate.evaluate import collect, corpus_scores

HYPOTHESES = ["the cat sat on the mat today", "a dog barked at the moon"]
REFERENCES = ["the cat sat on a mat today", "a dog barked at the full moon"]


def test_scores_are_sacrebleus_own():
    values, signatures = corpus_scores(HYPOTHESES, REFERENCES, "en")
    assert values["bleu"] == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score, abs=1e-4)
    assert values["chrf"] == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score, abs=1e-4)
    assert "tok:13a" in signatures["bleu"] and "version:" in signatures["bleu"]


def test_chinese_is_scored_by_its_own_tokeniser():
    assert "tok:zh" in corpus_scores(["你好"], ["你好"], "zh")[1]["bleu"]


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
