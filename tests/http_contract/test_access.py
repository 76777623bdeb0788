"""Who the caller is, and tokens."""

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.http_contract.api import Api, Json, failed, invalid, succeeded
from tests.http_contract.shapes import ACCESS_ME, TOKEN_PAGE, conform
from tests.http_contract.sidecar import ADMIN_TOKEN, Sidecar

TOKENS = "/v1/access/tokens"


def me(api: Api) -> Json:
    answer: Json = succeeded(api.get("/v1/access/me"), 200)
    conform(answer, ACCESS_ME, "me")
    return answer


def listed(admin: Api, **query: Any) -> Json:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    page: Json = succeeded(admin.http.get(TOKENS, params=query, headers=headers), 200)
    conform(page, TOKEN_PAGE, "tokens")
    return page


def all_tokens(admin: Api, limit: int = 100) -> list[Json]:
    page = listed(admin, limit=limit)
    items: list[Json] = page["items"]
    while page["next_cursor"] is not None:
        page = listed(admin, limit=limit, cursor=page["next_cursor"])
        items = [*items, *page["items"]]
    return items


def test_with_access_disabled_everybody_is_anonymous_with_admin_on_everything(api: Api) -> None:
    assert me(api) == {
        "principal": {"type": "service", "id": "anonymous", "description": None},
        "mode": "disabled",
        "grants": [{"scope_id": "*", "role": "admin"}],
    }


def test_a_set_auth_token_enforces_access_and_has_every_role_everywhere(admin: Api) -> None:
    answer = me(admin)
    assert (answer["mode"], answer["principal"]["type"]) == ("enforced", "service")
    roles = {grant["role"] for grant in answer["grants"] if grant["scope_id"] == "*"}
    assert roles == {"viewer", "contributor", "reviewer", "admin"}
    assert len(answer["grants"]) == 4


def test_a_token_is_shown_once_with_its_principal_and_grants(guarded: Sidecar, admin: Api) -> None:
    scope = admin.new_scope()
    name = uuid4().hex
    grants = [{"scope_id": scope, "role": "viewer"}, {"scope_id": "not-yet", "role": "reviewer"}]
    given = {"id": name, "type": "user", "description": "é", "grants": grants}
    made = admin.call(TOKENS, success=201, **given)
    assert made["principal"] == {"type": "user", "id": name, "description": "é"}
    assert sorted(made["grants"], key=str) == sorted(grants, key=str)
    answer = me(guarded.api(made["token"]))
    assert (answer["principal"], answer["mode"]) == (made["principal"], "enforced")
    assert sorted(answer["grants"], key=str) == sorted(grants, key=str)
    (item,) = [item for item in all_tokens(admin) if item["token_id"] == made["token_id"]]
    assert (item["principal"], item["revoked_at"]) == (made["principal"], None)
    assert made["token"] not in str(item)


def test_a_token_is_stored_as_a_hash_alone_and_never_logged(guarded: Sidecar, admin: Api) -> None:
    token = admin.call(TOKENS, success=201, id=uuid4().hex)["token"]
    me(guarded.api(token))
    with sqlite3.connect(guarded.database) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    for secret in (token, ADMIN_TOKEN):
        assert secret not in dump
        assert secret not in guarded.log()


def test_a_token_is_a_service_without_grants_unless_said_otherwise(guarded: Sidecar, admin: Api) -> None:
    made = admin.call(TOKENS, success=201, id="x" * 128, description=None)
    assert made["principal"] == {"type": "service", "id": "x" * 128, "description": None}
    assert made["grants"] == me(guarded.api(made["token"]))["grants"] == []


@pytest.mark.parametrize(
    ("field", "illegal"),
    [
        ("id", ""),
        ("id", "x" * 129),
        ("id", None),
        ("type", "robot"),
        ("type", None),
        ("description", "d" * 513),
        ("grants", None),
        ("grants", {}),
    ],
)
def test_illegal_fields_of_a_token_are_refused(admin: Api, field: str, illegal: object) -> None:
    invalid(admin.post(TOKENS, **{"id": "x", field: illegal}), "body", field)


