import json
import re

import pytest

from facetmt.data.batch import EOS
from facetmt.data.clean import Cleaner, train_truecaser
from facetmt.data.codec import Codec, copy_codec, open_codec, save_codec, tag_names, truecaser_path
from facetmt.data.config import TagConfig, VocabConfig
from facetmt.data.corpus import Facet
from facetmt.data.vocab import Vocabulary, train_model
from facetmt.errors import UserError

TEXT = [
    "das haus ist gross .",
    "der baum ist klein , sagt er .",
    "the house is big .",
    "the tree is small , he says .",
]
FACETS = [Facet("it", "de", "en"), Facet("law", "en", "de")]
TAGS = TagConfig(target_language=True, facet=True)


@pytest.fixture
def codec(tmp_path):
    tags = sorted({tag for facet in FACETS for tag in tag_names(facet, TAGS)})
    vocabulary = Vocabulary([train_model(TEXT * 3, VocabConfig("bpe", 50, coverage=1.0))], tags)
    truecasers = {language: truecaser_path(tmp_path, language) for language in ("de", "en")}
    for path in truecasers.values():
        train_truecaser([f"x {line}" for line in TEXT], path)
    made = Codec(vocabulary, Cleaner(True, truecasers), FACETS, TAGS)
    save_codec(made, tmp_path)
    return made


def test_tags_come_first_and_name_language_and_facet():
    assert tag_names(FACETS[0], TAGS) == ["<2en>", "<facet:it>"]
    assert tag_names(FACETS[0], TagConfig()) == []
    assert tag_names(FACETS[1], TagConfig(target_language=True)) == ["<2de>"]


def test_source_ids_have_tags_and_end_and_target_text_comes_back(codec):
    tags = codec.vocabulary.tag("<2en>"), codec.vocabulary.tag("<facet:it>")
    source = codec.encode_source(["Das Haus ist gross.", ""], "it")
    assert all(tuple(ids[:2]) == tags and ids[-1] == EOS for ids in source)
    assert source[1] == [*tags, EOS]
    assert codec.prefix("it") == list(tags)
    target = codec.encode_target(["The house is big.", ""], "it")
    assert target[1] == [EOS]
    assert codec.decode(target, "it") == ["The house is big.", ""]


def test_a_saved_codec_is_the_same_wherever_it_is_copied(codec, tmp_path):
    copy_codec(tmp_path, tmp_path / "run" / "vocabulary")
    other = open_codec(tmp_path / "run" / "vocabulary")
    assert other.facets == FACETS and other.tags == TAGS
    lines = ["Der Baum ist klein, sagt er."]
    assert other.encode_source(lines, "it") == codec.encode_source(lines, "it")
    assert other.vocabulary.fingerprint == codec.vocabulary.fingerprint


def test_faults_are_named(codec, tmp_path):
    with pytest.raises(UserError, match="no facet news; there are it, law"):
        codec.facet("news")
    truecaser_path(tmp_path, "de").write_text("Haus (1/1)\n")
    with pytest.raises(UserError, match=r"truecase\.de\.txt: missing, or not the one"):
        open_codec(tmp_path)
    (tmp_path / "codec.json").write_text("{}")
    with pytest.raises(UserError, match=r"codec\.json: missing or damaged; prepare"):
        open_codec(tmp_path)


def test_the_facets_own_tag_or_a_forced_one(codec):
    language, it, law = (codec.vocabulary.tag(name) for name in ("<2en>", "<facet:it>", "<facet:law>"))
    line = ["Das Haus ist gross."]
    own, forced = codec.encode_source(line, "it"), codec.encode_source(line, "it", tag="law")
    assert own[0][:2] == [language, it] and forced[0][:2] == [language, law]
    assert own[0][2:] == forced[0][2:]  # the text and the language are the facet's own
    with pytest.raises(UserError, match="no facet news"):
        codec.prefix("it", tag="news")
    untagged = Codec(codec.vocabulary, codec.cleaner, FACETS, TagConfig(target_language=True))
    with pytest.raises(UserError, match="trained without facet tags"):
        untagged.prefix("it", tag="law")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"facets": [["../../x", "de", "en"]]}, "'../../x' cannot name a facet"),
        ({"facets": [[["it"], "de", "en"]]}, "cannot name a facet because it is not text"),
        ({"facets": [["it", "../de", "en"]]}, "'../de' cannot name a language"),
        ({"truecase": {"x/../../y": "0"}}, "'x/../../y' cannot name a language"),
        ({"facets": 3}, "missing or damaged"),
    ],
)
def test_names_from_a_file_cannot_lead_out_of_the_folder(codec, tmp_path, change, expected):
    about = json.loads((tmp_path / "codec.json").read_text("utf-8"))
    (tmp_path / "codec.json").write_text(json.dumps({**about, **change}), "utf-8")
    with pytest.raises(UserError, match=re.escape(expected)):
        open_codec(tmp_path)
