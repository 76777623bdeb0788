"""A light check against regressions, for continuous integration: `python -m bench.check`, well under a minute.

Its bounds are ratios within one run with wide margins (`bench.targets.CHECKS`); figures are no measurement.
"""

import sys
import tempfile
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
from bench.results import PrepareCell, Results
from bench.servers import running_floor, running_sidecar
from bench.targets import CHECKED_ENTRIES, CHECKS, judge

PLAN = Plan(rounds=5, seconds=0.3, connections=(1,))


def main() -> int:
    """The exit code: 1 when a bound is exceeded or a server answers wrongly."""
    try:
        results = _measure()
    except (StartError, WrongAnswer) as error:
        print(f"bench-check: {error}", file=sys.stderr)
        return 1
    verdicts = judge(CHECKS, results)
    print(verdicts_table((*verdict, verdict.is_met) for verdict in verdicts))
    missed = [verdict for verdict in verdicts if not verdict.is_met]
    for verdict in missed:
        print(
            f"bench-check: {verdict.name} is {verdict.measured} {verdict.unit}, at most {verdict.most:g} is allowed."
            " The bound is several times what this project needs, so look for a change of the code first.",
            file=sys.stderr,
        )
    return 1 if missed else 0


def _measure() -> Results:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        assembler = measure_assembler(rounds=5, calls=8, sizes=(2_000, 8_000, 200_000))
        recall = measure_recall([fill_database(folder, count, 1, _silent) for count in CHECKED_ENTRIES], 3, 48)
        prepare = _measure_prepare(folder)
    return Results(
        machine=describe_machine("python -m bench.check"),
        quick=True,
        started=[],
        prepare=prepare,
        remember=[],
        assembler=assembler,
        recall=recall,
    )


def _measure_prepare(folder: Path) -> list[PrepareCell]:
    data = build_data(memory=400, reference_memory=100, experience=20, reference_experience=10, queries=32)
    with ExitStack() as stack:
        generator = stack.enter_context(Generator())
        sidecar = stack.enter_context(running_sidecar(folder / "prepare.db", folder / "sidecar.log"))
        floor = stack.enter_context(running_floor(folder / "floor.log"))
        scope_id = fill_over_http(sidecar.port, data)
        asked = [(scope_id, query) for query in data.queries]
        targets = [Target(sidecar, asked), Target(floor, asked)]
        cells, _ = measure_prepare(generator, targets, (DEFAULT_MODE, EMPTY_MODE), PLAN)
    return cells


def _silent(line: str) -> None:
    """Progress of a run that is short."""


if __name__ == "__main__":
    sys.exit(main())
