"""A run as Markdown tables and charts, for the terminal and for docs/benchmarks.md."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from bench.plot import Line, line_chart
from bench.results import PrepareCell, RememberCell, Results
from bench.servers import SIDECAR
from bench.targets import TARGETS, judge

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
CHARTS = ("recall-by-entries.svg", "remember-by-entries.svg", "assembler-by-body.svg", "prepare-by-connections.svg")


def markdown(results: Results) -> str:
    """The whole report without its charts."""
    machine = results.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    kind = ", a quick run: its figures are rough" if results.quick else ""
    parts = [
        f"`{machine.command}`, {machine.date}{kind}. Revision {machine.revision or 'unknown'}.",
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_gib:g} GiB, {machine.system}.",
        f"Python {machine.python}, {versions}.",
        "### Targets",
        _targets(results),
        "### Prepare over HTTP, synthetic data",
        _prepare(results.prepare),
    ]
    if results.prepare_locomo:
        parts += ["### Prepare over HTTP, LoCoMo conversations", _prepare(results.prepare_locomo)]
    if results.refusals:
        parts.append(_table(["server and mode", "refused with"], sorted(results.refusals.items())))
    parts += [
        "### Start and memory",
        _table(
            ["server", "start to ready, s", "RSS at ready, MiB", "RSS after load, MiB"],
            [
                (each.server, f"{each.ready_s:.2f}", f"{each.ready_rss_mib:.0f}", _number(each.loaded_rss_mib, 0))
                for each in results.started
            ],
        ),
        "### Remember over HTTP, one connection",
        _remember(results),
        "### Assembler alone, 16 Memory and 8 Experience candidates",
        _table(
            ["output", "text", "bytes of a body", "p50 ms", "p95 ms"],
            [
                (each.output, each.text, f"{each.body_bytes:,}", f"{each.p50_ms:.3f}", f"{each.p95_ms:.3f}")
                for each in results.assembler
            ],
        ),
        "### Recall alone, one leg, in process",
        _recall(results),
    ]
    return "\n\n".join(parts) + "\n"


def charts(results: Results) -> dict[str, str]:
    """SVG documents by file name; those without data are left out."""
    recall = {
        f"{prompt}, {share}": [
            (each.entries, each.p50_ms if share == "p50" else each.p95_ms)
            for each in results.recall
            if each.scopes == 1 and each.prompt == prompt
        ]
        for prompt in dict.fromkeys(each.prompt for each in results.recall)
        for share in ("p50", "p95")
    }
    remember = {
        share: [(each.entries, each.p50_ms if share == "p50" else each.p95_ms) for each in _own_remember(results)]
        for share in ("p50", "p95")
    }
    assembler = {
        f"{output}, {text}": [
            (each.body_bytes, each.p50_ms) for each in results.assembler if (each.output, each.text) == (output, text)
        ]
        for output, text in dict.fromkeys((each.output, each.text) for each in results.assembler)
    }
    prepare = {
        server: [
            (each.connections, each.p50_ms) for each in results.prepare if (each.server, each.mode) == (server, "{}")
        ]
        for server in dict.fromkeys(each.server for each in results.prepare)
    }
    drawn = {
        CHARTS[0]: ("Recall in one Scope", "entries in the Scope", "milliseconds", recall),
        CHARTS[1]: ("Remember in one Scope", "entries in the Scope", "milliseconds", remember),
        CHARTS[2]: ("Assembling 24 candidates", "bytes of each body", "milliseconds, p50", assembler),
        CHARTS[3]: ("Prepare, assembly {}", "connections", "milliseconds, p50", prepare),
    }
    return {
        name: line_chart(
            title, across, up, [Line(each, found, "p95" in each) for each, found in lines.items() if found]
        )
        for name, (title, across, up, lines) in drawn.items()
        if any(lines.values())
    }


def publish(results: Results, docs: Path) -> None:
    """Write the charts and the measured part of `docs`/benchmarks.md. Raises ValueError when its marks are gone."""
    page = docs / "benchmarks.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} lacks the marks {BEGIN} and {END}")
    folder = docs / "benchmarks"
    folder.mkdir(exist_ok=True)
    drawn = charts(results)
    for name, svg in drawn.items():
        (folder / name).write_text(svg, encoding="utf-8")
    images = "\n".join(f"![{name.removesuffix('.svg').replace('-', ' ')}](benchmarks/{name})" for name in drawn)
    page.write_text(f"{before}{begin}\n\n{markdown(results)}\n### Charts\n\n{images}\n\n{end}{after}", encoding="utf-8")


def write_json(results: Results, path: Path) -> None:
    """Write everything that was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def verdicts_table(verdicts: Iterable[tuple[str, float, str, float | None, bool | None]]) -> str:
    """Each bound beside what was measured."""
    words = {None: "not measured", True: "yes", False: "**no**"}
    return _table(
        ["target", "at most", "measured", "met"],
        [
            (name, f"{most:g} {unit}".strip(), "" if measured is None else f"{measured:.3g} {unit}".strip(), words[met])
            for name, most, unit, measured, met in verdicts
        ],
    )


def _targets(results: Results) -> str:
    return verdicts_table((*verdict, verdict.is_met) for verdict in judge(TARGETS, results))


def _prepare(cells: Sequence[PrepareCell]) -> str:
    head = ["mode", "connections", "server", "p50 ms", "p95 ms", "p99 ms", "requests/s", "CPU ms", "answer bytes"]
    return _table(
        [*head, "p50 : floor", "floor : requests/s", "CPU : floor"],
        [
            (
                f"`{each.mode}`",
                str(each.connections),
                each.server,
                f"{each.p50_ms:.2f}",
                f"{each.p95_ms:.2f}",
                f"{each.p99_ms:.2f}",
                f"{each.requests_per_s:,.0f}",
                f"{each.cpu_ms:.2f}",
                f"{each.answer_bytes:,.0f}",
                _number(each.p50_to_floor, 1),
                _number(each.floor_to_requests, 1),
                _number(each.cpu_to_floor, 1),
            )
            for each in cells
        ],
    )


def _own_remember(results: Results) -> list[RememberCell]:
    return [each for each in results.remember if each.server == SIDECAR]


def _remember(results: Results) -> str:
    rows = []
    for each in results.remember:
        first = next(other for other in results.remember if other.server == each.server)
        ratio = f"{each.p50_ms / first.p50_ms:.2f}"
        rows.append((each.server, f"{each.entries:,}", f"{each.p50_ms:.2f}", f"{each.p95_ms:.2f}", ratio))
    return _table(["server", "entries in the Scope", "p50 ms", "p95 ms", "p50 : first"], rows)


def _recall(results: Results) -> str:
    base = next((each for each in results.recall if (each.entries, each.scopes) == (1_000, 1)), None)
    rows = []
    for each in results.recall:
        ratio = f"{each.p50_ms / base.p50_ms:.2f}" if base else ""
        rows.append(
            (f"{each.entries:,}", f"{each.scopes:,}", each.prompt, f"{each.p50_ms:.2f}", f"{each.p95_ms:.2f}", ratio)
        )
    return _table(["entries", "Scopes", "prompt", "p50 ms", "p95 ms", "p50 : 1,000 in 1"], rows)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
