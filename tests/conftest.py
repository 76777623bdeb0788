"""Options of every test run: hermetic settings, repeatable property tests, and a choice of storage engines."""

import os

import pytest
from hypothesis import HealthCheck, settings

ENGINES = ("sqlite", "postgres", "oceanbase")
SETTINGS_PREFIX = "POWERCONTEXT_SERVER_"

# Deadlines measure the machine, not the code. In continuous integration the examples are the same on every run, so
# that a failure there can be repeated; a developer's runs keep exploring.
settings.register_profile("developer", deadline=None, print_blob=True)
settings.register_profile(
    "ci", deadline=None, print_blob=True, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        choices=ENGINES,
        help="run the tests of this storage engine only; may be given more than once (default: all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Forget the settings of the developer's own server: a test that needs one sets it."""
    for name in [name for name in os.environ if name.startswith(SETTINGS_PREFIX)]:
        del os.environ[name]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked for an engine that `--engine` did not choose."""
    chosen = config.getoption("--engine")
    if not chosen:
        return
    left_out = {engine for engine in ENGINES if engine not in chosen}
    kept: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        (deselected if left_out & {mark.name for mark in item.iter_markers()} else kept).append(item)
    config.hook.pytest_deselected(items=deselected)
    items[:] = kept
