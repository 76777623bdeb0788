"""One asyncio client and one AsyncRecall serve several event loops: many programs call `asyncio.run` for each turn."""

import asyncio
import gc
import threading
from collections.abc import Iterator

import pytest
from powercontext_client import AsyncContextClient, AsyncRecall, Selection, TransportError

from tests.client.fake_service import FakeService
from tests.client.raw_service import READY

# A loop that ends leaves its idle connections to Python, which closes them and says so.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a test leaves behind is collected before the next one."""
    yield
    gc.collect()


@pytest.fixture
def answering(service: FakeService) -> FakeService:
    service.answer(READY)
    return service


def test_a_client_serves_one_loop_after_another(answering: FakeService) -> None:
    client = AsyncContextClient(answering.url)
    for _ in range(3):
        assert asyncio.run(client.prepare_context("s", "q")).content == "hello"
    asyncio.run(client.aclose())


def test_a_client_serves_loops_at_once(answering: FakeService) -> None:
    client = AsyncContextClient(answering.url)
    contents: list[str | None] = []

    async def ask() -> None:
        answers = [await client.prepare_context("s", "q") for _ in range(5)]
        contents.extend(answer.content for answer in answers)

    threads = [threading.Thread(target=lambda: asyncio.run(ask())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert contents == ["hello"] * 40


def test_a_kept_text_is_there_in_the_next_loop(answering: FakeService) -> None:
    recall = AsyncRecall(AsyncContextClient(answering.url), Selection("s"))

    async def several(turn: str) -> list[str | None]:
        return await asyncio.gather(*(recall.content("q", turn) for _ in range(3)))

    for _ in range(2):
        assert asyncio.run(several("t")) == ["hello"] * 3
    assert asyncio.run(several("t2")) == ["hello"] * 3
    assert len(answering.received) == 2


def test_a_closed_client_is_a_transport_error(answering: FakeService) -> None:
    async def ask_after_closing() -> None:
        async with AsyncContextClient(answering.url) as client:
            await client.prepare_context("s", "q")
        with pytest.raises(TransportError):
            await client.prepare_context("s", "q")

    asyncio.run(ask_after_closing())
