"""Strict request decoding over HTTP. The table of single broken fields is in tests/unit/test_validation.py."""

import json
from typing import Any

import httpx
import pytest

from tests.api.application import Serve, assert_error, assert_invalid, create_scope

PREPARE = "/v1/context/prepare"
JSON = {"Content-Type": "application/json"}

# Every operation that takes a JSON body: nothing about a path or a field decides how a body is read.
BODY_OPERATIONS = [
    ("POST", "/v1/scopes"),
    ("PUT", "/v1/scopes/s"),
    ("POST", "/v1/scopes/s/delete"),
    ("POST", "/v1/scopes/s/artifacts"),
    ("PUT", "/v1/scopes/s/artifacts/experience/e"),
    ("POST", "/v1/scopes/s/artifacts/experience/e/erase"),
    ("POST", PREPARE),
    *[("POST", f"/v1/memory/{name}") for name in ("remember", "search", "changes")],
    *[("POST", f"/v1/memory/entries/{name}") for name in ("list", "get", "revise", "retire", "erase")],
    *[("POST", f"/v1/experience/{name}") for name in ("propose", "search", "get")],
    ("POST", "/v1/profile/propose"),
    *[("POST", f"/v1/topic-memory/{name}") for name in ("search", "get")],
    *[("POST", f"/v1/artifact-candidates/{name}") for name in ("list", "get", "approve", "reject", "revise")],
    ("POST", "/v1/access/tokens"),
    ("POST", "/v1/access/tokens/revoke"),
]
NESTED = b"[" * 20_000 + b"]" * 20_000


@pytest.mark.parametrize(("method", "path"), BODY_OPERATIONS)
async def test_every_body_is_read_strictly(client: httpx.AsyncClient, method: str, path: str) -> None:
    for malformed in (b"", b"{", b"\xff", b'{"a":NaN}', b'{"a":"\\ud800"}', b'{"a":1,"a":1}', NESTED, b"[" * 500_000):
        assert_error(await client.request(method, path, content=malformed, headers=JSON), 400, "malformed_request")
    assert_invalid(await client.request(method, path, content=b"[]", headers=JSON), "body")
    tag = {"family": "profile"} if path.endswith("/artifacts") else {}
    assert_invalid(await client.request(method, path, json={**tag, "no_such_field": 1}), "body", "no_such_field")
    assert_error(await client.request(method, path, content=b"{}"), 415, "unsupported_media_type")
    assert_error(
        await client.request(method, path, content=b"{}", headers={"Content-Type": "text/plain"}),
        415,
        "unsupported_media_type",
    )


@pytest.mark.parametrize(("method", "path"), [*BODY_OPERATIONS, ("POST", "/v1/scopes/s/import")])
async def test_no_body_operation_takes_a_query_parameter(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path + "?scope_id=b", content=b"{}", headers=JSON)
    if path.endswith("/import"):
        headers = {"Content-Type": "application/x-ndjson"}
        answer = await client.request(method, path + "?scope_id=b", content=b"", headers=headers)
        assert_invalid(answer, "query", "scope_id")
    else:
        assert_error(answer, 422, "invalid_request")


