"""A running fake service."""

from collections.abc import Iterator

import pytest

from tests.client.fake_service import FakeService, running


@pytest.fixture
def service() -> Iterator[FakeService]:
    with running(FakeService()) as fake:
        yield fake
