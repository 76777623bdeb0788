"""What this project wants to reach, as ratios within one run wherever a ratio can say it."""

from collections.abc import Callable
from typing import NamedTuple

from bench.modes import DEFAULT_MODE, EMPTY_MODE
from bench.results import AssemblerCell, PrepareCell, RecallCell, Results
from bench.servers import FLOOR, SIDECAR, SIDECAR_2

HOSTILE, ORDINARY = ("hostile",), ("ASCII", "Chinese")
KB2, KB8, KB200 = 2_000, 8_000, 200_000


class Bound(NamedTuple):
    """A figure that should be at most `most`. `measure` gives None when the run did not measure it."""

    name: str
    most: float
    unit: str
    measure: Callable[[Results], float | None]


class Verdict(NamedTuple):
    """One bound and what was measured."""

    name: str
    most: float
    unit: str
    measured: float | None

    @property
    def is_met(self) -> bool | None:
        return None if self.measured is None else self.measured <= self.most


def judge(bounds: tuple[Bound, ...], results: Results) -> list[Verdict]:
    """One verdict for each bound."""
    return [Verdict(each.name, each.most, each.unit, each.measure(results)) for each in bounds]


def _cell(cells: list[PrepareCell], server: str, mode: str, connections: int) -> PrepareCell | None:
    return next(
        (each for each in cells if (each.server, each.mode, each.connections) == (server, mode, connections)), None
    )


def _p50_to_floor(results: Results, mode: str, *, locomo: bool = False) -> float | None:
    cell = _cell(results.prepare_locomo if locomo else results.prepare, SIDECAR, mode, 1)
    return cell.p50_to_floor if cell else None


def _best_p50_to_floor(results: Results, mode: str) -> float | None:
    """Of the fastest round of each, which other work on the machine disturbs least."""
    own, bare = _cell(results.prepare, SIDECAR, mode, 1), _cell(results.prepare, FLOOR, mode, 1)
    return own.best_p50_ms / bare.best_p50_ms if own and bare else None


def _floor_to_requests(results: Results, server: str, *, locomo: bool = False) -> float | None:
    cell = _cell(results.prepare_locomo if locomo else results.prepare, server, DEFAULT_MODE.name, 16)
    return cell.floor_to_requests if cell else None


def _tail(results: Results) -> float | None:
    cell = _cell(results.prepare, SIDECAR, DEFAULT_MODE.name, 16)
    return cell.p99_ms / cell.p50_ms if cell else None


def _assembled(results: Results, texts: tuple[str, ...], size: int) -> list[AssemblerCell]:
    chosen = [each for each in results.assembler if each.output == "{}" and each.body_bytes == size]
    return [each for each in chosen if each.text in texts]


def _assembler_ms(results: Results, texts: tuple[str, ...]) -> float | None:
    return max((each.p50_ms for each in _assembled(results, texts, KB2)), default=None)


def _assembler_best_ms(results: Results) -> float | None:
    return max((each.best_ms for each in _assembled(results, ORDINARY, KB2)), default=None)


def _assembler_growth(results: Results) -> float | None:
    """The worst of the kinds of text; fastest calls, which other work on the machine disturbs least."""
    small = _assembled(results, (*ORDINARY, *HOSTILE), KB8)
    large = {each.text: each.best_ms for each in _assembled(results, (*ORDINARY, *HOSTILE), KB200)}
    return max((large[each.text] / each.best_ms for each in small if each.text in large), default=None)


def _recall(results: Results, entries: int) -> RecallCell | None:
    asked = [each for each in results.recall if each.scopes == 1 and each.prompt == "question"]
    return next((each for each in asked if each.entries == entries), None)


def _recall_growth(results: Results, small: int, large: int) -> float | None:
    few, many = _recall(results, small), _recall(results, large)
    return many.p50_ms / few.p50_ms if few and many else None


def _ready_s(results: Results) -> float | None:
    return next((each.ready_s for each in results.started if each.server == SIDECAR), None)


def _ready_rss(results: Results) -> float | None:
    return next((each.ready_rss_mib for each in results.started if each.server == SIDECAR), None)


TARGETS = (
    Bound("prepare {}, p50 at 1 connection, sidecar : floor", 6, "", lambda r: _p50_to_floor(r, DEFAULT_MODE.name)),
    Bound("the same on LoCoMo conversations", 4, "", lambda r: _p50_to_floor(r, DEFAULT_MODE.name, locomo=True)),
    Bound("prepare {}, requests/s at 16 connections, floor : sidecar", 9, "", lambda r: _floor_to_requests(r, SIDECAR)),
    Bound("the same on LoCoMo conversations", 6, "", lambda r: _floor_to_requests(r, SIDECAR, locomo=True)),
    Bound("the same with two worker processes", 5, "", lambda r: _floor_to_requests(r, SIDECAR_2)),
    Bound("prepare {}, p99 : p50 at 16 connections", 4, "", _tail),
    Bound("sections [], p50 at 1 connection, sidecar : floor", 2, "", lambda r: _p50_to_floor(r, EMPTY_MODE.name)),
    Bound("assembler, 24 candidates of 2 KB, ordinary text", 0.1, "ms", lambda r: _assembler_ms(r, ORDINARY)),
    Bound("assembler, 24 candidates of 2 KB, hostile text", 1.5, "ms", lambda r: _assembler_ms(r, HOSTILE)),
    Bound("assembler, bodies of 200 KB : 8 KB, worst text", 1.2, "", _assembler_growth),
    Bound("start to ready", 0.8, "s", _ready_s),
    Bound("resident memory at ready", 64, "MiB", _ready_rss),
)
"""Judged by every run; missing one is a finding, not an error."""

CHECKED_ENTRIES = (1_000, 20_000)

PREPARE_CHECKS = (
    Bound(
        "prepare {}, p50 at 1 connection, sidecar : floor", 15, "", lambda r: _best_p50_to_floor(r, DEFAULT_MODE.name)
    ),
    Bound("sections [], p50 at 1 connection, sidecar : floor", 4, "", lambda r: _best_p50_to_floor(r, EMPTY_MODE.name)),
)
CORE_CHECKS = (
    Bound("assembler, 24 candidates of 2 KB, ordinary text", 0.5, "ms", _assembler_best_ms),
    Bound("assembler, bodies of 200 KB : 8 KB, worst text", 2, "", _assembler_growth),
    Bound("recall in one Scope, 20,000 : 1,000 entries", 10, "", lambda r: _recall_growth(r, *CHECKED_ENTRIES)),
)
"""With `PREPARE_CHECKS` what continuous integration refuses: several times worse than the targets, so that a change of
the code, not a busy machine, is the cause."""
