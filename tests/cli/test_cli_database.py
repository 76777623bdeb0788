import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
Spawn = Callable[..., "subprocess.CompletedProcess[str]"]


def one_error_line(stderr: str) -> str:
    """The only line of `stderr`, which must be an error."""
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def test_migrate_says_what_it_applied_and_then_that_nothing_is_left(run: Run) -> None:
    first = run("migrate")
    assert (first.exit_code, first.stdout.splitlines()[0]) == (0, "applied 0001 initial")
    again = run("migrate")
    assert (again.exit_code, again.stdout) == (0, "nothing to do: the database is current\n")


def test_serve_refuses_a_database_that_somebody_else_uses(spawn: Spawn, database: Path) -> None:
    """A new database is set up by `serve`; one with tables but without our migrations may be the wrong file."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE invoices (id INTEGER)")
    done = spawn("serve")
    assert done.returncode == 1
    assert one_error_line(done.stderr).endswith("run: powercontext-sidecar migrate")


@pytest.mark.parametrize("command", ["serve", "migrate", "scope list"])
def test_a_missing_folder_is_one_line(spawn: Spawn, tmp_path: Path, command: str) -> None:
    done = spawn(*command.split(), database=tmp_path / "missing" / "x.db")
    assert done.returncode == 1
    assert "folder" in one_error_line(done.stderr)


@pytest.mark.parametrize("command", ["serve", "migrate", "scope list"])
def test_a_file_that_is_no_database_is_one_line_and_stays_as_it_is(spawn: Spawn, database: Path, command: str) -> None:
    content = b"this is a letter, not a database\n" * 500
    database.write_bytes(content)
    done = spawn(*command.split())
    assert done.returncode == 1
    assert "not an SQLite database" in one_error_line(done.stderr)
    assert database.read_bytes() == content


def test_a_damaged_database_is_one_line(spawn: Spawn, run: Run, demo_scope: str, database: Path) -> None:
    page = 4096
    with database.open("r+b") as file:
        for start in range(page, database.stat().st_size, page):
            file.seek(start)
            file.write(b"\xff" * 64)
    done = spawn("serve")
    assert done.returncode == 1
    assert "damaged" in one_error_line(done.stderr)


def test_a_database_of_a_newer_version_is_one_line(spawn: Spawn, run: Run, database: Path) -> None:
    assert run("migrate").exit_code == 0
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("INSERT INTO schema_migration VALUES (9999, 'future', 'x', '2030-01-01T00:00:00+00:00')")
    connection.close()
    for command in ("serve", "migrate", "reindex"):
        done = spawn(command)
        assert done.returncode == 1
        assert "newer version" in one_error_line(done.stderr)


def test_a_read_only_file_is_one_line(spawn: Spawn, run: Run, database: Path, tmp_path: Path) -> None:
    """Root may write everywhere, so as root the program runs as somebody else."""
    assert run("migrate").exit_code == 0
    prefix: list[str] = []
    folders: list[Path] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("needs setpriv to give up the rights of root")
        prefix = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
        folders = [folder for folder in (tmp_path, *tmp_path.parents) if not folder.stat().st_mode & stat.S_IXOTH]
    modes = {folder: stat.S_IMODE(folder.stat().st_mode) for folder in folders}
    database.chmod(0o444)
    try:
        for folder in folders:
            folder.chmod(modes[folder] | stat.S_IXOTH | stat.S_IROTH)
        tmp_path.chmod(0o555)
        done = spawn("serve", prefix=prefix)
    finally:
        tmp_path.chmod(0o755)
        for folder, mode in modes.items():
            folder.chmod(mode)
    assert done.returncode == 1
    assert "read-only" in one_error_line(done.stderr)


def test_doctor_finds_nothing_wrong_with_a_migrated_database(run: Run) -> None:
    run("migrate")
    done = run("doctor")
    assert done.exit_code == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["ok", "configuration"],
        ["ok", "access"],
        ["ok", "database"],
        ["ok", "migrations"],
        ["ok", "text"],
        ["ok", "writes"],
    ]


def test_doctor_says_what_to_do_about_missing_migrations(run: Run) -> None:
    done = run("doctor")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1].startswith("problem  migrations")
    assert "powercontext-sidecar migrate" in done.stdout


def test_doctor_and_serve_refuse_to_be_open_to_other_machines(run: Run, spawn: Spawn) -> None:
    run("migrate")
    done = run("doctor", http_host="0.0.0.0")
    assert done.exit_code == 1
    assert "problem  access" in done.stdout
    assert "POWERCONTEXT_SERVER_AUTH_TOKEN" in done.stdout
    served = spawn("serve", http_host="0.0.0.0")
    assert served.returncode == 1
    assert "POWERCONTEXT_SERVER_HTTP_HOST" in one_error_line(served.stderr)


def test_a_wrong_setting_is_named_and_no_secret_is_printed(run: Run) -> None:
    for command in (["doctor"], ["migrate"], ["scope", "list"]):
        done = run(*command, http_prot="80", auth_token="tok en", database_url="postgresql://u:hunter2@h/d")
        assert done.exit_code == 1
        assert "POWERCONTEXT_SERVER_HTTP_PROT" in done.output
        assert "POWERCONTEXT_SERVER_HTTP_PORT" in done.output
        assert "hunter2" not in done.output
        assert "tok en" not in done.output


def test_a_password_in_the_database_url_is_never_printed(run: Run) -> None:
    for command in (["doctor"], ["migrate"], ["scope", "list"]):
        done = run(*command, database_url="nosuch://u:hunter2@h/d?password=hunter2")
        assert done.exit_code == 1
        assert "POWERCONTEXT_SERVER_DATABASE_URL" in done.output
        assert "hunter2" not in done.output


def test_reindex_makes_an_index_of_another_tokenizer_usable(run: Run, demo_scope: str, database: Path) -> None:
    line = '{"type":"memory-entry","kind":"fact","text":"the canary rollout"}\n'
    assert run("import", demo_scope, "-", input=line).exit_code == 0
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("UPDATE setting SET value = ? WHERE name = 'tokenizer'", (b"older",))
    connection.close()
    refused = run("prepare", demo_scope, "canary")
    assert refused.exit_code == 1
    assert "powercontext-sidecar reindex" in refused.stderr
    assert "problem  text index" in run("doctor").stdout
    done = run("reindex")
    assert (done.exit_code, done.stdout) == (0, "1 texts indexed\n")
    assert "the canary rollout" in run("prepare", demo_scope, "canary").stdout
    assert run("doctor").exit_code == 0
