"""What a caller learns of Scopes that it may not read: through prepare, through listings, through the log."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.http_contract.api import Api, experience, failed, ref_of
from tests.http_contract.sidecar import ADMIN_TOKEN, Sidecar

SELECTIONS: dict[str, dict[str, Any]] = {
    "omitted": {},
    "default": {"assembly": {}},
    "memory": {"assembly": {"sections": [{"family": "memory", "limit": 1}]}},
    "experience": {"assembly": {"sections": [{"family": "experience", "limit": 1}]}},
    "profile": {"assembly": {"sections": [{"family": "profile", "limit": 8}]}},
    "both": {"assembly": {"sections": [{"family": "topic-memory", "limit": 1}, {"family": "memory", "limit": 1}]}},
}
OWN_ALONE: dict[str, dict[str, Any]] = {
    "topic-memory": {"assembly": {"sections": [{"family": "topic-memory", "limit": 1}]}},
    "none": {"assembly": {"sections": []}},
}


def fill(admin: Api, scope: str, secret: str) -> None:
    """One thing of each family that the query `needle` finds."""
    admin.remember(scope, f"needle {secret}")
    admin.create_artifact(scope, "experience", experience(f"needle {secret}"))
    admin.create_artifact(scope, "profile", {"content": f"needle {secret}"})
    topic = {"title": f"needle {secret}", "summary": secret, "detail": f"needle {secret}"}
    admin.create_artifact(scope, "topic-memory", topic)


def caller_of(guarded: Sidecar, admin: Api, name: str, *scopes: str) -> Api:
    grants = [{"scope_id": scope, "role": "viewer"} for scope in scopes]
    return guarded.api(admin.call("/v1/access/tokens", success=201, id=name, grants=grants)["token"])


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
def test_a_reference_that_may_not_be_read_fails_every_selection_that_would_read_it(
    guarded: Sidecar, admin: Api, filled: bool
) -> None:
    """With the grant the same requests succeed, and every item is cited under its own Scope."""
    secrets = {name: uuid4().hex for name in "abc"}
    b, c = admin.new_scope(f"b-{uuid4().hex}"), admin.new_scope(f"c-{uuid4().hex}")
    a = admin.new_scope(f"a-{uuid4().hex}", context_references=[b, c])
    fill(admin, a, secrets["a"])
    fill(admin, b, secrets["b"])
    if filled:
        fill(admin, c, secrets["c"])
    name = uuid4().hex
    caller = caller_of(guarded, admin, name, a, b)
    seen = []
    for selection in SELECTIONS.values():
        answer = caller.post("/v1/context/prepare", scope_id=a, query="needle", **selection)
        failed(answer, 403, "forbidden")
        seen.append(answer)
    for choice, selection in OWN_ALONE.items():
        prepared = caller.prepare(a, "needle", **selection)
        assert prepared["status"] == ("ready" if choice == "topic-memory" else "empty")
        seen.append(caller.post("/v1/context/prepare", scope_id=a, query="needle", **selection))
    told = "".join(answer.text + str(answer.headers) for answer in seen)
    for hidden in (secrets["b"], secrets["c"], b, c):
        assert hidden not in told
        assert hidden not in guarded.log()
    guarded.run("grant", "add", name, c, "viewer")
    granted = caller_of(guarded, admin, name)  # another token of the same principal: nothing is cached of it
    for choice, selection in {**SELECTIONS, **OWN_ALONE}.items():
        prepared = granted.prepare(a, "needle", **selection)
        assert prepared["status"] == ("empty" if choice == "none" else "ready")
    text = granted.prepare(a, "needle", assembly={"sections": [{"family": "profile", "limit": 8}]})["content"]
    cited = [line.split('"')[1] for line in text.splitlines() if line.startswith("    Scope: ")]
    assert cited == ([a, b, c] if filled else [a, b])
    for scope, secret in ((a, "a"), (b, "b"), *([(c, "c")] if filled else [])):
        assert secrets[secret] in granted.prepared(a, secrets[secret], "memory")
        assert scope in granted.prepared(a, secrets[secret], "memory")


def test_a_reference_grants_nothing(guarded: Sidecar, admin: Api) -> None:
    referenced = admin.new_scope()
    own = admin.new_scope(context_references=[referenced])
    ref = ref_of(admin.create_artifact(referenced, "experience", experience()))
    caller = caller_of(guarded, admin, uuid4().hex, own)
    failed(caller.post("/v1/experience/get", scope_id=referenced, artifact=ref), 403, "forbidden")
    failed(caller.post("/v1/context/prepare", scope_id=referenced, query="q"), 403, "forbidden")


def test_no_query_text_or_id_is_logged(guarded: Sidecar, admin: Api) -> None:
    secret = uuid4().hex
    scope = admin.new_scope(f"scope-{secret}")
    fill(admin, scope, secret)
    admin.prepare(scope, f"needle {secret}")
    admin.get(f"/v1/scopes/{scope}?nonsense={secret}")
    admin.get(f"/v1/{secret}")
    admin.post("/v1/memory/search", scope_id=secret, query=secret)
    assert secret not in guarded.log()
    assert '"operation":"prepare_context"' in guarded.log()


def paged(caller: Api, path: str, key: str, name: str, **body: Any) -> list[Any]:
    """`name` of every line of a listing, read in pages of one."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        after = {} if cursor is None else {"cursor": cursor}
        if body:
            page = caller.post(path, **body, limit=1, **after).json()
        else:
            page = caller.get(f"{path}?{urlencode({'limit': 1, **after})}").json()
        assert len(page[key]) <= 1
        found += [each[name] for each in page[key]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found
        assert 1 <= len(cursor) <= 128
        assert cursor.isascii()


def test_a_listing_shows_exactly_what_may_be_read_each_once_while_others_write(guarded: Sidecar, admin: Api) -> None:
    mark = uuid4().hex
    scopes = [admin.new_scope(f"{mark}-{number:03}") for number in range(120)]
    granted = scopes[::3]
    caller = caller_of(guarded, admin, uuid4().hex, *granted)
    stop = threading.Event()

    def create() -> None:
        other = guarded.api(ADMIN_TOKEN)
        for number in itertools.count():
            if stop.is_set():
                break
            other.new_scope(f"{mark}-{number:03}-new")
            other.propose(granted[0], experience("new"))

    refs = ref_of(admin.create_artifact(granted[0], "experience", experience()))
    for _ in range(9):
        refs = ref_of(admin.replace_artifact(granted[0], refs, experience()))
    before = [admin.propose(granted[0], experience())["candidate_id"] for _ in range(10)]
    with ThreadPoolExecutor(1) as others:
        creating = others.submit(create)
        try:
            assert paged(caller, "/v1/scopes", "items", "scope_id") == granted
            history = f"/v1/scopes/{granted[0]}/artifacts/experience/{refs['artifact_id']}/revisions"
            assert paged(caller, history, "items", "revision") == list(range(10, 0, -1))
        finally:
            stop.set()
        creating.result()
    candidates = paged(caller, "/v1/artifact-candidates/list", "candidates", "candidate_id", scope_id=granted[0])
    assert candidates[:10] == before
    assert len(set(candidates)) == len(candidates)
