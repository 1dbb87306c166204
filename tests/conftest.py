"""Settings for all tests: a slow machine must not fail a property."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("steady")
