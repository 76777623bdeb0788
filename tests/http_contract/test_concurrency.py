"""Writers and readers at the same time, in one process and in two on one database."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from tests.http_contract.api import Api, Json
from tests.http_contract.prepared_text import items_of
from tests.http_contract.sidecar import Sidecar
from tests.http_contract.test_memory_writes import memory_ref

T = TypeVar("T")
ROUNDS = 25
LOAD_S = 6.0


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Api]]:
    """Two processes on one database."""
    folder: Path = tmp_path_factory.mktemp("pair")
    first = Sidecar(folder, folder / "shared.db", "a").start()
    second = Sidecar(folder, folder / "shared.db", "b")
    try:
        second.start()
        yield first.api(), second.api()
    finally:
        first.close()
        second.close()


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(50) as pool:
        yield pool


def at_once(threads: ThreadPoolExecutor, calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all calls, which begin at the same instant."""
    together = threading.Barrier(len(calls))

    def begin(call: Callable[[], T]) -> T:
        together.wait()
        return call()

    return list(threads.map(begin, calls))


def remembering(api: Api, scope: str, text: str) -> Callable[[], httpx.Response]:
    return lambda: api.post("/v1/memory/remember", scope_id=scope, kind="fact", text=text)


def revising(api: Api, scope: str, citation: Json, text: str) -> Callable[[], httpx.Response]:
    body = {"scope_id": scope, "citation": citation, "kind": "fact", "text": text}
    return lambda: api.post("/v1/memory/entries/revise", **body)


def changing(answer: httpx.Response) -> bool:
    return answer.status_code == 200 and answer.json()["entry"] is not None


def assert_no_gap(api: Api, scope: str, writes: int) -> None:
    """The head is the number of changing writes, and each of them is in the change list."""
    assert [each["memory_ref"] for each in api.changes(scope)] == [memory_ref(n) for n in range(1, writes + 1)]
    assert api.call("/v1/memory/search", scope_id=scope, query="q")["memory"] == memory_ref(writes)


def test_two_processes_lose_no_write_and_let_one_revise_win(pair: tuple[Api, Api], threads: ThreadPoolExecutor) -> None:
    first, second = pair
    for _ in range(ROUNDS):
        scope = first.new_scope()
        wrote = at_once(threads, [remembering(first, scope, "of first"), remembering(second, scope, "of second")])
        assert {answer.status_code for answer in wrote} <= {200, 409, 503}
        winners = [text for answer, text in zip(wrote, ("of first", "of second"), strict=True) if changing(answer)]
        assert winners
        assert sorted(entry["text"] for entry in second.entries(scope)) == sorted(winners)
        target = first.entries(scope)[0]["citation"]
        revised = at_once(
            threads, [revising(pair[number % 2], scope, target, f"revised {number}") for number in range(20)]
        )
        assert Counter(answer.status_code for answer in revised) == {200: 1, 409: 19}
        assert {answer.json()["error"]["code"] for answer in revised if answer.status_code == 409} == {
            "revision_conflict"
        }
        assert_no_gap(second, scope, len(winners) + 1)


def test_the_same_text_in_parallel_is_one_entry(pair: tuple[Api, Api], threads: ThreadPoolExecutor) -> None:
    scope = pair[0].new_scope()
    text = "Caf\u00e9 au lait"
    answers = at_once(threads, [remembering(pair[number % 2], scope, text) for number in range(50)])
    assert {answer.status_code for answer in answers} <= {200, 409, 503}
    assert sum(map(changing, answers)) == 1
    for again in (f" \u3000{text}\n", "Cafe\u0301 au lait"):
        answers.append(remembering(pair[0], scope, again)())
    unchanged = [answer.json() for answer in answers if answer.status_code == 200 and not changing(answer)]
    assert unchanged
    assert all(answer == {"memory": memory_ref(1), "entry": None} for answer in unchanged)
    assert [entry["text"] for entry in pair[1].entries(scope)] == [text]
    assert_no_gap(pair[0], scope, 1)


def test_what_was_written_before_is_in_every_answer_while_others_write(pair: tuple[Api, Api]) -> None:
    scope = pair[0].new_scope()
    stable = "stable needle entry"
    pair[0].remember(scope, stable)
    until = time.monotonic() + LOAD_S

    def write() -> int:
        written = 0
        while time.monotonic() < until:
            began = time.monotonic()
            pair[0].remember(scope, f"new entry {written} with other words")
            written += 1
            time.sleep(max(0.0, 0.05 - (time.monotonic() - began)))
        return written

    def read(number: int) -> int:
        api = pair[number % 2]
        seen = 0
        while time.monotonic() < until:
            hits = api.search(scope, "stable needle")
            (hit,) = [hit for hit in hits if hit["text"] == stable]
            assert api.entry(scope, hit["citation"])["text"] == stable
            items = items_of(api.prepared(scope, "stable needle", "memory"))
            (item,) = [item for item in items if item.body == stable]
            assert item.stored(api) == stable
            seen += 1
        return seen

    with ThreadPoolExecutor(9) as clients:
        writer, readers = clients.submit(write), [clients.submit(read, number) for number in range(8)]
        assert all(reader.result() > 0 for reader in readers)
        assert_no_gap(pair[1], scope, writer.result() + 1)


def test_parallel_approvals_and_replacements_make_one_revision(
    pair: tuple[Api, Api], threads: ThreadPoolExecutor
) -> None:
    content = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}
    scope = pair[0].new_scope()
    target = pair[0].approve(scope, pair[0].propose(scope, content))
    candidate = pair[0].propose(scope, content, target=target)
    named: dict[str, Any] = {"scope_id": scope, "candidate_id": candidate["candidate_id"], "expected_version": 1}

    def approving(api: Api) -> Callable[[], httpx.Response]:
        return lambda: api.post("/v1/artifact-candidates/approve", **named)

    def replacing(api: Api) -> Callable[[], httpx.Response]:
        path = f"/v1/scopes/{scope}/artifacts/experience/{target['artifact_id']}"
        headers = {"If-Match": '"revision:1"'}
        return lambda: api.send("PUT", path, {"content": content}, headers=headers)

    answers = at_once(threads, [make(pair[number % 2]) for number in range(8) for make in (approving, replacing)])
    assert Counter(answer.status_code == 200 for answer in answers) == {True: 1, False: 15}
    assert {answer.status_code for answer in answers} <= {200, 409, 412}
    head = pair[1].get(f"/v1/scopes/{scope}/artifacts/experience/{target['artifact_id']}").json()
    assert head["revision"] == 2


def test_the_same_key_in_parallel_makes_one_scope(pair: tuple[Api, Api], threads: ThreadPoolExecutor) -> None:
    body = {"title": "t", "summary": "s", "idempotency_key": "parallel"}
    answers = at_once(threads, [partial(api.post, "/v1/scopes", **body) for api in pair * 10])
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["scope_id"] for answer in answers}) == 1