async def test_an_unknown_query_parameter_is_422_beside_a_good_body(client: httpx.AsyncClient) -> None:
    answer = await client.post(PREPARE + "?scope_id=b", json={"scope_id": "s", "query": "q"})
    assert_invalid(answer, "query", "scope_id")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json"},
        {"Content-Type": "Application/JSON; charset=UTF-8"},
        {"Content-Type": 'application/json;charset="utf-8"'},
        {"Content-Type": "application/json", "Content-Encoding": "identity"},
    ],
)
async def test_json_in_utf_8_is_taken(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.post(PREPARE, content=b'{"scope_id":"s","query":"q"}', headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/problem+json"},
        {"Content-Type": "application/x-ndjson"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {"Content-Type": "application/json", "Content-Encoding": "identity, br"},
    ],
)
async def test_every_other_media_type_is_415(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.post(PREPARE, content=b'{"scope_id":"s","query":"q"}', headers=headers)
    assert_error(answer, 415, "unsupported_media_type")


async def test_the_first_check_that_fails_decides(serve: Serve) -> None:
    """401, then media type and size, then JSON syntax, then shape."""
    async with serve(auth_token="t0ken", http_max_body_bytes=1024) as client:
        good = {"Authorization": "Bearer t0ken"}
        large = b"[" * 2000
        assert_error(await client.post(PREPARE, content=large), 401, "unauthorized")
        assert_error(await client.post(PREPARE, content=large, headers=good), 415, "unsupported_media_type")
        assert_error(await client.post(PREPARE, content=large, headers=good | JSON), 413, "payload_too_large")
        assert_error(await client.post(PREPARE, content=b"[", headers=good | JSON), 400, "malformed_request")
        assert_error(await client.post(PREPARE + "?x=1", content=b"[", headers=good | JSON), 400, "malformed_request")
        assert_invalid(await client.post(PREPARE, content=b"[]", headers=good | JSON), "body")


@pytest.mark.parametrize(
    ("extra", "loc"),
    [
        ({"filters": {"scope_id": "b"}}, ("body", "filters")),
        ({"assembly": {"sort_by": "score"}}, ("body", "assembly", "sort_by")),
        ({"assembly": {"min_confidence": 0.5}}, ("body", "assembly", "min_confidence")),
        ({"assembly": {"Format": "markdown"}}, ("body", "assembly", "Format")),
        (
            {"assembly": {"sections": [{"family": "memory", "limit": 1, "scope": "b"}]}},
            ("body", "assembly", "sections", 0, "scope"),
        ),
        ({"assembly": None}, ("body", "assembly")),
        (
            {"assembly": {"sections": [{"family": "experience", "limit": 3}]}},
            ("body", "assembly", "sections", 0, "limit"),
        ),
        ({"max_bytes": 511}, ("body", "max_bytes")),
        ({"max_bytes": "8000"}, ("body", "max_bytes")),
        ({"max_bytes": True}, ("body", "max_bytes")),
    ],
)
async def test_a_broken_rule_is_named_by_its_place(
    client: httpx.AsyncClient, extra: dict[str, Any], loc: tuple[str | int, ...]
) -> None:
    assert_invalid(await client.post(PREPARE, json={"scope_id": "s", "query": "q", **extra}), *loc)


async def test_the_sum_of_limits_is_checked_in_the_same_form(client: httpx.AsyncClient) -> None:
    sections = [{"family": "memory", "limit": 8}, {"family": "profile", "limit": 1}]
    answer = await client.post(PREPARE, json={"scope_id": "s", "query": "q", "assembly": {"sections": sections}})
    assert_invalid(answer, "body", "assembly", "sections")


HUGE = ["19933688932870350000", "18446744073709551616", "18446744073709559616", "-9223372036854775809", "1e999"]


@pytest.mark.parametrize("number", [*HUGE, "9" * 5000, "8000.0", "8e3"])
async def test_a_number_that_is_no_such_integer_is_never_taken_as_another(
    client: httpx.AsyncClient, number: str
) -> None:
    prepare = b'{"scope_id":"s","query":"q","max_bytes":%s}' % number.encode()
    assert_invalid(await client.post(PREPARE, content=prepare, headers=JSON), "body", "max_bytes")
    remember = b'{"scope_id":"s","kind":"k","text":"t","expected_revision":%s}' % number.encode()
    answer = await client.post("/v1/memory/remember", content=remember, headers=JSON)
    assert_invalid(answer, "body", "expected_revision")
    changes = b'{"scope_id":"s","since_revision":%s}' % number.encode()
    answer = await client.post("/v1/memory/changes", content=changes, headers=JSON)
    assert_invalid(answer, "body", "since_revision")
    listed = await client.post("/v1/memory/entries/list", json={"scope_id": "s"})
    assert listed.json() == {"memory": None, "entries": []}


async def test_deep_nesting_is_refused_and_the_next_request_is_served(client: httpx.AsyncClient) -> None:
    nested = b'{"a":' * 5000 + b"1" + b"}" * 5000
    for body in (NESTED, b'{"scope_id":"s","query":"q","assembly":%s}' % nested, b"[" * 500_000):
        for path in (PREPARE, "/v1/memory/remember"):
            assert_error(await client.post(path, content=body, headers=JSON), 400, "malformed_request")
        headers = {"Content-Type": "application/x-ndjson"}
        report = await client.post("/v1/scopes/s/import", content=body, headers=headers)
        refused, totals = [json.loads(line) for line in report.content.splitlines()]
        assert (refused["line"], refused["status"], refused["error"]["code"]) == (1, "refused", "malformed_request")
        assert totals == {"totals": {"stored": 0, "skipped": 0, "refused": 1}}
    answer = await client.post(PREPARE, json={"scope_id": "s", "query": "q"})
    assert answer.status_code == 200


async def test_no_answer_repeats_what_was_sent(client: httpx.AsyncClient) -> None:
    secret = "hunter2-" + "x" * 100
    bodies: list[Any] = [
        {"scope_id": "s", "query": "q", "assembly": {"format": secret}},
        {"scope_id": "s", "query": "q", "max_bytes": secret},
        {"scope_id": secret * 3, "query": "q"},
        {"scope_id": "s", "query": "q", "assembly": {"sections": [{"family": secret, "limit": 1}]}},
    ]
    for body in bodies:
        answer = await client.post(PREPARE, json=body)
        assert_error(answer, 422, "invalid_request")
        assert "hunter2" not in answer.text
    answer = await client.post(PREPARE, content=b"{" + secret.encode(), headers=JSON)
    assert "hunter2" not in answer.text
    answer = await client.get("/v1/scopes", params={"limit": secret})
    assert_invalid(answer, "query", "limit")
    assert "hunter2" not in answer.text


async def test_a_long_unknown_name_is_cut_to_64_code_points(client: httpx.AsyncClient) -> None:
    name = "查" * 500
    answer = await client.post(PREPARE, json={"scope_id": "s", "query": "q", name: 1})
    assert_invalid(answer, "body", name[:64])
    assert_invalid(await client.get("/v1/scopes", params={name: "1"}), "query", name[:64])


@pytest.mark.parametrize(
    ("query", "loc"),
    [
        ("limit=0", ("query", "limit")),
        ("limit=101", ("query", "limit")),
        ("limit=-1", ("query", "limit")),
        ("limit=+5", ("query", "limit")),
        ("limit=5.0", ("query", "limit")),
        ("limit=%205", ("query", "limit")),
        ("limit=", ("query", "limit")),
        ("limit=true", ("query", "limit")),
        ("limit=%D9%A5", ("query", "limit")),  # the Arabic digit five
        ("limit=18446744073709551617", ("query", "limit")),
        ("limit=" + "9" * 5000, ("query", "limit")),
        ("limit=5&limit=5", ("query", "limit")),
        ("Limit=5", ("query", "Limit")),
        ("cursor=", ("query", "cursor")),
        ("cursor=" + "a" * 129, ("query", "cursor")),
        ("query=" + "a" * 257, ("query", "query")),
        ("query=a%00", ("query", "query")),
        ("query=a&query=b", ("query", "query")),
        ("scope_id=s", ("query", "scope_id")),
        ("query=%FF", ("query",)),
    ],
)
async def test_query_parameters_are_strict(client: httpx.AsyncClient, query: str, loc: tuple[str, ...]) -> None:
    assert_invalid(await client.get("/v1/scopes?" + query), *loc)


async def test_query_parameters_of_the_contract_are_taken(client: httpx.AsyncClient) -> None:
    await create_scope(client, "50% 查")
    answer = await client.get("/v1/scopes", params={"limit": "100", "query": "% 查"})
    assert [item["scope_id"] for item in answer.json()["items"]] == ["50% 查"]
    assert_error(await client.get("/v1/scopes", params={"cursor": "x" * 128}), 400, "invalid_cursor")


@pytest.mark.parametrize(
    "path",
    [
        "/health/live",
        "/health/ready",
        "/v1/capabilities",
        "/metrics",
        "/docs",
        "/openapi.yaml",
        "/openapi.json",
        "/v1/access/me",
        "/v1/access/tokens",
        "/v1/scopes/s",
        "/v1/scopes/s/export",
        "/v1/scopes/s/artifacts/memory",
    ],
)
async def test_reads_refuse_query_parameters_that_they_do_not_have(client: httpx.AsyncClient, path: str) -> None:
    assert_invalid(await client.get(path + "?no_such=1"), "query", "no_such")
