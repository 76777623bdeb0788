import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

ENTRY = '{"type":"memory-entry","kind":"fact","text":"the canary rollout"}'
EXPERIENCE = '{"type":"experience","content":{"situation":"s","action":"a","outcome":"o","lesson":"l"}}'
PROFILE = '{"type":"profile","content":{"content":"# Who\\n"}}'
TOPIC = '{"type":"topic-memory","content":{"title":"t","summary":"s","detail":"d"}}'
EVERY_FAMILY = f"{ENTRY}\n{EXPERIENCE}\n{PROFILE}\n{TOPIC}"

BROKEN: dict[str, tuple[str | bytes, str]] = {
    "not JSON": ("{", "malformed_request"),
    "not UTF-8": (b'{"type":"memory-entry","kind":"k","text":"\xff"}', "malformed_request"),
    "a lone surrogate": (r'{"type":"memory-entry","kind":"k","text":"\ud800"}', "malformed_request"),
    "a repeated key": ('{"type":"memory-entry","kind":"k","kind":"k","text":"t"}', "malformed_request"),
    "not an object": ("[]", "invalid_request"),
    "no type": ('{"kind":"k","text":"t"}', "invalid_request"),
    "unknown type": ('{"type":"skill","content":{}}', "invalid_request"),
    "unknown field": ('{"type":"memory-entry","kind":"k","text":"t","colour":"red"}', "invalid_request"),
    "blank text": ('{"type":"memory-entry","kind":"k","text":"  "}', "invalid_request"),
    "NUL": ('{"type":"memory-entry","kind":"k","text":"a\\u0000b"}', "invalid_request"),
    "text too long": ('{"type":"memory-entry","kind":"k","text":"' + "x" * 8193 + '"}', "invalid_request"),
    "half an experience": ('{"type":"experience","content":{"situation":"s"}}', "invalid_request"),
    "a line of 2 MiB": ('"' + "x" * (2 << 20) + '"', "payload_too_large"),
}


def test_every_family_can_be_imported_and_the_totals_are_printed(run: Run, demo_scope: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.ndjson"
    file.write_text(EVERY_FAMILY, encoding="utf-8")
    done = run("import", demo_scope, str(file))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "4 stored, 0 skipped, 0 refused\n", "")


def test_what_is_there_already_is_skipped(run: Run, demo_scope: str) -> None:
    run("import", demo_scope, "-", input=ENTRY)
    done = run("import", demo_scope, "-", input=f"{ENTRY}\n\n{ENTRY}\n")
    assert (done.exit_code, done.stdout) == (0, "0 stored, 2 skipped, 0 refused\n")


@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_line_is_named_and_does_not_stop_the_others(run: Run, demo_scope: str, reason: str) -> None:
    line, code = BROKEN[reason]
    data = line if isinstance(line, bytes) else line.encode()
    done = run("import", demo_scope, "-", input=ENTRY.encode() + b"\n" + data + b"\n" + EXPERIENCE.encode())
    assert done.exit_code == 1
    assert done.stdout == "2 stored, 0 skipped, 1 refused\n"
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"line 2 refused: {code}: ")


def test_an_empty_import_stores_nothing(run: Run, demo_scope: str) -> None:
    done = run("import", demo_scope, "-", input=b"")
    assert (done.exit_code, done.stdout) == (0, "0 stored, 0 skipped, 0 refused\n")


def test_import_into_an_unknown_scope_says_how_to_create_it(run: Run, demo_scope: str) -> None:
    done = run("import", "project:new", "-", input=ENTRY)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "--create-scope" in done.stderr
    assert run("scope", "list", "--query", "new").stdout == ""


def test_import_can_create_the_scope_and_finds_it_the_next_time(run: Run, demo_scope: str) -> None:
    created = run("import", "project:new", "-", "--create-scope", "--title", "New", input=ENTRY)
    assert (created.exit_code, created.stdout) == (0, "1 stored, 0 skipped, 0 refused\n")
    assert run("scope", "list", "--query", "new").stdout == "project:new\tNew\t\n"
    again = run("import", "project:new", "-", "--create-scope", input=ENTRY)
    assert (again.exit_code, again.stdout) == (0, "0 stored, 1 skipped, 0 refused\n")


def test_a_missing_file_is_a_usage_error(run: Run, demo_scope: str) -> None:
    assert run("import", demo_scope, "no-such-file.ndjson").exit_code == 2


def test_export_and_import_carry_everything_over(run: Run, demo_scope: str, tmp_path: Path) -> None:
    run("import", demo_scope, "-", input=EVERY_FAMILY)
    exported = run("export", demo_scope)
    assert exported.exit_code == 0
    assert [json.loads(line)["type"] for line in exported.stdout.splitlines()] == [
        "memory-entry",
        "experience",
        "profile",
        "topic-memory",
    ]
    copied = run("import", "project:copy", "-", "--create-scope", input=exported.stdout_bytes)
    assert copied.stdout == "4 stored, 0 skipped, 0 refused\n"
    assert run("export", "project:copy").stdout_bytes == exported.stdout_bytes
    file = tmp_path / "out.ndjson"
    assert run("export", demo_scope, "--output", str(file)).stdout == ""
    assert file.read_bytes() == exported.stdout_bytes


def test_a_failed_export_leaves_the_file_that_was_there(
    run: Run, demo_scope: str, database: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    file = folder / "kept.ndjson"
    file.write_text("kept")
    run("import", demo_scope, "-", input=ENTRY + "\n" + EXPERIENCE)
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("DROP TABLE artifact_revision")
    connection.close()
    done = run("export", demo_scope, "--output", str(file))
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert [path.name for path in folder.iterdir()] == ["kept.ndjson"]
    assert file.read_text() == "kept"


def test_export_into_a_missing_folder_is_one_line(run: Run, demo_scope: str, tmp_path: Path) -> None:
    done = run("export", demo_scope, "--output", str(tmp_path / "missing" / "out.ndjson"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"error: {tmp_path / 'missing'}: there is no such folder\n"


def test_export_of_an_unknown_scope_is_one_line(run: Run, demo_scope: str) -> None:
    done = run("export", "project:new")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "error: There is no such Scope.\n")
