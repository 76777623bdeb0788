"""Hypothesis profiles: `quick` unless `--hypothesis-profile=thorough` is given."""

from hypothesis import settings

settings.register_profile("quick", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=3000)
if settings.get_current_profile_name() != "thorough":
    settings.load_profile("quick")
