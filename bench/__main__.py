"""Measures everything in one run on one machine.

    python -m bench [--quick] [--peer] [--data FOLDER] [--large] [--out FILE] [--docs FOLDER]

Read ratios: all servers take turns within each round, so they share whatever else the machine does.
"""

import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.assembler import measure_assembler
from bench.data import Data, build_data, entries
from bench.environments import ROOT, InstallError, peer_environment, python_of, runtime_environment
from bench.figures import median
from bench.fill import Api, fill_conversations, fill_over_http
from bench.load import Generator
from bench.locomo import FILE, Conversation, read_conversations
from bench.machine import describe_machine
from bench.modes import DEFAULT_MODE, EMPTY_MODE, MODES
from bench.peer import running_peer
from bench.prepare import Plan, Target, WrongAnswer, measure_prepare
from bench.processes import Server, StartError
from bench.recall import Database, fill_database, measure_recall
from bench.remember import SEED, measure_remember, remember_cell
from bench.report import markdown, publish, write_json
from bench.results import PrepareCell, RecallCell, RememberCell, Results, Started
from bench.servers import PEER, running_floor, running_sidecar


class Sizes(NamedTuple):
    """How much is measured. Seconds are of one server in one round."""

    data: dict[str, int]
    plan: Plan
    locomo_plan: Plan
    starts: int
    one_scope: tuple[int, ...]
    recall_rounds: int
    recall_calls: int
    remember_at: tuple[int, ...]
    remember_calls: int
    assembler_rounds: int
    assembler_calls: int


_DATA = {"memory": 1000, "reference_memory": 200, "experience": 40, "reference_experience": 20, "queries": 64}
FULL = Sizes(
    data=_DATA,
    plan=Plan(5, 1.5, (1, 4, 16, 64)),
    locomo_plan=Plan(5, 1.5, (1, 16)),
    starts=7,
    one_scope=(100, 1_000, 10_000, 100_000),
    recall_rounds=5,
    recall_calls=128,
    remember_at=(100, 10_000, 100_000),
    remember_calls=100,
    assembler_rounds=7,
    assembler_calls=60,
)
QUICK = Sizes(
    data=_DATA,
    plan=Plan(2, 0.25, (1, 4, 16, 64)),
    locomo_plan=Plan(2, 0.25, (1, 16)),
    starts=2,
    one_scope=(100, 1_000, 5_000),
    recall_rounds=2,
    recall_calls=64,
    remember_at=(100, 5_000),
    remember_calls=40,
    assembler_rounds=2,
    assembler_calls=20,
)
LARGE = (1_000_000, 1_000)  # entries, Scopes


class _Http(NamedTuple):
    """What was measured while the servers ran."""

    started: list[Started]
    prepare: list[PrepareCell]
    prepare_locomo: list[PrepareCell]
    refusals: dict[str, str]
    remember: list[RememberCell]


def main() -> int:
    """The exit code: 0 when everything was measured, whether or not the targets were met."""
    options = _options()
    sizes = QUICK if options.quick else FULL
    conversations = _conversations(options.data)
    try:
        say("environments: installing what is not in the cache folder yet")
        python = python_of(runtime_environment())
        peer = peer_environment() if options.peer else None
    except InstallError as error:
        say(f"bench: {error}")
        return 1
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        try:
            http = _measure_http(folder, sizes, conversations, python, peer)
            remember, recall = _measure_storage(folder, sizes, python, large=options.large)
        except (StartError, WrongAnswer) as error:
            say(f"bench: {error}")
            return 1
        assembler = measure_assembler(sizes.assembler_rounds, sizes.assembler_calls, told=say)
    results = Results(
        machine=describe_machine(_command(options)),
        quick=options.quick,
        started=http.started,
        prepare=http.prepare,
        prepare_locomo=http.prepare_locomo,
        refusals=http.refusals,
        remember=[*remember, *http.remember],
        assembler=assembler,
        recall=recall,
    )
    write_json(results, options.out)
    print(markdown(results))
    if options.docs:
        publish(results, options.docs)
    return 0


