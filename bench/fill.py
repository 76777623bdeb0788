"""Fills every server in the same way through the public HTTP API, and in process where HTTP would take hours."""

import http.client
import json
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from adapters import open_storage
from adapters.sql.storage import SqlStorage
from bench.data import Data, Entry
from contracts.bulk import MemoryEntryLine
from contracts.scopes import CreateScopeRequest

IMPORT_BATCH = 2000
"""Entries of one transaction: above it the share of a commit is no longer seen."""


class FillError(Exception):
    """A server refused what it was to be filled with."""


class Api:
    """One keep-alive connection to a server; a context manager that closes it."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The decoded answer. Raises FillError unless it is 200 or 201."""
        data = json.dumps(body, ensure_ascii=False).encode()
        self._connection.request("POST", path, data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status not in (200, 201):
            raise FillError(f"POST {path}: {answer.status} {said[:500]!r}")
        decoded: dict[str, Any] = json.loads(said)
        return decoded

    def create_scope(self, name: str, references: Sequence[str] = ()) -> str:
        """The id that the server gave the Scope."""
        body = {"title": name, "summary": name, "idempotency_key": name, "context_references": list(references)}
        scope_id: str = self.post("/v1/scopes", body)["scope_id"]
        return scope_id

    def remember(self, scope_id: str, entry: Entry) -> float:
        """The milliseconds that it took."""
        started = time.perf_counter()
        self.post("/v1/memory/remember", {"scope_id": scope_id, "kind": entry.kind, "text": entry.text})
        return (time.perf_counter() - started) * 1000

    def publish_experience(self, scope_id: str, content: dict[str, str]) -> None:
        self.post(f"/v1/scopes/{scope_id}/artifacts", {"family": "experience", "content": content})


def fill_over_http(port: int, data: Data) -> str:
    """Store the data set; the id of the current Scope."""
    with Api(port) as api:
        reference = api.create_scope("reference")
        current = api.create_scope("current", [reference])
        for scope_id, memory, experience in (
            (reference, data.reference_memory, data.reference_experience),
            (current, data.memory, data.experience),
        ):
            for entry in memory:
                api.remember(scope_id, entry)
            for content in experience:
                api.publish_experience(scope_id, content)
        return current


def fill_conversations(port: int, conversations: Sequence[Sequence[str]]) -> list[str]:
    """Store the sentences of each conversation in a Scope of its own; the ids of the Scopes."""
    scopes = []
    with Api(port) as api:
        for number, sentences in enumerate(conversations):
            scopes.append(api.create_scope(f"conversation {number}"))
            for sentence in sentences:
                api.remember(scopes[-1], Entry("fact", sentence))
    return scopes


async def new_storage(path: Path) -> SqlStorage:
    """An opened, migrated SQLite database at `path`."""
    storage = await open_storage(f"sqlite:///{path}")
    await storage.migrate()
    return storage


async def fill_in_process(
    storage: SqlStorage, scope_id: str, entries: Iterable[Entry], count: int, told: Callable[[int], None] | None = None
) -> None:
    """Create the Scope and import `count` entries into it; `told` hears of each batch how many are stored."""
    await storage.scopes.create(
        CreateScopeRequest(title=scope_id, summary=scope_id, idempotency_key=scope_id, scope_id=scope_id)
    )
    left = iter(entries)
    for done in range(0, count, IMPORT_BATCH):
        batch = list(islice(left, min(IMPORT_BATCH, count - done)))
        lines = [(at, MemoryEntryLine(kind=entry.kind, text=entry.text)) for at, entry in enumerate(batch, 1)]
        refused = [each for each in await storage.bulk.import_batch(scope_id, lines) if each.status == "refused"]
        if refused:
            raise FillError(f"import refused line {refused[0].line}: {refused[0].error}")
        if told is not None:
            told(done + len(batch))
