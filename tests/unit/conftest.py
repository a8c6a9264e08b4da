"""Properties are tried on the same few examples in each run, so that this folder is quick and never flickers."""

from hypothesis import settings

settings.register_profile("unit", max_examples=20, derandomize=True, deadline=None, database=None)
settings.load_profile("unit")
