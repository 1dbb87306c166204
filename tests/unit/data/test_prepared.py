"""A prepared folder is opened as it was written, or refused."""

import json
import shutil

import pytest

from facetmt.data.config import DataConfig, VocabConfig
from facetmt.data.prepare import prepare
from facetmt.data.prepared import facet_report, open_prepared, read_text
from facetmt.errors import UserError

VOCAB = VocabConfig("bpe", 120, coverage=1.0)
CONFIG = DataConfig(root="corpus", source="de", target="en", dev_pairs=7, max_length=40, vocab=VOCAB)


@pytest.fixture
def out(corpus, tmp_path):
    """A prepared folder of the facets it and law."""
    prepare(CONFIG, tmp_path, tmp_path / "out", workers=1)
    return tmp_path / "out"


def test_every_damaged_store_is_named_and_a_whole_corpus_is_measured(out):
    prepared = open_prepared(out)
    stores = [*out.glob("facets/*/train"), *out.glob("facets/*/dev")]
    assert 0 < prepared.verify() <= sum(path.stat().st_size for store in stores for path in store.iterdir())
    victims = [out / "facets" / "it" / "train" / "ids.bin", out / "facets" / "law" / "dev" / "ids.bin"]
    for victim in victims:
        data = bytearray(victim.read_bytes())
        data[0] ^= 1
        victim.write_bytes(data)
    with pytest.raises(UserError) as refused:
        open_prepared(out).verify()
    assert all(str(victim.parent) in str(refused.value) for victim in victims)


def test_a_facet_from_another_time_is_noticed(out, corpus, tmp_path):
    shutil.copytree(out / "facets" / "law", tmp_path / "old")
    corpus("law", "train", 25, 5)
    prepare(CONFIG, tmp_path, out, workers=1)
    shutil.rmtree(out / "facets" / "law")
    shutil.copytree(tmp_path / "old", out / "facets" / "law")
    with pytest.raises(UserError, match=r"half prepared \(facet law\)"):
        open_prepared(out)


def test_a_hostile_manifest_leads_nowhere(out):
    path = out / "prepared.json"
    manifest = json.loads(path.read_text("utf-8"))
    for change in (
        {"facets": {"../../elsewhere": "0"}},
        {"facets": ["it"]},
        {"facets": None},
        {"dev_pairs": "many"},
        {"dev_pairs": [1]},
    ):
        path.write_text(json.dumps({**manifest, **change}), "utf-8")
        with pytest.raises(
            UserError, match=r"prepared\.json: damaged|there is no facet (\.\./\.\./elsewhere|i);"
        ):
            open_prepared(out)


def test_the_report_of_a_facet_must_be_there(out):
    assert facet_report(out, "law")["train"]["kept"] == 20
    (out / "facets" / "law" / "facet.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match=r"facet\.json: missing or damaged; prepare again"):
        open_prepared(out)


def test_text_is_split_at_newlines_alone_and_may_be_missing(tmp_path):
    (tmp_path / "test.source").write_bytes("eins\u2028zwei\r\n\ndrei\n".encode())
    assert read_text(tmp_path, "test") == (["eins\u2028zwei\r", "", "drei"], [])
