"""Prepare over HTTP: every server in every round, so that a drift of the machine meets all of them alike."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bench.figures import median
from bench.load import Generator, Job, Measured
from bench.modes import Mode, request_bodies
from bench.processes import Server
from bench.results import PrepareCell
from bench.servers import FLOOR

PATH = "/v1/context/prepare"
WARM_UP_S = 0.2


class Plan(NamedTuple):
    """`seconds` is the length of one server's share of one round."""

    rounds: int
    seconds: float
    connections: Sequence[int]


class Target(NamedTuple):
    """A server that is filled, with the (scope_id, query) pairs that it is asked."""

    server: Server
    asked: Sequence[tuple[str, str]]


class WrongAnswer(Exception):
    """A server answered something else than a plausible 200, so its times mean nothing."""


class _Round(NamedTuple):
    measured: Measured
    cpu_s: float


def measure_prepare(
    generator: Generator,
    targets: Sequence[Target],
    modes: Sequence[Mode],
    plan: Plan,
    *,
    may_refuse: frozenset[str] = frozenset(),
    told: Callable[[str], None] = lambda line: None,
) -> tuple[list[PrepareCell], dict[str, str]]:
    """The cells of all servers, modes and numbers of connections; and, by `server mode`, what a server in `may_refuse`
    said to a mode that it does not know.

    Raises WrongAnswer when a server answers anything else.
    """
    cells: list[PrepareCell] = []
    refusals: dict[str, str] = {}
    for mode in modes:
        bodies = {target.server.name: request_bodies(mode, target.asked) for target in targets}
        able = []
        for target in targets:
            probe = _load(generator, target, mode, bodies, connections=1, seconds=WARM_UP_S).measured
            if probe.faults and target.server.name in may_refuse:
                refusals[f"{target.server.name} {mode.name}"] = probe.faults[0]
            else:
                _require_plausible(target, mode, probe)
                able.append(target)
        for connections in plan.connections:
            told(f"prepare, {mode.name}, {connections} connections")
            rounds: dict[str, list[_Round]] = {target.server.name: [] for target in able}
            for number in range(plan.rounds):
                first = number % len(able)  # another server begins each round
                for target in (*able[first:], *able[:first]):
                    found = _load(generator, target, mode, bodies, connections=connections, seconds=plan.seconds)
                    _require_plausible(target, mode, found.measured)
                    rounds[target.server.name].append(found)
            cells += [_cell(name, mode, connections, found, rounds.get(FLOOR)) for name, found in rounds.items()]
    return cells, refusals


def _load(
    generator: Generator,
    target: Target,
    mode: Mode,
    bodies: Mapping[str, list[bytes]],
    *,
    connections: int,
    seconds: float,
) -> _Round:
    server = target.server
    before = server.usage().cpu_s
    measured = generator.measure(
        Job(
            port=server.port,
            path=PATH,
            bodies=bodies[server.name],
            connections=connections,
            seconds=seconds,
            expects_empty=mode.is_empty,
        )
    )
    return _Round(measured, server.usage().cpu_s - before)


def _require_plausible(target: Target, mode: Mode, measured: Measured) -> None:
    if measured.faults:
        raise WrongAnswer(f"{target.server.name}, {mode.name}: {measured.faults[0]}")


def _cell(name: str, mode: Mode, connections: int, rounds: list[_Round], floor: list[_Round] | None) -> PrepareCell:
    found = [each.measured for each in rounds]
    pairs = [] if floor is None or name == FLOOR else list(zip(found, (each.measured for each in floor), strict=True))
    cpu_ms = _cpu_ms(rounds)
    return PrepareCell(
        server=name,
        mode=mode.name,
        connections=connections,
        p50_ms=median([each.p50_ms for each in found]),
        best_p50_ms=min(each.p50_ms for each in found),
        p95_ms=median([each.p95_ms for each in found]),
        p99_ms=median([each.p99_ms for each in found]),
        requests_per_s=median([each.requests_per_s for each in found]),
        cpu_ms=cpu_ms,
        answer_bytes=median([each.answer_bytes for each in found]),
        requests=sum(each.requests for each in found),
        p50_to_floor=median([own.p50_ms / bare.p50_ms for own, bare in pairs]) if pairs else None,
        floor_to_requests=median([bare.requests_per_s / own.requests_per_s for own, bare in pairs]) if pairs else None,
        cpu_to_floor=cpu_ms / _cpu_ms(floor) if floor is not None and pairs else None,
    )


def _cpu_ms(rounds: list[_Round]) -> float:
    """Of one request."""
    return sum(each.cpu_s for each in rounds) / sum(each.measured.requests for each in rounds) * 1000
