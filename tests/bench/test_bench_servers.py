"""One tiny measurement of the real servers: right answers are taken for right, and their processes end."""

import os
from pathlib import Path

import pytest

from bench.data import build_data
from bench.fill import fill_over_http
from bench.load import Generator
from bench.modes import DEFAULT_MODE, EMPTY_MODE
from bench.prepare import Plan, Target, WrongAnswer, measure_prepare
from bench.processes import StartError, free_port, running
from bench.servers import running_floor, running_sidecar

DATA = build_data(memory=30, reference_memory=5, experience=3, reference_experience=1, queries=4)


def test_sidecar_and_floor_are_measured_side_by_side(tmp_path: Path) -> None:
    with (
        Generator() as generator,
        running_floor(tmp_path / "floor.log") as floor,
        running_sidecar(tmp_path / "new.db", tmp_path / "sidecar.log") as sidecar,
    ):
        scope_id = fill_over_http(sidecar.port, DATA)
        asked = [(scope_id, query) for query in DATA.queries]
        targets = [Target(sidecar, asked), Target(floor, asked)]
        modes = (DEFAULT_MODE, EMPTY_MODE)
        cells, refusals = measure_prepare(generator, targets, modes, Plan(1, 0.1, (2,)))
        assert refusals == {}
        assert [(cell.server, cell.mode) for cell in cells] == [
            (server, mode.name) for mode in modes for server in ("sidecar", "floor")
        ]
        for cell in cells:
            assert 0 < cell.p50_ms <= cell.p95_ms <= cell.p99_ms
            assert cell.requests >= 2
            assert (cell.p50_to_floor is None) == (cell.server == "floor")
        assert sidecar.usage().rss_mib > 20
        assert 0 < sidecar.ready_s < 30

        unknown = [Target(sidecar, [("no such Scope", "how?")])]
        with pytest.raises(WrongAnswer, match="404"):
            measure_prepare(generator, unknown, modes, Plan(1, 0.1, (1,)))
        _, refusals = measure_prepare(
            generator, unknown, modes[:1], Plan(1, 0.1, ()), may_refuse=frozenset({"sidecar"})
        )
        assert list(refusals) == ["sidecar {}"]


def test_a_server_that_ends_is_reported_with_what_it_wrote(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo no database >&2; exit 3"]
    with (
        pytest.raises(StartError, match="ended with 3: no database"),
        running("x", command, port=free_port(), ready_path="/", environment={}, log=tmp_path / "log"),
    ):
        raise AssertionError("it did not start")


def test_a_server_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = ["/bin/sh", "-c", f"echo $$ > {pid_file}; exec sleep 60"]
    with (
        pytest.raises(StartError, match="did not answer in time"),
        running("x", command, port=free_port(), ready_path="/", environment={}, log=tmp_path / "log", deadline_s=0.5),
    ):
        raise AssertionError("it did not start")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
