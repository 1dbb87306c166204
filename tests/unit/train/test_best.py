"""Which checkpoints a translating model is made of."""

import shutil

import jax.numpy as jnp
import pytest

from facetmt.errors import UserError
from facetmt.train import checkpoint
from facetmt.train.best import choose

BEST = {10: [], 20: [[4.0, 20]], 30: [[5.0, 20], [4.5, 30], [4.0, 7]]}  # dev BLEU and step, as known then


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    for step, best in BEST.items():
        checkpoint.save(folder, step, {"w": jnp.ones(3)}, {"tally": {"best": best}})
    return folder


@pytest.fixture
def folder(three, tmp_path):
    return shutil.copytree(three, tmp_path / "checkpoints")


def steps(folder, count=1):
    chosen, notes = choose(folder, count)
    return [one.step for one in chosen], notes


def damage(folder, step):
    arrays = folder / f"step-{step:09d}" / "arrays"
    victim = next(path for path in sorted(arrays.rglob("*")) if path.is_file())
    victim.write_bytes(victim.read_bytes() + b"x")
    return victim


def test_the_best_come_first_and_the_newest_where_nothing_was_validated(folder):
    assert steps(folder) == ([20], [])
    assert steps(folder, 2) == ([20, 30], [])
    for step in (20, 30):
        shutil.rmtree(folder / f"step-{step:09d}")
    assert steps(folder) == ([10], [])


def test_too_few_to_average_is_an_error(folder):
    """Step 7 was among the best, but is no longer there."""
    with pytest.raises(UserError, match=r"keeps 2 of the best checkpoints, too few to average 3; train with"):
        choose(folder, 3)


def test_without_a_whole_checkpoint_the_reason_is_given(folder, tmp_path):
    with pytest.raises(UserError, match="holds no whole checkpoint: train it first"):
        choose(tmp_path / "nothing", 1)
    for step in BEST:
        damage(folder, step)
    with pytest.raises(UserError, match=r"holds no whole checkpoint: .* is damaged"):
        choose(folder, 1)


def test_a_damaged_newest_one_is_mentioned_and_what_the_one_before_knew_is_used(folder):
    victim = damage(folder, 30)
    chosen, notes = steps(folder)
    assert chosen == [20] and len(notes) == 1 and f"{victim} is damaged" in notes[0]


def test_a_damaged_best_one_is_named_with_the_way_out(folder):
    victim = damage(folder, 20)
    with pytest.raises(UserError) as refused:
        choose(folder, 1)
    assert f"{victim} is damaged" in str(refused.value)
    assert f"delete {folder / 'step-000000020'} to use the next best" in str(refused.value)
    shutil.rmtree(folder / "step-000000020")
    assert steps(folder) == ([30], [])
