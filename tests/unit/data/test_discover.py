import pytest

from facetmt.data.chunks import read_chunks
from facetmt.data.clean import plain_pairs
from facetmt.data.config import DataConfig, FacetConfig
from facetmt.data.corpus import decode_chunk
from facetmt.data.discover import discover
from facetmt.errors import UserError


def names(config, base):
    return [(f.name, f.source_language, f.target_language) for f in discover(config, base)]


def read_pairs(facet, split="train", errors="strict"):
    files = facet.files[split]
    for chunk in read_chunks(files):
        yield from plain_pairs(decode_chunk(chunk, files, errors)).pairs


def first(facet, split="train"):
    pair = next(read_pairs(facet, split))
    return pair.source, pair.target


def test_facets_are_selected_ordered_limited_and_written_out(pairs_folder):
    pairs_folder("it", ["de", "en"])
    pairs_folder("law", ["de", "en"])
    base = pairs_folder("med", ["de", "en"])
    chosen = DataConfig(root=".", source="de", target="en", facets=("med", "it"), limit=2)
    assert [name for name, *_ in names(chosen, base)] == ["med", "it"]
    assert [facet.files["train"].limit for facet in discover(chosen, base)] == [2, 2]
    entries = {
        "it": FacetConfig(limit=1),
        "mine": FacetConfig(train=("law/train.de", "law/train.en"), dev=("law/dev.de", "law/dev.en")),
    }
    config = DataConfig(root=".", source="de", target="en", facets=entries, limit=2)
    it, mine = discover(config, base)
    assert [facet.files["train"].limit for facet in (it, mine)] == [1, 2]
    assert first(mine) == ("law train de 0", "law train en 0") and it.files["dev"].limit is None
    with pytest.raises(UserError, match=r"no facet lwa; the nearest of 3 is law"):
        discover(DataConfig(root=".", source="de", target="en", facets=("lwa",)), base)
    with pytest.raises(UserError, match="mine names its files"):
        discover(DataConfig(root=".", source="de", target="en", facets=entries, keep="keep"), base)
    lost = {"x": FacetConfig(train=("x.de", "x.en"))}
    with pytest.raises(UserError, match=r"x\.de: does not exist, but facet x names it; check"):
        discover(DataConfig(root=".", source="de", target="en", facets=lost), base)


def test_what_is_missing_is_said(pairs_folder, tmp_path):
    base = pairs_folder("it", ["de", "en"], splits=("train",))
    config = DataConfig(root=".", source="de", target="en")
    with pytest.raises(UserError, match="facet it has no dev text"):
        discover(config, base)
    (base / "it" / "dev.de").write_text("x\n")
    with pytest.raises(UserError, match=r"it: no dev\.en"):
        discover(config, base)
    with pytest.raises(UserError, match="does not exist; check"):
        discover(DataConfig(root="nowhere", source="de", target="en"), base)
    (base / "empty").mkdir()
    with pytest.raises(UserError, match="no facet found"):
        discover(DataConfig(root="empty", source="de", target="en"), base)
    with pytest.raises(UserError, match="languages' file extensions"):
        discover(DataConfig(root="."), base)
    (base / "it" / "train.de.gz").write_bytes(b"")
    with pytest.raises(UserError, match=r"train\.de: train\.de\.gz is there too; remove"):
        discover(config, base)
