"""A running fake service, and whether the frameworks must be there."""

import importlib
import os
from collections.abc import Iterator

import pytest

from tests.client.fake_service import FakeService, running

REQUIRED = "POWERCONTEXT_REQUIRE_FRAMEWORKS"
FRAMEWORKS = ("langchain.agents", "langgraph.graph", "pydantic_ai")


def pytest_configure(config: pytest.Config) -> None:
    """With REQUIRED set, a framework that is missing or broken ends the run; its tests are skipped otherwise."""
    for framework in FRAMEWORKS if os.environ.get(REQUIRED) else ():
        try:
            importlib.import_module(framework)
        except ImportError as missing:
            raise pytest.UsageError(f"{REQUIRED} is set, but {framework} cannot be imported: {missing}") from missing


@pytest.fixture
def service() -> Iterator[FakeService]:
    with running(FakeService()) as fake:
        yield fake
