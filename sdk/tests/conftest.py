"""For all tests."""

from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("olaf", deadline=None)
settings.load_profile("olaf")
