"""Recall alone, in process: the call that prepare makes through the runtime's ports, on uvloop as in the server."""

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import uvloop

from adapters.sql.storage import SqlStorage
from adapters.storage import open_storage
from bench.data import build_data, chinese_prompt, entries
from bench.figures import median, percentile
from bench.fill import fill_in_process, new_storage
from bench.results import RecallCell
from contracts.limits import QUERY_MAX_CHARS
from contracts.ports import ResolvedScope
from service.recall import recall
from service.runtime import Runtime

QUESTION = "question"
LONG_PROMPT = f"{QUERY_MAX_CHARS} Chinese characters"
SCOPES_ASKED = 64
"""Of a database with many Scopes, so many are asked in turn."""

SCOPES_IMPORTED = 64
"""Of a database with many Scopes, so many get entries of their own through the storage; the rows of the others are
copies of theirs under another key. What a query reads is the same, and filling takes minutes less."""

_COPIED_TABLES = ("scope", "memory_head", "memory_version", "corpus", "posting_tail", "posting", "posting_document")


class Database(NamedTuple):
    """A filled SQLite file: `scopes` Scopes that hold `entries` Memory entries together."""

    path: Path
    entries: int
    scopes: int


def scope_name(number: int) -> str:
    """The id of a Scope of a `Database`, from 0."""
    return f"scope-{number}"


def fill_database(folder: Path, count: int, scopes: int, told: Callable[[str], None]) -> Database:
    """A new database in `folder`; `told` hears of the progress."""
    database = Database(folder / f"recall-{count}-{scopes}.db", count, scopes)
    each = count // scopes
    started = time.perf_counter()

    def progress(before: int, stored: int) -> None:
        seconds = time.perf_counter() - started
        told(f"filling {count:,} entries in {scopes:,} Scopes: {before + stored:,} after {seconds:.0f} s")

    async def fill() -> None:
        storage = await new_storage(database.path)
        source = entries(seed=count)
        try:
            for number in range(min(scopes, SCOPES_IMPORTED)):
                await fill_in_process(storage, scope_name(number), source, each, partial(progress, number * each))
        finally:
            await storage.close()

    uvloop.run(fill())
    if scopes > SCOPES_IMPORTED:
        _copy_scopes(database, lambda copied: progress(copied * each, 0))
    return database


def _copy_scopes(database: Database, told: Callable[[int], None]) -> None:
    """Fill the Scopes from `SCOPES_IMPORTED` on with copies of the first ones; `told` hears how many there are."""
    connection = sqlite3.connect(database.path, isolation_level=None)
    try:
        keys = [
            connection.execute("SELECT id FROM scope WHERE ident = ?", (scope_name(number).encode(),)).fetchone()[0]
            for number in range(SCOPES_IMPORTED)
        ]
        first = 1 + max(keys)
        for number in range(SCOPES_IMPORTED, database.scopes):
            new = {"key": first + number, "ident": scope_name(number).encode(), "from": keys[number % len(keys)]}
            connection.execute("BEGIN")
            for table in _COPIED_TABLES:
                connection.execute(_copy_statement(connection, table), new)
            connection.execute("COMMIT")
            if number % 100 == 0:
                told(number)
    finally:
        connection.close()


def _copy_statement(connection: sqlite3.Connection, table: str) -> str:
    """INSERT of one Scope's rows of `table` under another key."""
    key = "id" if table == "scope" else "scope"
    changed = {key: ":key", "ident": ":ident", "idempotency_key": ":ident"}
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    selected = ", ".join(changed.get(column, column) for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {selected} FROM {table} WHERE {key} = :from"


def measure_recall(
    databases: Sequence[Database], rounds: int, calls: int, told: Callable[[str], None] = lambda line: None
) -> list[RecallCell]:
    """Questions on each database, and long prompts on those of one Scope; rounds over all of them take turns."""
    return uvloop.run(_measure(databases, rounds, calls, told))


class _Case(NamedTuple):
    database: Database
    runtime: Runtime
    scopes: list[ResolvedScope]
    prompt: str
    queries: list[str]


async def _measure(
    databases: Sequence[Database], rounds: int, calls: int, told: Callable[[str], None]
) -> list[RecallCell]:
    questions = build_data(memory=0, reference_memory=0, experience=0, reference_experience=0, queries=64).queries
    chance = random.Random(5)
    # More than the storage keeps the terms of, so that every call tokenizes.
    prompts = [chinese_prompt(chance, QUERY_MAX_CHARS) for _ in range(16)]
    opened: list[SqlStorage] = []
    cases: list[_Case] = []
    with ThreadPoolExecutor(1) as renderer:
        try:
            for database in databases:
                storage = await open_storage(f"sqlite:///{database.path}")
                opened.append(storage)
                runtime = Runtime(storage, renderer)
                step = max(database.scopes // SCOPES_ASKED, 1)
                asked = [scope_name(number) for number in range(0, database.scopes, step)]
                scopes = [await storage.scopes.resolve(scope_id) for scope_id in asked]
                cases.append(_Case(database, runtime, scopes, QUESTION, questions))
                if database.scopes == 1:
                    cases.append(_Case(database, runtime, scopes, LONG_PROMPT, prompts))
            samples: list[list[list[float]]] = [[] for _ in cases]
            for number in range(-1, rounds):  # the first only warms up
                for at, case in enumerate(cases):
                    told(f"recall, {case.database.entries:,} entries, {case.prompt}, round {number + 1} of {rounds}")
                    found = [await _timed(case, call) for call in range(calls if number >= 0 else len(case.queries))]
                    if number >= 0:
                        samples[at].append(sorted(found))
        finally:
            for storage in opened:
                await storage.close()
    return [
        RecallCell(
            entries=case.database.entries,
            scopes=case.database.scopes,
            prompt=case.prompt,
            p50_ms=median([percentile(each, 0.5) for each in found]) * 1000,
            p95_ms=median([percentile(each, 0.95) for each in found]) * 1000,
            best_ms=min(each[0] for each in found) * 1000,
        )
        for case, found in zip(cases, samples, strict=True)
    ]


async def _timed(case: _Case, call: int) -> float:
    scope = case.scopes[call % len(case.scopes)]
    query = case.queries[call % len(case.queries)]
    started = time.perf_counter()
    await recall(case.runtime.sources, scope, ("memory",), query)
    return time.perf_counter() - started
