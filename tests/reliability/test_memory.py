"""Row 15: running out of memory is detected before the first step."""

import jax
import jax.numpy as jnp
import pytest

from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.train import measure
from facetmt.train.run import train


def test_row_15_a_step_that_cannot_fit_is_refused_before_it_runs(project, monkeypatch):
    monkeypatch.setattr(measure, "available", lambda: 100_000)
    run = project / "no-memory"
    with pytest.raises(UserError, match=r"needs 0\.\d\d GiB .* 0\.00 GiB are left; lower batch\.rows"):
        train(load_recipe(project / "recipe.yaml"), run)
    assert (run / "pulls.csv").read_text(encoding="utf-8").count("\n") == 1  # the header


def test_row_15_the_memory_needed_grows_with_the_shape():
    def square_twice(x):
        return (x @ x) @ x

    sizes = []
    for side in (64, 256):
        shape = jax.ShapeDtypeStruct((side, side), jnp.float32)
        sizes.append(measure.needed(jax.jit(square_twice).lower(shape).compile()))
    assert sizes[0] >= 64 * 64 * 4 and sizes[1] >= 15 * sizes[0]


def test_row_15_free_memory_comes_from_the_device(monkeypatch):
    class Device:
        def memory_stats(self):
            return {"bytes_limit": 1000, "bytes_in_use": 300}

    monkeypatch.setattr(jax, "local_devices", lambda: [Device()])
    assert measure.available() == 700


def test_row_15_or_from_the_host():
    free = measure.host_memory()
    assert free is None or 0 < free < 1 << 50


def test_row_15_an_allocation_that_fails_is_one_sentence():
    class Refusing:
        def lower(self, *inputs):
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

    with pytest.raises(UserError, match=r"does not fit .* lower batch\.rows"):
        measure.MeasuredStep(Refusing())(None, None, None, True)
