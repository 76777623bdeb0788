"""Recall quality on public questions: recall@16, and the mean reciprocal rank of the first right answer (MRR).

    python -m bench.eval_recall DATA_FOLDER [--engine-url URL]

`bench.recall_tasks` says what DATA_FOLDER holds. The project's own row goes through the real store: Scopes are created,
their texts imported and recalled, in a temporary SQLite database or the one that URL names, and deleted again. The same
ranking in memory must find the same in the same order; it then measures what each single rule of the tokenizer or the
ranking is worth, by leaving it out. The figures depend on nothing but the code and the data.

The exit code is 0 whether the targets are met or not: this measures. It is 2 when the data or the database cannot be
used, 1 when the store finds something else than the ranking in memory.
"""

import asyncio
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple, TypeAlias

from adapters import open_storage
from adapters.sql.address import DatabaseUrlError
from bench.recall_tasks import FILES, DataError, Scope, read_tasks
from bench.retrieval import VARIANTS, by_unicode61, in_memory, through_store, variant
from contracts.errors import RuntimeNotReady
from contracts.limits import MEMORY_POOL

ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL", "oceanbase": "OceanBase"}
CLEAR_LINE = "\r\x1b[K"

Found: TypeAlias = list[list[int]]
"""Of one Scope: for each question the positions of the texts found, the best first."""


class Figures(NamedTuple):
    """Means over all questions of a task, each from 0 to 1."""

    recall: float
    mrr: float

    def __str__(self) -> str:
        return f"{self.recall:.3f} / {self.mrr:.3f}"


TARGETS = {
    "LoCoMo facts": Figures(0.722, 0.582),
    "LoCoMo turns": Figures(0.665, 0.483),
    "CMRC sentences": Figures(0.975, 0.783),
}


def figures_of(scopes: Sequence[Scope], found: Sequence[Found]) -> Figures:
    """The share of a question's right texts among those found, and 1 / rank of the first right one or 0, as means."""
    recall = reciprocal = 0.0
    n_questions = 0
    for scope, by_question in zip(scopes, found, strict=True):
        for question, positions in zip(scope.questions, by_question, strict=True):
            n_questions += 1
            recall += len(question.right.intersection(positions)) / len(question.right)
            reciprocal += next((1 / rank for rank, at in enumerate(positions, 1) if at in question.right), 0.0)
    return Figures(recall / n_questions, reciprocal / n_questions)


def _show(line: str) -> None:
    """Replace the line of progress where somebody may be watching."""
    if sys.stderr.isatty():
        print(f"{CLEAR_LINE}{line}", end="", file=sys.stderr, flush=True)


async def _ask_store(tasks: Mapping[str, list[Scope]], url: str | None) -> tuple[str, dict[str, list[Found]]]:
    """The name of the engine, and what its store finds. Raises DatabaseUrlError, RuntimeNotReady."""
    async with AsyncExitStack() as stack:
        if url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="eval-recall-"))
            url = f"sqlite:///{folder}/recall.db"
        storage = await open_storage(url)
        stack.push_async_callback(storage.close)
        # A database that holds something is somebody's: it is used as it is, or refused.
        if await storage.is_new():
            await storage.migrate()
        else:
            await storage.check()
        found: dict[str, list[Found]] = {}
        for name, scopes in tasks.items():
            found[name] = []
            for number, scope in enumerate(scopes, 1):
                _show(f"{name} through the store: Scope {number} of {len(scopes)}")
                found[name].append(await through_store(storage, scope))
        return ENGINES[storage.engine.dialect.name], found


def _ask(row: str, tasks: Mapping[str, list[Scope]], search: Callable[[Scope], Found]) -> dict[str, list[Found]]:
    found = {}
    for name, scopes in tasks.items():
        _show(f"{name}, {row}")
        found[name] = [search(scope) for scope in scopes]
    return found


def _print_row(name: str, cells: Sequence[object]) -> None:
    _show("")
    print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)


def measure(tasks: Mapping[str, list[Scope]], url: str | None) -> bool:
    """Print the table; whether the store found the same as the ranking in memory.

    Raises DatabaseUrlError and RuntimeNotReady where the database cannot be used.
    """

    def figures(found: Mapping[str, list[Found]]) -> list[Figures]:
        return [figures_of(scopes, found[name]) for name, scopes in tasks.items()]

    engine, stored = asyncio.run(_ask_store(tasks, url))
    reached = figures(stored)
    heads = [f"{name}, {sum(len(scope.questions) for scope in scopes)} questions" for name, scopes in tasks.items()]
    _print_row(f"recall@{MEMORY_POOL} / MRR", heads)
    _print_row("---", ["---"] * len(heads))
    _print_row("SQLite FTS5, unicode61", figures(_ask("unicode61", tasks, by_unicode61)))
    _print_row(f"**this project, through the store ({engine})**", [f"**{each}**" for each in reached])
    _print_row("target", [TARGETS[name] for name in tasks])
    _print_row("target met", [_verdict(TARGETS[name], each) for name, each in zip(tasks, reached, strict=True)])
    remembered = _ask("in memory", tasks, in_memory)
    _print_row("this project, in memory", figures(remembered))
    for name in VARIANTS:
        with variant(name):
            _print_row(f"in memory, {name}", figures(_ask(name, tasks, in_memory)))
    differing = sum(
        here != there
        for name in tasks
        for both in zip(stored[name], remembered[name], strict=True)
        for here, there in zip(*both, strict=True)
    )
    print(
        f"\nThe store ({engine}) and the ranking in memory find "
        + (f"different texts for {differing} questions." if differing else "the same texts in the same order.")
        + " The rows in memory use the same tokenizer and ranking, without a database."
    )
    return not differing


def _verdict(target: Figures, reached: Figures) -> str:
    return " / ".join("yes" if has >= wanted else "no" for has, wanted in zip(reached, target, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and return the exit code."""
    parser = ArgumentParser(prog="eval_recall", description="Recall quality on public questions.")
    parser.add_argument("data", type=Path, help="folder that holds " + " and ".join(FILES))
    parser.add_argument("--engine-url", metavar="URL", help="database to use; without it a temporary SQLite file")
    options = parser.parse_args(arguments)
    try:
        same = measure(read_tasks(options.data), options.engine_url)
    except DataError as error:
        print(f"eval_recall: {error}", file=sys.stderr)
        return 2
    except DatabaseUrlError as error:
        print(f"eval_recall: the URL {error}", file=sys.stderr)
        return 2
    except RuntimeNotReady as error:
        print(f"eval_recall: {error}", file=sys.stderr)
        return 2
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
