"""Stores and corpora for the data tests."""

from collections import Counter

import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.data.store import StoreWriter, open_store


@pytest.fixture
def make_store(tmp_path):
    """A store of n pairs; pair i of store `tag` starts with the id 10 + i on the source side."""

    def make(name, n, longest=20, seed=0, dtype=np.uint32):
        rng = np.random.default_rng([seed, *name.encode()])
        lengths = rng.integers(2, longest + 1, (n, 2))
        with StoreWriter(tmp_path / name, name, "train", "v", np.dtype(dtype)) as store:
            for index, (source, target) in enumerate(lengths.tolist()):
                ids = [10 + index] * (source - 1) + [EOS] + [10 + index] * (target - 1) + [EOS]
                store.append(np.array(ids), np.array([[source, target]]))
        return open_store(tmp_path / name)

    return make


@pytest.fixture
def drawn():
    """How often a batch has each (facet, pair of `make_store`)."""

    def count(batch):
        first = (batch.target_position == 0) & (batch.target_segment > 0)
        return Counter(zip(batch.facet[first].tolist(), (batch.label[first] - 10).tolist(), strict=True))

    return count


@pytest.fixture
def pairs_folder(tmp_path, write_lines):
    """{folder}/{train,dev,test}.{languages}; a line says where it stands."""

    def make(folder, languages, splits=("train", "dev", "test"), end=""):
        for split in splits:
            for language in languages:
                path = tmp_path / folder / f"{split}.{language}{end}"
                write_lines(path, [f"{folder} {split} {language} {i}" for i in range(3)])
        return tmp_path

    return make
