import pytest

from facetmt.data.chunks import read_chunks
from facetmt.data.clean import plain_pairs
from facetmt.data.config import DataConfig
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


def test_one_folder_a_facet_gzip_or_not(pairs_folder):
    pairs_folder("medical", ["de", "en"])
    base = pairs_folder("it", ["de", "en"], end=".gz")
    (base / "newstest").mkdir()
    config = DataConfig(root=".", source="en", target="de")
    assert names(config, base) == [("it", "en", "de"), ("medical", "en", "de")]
    facet = discover(config, base)[0]
    assert first(facet, "dev") == ("it dev en 0", "it dev de 0")
    assert set(facet.files) == {"train", "dev", "test"}


def test_a_folder_with_the_text_itself_is_one_facet(pairs_folder):
    base = pairs_folder("news", ["de", "en"])
    assert names(DataConfig(root="news", source="de", target="en"), base) == [("news", "de", "en")]


def test_many_languages_by_pivot_and_direction(pairs_folder):
    pairs_folder("az", ["az", "en"])
    pairs_folder("be", ["be", "en"])
    base = pairs_folder("fr", ["fr", "en"])
    many = DataConfig(root=".", pivot="en")
    assert names(many, base) == [("az", "az", "en"), ("be", "be", "en"), ("fr", "fr", "en")]
    one = DataConfig(root=".", pivot="en", direction="one-to-many", languages=("be", "fr"))
    assert names(one, base) == [("be", "en", "be"), ("fr", "en", "fr")]
    both = DataConfig(root=".", pivot="en", direction="many-to-many", languages=("az",))
    assert names(both, base) == [("az_az-en", "az", "en"), ("az_en-az", "en", "az")]
    assert first(discover(both, base)[1]) == ("az train en 0", "az train az 0")
    with pytest.raises(UserError, match="has text in de, xx"):
        discover(DataConfig(root=".", pivot="en", languages=("xx", "be", "de")), base)
    pairs_folder("fr", ["xx"])
    with pytest.raises(
        UserError, match=r"fr: train\.\* must be en and one other language, not en, fr, xx; remove"
    ):
        discover(many, base)


def test_tsv_folders_and_label_columns(tmp_path, write_lines):
    for split in ("train", "dev"):
        write_lines(tmp_path / "all" / f"{split}.tsv", ["1\ta\tA\tlaw", "2\tb\tB\tit", "3\tc\tC\tlaw"])
    config = DataConfig(root="all", layout="tsv", source="de", target="en", columns=(2, 3), labels=4)
    assert names(config, tmp_path) == [("it", "de", "en"), ("law", "de", "en")]
    assert [pair.source for pair in read_pairs(discover(config, tmp_path)[1], "dev")] == ["a", "c"]
    plain = DataConfig(root=".", layout="tsv", source="de", target="en", columns=(3, 2))
    assert first(discover(plain, tmp_path)[0]) == ("A", "a")


def test_sidecars_split_into_facets_and_drop_training_lines(pairs_folder, write_lines):
    base = pairs_folder("c", ["en", "de"])
    for split in ("train", "dev", "test"):
        write_lines(base / "c" / f"{split}.facet", ["natural", "translated", "natural"])
    write_lines(base / "c" / "train.keep", ["0", "1", "1"])
    config = DataConfig(root="c", source="en", target="de", labels="facet", keep="keep")
    facets = discover(config, base)
    assert [facet.name for facet in facets] == ["natural", "translated"]
    assert [p.line for p in read_pairs(facets[0], "train")] == [3]
    assert [p.line for p in read_pairs(facets[0], "dev")] == [1, 3]
    pivot = DataConfig(root="c", pivot="en", labels="facet", keep="keep")
    assert names(pivot, base) == [("natural", "de", "en"), ("translated", "de", "en")]
    (base / "c" / "train.keep").unlink()
    with pytest.raises(
        UserError, match=r"no train\.keep .* data\.keep asks for; `facetmt filter RUN --trusted"
    ):
        discover(config, base)


