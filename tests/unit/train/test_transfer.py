"""Which facets are measured, and what is refused; the measurement itself has tests of its own."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from facetmt.bandit.config import ScheduleConfig
from facetmt.errors import UserError
from facetmt.train.transfer import MOST_FACETS, TransferConfig, check_corpus, choose_facets, plain, relative


class Store:
    def __init__(self, name, pairs):
        self.name, self._pairs = name, pairs

    def __len__(self):
        return self._pairs


def choose(train, dev, *, objective=None, **config):
    trained = SimpleNamespace(
        saved=SimpleNamespace(path=Path("run/checkpoints/step-000000010")),
        recipe=SimpleNamespace(schedule=ScheduleConfig(objective=objective or {})),
    )
    stores = {
        split: [Store(name, pairs) for name, pairs in sizes.items()]
        for split, sizes in (("train", train), ("dev", dev))
    }
    prepared = SimpleNamespace(stores=stores.__getitem__)
    rows, columns, left_out = choose_facets(trained, prepared, TransferConfig(**config))
    return [store.name for store in rows], [store.name for store in columns], left_out


def test_facets_without_dev_text_have_a_column_and_no_row():
    rows, columns, left_out = choose({"a": 90, "b": 90, "c": 90}, {"a": 50, "b": 0, "c": 4})
    assert rows == ["a"] and columns == ["a", "b", "c"]
    assert left_out == {"b": "no dev text", "c": "4 dev pairs, fewer than 10"}


def test_the_user_chooses_the_rows():
    sizes = {"a": 90, "b": 90, "c": 90}
    rows, columns, left_out = choose(sizes, sizes, facets=["c", "a", "c"])
    assert rows == ["c", "a"] and columns == ["a", "b", "c"] and left_out == {"b": "not chosen"}
    with pytest.raises(UserError, match=r"--facets lax: the run has no such facet; did you mean law\?"):
        choose({"law": 90, "it": 90}, {"law": 90, "it": 90}, facets=["lax"])
    with pytest.raises(UserError, match="--facets it: no dev text; choose a facet with more"):
        choose({"law": 90, "it": 90}, {"law": 90, "it": 0}, facets=["it"])


def test_one_facet_or_no_dev_text_is_refused():
    with pytest.raises(UserError, match="run: it has 1 facet of 10 or more training pairs, but transfer is"):
        choose({"a": 90, "b": 3}, {"a": 50, "b": 50})
    with pytest.raises(UserError, match="run: no facet has 10 or more pairs of dev text"):
        choose({"a": 90, "b": 90}, {"a": 0, "b": 9})
    with pytest.raises(UserError, match="--tokens 9: too few"):
        TransferConfig(tokens=9)


def test_of_many_facets_some_are_drawn_by_the_seed_and_those_that_count_first():
    sizes = {f"f{n}": 90 for n in range(99)}
    rows, columns, left_out = choose(sizes, sizes)
    assert len(rows) == MOST_FACETS and len(columns) == 99
    assert set(left_out.values()) == {"not drawn"}
    assert rows == choose(sizes, sizes)[0] != choose(sizes, sizes, seed=2)[0]
    assert rows == [name for name in sizes if name in rows]  # in the order of the corpus
    counting = {"f3": 1.0, "f98": 2.0}
    assert counting.keys() <= set(choose(sizes, sizes, objective=counting)[0])


def test_a_row_is_relative_to_its_mean_or_empty():
    rng = np.random.default_rng(1)
    table = np.array([2.0, 1.0, 3.0])[:, None] + 0.1 * rng.standard_normal((10, 3, 10))
    shares, over_own = relative(table, 1)
    assert shares.value == pytest.approx([1.0, 0.5, 1.5], abs=0.1)
    assert over_own.value == pytest.approx([0.5, 0.0, 1.0], abs=0.1) and over_own.error[1] == 0.0
    assert np.isnan(relative(table, None)[1].value).all()
    noise, nothing = relative(rng.standard_normal((10, 3, 10)), 1)
    assert np.isnan(noise.value).all() and np.isnan(nothing.error).all()


def test_text_that_is_not_the_runs_is_refused(capsys):
    def corpus(vocabulary="v", **facets):
        fingerprint = {f"facet {name}": value for name, value in facets.items()}
        return SimpleNamespace(
            directory=Path("prepared"),
            vocabulary=SimpleNamespace(fingerprint=vocabulary),
            facets=[SimpleNamespace(name=name) for name in facets],
            fingerprint=fingerprint,
        )

    trained = SimpleNamespace(
        codec=SimpleNamespace(vocabulary=SimpleNamespace(fingerprint="v")),
        fingerprint={"vocabulary": "v", "facet a": "1", "facet b": "2"},
    )
    check_corpus(trained, corpus(a="1", b="2"))
    assert capsys.readouterr().err == ""
    check_corpus(trained, corpus(a="1", b="3"))
    assert (
        "prepared was prepared again after the run was trained (facet b changed)" in capsys.readouterr().err
    )
    with pytest.raises(UserError, match="prepared: prepared again with another vocabulary"):
        check_corpus(trained, corpus("w", a="1", b="2"))
    with pytest.raises(UserError, match="facet c came or went"):
        check_corpus(trained, corpus(a="1", b="2", c="3"))


def test_json_has_no_nan():
    assert plain({"a": np.array([[1.0, np.nan]]), "b": float("inf")}) == {"a": [[1.0, None]], "b": None}
