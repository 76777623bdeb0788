"""A light check against regressions, for continuous integration: `python -m bench.check`, well under a minute.

Its bounds are ratios within one run with wide margins; its figures are no measurement. What misses a bound is measured
again, since a regression misses every time and other work on the machine does not.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.assembler import measure_assembler
from bench.data import build_data
from bench.fill import fill_over_http
from bench.load import Generator
from bench.machine import describe_machine
from bench.modes import DEFAULT_MODE, EMPTY_MODE
from bench.prepare import Plan, Target, WrongAnswer, measure_prepare
from bench.processes import StartError
from bench.recall import fill_database, measure_recall
from bench.report import verdicts_table
from bench.results import Results
from bench.servers import running_floor, running_sidecar
from bench.targets import CHECKED_ENTRIES, CORE_CHECKS, PREPARE_CHECKS, Bound, Verdict, judge

PLAN = Plan(rounds=10, seconds=0.15, connections=(1,))
ATTEMPTS = 3


def main() -> int:
    """The exit code: 1 when a bound is missed in every attempt, or a server answers wrongly."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        try:
            verdicts = [*_check_core(Path(name)), *_check_prepare(Path(name))]
        except (StartError, WrongAnswer) as error:
            print(f"bench-check: {error}", file=sys.stderr)
            return 1
    print(verdicts_table((*verdict, verdict.is_met) for verdict in verdicts))
    missed = [verdict for verdict in verdicts if not verdict.is_met]
    for verdict in missed:
        print(explained(verdict), file=sys.stderr)
    return 1 if missed else 0


def explained(verdict: Verdict) -> str:
    """What a missed bound means."""
    measured = "was not measured" if verdict.measured is None else f"is {verdict.measured:.3g} {verdict.unit}".rstrip()
    return (
        f"bench-check: {verdict.name} {measured}; at most {f'{verdict.most:g} {verdict.unit}'.rstrip()} is allowed,"
        f" and it was missed {ATTEMPTS} times. The bound is several times what this project needs: look for what the"
        " code does more often or more of than before."
    )


def attempt(bounds: tuple[Bound, ...], measure: Callable[[], Results]) -> list[Verdict]:
    """The verdicts of the first measurement that meets all bounds, of the last where none does."""
    verdicts: list[Verdict] = []
    for _ in range(ATTEMPTS):
        verdicts = judge(bounds, measure())
        if all(verdict.is_met for verdict in verdicts):
            break
    return verdicts


def _check_core(folder: Path) -> list[Verdict]:
    databases = [fill_database(folder, count, 1, _silent) for count in CHECKED_ENTRIES]
    return attempt(
        CORE_CHECKS,
        lambda: Results(
            machine=describe_machine("python -m bench.check"),
            assembler=measure_assembler(rounds=5, calls=8, sizes=(2_000, 8_000, 200_000)),
            recall=measure_recall(databases, 3, 48),
        ),
    )


def _check_prepare(folder: Path) -> list[Verdict]:
    data = build_data(memory=400, reference_memory=100, experience=20, reference_experience=10, queries=32)
    with ExitStack() as stack:
        generator = stack.enter_context(Generator())
        sidecar = stack.enter_context(running_sidecar(folder / "prepare.db", folder / "sidecar.log"))
        floor = stack.enter_context(running_floor(folder / "floor.log"))
        scope_id = fill_over_http(sidecar.port, data)
        targets = [Target(server, [(scope_id, query) for query in data.queries]) for server in (sidecar, floor)]
        modes = (DEFAULT_MODE, EMPTY_MODE)
        return attempt(
            PREPARE_CHECKS,
            lambda: Results(
                machine=describe_machine("python -m bench.check"),
                prepare=measure_prepare(generator, targets, modes, PLAN)[0],
            ),
        )


def _silent(line: str) -> None:
    """Progress of a run that is short."""


if __name__ == "__main__":
    sys.exit(main())
