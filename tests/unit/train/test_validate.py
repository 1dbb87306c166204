from types import SimpleNamespace

from facetmt.data.config import CleanConfig, DataConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.model import transformer
from facetmt.model.config import ModelConfig
from facetmt.recipe import Recipe
from facetmt.train.place import Placement
from facetmt.train.session import vocabulary_sizes
from facetmt.train.validate import Validator
from facetmt.translate.config import EvaluateConfig

SMALL = ModelConfig(width=8, mlp=8, heads=1, encoder_layers=1, decoder_layers=1)


def validator(prepared, evaluate):
    data = DataConfig(root="corpus", source="de", target="en")
    model = transformer.create(SMALL, *vocabulary_sizes(prepared.vocabulary), seed=1)
    placement = Placement()
    recipe = Recipe(data, evaluate=evaluate, model=SMALL)
    session = SimpleNamespace(
        prepared=prepared,
        recipe=recipe,
        graph=model.graph,
        placement=placement,
        share=placement.training_share(recipe.batch.rows),
    )
    return Validator(session), model.params


def test_dev_output_is_scored_against_the_same_kind_of_references_as_test_output(
    tmp_path, corpus, monkeypatch
):
    for name in ("it", "law"):
        path = tmp_path / "corpus" / name / "dev.en"
        path.write_text(path.read_text("utf-8").replace("the ", "« the » "), encoding="utf-8")
    clean, vocab = CleanConfig(moses=True), VocabConfig(size=120, exact=False)
    config = DataConfig(
        root="corpus", source="de", target="en", facets=("it", "law"), clean=clean, vocab=vocab, dev_pairs=5
    )
    prepared = prepare(config, tmp_path, tmp_path / "prepared", workers=1)
    cleaner = prepared.cleaner

    def perfect(params, lines, facet, **others):
        _, references = prepared.dev_text(facet)
        return [cleaner.backward(cleaner.forward(line, "en"), "en") for line in references]

    for preprocessed, exact in ((True, True), (False, False)):
        validate, params = validator(prepared, EvaluateConfig(preprocessed_references=preprocessed))
        monkeypatch.setattr(validate._translator, "translate", perfect)
        _, bleu = validate(params, lambda: None)
        assert (bleu["average"] > 99.9) == exact
