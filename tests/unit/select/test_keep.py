"""From scores to keep files."""

import json

import numpy as np
import pytest

from facetmt.data.config import DataConfig
from facetmt.data.discover import discover
from facetmt.errors import UserError
from facetmt.select.keep import KeepConfig, share_or_auto, write_choice
from facetmt.select.texts import training_texts


def chosen(folder, scores, settings, **data):
    """The lines of each train.keep, and what was said of them."""
    texts = training_texts(DataConfig(root=str(folder), **data))
    values = [np.array(some, np.float32).T.reshape(1, len(np.transpose(some)), -1) for some in scores]
    told = write_choice(texts, values, KeepConfig(**settings), folder, {"run": "runs/noisy"})
    return [(folder / text.folder / "train.keep").read_text().split() for text in texts], told


@pytest.fixture
def two_facets(tmp_path, write_lines):
    for name in ("good", "poor"):
        for split in ("train", "dev"):
            for language in ("de", "en"):
                write_lines(tmp_path / "corpus" / name / f"{split}.{language}", list("abcd"))
    return tmp_path / "corpus"


SCORES = ([5, 6, 7, 8], [1, 2, 3, -np.inf])


def test_one_ranking_across_all_facets(two_facets):
    (good, poor), told = chosen(two_facets, SCORES, {"keep": 4 / 7}, source="de", target="en")
    assert (good, poor) == (["1"] * 4, ["0"] * 4)
    assert [(one.facets, one.kept, one.pairs) for one in told] == [(["good"], 4, 4), (["poor"], 0, 3)]


def test_a_ranking_within_each_facet(two_facets):
    (good, poor), told = chosen(two_facets, SCORES, {"keep": 0.5, "rank": "within"}, source="de", target="en")
    assert (good, poor) == (["0", "0", "1", "1"], ["0", "1", "1", "0"])
    assert told[1].path == two_facets / "poor" / "train.keep"


def test_a_ranking_within_each_label(two_facets, write_lines):
    for split in ("train", "dev"):
        write_lines(two_facets / "good" / f"{split}.facet", ["x", "y", "x", "y"])
    folder = two_facets / "good"
    settings = {"keep": 0.5, "rank": "within"}
    (kept,), told = chosen(folder, [[1, 8, 2, 9]], settings, source="de", target="en", labels="facet")
    assert kept == ["0", "0", "1", "1"]
    assert [(one.facets, one.kept) for one in told] == [(["x"], 1), (["y"], 1)]


def test_the_scores_are_kept_and_say_where_they_come_from(two_facets):
    chosen(two_facets, SCORES, {"keep": 0.5}, source="de", target="en")
    assert (two_facets / "poor" / "train.scores").read_text() == "1\n2\n3\n-inf\n"
    note = json.loads((two_facets / "filter.json").read_text())
    assert (note["run"], note["keep"], note["rank"]) == ("runs/noisy", 0.5, "across")
    assert note["facets"]["good"] == {"pairs": 4, "kept": 4, "threshold": 5.0}


def test_the_files_beside_the_text_are_not_taken_for_languages(two_facets):
    chosen(two_facets, SCORES, {"keep": 0.5}, source="de", target="en")
    facets = discover(DataConfig(root=str(two_facets), pivot="en", direction="many-to-many"), two_facets)
    assert [facet.name for facet in facets] == ["good_de-en", "good_en-de", "poor_de-en", "poor_en-de"]


def test_a_facet_without_pairs_is_named(two_facets):
    nothing = [[1, 2, 3, 4], [-np.inf] * 4]
    with pytest.raises(
        UserError, match="facet poor: there is nothing to keep, as no pair has text on both sides"
    ):
        chosen(two_facets, nothing, {"keep": 0.5, "rank": "within"}, source="de", target="en")
    assert not list(two_facets.rglob("train.keep"))


# scores, and the scores of wrong pairs: half of the first text and nothing of the second scores as low
ESTIMATED = (
    [[-1, 1, 7, 8], [-1, -1, 1, 1]],
    [[0, 6, 7, 8], [-3, -3, -2, -2]],
)


@pytest.mark.parametrize(
    ("rank", "kept"),
    [("within", ("0011", "1111")), ("across", ("0111", "0111"))],
)
def test_as_much_is_removed_as_is_estimated_to_be_misaligned(two_facets, rank, kept):
    settings = {"keep": "auto", "rank": rank}
    found, told = chosen(two_facets, ESTIMATED, settings, source="de", target="en")
    assert tuple("".join(one) for one in found) == kept
    assert [one.misaligned for one in told] == [0.5, 0.0]


@pytest.mark.parametrize("keep", [0.0, 1.1, float("nan")])
def test_shares_are_checked(keep):
    with pytest.raises(UserError, match=f"--keep {keep}: not a share; give more than 0 and at most 1"):
        KeepConfig(keep=keep)


def test_the_word_for_a_share():
    assert (share_or_auto("0.4"), share_or_auto("auto")) == (0.4, "auto")
    with pytest.raises(UserError, match="--keep most: not a share; give more than 0 and at most 1, or auto"):
        share_or_auto("most")
