import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from facetmt.data.batch import Batch
from facetmt.errors import UserError
from facetmt.train.place import Placement
from facetmt.train.processes import is_first_process, on_first_process, several


def batch(*shape):
    return Batch(*(np.arange(np.prod(shape), dtype=np.int32).reshape(shape) + n for n in range(8)))


def test_one_device_holds_whole_batches():
    share = Placement().training_share(6)
    assert share.rows == slice(0, 6)
    for shape in ((6, 4), (3, 6, 4)):
        placed = share.put(batch(*shape))
        assert isinstance(placed, Batch) and placed.label.shape == shape
        assert np.array_equal(placed.label, batch(*shape).label)


def test_what_is_spread_comes_back():
    placement = Placement(split=True)
    array = np.arange(12).reshape(4, 3)
    assert np.array_equal(placement.fetch(placement.spread(array)), array)
    state = placement.state({"w": array})
    assert np.array_equal(placement.whole(state)["w"], array)
    assert jax.tree.structure(placement.shardings(state)) == jax.tree.structure(state)


def test_alone_a_process_leads_and_nobody_is_asked():
    assert is_first_process() and not several()
    assert on_first_process(lambda: {"any": object}) == {"any": object}
    with pytest.raises(UserError, match="mine"):
        on_first_process(refuse)


def refuse():
    raise UserError("mine")


FOUR = """
import numpy as np, jax
from facetmt.data.batch import Batch
from facetmt.errors import UserError
from facetmt.train.place import SMALL, Placement
placement = Placement(split=True)
assert placement.devices == 4
rows = placement.training_share(8)
assert rows.rows == slice(0, 8)
placed = rows.put(Batch(*(np.zeros((2, 8, 5), np.int32),) * 8))
assert placed.source.sharding.shard_shape(placed.source.shape) == (2, 2, 5)
small = placement.share(3).put(Batch(*(np.zeros((3, 5), np.int32),) * 8))
assert small.source.is_fully_replicated
state = placement.state({"w": np.ones((6, SMALL)), "odd": np.ones((3, SMALL + 1)), "b": np.ones(8)})
shapes = {name: leaf.sharding.shard_shape(leaf.shape) for name, leaf in state.items()}
assert shapes == {"w": (6, SMALL // 4), "odd": (3, SMALL + 1), "b": (8,)}, shapes
assert placement.whole(state)["w"].is_fully_replicated
assert placement.fetch(placement.spread(np.arange(8)))[5] == 5
try:
    placement.training_share(6)
except UserError as error:
    print(error)
"""


def test_four_devices_share_rows_and_large_arrays():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, "-c", FOUR], env=os.environ | flags, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "batch.rows is 6, which 4 devices cannot share evenly; make it a multiple of 4" in done.stdout
