"""Settings for all tests."""

from hypothesis import settings

# A busy machine is no reason to fail: what takes long shows in `pytest --durations`.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
