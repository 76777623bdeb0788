"""Targets are judged, tables and charts are made, and only the measured part of the page is replaced."""

import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from bench.check import ATTEMPTS, attempt, explained
from bench.plot import Line, line_chart
from bench.report import BEGIN, END, charts, markdown, publish, write_json
from bench.results import AssemblerCell, Machine, PrepareCell, RecallCell, RememberCell, Results, Started
from bench.targets import CORE_CHECKS, PREPARE_CHECKS, TARGETS, Bound, judge

MACHINE = Machine(
    date="2030-01-01 00:00 UTC",
    command="python -m bench",
    cpu="a processor",
    cores=2,
    memory_gib=4,
    system="Linux",
    python="3.11",
    versions={"litestar": "2"},
    revision="abc",
)


def prepare_cell(server: str, mode: str, connections: int, p50_ms: float, requests_per_s: float) -> PrepareCell:
    """Against a floor of 0.2 ms and 5,000 requests a second."""
    return PrepareCell(
        server=server,
        mode=mode,
        connections=connections,
        p50_ms=p50_ms,
        best_p50_ms=p50_ms,
        p95_ms=2 * p50_ms,
        p99_ms=3 * p50_ms,
        requests_per_s=requests_per_s,
        cpu_ms=1,
        answer_bytes=8000,
        requests=100,
        p50_to_floor=None if server == "floor" else p50_ms / 0.2,
        floor_to_requests=None if server == "floor" else 5000 / requests_per_s,
    )


def assembler_cell(text: str, size: int, ms: float) -> AssemblerCell:
    return AssemblerCell(output="{}", text=text, body_bytes=size, p50_ms=ms, p95_ms=ms, best_ms=ms)


def recall_cell(entries: int, ms: float) -> RecallCell:
    return RecallCell(entries=entries, scopes=1, prompt="question", p50_ms=ms, p95_ms=ms, best_ms=ms)


MEASURED = Results(
    machine=MACHINE,
    started=[Started(server="sidecar", ready_s=0.5, ready_rss_mib=50, loaded_rss_mib=70)],
    prepare=[
        prepare_cell("sidecar", "{}", 1, 1.0, 1000),
        prepare_cell("sidecar", "{}", 16, 16.0, 500),
        prepare_cell("sidecar, 2 workers", "{}", 16, 8.0, 1250),
        prepare_cell("sidecar", "sections []", 1, 0.5, 2000),
        prepare_cell("floor", "{}", 1, 0.2, 5000),
        prepare_cell("floor", "sections []", 1, 0.1, 5000),
    ],
    remember=[
        RememberCell(server="sidecar", entries=100, p50_ms=2, p95_ms=3),
        RememberCell(server="sidecar", entries=10_000, p50_ms=3, p95_ms=4),
    ],
    assembler=[
        assembler_cell("ASCII", 2_000, 0.05),
        assembler_cell("Chinese", 2_000, 0.125),
        assembler_cell("hostile", 2_000, 1.0),
        assembler_cell("ASCII", 8_000, 0.1),
        assembler_cell("hostile", 8_000, 1.0),
        assembler_cell("ASCII", 200_000, 0.11),
        assembler_cell("hostile", 200_000, 1.5),
    ],
    recall=[recall_cell(1_000, 0.5), recall_cell(20_000, 3.0)],
)


def test_each_target_takes_its_own_figure() -> None:
    measured = [verdict.measured for verdict in judge(TARGETS, MEASURED)]
    #             1.0/0.2 LoCoMo 5000/500 LoCoMo 5000/1250 p99:p50 0.5/0.2 assembler  200KB:8KB start memory
    assert measured == pytest.approx([5, None, 10, None, 4, 3, 2.5, 0.125, 1.0, 1.5, 0.5, 50], nan_ok=False)


def test_a_target_is_met_up_to_its_bound_and_unjudged_when_it_was_not_measured() -> None:
    met = [verdict.is_met for verdict in judge(TARGETS, MEASURED)]
    assert met == [True, None, False, None, True, True, False, False, True, False, True, True]


def test_each_check_takes_its_own_figure() -> None:
    prepare = [verdict.measured for verdict in judge(PREPARE_CHECKS, MEASURED)]
    core = [verdict.measured for verdict in judge(CORE_CHECKS, MEASURED)]
    assert prepare == pytest.approx([5, 5])
    assert core == pytest.approx([0.125, 1.5, 6])


def test_a_check_passes_when_one_attempt_meets_its_bounds() -> None:
    figures = iter([9.0, 9.0, 1.0, 1.0])
    bound = Bound("a ratio", 2, "", lambda _: next(figures))
    assert [verdict.is_met for verdict in attempt((bound,), lambda: MEASURED)] == [True]
    assert list(figures) == [1.0]


def test_a_check_fails_when_every_attempt_misses_and_says_what_was_measured() -> None:
    figures = iter([9.0] * ATTEMPTS)
    verdicts = attempt((Bound("a ratio", 2, "ms", lambda _: next(figures)),), lambda: MEASURED)
    assert list(figures) == []
    assert [verdict.is_met for verdict in verdicts] == [False]
    assert "a ratio is 9 ms; at most 2 ms is allowed" in explained(verdicts[0])


def test_a_check_that_measured_nothing_is_not_passed() -> None:
    (verdict, *_) = judge(PREPARE_CHECKS, Results(machine=MACHINE))
    assert not verdict.is_met
    assert "was not measured" in explained(verdict)


def test_the_page_keeps_what_stands_around_the_measured_part(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"# Ours\n\n{BEGIN}\nold figures\n{END}\n\nafter\n")
    publish(MEASURED, tmp_path)
    once = page.read_text()
    publish(MEASURED, tmp_path)
    text = page.read_text()
    assert text == once
    assert text.startswith(f"# Ours\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\nafter\n")
    assert "old figures" not in text
    for svg in (tmp_path / "benchmarks").iterdir():
        assert f"(benchmarks/{svg.name})" in text


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text("# Ours\n")
    with pytest.raises(ValueError, match="lacks the marks"):
        publish(MEASURED, tmp_path)


def test_the_report_names_machine_command_and_every_target() -> None:
    text = markdown(MEASURED)
    for said in ("a processor", "`python -m bench`", "2030-01-01", "litestar 2", *(target.name for target in TARGETS)):
        assert said in text


def test_results_read_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "latest.json"
    write_json(MEASURED, path)
    assert msgspec.json.decode(path.read_bytes(), type=Results) == MEASURED


def test_charts_are_well_formed_and_hold_a_mark_for_each_point() -> None:
    drawn = charts(MEASURED)
    assert len(drawn) == 4
    counts = {}
    for name, svg in drawn.items():
        root = ET.fromstring(svg)
        counts[name] = len(root.findall("{http://www.w3.org/2000/svg}circle"))
    # recall 2 entries x 2 shares, remember likewise, 7 assembler cells, {} of two sidecars and the floor
    assert sorted(counts.values()) == [4, 4, 4, 7]


def test_axes_are_logarithmic_and_span_whole_decades() -> None:
    svg = line_chart("t < u", "x", "y", [Line("a & b", [(10, 1), (100, 10), (1000, 100)])])
    root = ET.fromstring(svg)
    circles = root.findall("{http://www.w3.org/2000/svg}circle")
    xs, ys = ([float(each.attrib[axis]) for each in circles] for axis in ("cx", "cy"))
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1])
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2])
    assert ys[0] > ys[2]  # the larger value stands higher


def test_a_chart_without_points_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a point"):
        line_chart("t", "x", "y", [Line("a", [])])