def say(line: str) -> None:
    """Progress, on stderr, so that stdout holds the report alone."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _options() -> Namespace:
    parser = ArgumentParser(prog="python -m bench", description="Measure this project on this machine.")
    parser.add_argument("--quick", action="store_true", help="one to two minutes, rough figures, docs left as they are")
    parser.add_argument("--peer", action="store_true", help="the published server too; installs it at the first time")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=f"prepare over conversations too; holds {FILE}")
    parser.add_argument("--large", action="store_true", help="recall from 1,000,000 entries too; filling takes long")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="JSON (bench/results/latest.json, quick.json if quick)"
    )
    parser.add_argument(
        "--docs", type=Path, metavar="FOLDER", help="docs folder to publish in (docs, or none if quick)"
    )
    options = parser.parse_args()
    if options.out is None:
        options.out = ROOT / "bench" / "results" / ("quick.json" if options.quick else "latest.json")
    if options.docs is None and not options.quick:
        options.docs = ROOT / "docs"
    return options


def _command(options: Namespace) -> str:
    """As it can be typed on any machine: without its paths."""
    flags = [f"--{name}" for name in ("quick", "peer", "large") if getattr(options, name)]
    return " ".join(["python -m bench", *flags, *(["--data FOLDER"] if options.data else [])])


def _conversations(folder: Path | None) -> list[Conversation]:
    return read_conversations(folder) if folder else []


def _measure_http(
    folder: Path, sizes: Sizes, conversations: list[Conversation], python: str, peer: Path | None
) -> _Http:
    data = build_data(**sizes.data)
    with ExitStack() as stack:
        generator = stack.enter_context(Generator())
        started = _measure_starts(folder, sizes.starts, python)
        database = folder / "prepare.db"
        servers = [
            stack.enter_context(running_sidecar(database, folder / "sidecar.log", python=python)),
            stack.enter_context(running_sidecar(database, folder / "sidecar-2.log", workers=2, python=python)),
            stack.enter_context(running_floor(folder / "floor.log", python=python)),
        ]
        filled = [servers[0]]
        if peer is not None:
            say("peer: starting")
            servers.append(stack.enter_context(running_peer(peer, folder)))
            filled.append(servers[-1])
        at_ready = {server.name: server.usage().rss_mib for server in servers}
        remember = []
        scopes: dict[str, str] = {}
        scopes_locomo: dict[str, list[str]] = {}
        for server in filled:
            say(f"{server.name}: filling over HTTP")
            scopes[server.name] = fill_over_http(server.port, data)
            scopes_locomo[server.name] = fill_conversations(server.port, [each.sentences for each in conversations])
            if server.name == PEER:
                remember.append(_measure_peer_remember(server, scopes[PEER], sizes))
        own = filled[0].name
        targets = [_target(server, scopes.get(server.name, scopes[own]), data) for server in servers]
        refusing = frozenset({PEER})
        prepare, refusals = measure_prepare(generator, targets, MODES, sizes.plan, may_refuse=refusing, told=say)
        prepare_locomo: list[PrepareCell] = []
        if conversations:
            say("prepare over LoCoMo conversations")
            targets = [
                _locomo(each, scopes_locomo.get(each.name, scopes_locomo[own]), conversations) for each in servers
            ]
            modes = (DEFAULT_MODE, EMPTY_MODE)
            prepare_locomo, more = measure_prepare(
                generator, targets, modes, sizes.locomo_plan, may_refuse=refusing, told=say
            )
            refusals |= more
        after = {server.name: server.usage().rss_mib for server in servers}
    return _Http(
        [_started(each, started.get(each.name), at_ready, after) for each in servers],
        prepare,
        prepare_locomo,
        refusals,
        remember,
    )


def _started(server: Server, ready_s: float | None, at_ready: dict[str, float], after: dict[str, float]) -> Started:
    return Started(
        server=server.name,
        ready_s=server.ready_s if ready_s is None else ready_s,
        ready_rss_mib=at_ready[server.name],
        loaded_rss_mib=after[server.name],
    )


def _measure_starts(folder: Path, times: int, python: str) -> dict[str, float]:
    """Median seconds from start to ready, the sidecar on a database that is there."""
    database = folder / "start.db"
    found: dict[str, list[float]] = {}
    for number in range(-1, times):
        say(f"start to ready, {number + 1} of {times}")
        for context in (
            running_sidecar(database, folder / "start.log", python=python),
            running_sidecar(database, folder / "start-2.log", workers=2, python=python),
            running_floor(folder / "start-floor.log", python=python),
        ):
            with context as server:
                if number >= 0:  # the first sets the database up and reads the files into memory
                    found.setdefault(server.name, []).append(server.ready_s)
    return {name: median(seconds) for name, seconds in found.items()}


def _measure_peer_remember(server: Server, scope_id: str, sizes: Sizes) -> RememberCell:
    source = entries(SEED)
    with Api(server.port) as api:
        found = sorted(api.remember(scope_id, next(source)) for _ in range(sizes.remember_calls))
    return remember_cell(server.name, sizes.data["memory"], [found])


def _target(server: Server, scope_id: str, data: Data) -> Target:
    return Target(server, [(scope_id, query) for query in data.queries])


def _locomo(server: Server, scopes: list[str], conversations: list[Conversation]) -> Target:
    """Questions of the conversations in turn, so that neighbours ask different Scopes."""
    asked = [
        (scope_id, question)
        for questions in zip(*(each.questions for each in conversations), strict=False)
        for scope_id, question in zip(scopes, questions, strict=True)
    ]
    return Target(server, asked)


def _measure_storage(
    folder: Path, sizes: Sizes, python: str, *, large: bool
) -> tuple[list[RememberCell], list[RecallCell]]:
    databases: list[Database] = [fill_database(folder, count, 1, say) for count in sizes.one_scope]
    asked = [*databases, *([fill_database(folder, *LARGE, say)] if large else [])]
    recall = measure_recall(asked, sizes.recall_rounds, sizes.recall_calls, say)
    written = [each for each in databases if each.entries in sizes.remember_at]
    rounds = 2 if sizes.remember_calls < 100 else 5
    return measure_remember(written, folder, python, rounds, sizes.remember_calls // rounds, say), recall


if __name__ == "__main__":
    sys.exit(main())
