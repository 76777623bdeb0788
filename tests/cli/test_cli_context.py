import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

CASES = Path(__file__).parents[1] / "conformance" / "cases"
LINES = """
{"type":"memory-entry","kind":"fact","text":"canary rollout steps"}
{"type":"experience","content":{"situation":"canary","action":"a","outcome":"o","lesson":"l"}}
"""


@pytest.fixture
def filled_scope(run: Run, demo_scope: str) -> str:
    assert run("import", demo_scope, "-", input=LINES).exit_code == 0
    return demo_scope


def titles(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("## ")]


def test_prepare_without_options_takes_memory_and_then_experience(run: Run, filled_scope: str) -> None:
    done = run("prepare", filled_scope, "canary")
    assert (done.exit_code, done.stderr) == (0, "")
    assert titles(done.stdout) == ["## Memory", "## Experience"]
    assert done.stdout.endswith("\nEND_POWERCONTEXT_PREPARED_TEXT_V1")


def test_prepare_keeps_the_order_of_the_sections(run: Run, filled_scope: str) -> None:
    done = run("prepare", filled_scope, "canary", "--section", "experience:1", "--section", "memory:1")
    assert titles(done.stdout) == ["## Experience", "## Memory"]
    assert titles(run("prepare", filled_scope, "canary", "--section", "memory:8").stdout) == ["## Memory"]


def test_prepare_shows_the_lines_that_were_asked_for(run: Run, filled_scope: str) -> None:
    assert "Recall rank" not in run("prepare", filled_scope, "canary").stdout
    done = run("prepare", filled_scope, "canary", "--show", "recall_rank", "--show", "confidence")
    assert "    Recall rank: 1" in done.stdout
    assert "    Confidence: " in done.stdout


def test_prepare_legacy_gives_the_legacy_output(run: Run, filled_scope: str) -> None:
    done = run("prepare", filled_scope, "canary", "--legacy")
    assert done.stdout.endswith("\nEND_POWERCONTEXT_PREPARED_CONTEXT_V1")
    assert run("prepare", filled_scope, "canary", "--legacy", "--show", "confidence").exit_code == 2


def test_prepare_keeps_to_the_budget(run: Run, filled_scope: str) -> None:
    done = run("prepare", filled_scope, "canary", "--section", "memory:1", "--max-bytes", "700")
    assert 600 < len(done.stdout_bytes) <= 700


def test_prepare_says_on_stderr_that_nothing_was_found(run: Run, filled_scope: str) -> None:
    done = run("prepare", filled_scope, "zebra", "--section", "memory:1")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("empty")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--section", "memory:9"], "assembly.sections.0.limit"),
        (["--section", "memory:1", "--section", "memory:1"], "assembly.sections.1.family"),
        (["--section", "memory:8", "--section", "profile:1"], "assembly.sections"),
        (["--section", "skill:1"], "assembly.sections.0"),
        (["--max-bytes", "511"], "max_bytes"),
        (["--show", "confidence", "--show", "confidence"], "assembly.show.1"),
    ],
)
def test_prepare_names_what_breaks_the_contract(run: Run, filled_scope: str, arguments: list[str], named: str) -> None:
    done = run("prepare", filled_scope, "canary", *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {named}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("section", ["memory", "memory:", "memory:x", "memory:-1", "memory:６"])
def test_a_section_without_a_number_is_a_usage_error(run: Run, filled_scope: str, section: str) -> None:
    assert run("prepare", filled_scope, "canary", "--section", section).exit_code == 2


@pytest.mark.parametrize("query", ["", " ", "\udcff"])
def test_a_query_that_says_nothing_is_refused(run: Run, filled_scope: str, query: str) -> None:
    done = run("prepare", filled_scope, query)
    assert done.exit_code in (1, 2)
    assert done.stdout == ""


def test_prepare_heeds_the_bound_of_the_settings(run: Run, filled_scope: str) -> None:
    done = run("prepare", filled_scope, "canary", runtime_context_assembly_max_entries="7")
    assert done.exit_code == 1
    assert "must not be above 7" in done.stderr


def test_assemble_prints_the_recorded_result(run: Run) -> None:
    path = CASES / "case_019.json"
    done = run("assemble", str(path))
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(path.read_bytes())["expected"]
    assert run("assemble", "-", input=path.read_bytes()).stdout == done.stdout


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "not a conformance case"),
        (
            (
                b'{"input":{"current_scope_id":"s","request":{"max_bytes":8000,"assembly":{}},"memory":[{"scope_id":"s",'
                b'"artifact_id":"m","revision":1,"hits":[{"entry_id":"e","entry_version_id":"v","text":"\\ud800"}]}]}}'
            ),
            "surrogate",
        ),
    ],
)
def test_assemble_exits_with_2_and_one_line_for_what_it_cannot_read_or_write(
    run: Run, case: bytes, reason: str
) -> None:
    done = run("assemble", "-", input=case)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line


def test_assemble_of_a_missing_file_exits_with_2(run: Run) -> None:
    assert run("assemble", "no-such-case.json").exit_code == 2
