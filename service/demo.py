"""The demo: a database with the sample project memory, one prepared text, and requests to paste."""

import json
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from contracts.errors import InternalError, ScopeNotFound
from contracts.memory import MemorySearchRequest
from contracts.scopes import CreateScopeRequest
from service.runtime import Runtime
from service.validation import checked, decode_json

Say = Callable[[str], None]

_SAMPLE = files("service").joinpath("sample")


class SampleQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question that the sample answers."""

    scope_id: str
    query: str


def sample_queries() -> tuple[SampleQuery, ...]:
    """In the order in which they are worth trying."""
    queries: tuple[SampleQuery, ...] = decode_json(_read("queries.json"), tuple[SampleQuery, ...])
    return queries


async def import_sample(runtime: Runtime) -> int:
    """Store the sample in a database without Scopes; how many lines were stored, 0 where there are Scopes already."""
    page = await runtime.scopes.list("", 1, None)
    if page.items:
        return 0
    stored = 0
    requests: tuple[CreateScopeRequest, ...] = decode_json(_read("scopes.json"), tuple[CreateScopeRequest, ...])
    for request in requests:
        scope = await runtime.scopes.create(request)
        lines = _SAMPLE.joinpath(scope.scope_id.replace(":", "-") + ".ndjson")
        stored += await _import_lines(runtime, scope.scope_id, lines)
    return stored


async def has_sample(runtime: Runtime) -> bool:
    """Whether the Scope that the sample's queries ask is there."""
    try:
        await runtime.scopes.get(sample_queries()[0].scope_id)
    except ScopeNotFound:
        return False
    return True


async def show_sample(runtime: Runtime, say: Say, *, base_url: str, unix_socket: str | None, with_token: bool) -> None:
    """Say one prepared text and the requests that a person may paste next."""
    first, *_ = sample_queries()
    context = runtime.context.for_scope(first.scope_id)
    prepared = await context.prepare(first.query, assembly={})
    say(f"\nThe query: {first.query}\nwhat a host injects for it, {prepared.content_bytes} bytes:\n")
    say(prepared.content or "(empty)")
    question = {"scope_id": first.scope_id, "query": first.query}
    selection = {
        "sections": [
            {"family": "profile", "limit": 1},
            {"family": "memory", "limit": 4},
            {"family": "topic-memory", "limit": 1},
        ],
        "show": ["recall_rank"],
    }
    found = await runtime.memory.search(checked({**question, "limit": 1}, MemorySearchRequest))
    command = "curl -s" if unix_socket is None else f"curl -s --unix-socket {shlex.quote(unix_socket)}"
    if with_token:
        command += ' -H "Authorization: Bearer $TOKEN"'

    def curl(title: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        parts = [command, shlex.quote(base_url + path)]
        if body is not None:
            parts.append("-H 'Content-Type: application/json' -d " + shlex.quote(json.dumps(body, ensure_ascii=False)))
        say(f"\n# {title}\n{' '.join(parts)}")

    say("\nTry it from another terminal:")
    if with_token:
        say("\n# The token of POWERCONTEXT_SERVER_AUTH_TOKEN, or one that is made here:")
        say("TOKEN=$(powercontext-sidecar token create demo --grant '*' admin)")
    curl("Is it ready?", "/health/ready")
    curl("The text above: assembly with its defaults", "/v1/context/prepare", {**question, "assembly": {}})
    curl("Chosen families, order and numbers", "/v1/context/prepare", {**question, "assembly": selection})
    curl("Without assembly: the legacy output", "/v1/context/prepare", question)
    curl("Search the Memory", "/v1/memory/search", {**question, "limit": 3})
    for hit in found.hits:
        cited = {"scope_id": first.scope_id, "citation": msgspec.to_builtins(hit.citation)}
        curl("Read exactly what a citation names", "/v1/memory/entries/get", cited)


async def _import_lines(runtime: Runtime, scope_id: str, file: Traversable) -> int:
    """How many lines were stored. Raises InternalError when one was not: the sample belongs to this program."""

    async def chunks() -> AsyncIterator[bytes]:
        yield file.read_bytes()

    stored = 0
    async for report in runtime.bulk.import_lines(scope_id, chunks()):
        line = json.loads(report)
        if "totals" in line:
            stored = line["totals"]["stored"]
        elif line["status"] != "stored":
            raise InternalError(f"The sample's line {line['line']} of {file.name} was not stored.")
    return stored


def _read(name: str) -> bytes:
    return _SAMPLE.joinpath(name).read_bytes()