def test_a_grant_is_a_known_role_on_a_scope(admin: Api) -> None:
    for grant, field in (
        ({"scope_id": "s", "role": "owner"}, "role"),
        ({"scope_id": "", "role": "viewer"}, "scope_id"),
        ({"scope_id": "s"}, "role"),
        ({"scope_id": "s", "role": "viewer", "unknown": 1}, "unknown"),
    ):
        invalid(admin.post(TOKENS, id="x", grants=[grant]), "body", "grants", 0, field)


def test_tokens_are_listed_page_by_page_revoked_ones_included(admin: Api) -> None:
    made = [admin.call(TOKENS, success=201, id=uuid4().hex)["token_id"] for _ in range(3)]
    admin.call(TOKENS + "/revoke", token_id=made[1])
    by_ones = all_tokens(admin, limit=1)
    assert by_ones == all_tokens(admin)
    found = {item["token_id"]: item["revoked_at"] for item in by_ones}
    assert [found[token_id] is not None for token_id in made] == [False, True, False]
    cursor = listed(admin, limit=1)["next_cursor"]
    failed(admin.get(f"{TOKENS}?cursor={cursor[:-1]}"), 400, "invalid_cursor")
    failed(admin.get(f"/v1/scopes?cursor={cursor}"), 400, "invalid_cursor")


def test_revoking_answers_when_and_again_the_same(admin: Api) -> None:
    token_id = admin.call(TOKENS, success=201, id=uuid4().hex)["token_id"]
    first = admin.call(TOKENS + "/revoke", token_id=token_id)
    assert first["token_id"] == token_id
    assert admin.call(TOKENS + "/revoke", token_id=token_id) == first
    failed(admin.post(TOKENS + "/revoke", token_id="tok_unknown"), 404, "not_found")
    invalid(admin.post(TOKENS + "/revoke", token_id=""), "body", "token_id")


def test_grants_of_the_command_line_are_seen_within_a_second(guarded: Sidecar, admin: Api) -> None:
    scope, name = admin.new_scope(), uuid4().hex
    caller = guarded.api(admin.call(TOKENS, success=201, id=name)["token"])
    failed(caller.get(f"/v1/scopes/{scope}"), 403, "forbidden")
    guarded.run("grant", "add", name, scope, "viewer")
    assert within_a_second(lambda: caller.get(f"/v1/scopes/{scope}").status_code == 200)
    guarded.run("grant", "remove", name, scope, "viewer")
    assert within_a_second(lambda: caller.get(f"/v1/scopes/{scope}").status_code == 403)


def test_a_revoked_token_stops_at_once_here_and_within_a_second_elsewhere(folder: Path) -> None:
    database = folder / "shared.db"
    here = Sidecar(folder, database, "a", AUTH_TOKEN=ADMIN_TOKEN).start()
    elsewhere = Sidecar(folder, database, "b", AUTH_TOKEN=ADMIN_TOKEN)
    try:
        elsewhere.start()
        admin = here.api(ADMIN_TOKEN)
        for _ in range(3):
            made = admin.call(TOKENS, success=201, id="somebody")
            near, far = here.api(made["token"]), elsewhere.api(made["token"])
            assert (near.get("/v1/access/me").status_code, far.get("/v1/access/me").status_code) == (200, 200)
            admin.call(TOKENS + "/revoke", token_id=made["token_id"])
            failed(near.get("/v1/access/me"), 401, "unauthorized")
            assert within_a_second(partial(refused, far))
            failed(far.get("/v1/access/me"), 401, "unauthorized")
    finally:
        here.close()
        elsewhere.close()


def refused(caller: Api) -> bool:
    return caller.get("/v1/access/me").status_code == 401


def within_a_second(seen: Callable[[], bool]) -> bool:
    """Whether `seen` becomes true in time."""
    deadline = time.monotonic() + 1.0
    while not seen():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
