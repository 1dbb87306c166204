"""What a prepared folder says about itself, and what may be prepared over it."""

import json
from dataclasses import replace

import pytest

from facetmt.data.config import DataConfig, FacetConfig, VocabConfig
from facetmt.data.manifest import (
    MANIFEST,
    check_settings,
    cuts_dev,
    former_manifest,
    new_manifest,
    read_manifest,
)
from facetmt.errors import UserError

CONFIG = DataConfig(root="corpus", source="de", target="en", dev_pairs=7)
FACETS = {"it": "0", "law": "1"}


def test_what_is_written_is_read_back(tmp_path):
    manifest = new_manifest(CONFIG, FACETS, None)
    (tmp_path / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    assert read_manifest(tmp_path) == former_manifest(tmp_path) == manifest
    assert list(manifest["facets"]) == ["it", "law"] and not cuts_dev(manifest)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no prepared corpus; run prepare first"),
        ('{"version": 1', r"prepared\.json: damaged; prepare again"),
        ("[" * 100_000, r"prepared\.json: damaged; prepare again"),
        ("[1]", "prepared by another version of facetmt"),
        ('{"version": 99}', "prepared by another version of facetmt"),
    ],
)
def test_a_folder_that_cannot_be_read_is_named_and_counts_as_new(tmp_path, content, said):
    if content is not None:
        (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_manifest(tmp_path)
    assert former_manifest(tmp_path) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dev_pairs": 3}, "data.dev_pairs: 7 -> 3"),
        ({"max_length": 40}, "data.max_length: 128 -> 40"),
        ({"vocab": VocabConfig(size=100)}, "data.vocab.size: 32000 -> 100"),
        ({"facets": ("it",)}, "data.facets: not set -> [it]"),
        ({"facets": {"it": FacetConfig(limit=5)}}, "data.facets: not set -> [it {limit: 5}]"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path, change, said):
    with pytest.raises(UserError) as refused:
        check_settings(new_manifest(CONFIG, FACETS, None), replace(CONFIG, **change), ["it"], tmp_path)
    assert f"({said})" in str(refused.value) and "--overwrite" in str(refused.value)


def test_the_same_settings_elsewhere_are_no_others(tmp_path):
    manifest = new_manifest(CONFIG, FACETS, None)
    check_settings(manifest, replace(CONFIG, root="moved", max_length=128), ["it", "law"], tmp_path)


def test_a_folder_of_an_earlier_version_keeps_its_dev_set_and_its_facets(tmp_path):
    old = {"version": 1, "dev_pairs": 7, "seed": 1, "facets": FACETS}
    assert cuts_dev(old) and new_manifest(CONFIG, FACETS, old)["dev_cut"]
    check_settings(old, replace(CONFIG, max_length=40), ["it", "law", "more"], tmp_path)
    with pytest.raises(UserError, match=r"data\.facets: \[it, law\] -> \[it\]"):
        check_settings(old, CONFIG, ["it"], tmp_path)
    with pytest.raises(UserError, match=r"data\.seed: 1 -> 2"):
        check_settings(old, replace(CONFIG, seed=2), ["it", "law"], tmp_path)
