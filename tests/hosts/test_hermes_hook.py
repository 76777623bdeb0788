"""The pre_llm_call plugin of Hermes without Hermes: what is kept of a turn, also when several threads call."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.python_plugins import plugin_package

CONTENT = "验 content"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    with running(FakeService(body=READY)) as fake:
        monkeypatch.setenv("POWERCONTEXT_SCOPE_ID", "s")
        monkeypatch.setenv("POWERCONTEXT_BASE_URL", fake.url)
        yield fake


def recall(session: str, turn: str) -> dict[str, str]:
    return {"session_id": session, "turn_id": turn, "user_message": "q"}


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """What each call returns or raises when all begin together."""
    barrier = threading.Barrier(len(calls))
    outcomes: list[Any] = []

    def run(call: Callable[[], Any]) -> None:
        barrier.wait(10)
        try:
            outcomes.append(call())
        except Exception as failure:  # noqa: BLE001 - it is the outcome
            outcomes.append(failure)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def test_calls_of_one_turn_from_several_threads_ask_once_and_all_get_the_text(service: FakeService) -> None:
    hook = plugin_package().Recall()
    service.delay_s = 0.2
    told = at_once([lambda: hook(**recall("a", "1"))] * 4)
    assert told == [{"context": CONTENT}] * 4
    assert len(service.received) == 1


def test_a_turn_does_not_wait_for_the_prepare_of_another(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = plugin_package()
    first_asks, second_is_done = threading.Event(), threading.Event()

    def prepare(settings: Any, query: str) -> str:
        if query == "slow":
            first_asks.set()
            assert second_is_done.wait(10)
        return query

    monkeypatch.setattr(plugin, "prepare", prepare)
    hook = plugin.Recall()

    def second() -> Any:
        assert first_asks.wait(10)
        told = hook(**recall("b", "1"))
        second_is_done.set()
        return told

    told = at_once([lambda: hook(**{**recall("a", "1"), "user_message": "slow"}), second])
    assert told == [{"context": "q"}, {"context": "slow"}]


def test_many_turns_at_once_each_get_their_text(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = plugin_package()
    all_ask = threading.Barrier(16)

    def prepare(settings: Any, query: str) -> str:
        all_ask.wait(10)
        return query

    monkeypatch.setattr(plugin, "prepare", prepare)
    monkeypatch.setattr(plugin, "TURNS_KEPT", 2)
    hook = plugin.Recall()

    def turns(session: str) -> list[Any]:
        return [hook(**recall(session, str(number))) for number in range(200)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        told = at_once([functools.partial(turns, str(number)) for number in range(16)])
    finally:
        sys.setswitchinterval(interval)
    assert told == [[{"context": "q"}] * 200] * 16
    assert len(hook._kept) == 2


def test_a_failure_is_kept_for_its_turn(service: FakeService) -> None:
    service.status = 500
    hook = plugin_package().Recall()
    assert [hook(**recall("a", "1")), hook(**recall("a", "1"))] == [None, None]
    assert len(service.received) == 1


def test_an_assembly_that_is_nested_too_deeply_for_a_key_adds_nothing(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The settings were read with more of the stack left."""
    plugin = plugin_package()
    deep = plugin.Settings(scope_id="s", assembly="[" * 200_000 + "]" * 200_000)
    monkeypatch.setattr(plugin, "read_settings", lambda host: deep)
    assert plugin.Recall()(**recall("a", "1")) is None
    assert "nested too deeply" in caplog.text
    assert service.received == []
