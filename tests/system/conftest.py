"""Set-up of every system test."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def compiled_once(compiled) -> None:
    """Tests that train in their own process also share JAX's compilation cache."""
