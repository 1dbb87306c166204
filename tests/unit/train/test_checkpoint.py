import os
import shutil

import jax.numpy as jnp
import numpy as np
import pytest

from facetmt.errors import UserError
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


def test_the_newest_is_found_and_a_partial_save_is_ignored(tmp_path):
    saved(tmp_path, 1, 20, 3)
    (tmp_path / ".partial-000000030" / "arrays").mkdir(parents=True)
    newest, complaints = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.step == 20 and complaints == []


def files_of(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "empty"])
def test_any_damage_to_any_file_is_detected_and_the_older_one_used(tmp_path, damage):
    saved(tmp_path / "clean", 1, 2)
    names = [path.relative_to(tmp_path / "clean") for path in files_of(tmp_path / "clean" / "step-000000002")]
    assert len(names) > 4
    for name in names:
        directory = tmp_path / "broken"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(tmp_path / "clean", directory)
        victim = directory / name
        content = victim.read_bytes()
        if damage == "delete":
            victim.unlink()
        else:
            flipped = bytes([content[len(content) // 2] ^ 1])
            middle = len(content) // 2
            changed = {
                "flip": content[:middle] + flipped + content[middle + 1 :],
                "truncate": content[:-1],
                "empty": b"",
            }
            victim.write_bytes(changed[damage])
        newest, complaints = checkpoint.newest_whole(directory)
        assert newest is not None and newest.step == 1, name
        assert len(complaints) == 1 and "step-000000002" in complaints[0]


def test_a_moved_checkpoint_still_loads(tmp_path):
    saved(tmp_path / "here", 5)
    shutil.move(tmp_path / "here", tmp_path / "there")
    newest, _ = checkpoint.newest_whole(tmp_path / "there")
    assert newest is not None and int(newest.arrays(ARRAYS)["step"]) == 5


def test_a_symbolic_link_is_refused(tmp_path):
    (one,) = saved(tmp_path / "run", 1)
    secret = tmp_path / "secret"
    secret.write_text("host file", encoding="utf-8")
    (one.path / "host.json").unlink()
    os.symlink(secret, one.path / "host.json")
    with pytest.raises(checkpoint.DamagedCheckpoint, match="symbolic link"):
        checkpoint.verify(one)


def test_pruning_keeps_the_newest_and_the_best(tmp_path):
    saved(tmp_path, 1, 2, 3, 4, 5)
    checkpoint.prune(tmp_path, keep=2, wanted={2})
    assert [one.step for one in checkpoint.finished(tmp_path)] == [2, 4, 5]


def test_saving_again_replaces(tmp_path):
    saved(tmp_path, 1)
    checkpoint.save(tmp_path, 1, ARRAYS, {"second": True})
    newest, _ = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.host() == {"second": True}


def test_a_failing_save_is_an_error_and_leaves_the_earlier_one(tmp_path, monkeypatch):
    saved(tmp_path, 1)

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "flush_tree", full)
    with pytest.raises(UserError, match=r"could not save the checkpoint of step 2 .*No space left"):
        saved(tmp_path, 2)
    newest, complaints = checkpoint.newest_whole(tmp_path)
    assert newest is not None and newest.step == 1 and complaints == []