def test_ted(tmp_path, write_lines):
    for split in ("train", "dev"):
        rows = ["talk_name\ten\tbe\tfr", "t\tE1\tB1\tF1", "t\tE2\t__NULL__\tF2"]
        write_lines(tmp_path / f"all_talks_{split}.tsv", rows)
    config = DataConfig(root=".", layout="ted", pivot="en")
    assert names(config, tmp_path) == [("be-en", "be", "en"), ("fr-en", "fr", "en")]
    assert [pair[:2] for pair in read_pairs(discover(config, tmp_path)[0], "train")] == [("B1", "E1")]
    back = DataConfig(root=".", layout="ted", pivot="en", direction="one-to-many", languages=("fr",))
    facet = discover(back, tmp_path)[0]
    assert facet.name == "en-fr" and first(facet) == ("E1", "F1")
    with pytest.raises(UserError, match="no language xx"):
        discover(DataConfig(root=".", layout="ted", pivot="en", languages=("xx",)), tmp_path)
    with pytest.raises(UserError, match=r"line 1: no column zz"):
        discover(DataConfig(root=".", layout="ted", pivot="zz"), tmp_path)


def test_opus100(tmp_path, write_lines):
    for pair in ("de-en", "en-fr"):
        for split in ("train", "dev", "test"):
            for language in pair.split("-"):
                path = tmp_path / "supervised" / pair / f"opus.{pair}-{split}.{language}"
                write_lines(path, [f"{language} {split}"])
    config = DataConfig(root=".", layout="opus100", pivot="en", direction="many-to-many")
    assert [name for name, *_ in names(config, tmp_path)] == ["de-en", "en-de", "fr-en", "en-fr"]
    facet = discover(config, tmp_path)[2]
    assert (facet.source_language, first(facet, "dev")) == ("fr", ("fr dev", "en dev"))
    write_lines(tmp_path / "supervised" / "en-yo" / "opus.en-yo-train.en", ["x"])
    write_lines(tmp_path / "supervised" / "en-yo" / "opus.en-yo-train.yo", ["x"])
    with pytest.raises(UserError, match="facet yo-en has no dev text"):
        discover(config, tmp_path)
    lenient = DataConfig(root=".", layout="opus100", pivot="en", allow_missing_dev=True)
    assert len(discover(lenient, tmp_path)) == 3


@pytest.mark.parametrize("split", ["dev", "test"])
def test_missing_labels_come_with_the_command_that_makes_them(pairs_folder, write_lines, split):
    base = pairs_folder("c", ("en", "de"))
    for one in {"train", "dev", "test"} - {split}:
        write_lines(base / "c" / f"{one}.facet", ["natural"] * 3)
    folder = base / "c"
    with pytest.raises(UserError) as caught:
        discover(DataConfig(root="c", source="en", target="de", labels="facet"), base)
    command = f"facetmt label --models DIR --text {folder}/{split}.de --out {folder}/{split}.facet"
    assert f": no {split}.facet" in str(caught.value) and command in str(caught.value)
    assert ("evaluate.sets" in str(caught.value)) == (split == "test")


def test_a_table_where_text_files_were_sought_is_recognised(tmp_path, write_lines):
    for split in ("train", "dev"):
        write_lines(tmp_path / "news" / f"{split}.tsv", ["a\tA"])
    for config in (DataConfig(root=".", source="cs", target="en"), DataConfig(root=".", pivot="en")):
        with pytest.raises(UserError, match=r"it has train\.tsv: for tables set data\.layout to tsv"):
            discover(config, tmp_path)


def test_the_files_that_are_there_are_named_where_one_is_missing(pairs_folder):
    base = pairs_folder("news", ["de", "en"])
    with pytest.raises(
        UserError, match=r"no train\.cs .*; it has train\.de, train\.en: the extensions must be data"
    ):
        discover(DataConfig(root=".", source="cs", target="en"), base)
