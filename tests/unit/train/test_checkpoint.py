import jax.numpy as jnp
import numpy as np

from facetmt.train import checkpoint

ARRAYS = {"params": {"w": jnp.arange(2000, dtype=jnp.float32).reshape(40, 50) / 7}, "step": jnp.int32(3)}
HOST = {"tally": {"step": 3}, "big": 2**100, "float": 0.1 + 0.2}


def saved(directory, *steps):
    return [checkpoint.save(directory, step, {**ARRAYS, "step": jnp.int32(step)}, HOST) for step in steps]


def test_what_is_saved_is_restored_bit_for_bit(tmp_path):
    (one,) = saved(tmp_path, 3)
    checkpoint.verify(one)
    arrays = one.arrays(ARRAYS)
    assert np.asarray(arrays["params"]["w"]).tobytes() == np.asarray(ARRAYS["params"]["w"]).tobytes()
    assert arrays["step"].dtype == jnp.int32 and int(arrays["step"]) == 3
    assert one.host() == HOST


def test_pruning_keeps_the_newest_and_the_best(tmp_path):
    saved(tmp_path, 1, 2, 3, 4, 5)
    checkpoint.prune(tmp_path, keep=2, wanted={2})
    assert [one.step for one in checkpoint.finished(tmp_path)] == [2, 4, 5]


def test_saving_again_replaces(tmp_path):
    saved(tmp_path, 1)
    checkpoint.save(tmp_path, 1, ARRAYS, {"second": True})
    newest, _ = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.host() == {"second": True}
