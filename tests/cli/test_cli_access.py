import hashlib
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


def test_a_token_is_printed_once_and_stored_as_its_hash(run: Run, demo_scope: str, database: Path) -> None:
    made = run("token", "create", "ci", "--description", "nightly", "--grant", demo_scope, "contributor")
    assert made.exit_code == 0
    token = made.stdout.removesuffix("\n")
    assert re.fullmatch(r"pct_[\w-]{43}", token)
    assert token not in made.stderr
    listed = run("token", "list").stdout
    assert token not in listed
    connection = sqlite3.connect(database)
    assert connection.execute("SELECT digest FROM token").fetchall() == [(hashlib.sha256(token.encode()).digest(),)]
    connection.close()


def test_a_token_lives_until_it_is_revoked(run: Run, demo_scope: str) -> None:
    run("token", "create", "ci", "--grant", demo_scope, "viewer", "--grant", "*", "admin")
    (line,) = run("token", "list").stdout.splitlines()
    token_id, principal, grants, _, state = line.split("\t")
    assert (principal, grants, state) == ("service:ci", f"admin on *, viewer on {demo_scope}", "valid")
    revoked = run("token", "revoke", token_id)
    assert revoked.stdout.startswith(f"{token_id}\trevoked ")
    assert run("token", "list").stdout.split("\t")[-1].startswith("revoked ")
    assert run("token", "revoke", token_id).stdout == revoked.stdout


def test_revoking_an_unknown_token_is_one_line(run: Run, demo_scope: str) -> None:
    done = run("token", "revoke", "tok_unknown")
    assert (done.exit_code, done.stderr) == (1, "error: There is no such token.\n")


def test_grants_are_added_listed_and_removed(run: Run, demo_scope: str) -> None:
    run("token", "create", "ci")
    for _ in range(2):
        added = run("grant", "add", "ci", demo_scope, "viewer")
        assert (added.exit_code, added.stderr) == (0, "")
    run("grant", "add", "other", "*", "admin")
    assert run("grant", "list").stdout == f"ci\t{demo_scope}\tviewer\nother\t*\tadmin\n"
    assert run("grant", "list", "ci").stdout == f"ci\t{demo_scope}\tviewer\n"
    assert run("grant", "remove", "ci", demo_scope, "viewer").exit_code == 0
    assert run("grant", "list", "ci").stdout == ""
    gone = run("grant", "remove", "ci", demo_scope, "viewer")
    assert (gone.exit_code, gone.stderr) == (1, f"error: ci has no grant viewer on {demo_scope}\n")


def test_a_grant_on_a_scope_that_is_not_there_says_so(run: Run, demo_scope: str) -> None:
    said = "there is no Scope project:dmeo yet: powercontext-sidecar scope create"
    assert said in run("token", "create", "a", "--grant", "project:dmeo", "viewer").stderr
    assert said in run("grant", "add", "a", "project:dmeo", "viewer").stderr
    for known in (demo_scope, "*"):
        assert "there is no Scope" not in run("grant", "add", "a", known, "viewer").stderr


def test_a_grant_for_a_principal_without_token_says_so(run: Run, demo_scope: str) -> None:
    done = run("grant", "add", "typo", demo_scope, "viewer")
    assert done.exit_code == 0
    assert "no token for typo" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["token", "create", ""], 1),
        (["token", "create", "x" * 129], 1),
        (["token", "create", "a\udcffb"], 2),
        (["token", "create", "ci", "--grant", "project:demo", "owner"], 2),
        (["token", "create", "ci", "--grant", "..", "viewer"], 1),
        (["grant", "add", "ci", "..", "viewer"], 1),
        (["grant", "add", " ", "*", "viewer"], 1),
    ],
)
def test_what_breaks_the_contract_is_refused(run: Run, demo_scope: str, arguments: list[str], code: int) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert run("token", "list").stdout == run("grant", "list").stdout == ""


def test_what_is_stored_cannot_steer_the_terminal(run: Run, demo_scope: str) -> None:
    run("token", "create", "a\x1b[31mb\u202ec\nd", "--grant", "*", "viewer")
    listed = run("token", "list").stdout + run("grant", "list").stdout
    assert r"a\x1b[31mb\u202ec\nd" in listed
    assert "\x1b" not in listed
    assert len(listed.splitlines()) == 2


def test_scopes_are_created_and_listed_in_order_with_their_references(run: Run, demo_scope: str) -> None:
    made = run("scope", "create", "team", "--title", "T\x1b", "--summary", "S", "--reference", demo_scope)
    assert (made.exit_code, made.stdout) == (0, "team\n")
    assert run("scope", "list").stdout == f"{demo_scope}\tDemo\t\nteam\tT\\x1b\t{demo_scope}\n"
    assert run("scope", "list", "--query", "proj").stdout == f"{demo_scope}\tDemo\t\n"
    again = run("scope", "create", "team", "--title", "T", "--summary", "S")
    assert (again.exit_code, again.stderr) == (1, "error: A Scope with this scope_id exists.\n")
    unknown = run("scope", "create", "x", "--title", "T", "--summary", "S", "--reference", "nowhere")
    assert unknown.exit_code == 1
    assert run("scope", "list", "--query", "x").stdout == ""
