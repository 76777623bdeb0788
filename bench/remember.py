"""The cost of remember over HTTP, in Scopes that hold more and more entries."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from bench.data import entries
from bench.figures import median, percentile
from bench.fill import Api
from bench.recall import Database, scope_name
from bench.results import RememberCell
from bench.servers import SIDECAR, running_sidecar

SEED = 1_000_003  # of no database that is filled, so that nothing is an identical entry


def measure_remember(
    databases: Sequence[Database], folder: Path, python: str, rounds: int, calls: int, told: Callable[[str], None]
) -> list[RememberCell]:
    """One sidecar on each database of one Scope; rounds of `calls` writes take turns."""
    source = entries(SEED)
    samples: list[list[list[float]]] = [[] for _ in databases]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(running_sidecar(each.path, folder / f"{each.path.stem}.log", python=python))
            for each in databases
        ]
        apis = [stack.enter_context(Api(server.port)) for server in servers]
        for number in range(rounds):
            told(f"remember, round {number + 1} of {rounds}")
            for at, api in enumerate(apis):
                samples[at].append(sorted(api.remember(scope_name(0), entry) for entry in islice(source, calls)))
    return [remember_cell(SIDECAR, each.entries, found) for each, found in zip(databases, samples, strict=True)]


def remember_cell(server: str, count: int, rounds: Sequence[Sequence[float]]) -> RememberCell:
    """Medians over rounds, each in ascending order, in milliseconds."""
    return RememberCell(
        server=server,
        entries=count,
        p50_ms=median([percentile(each, 0.5) for each in rounds]),
        p95_ms=median([percentile(each, 0.95) for each in rounds]),
    )
