"""What every system test does before it starts."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def compiled_once(compiled) -> None:
    """Also those that train in their own process share what JAX has compiled."""
