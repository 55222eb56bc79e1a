"""Hypothesis profiles: 200 repeatable examples per property by default, `--hypothesis-profile explore` for more."""

from hypothesis import HealthCheck, settings

_quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_quiet)
settings.register_profile("explore", max_examples=5000, deadline=None, suppress_health_check=_quiet)
settings.load_profile("default")
