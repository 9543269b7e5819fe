"""How long the made-up cases may take: see README.md."""

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", deadline=None, suppress_health_check=_SLOW, max_examples=100)
settings.register_profile("long", deadline=None, suppress_health_check=_SLOW, max_examples=4000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
