"""Section 1 of the contract, on every operation that the OpenAPI document lists."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http_contract.api import NDJSON, REQUEST_ID, Api, failed, invalid, scope_path
from tests.http_contract.samples import SAMPLES, Fresh, declared, operations_with_json_body

JSON_OPERATIONS = operations_with_json_body()
IN_A_PATH = {"family"}
OF_ANY_OBJECT = {("replace_artifact", ("content",)), ("revise_candidate", ("proposal",))}


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value inside `value` with its path."""
    yield at, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*at, key))


def put(body: Any, at: tuple[str | int, ...], value: Any) -> Any:
    """A copy of `body` with `value` at this path."""
    changed = copy.deepcopy(body)
    target = changed
    for key in at[:-1]:
        target = target[key]
    target[at[-1]] = value
    return changed


@pytest.fixture
def things(api: Api, scope: str) -> Fresh:
    return Fresh(api, scope)


def test_every_operation_of_the_document_has_a_sample_request() -> None:
    assert set(SAMPLES) == set(declared())


@pytest.mark.parametrize("name", list(SAMPLES))
def test_success_has_the_status_of_the_contract_and_a_request_id(
    api: Api, scope: str, things: Fresh, name: str
) -> None:
    sample = SAMPLES[name](scope, things)
    answer = sample.sent_by(api)
    assert answer.status_code == sample.status, answer.text
    assert re.fullmatch("[0-9a-f]{16}", answer.headers[REQUEST_ID])
    assert not answer.content.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("name", JSON_OPERATIONS)
def test_an_unknown_field_is_refused_at_every_depth(api: Api, scope: str, things: Fresh, name: str) -> None:
    sample = SAMPLES[name](scope, things)
    assert sample.body is not None
    for at, value in places(sample.body):
        if isinstance(value, dict):
            answer = sample._replace(body=put(sample.body, (*at, "unknown"), 1)).sent_by(api)
            invalid(answer, "body", *at, "unknown")


@pytest.mark.parametrize("name", JSON_OPERATIONS)
def test_values_of_another_type_and_null_are_refused(api: Api, scope: str, things: Fresh, name: str) -> None:
    sample = SAMPLES[name](scope, things)
    assert sample.body is not None
    wrong: dict[type, list[Any]] = {
        str: [8, True, ["x"]],
        int: ["8", 8.0, True],
        bool: ["true", 1],
        dict: [[], "x"],
        list: [{}, "x"],
    }
    for at, value in places(sample.body):
        if not at:
            continue
        nullable = (name, at) == ("list_memory_changes", ("since_revision",)) or at == ("reason",)
        for other in [*wrong[type(value)], *([] if nullable and name != "reject_candidate" else [None])]:
            answer = sample._replace(body=put(sample.body, at, other)).sent_by(api)
            error = failed(answer, 422, "invalid_request")
            assert error["details"]["errors"][0]["loc"] == ["body", *at], (at, other)


@pytest.mark.parametrize("name", JSON_OPERATIONS)
def test_nul_in_any_string_is_refused(api: Api, scope: str, things: Fresh, name: str) -> None:
    sample = SAMPLES[name](scope, things)
    assert sample.body is not None
    for at, value in places(sample.body):
        if isinstance(value, str):
            answer = sample._replace(body=put(sample.body, at, value + "\0")).sent_by(api)
            failed(answer, 422, "invalid_request")


@pytest.mark.parametrize("name", JSON_OPERATIONS)
def test_what_is_no_json_is_400_and_another_media_type_415(api: Api, scope: str, things: Fresh, name: str) -> None:
    sample = SAMPLES[name](scope, things)
    good = json.dumps(sample.body).encode()
    malformed = [
        b"",
        good[:-1],
        good + b"x",
        good[:-1] + b',"a":"\xff"}',
        good[:-1] + b',"a":"\\ud800"}',
        good[:-1] + b',"a":NaN}',
        good[:-1] + b',"a":Infinity}',
        good[:-1] + b',"a":{"b":1,"b":1}}',
        good[:-1] + b',"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ]
    for content in malformed:
        failed(sample._replace(body=None, content=content).sent_by(api), 400, "malformed_request")
    for media_type in ("text/plain", "application/x-www-form-urlencoded", NDJSON):
        other = sample._replace(body=None, content=good, headers={**sample.headers, "Content-Type": media_type})
        failed(other.sent_by(api), 415, "unsupported_media_type")


@pytest.mark.parametrize("name", JSON_OPERATIONS)
def test_a_body_over_one_mebibyte_is_413(api: Api, scope: str, things: Fresh, name: str) -> None:
    sample = SAMPLES[name](scope, things)
    content = json.dumps(sample.body).encode()
    at_the_limit = sample._replace(body=None, content=content + b" " * (2**20 - len(content)))
    over = sample._replace(body=None, content=content + b" " * (2**20 - len(content) + 1))
    failed(over.sent_by(api), 413, "payload_too_large")
    assert at_the_limit.sent_by(api).status_code == sample.status


@pytest.mark.parametrize("name", list(SAMPLES))
def test_an_unknown_query_parameter_is_refused(api: Api, scope: str, things: Fresh, name: str) -> None:
    sample = SAMPLES[name](scope, things)
    invalid(sample._replace(path=sample.path + "?unknown=1").sent_by(api), "query", "unknown")


@pytest.mark.parametrize(
    "name", [name for name, each in declared().items() if any(p["name"] == "limit" for p in each["parameters"])]
)
@pytest.mark.parametrize("limit", ["0", "101", "1.0", "+1", "", "x", "true", "99999999999999999999"])
def test_an_illegal_limit_in_a_query_is_refused(
    admin: Api, api: Api, scope: str, things: Fresh, name: str, limit: str
) -> None:
    sample = SAMPLES[name](scope, things)
    invalid(api.get(f"{sample.path}?limit={limit.replace('+', '%2B')}"), "query", "limit")
    invalid(api.get(f"{sample.path}?limit=1&limit=1"), "query", "limit")
    assert api.get(f"{sample.path}?limit=1").status_code == 200
    assert api.get(f"{sample.path}?limit=100").status_code == 200


def test_unknown_paths_and_methods_have_the_form_of_every_error(api: Api) -> None:
    failed(api.get("/nope"), 404, "not_found")
    failed(api.get("/v1/memory/nope"), 404, "not_found")
    wrong = api.send("POST", "/health/live", {})
    failed(wrong, 405, "method_not_allowed")
    assert wrong.headers["Allow"] == "GET"


def test_request_ids_are_new_each_time(api: Api) -> None:
    ids = {api.get("/nope").headers[REQUEST_ID] for _ in range(20)}
    assert len(ids) == 20


def test_no_message_tells_the_value_that_was_sent(api: Api, scope: str) -> None:
    secret = "s3cr3t-value"
    answers = [
        api.post("/v1/memory/search", scope_id=scope, query="q", mode=secret),
        api.post("/v1/memory/search", scope_id=scope, query="q", limit=secret),
        api.post("/v1/memory/remember", scope_id=scope, kind=secret * 100, text="t"),
        api.get(f"/v1/scopes/{secret}"),
        api.get(f"{scope_path(scope)}/artifacts/{secret}"),
        api.post("/v1/artifact-candidates/get", scope_id=scope, candidate_id=secret),
        api.get(f"/v1/scopes?cursor={secret}"),
    ]
    for answer in answers:
        assert answer.status_code >= 400
        assert secret not in answer.text


def test_lengths_count_code_points(api: Api, scope: str) -> None:
    assert api.post("/v1/memory/search", scope_id=scope, query="𠮷" * 8192).status_code == 200
    invalid(api.post("/v1/memory/search", scope_id=scope, query="𠮷" * 8193), "body", "query")


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000", "\u2028", "\x1c", "\u00a0"])
def test_blank_is_what_unicode_strip_leaves_empty(api: Api, scope: str, blank: str) -> None:
    for path in ("/v1/memory/search", "/v1/experience/search", "/v1/topic-memory/search", "/v1/context/prepare"):
        invalid(api.post(path, scope_id=scope, query=blank), "body", "query")
    assert api.post("/v1/memory/search", scope_id=scope, query=blank + "\u200b").status_code == 200


def test_the_first_check_that_fails_decides(admin: Api, guarded_api: Api) -> None:
    """Credential, media type and size, syntax, shape, semantics, permission, existence, state."""
    scope = admin.new_scope()
    path = "/v1/memory/changes"
    absent = "no-such-scope"
    huge = b" " * (2**20 + 1)
    nobody = Api(guarded_api.http)
    failed(nobody.send("POST", path, content=b"{", headers={"Content-Type": "text/plain"}), 401, "unauthorized")
    failed(
        guarded_api.send("POST", path, content=b"{", headers={"Content-Type": "text/plain"}),
        415,
        "unsupported_media_type",
    )
    failed(guarded_api.send("POST", path, content=huge), 413, "payload_too_large")
    failed(guarded_api.send("POST", path, content=b"{"), 400, "malformed_request")
    failed(guarded_api.post(path, scope_id=absent, since_revision="x"), 422, "invalid_request")
    failed(guarded_api.post("/v1/memory/remember", scope_id=absent, kind="k", text="é" * 8192), 422, "invalid_request")
    failed(guarded_api.post(path, scope_id=absent, since_revision=1), 403, "forbidden")
    failed(admin.post(path, scope_id=absent, since_revision=1), 404, "scope_not_found")
    admin.remember(scope, "text")
    failed(admin.post(path, scope_id=scope, since_revision=2), 422, "invalid_request")


@pytest.fixture
def guarded_api(admin: Api) -> Api:
    """A caller with a token and without any grant."""
    return Api(admin.http, admin.call("/v1/access/tokens", success=201, id="nobody")["token"])


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_of_a_credential_is_read_in_any_case(admin: Api, scheme: str) -> None:
    token = admin.call("/v1/access/tokens", success=201, id="somebody")["token"]
    answer = admin.http.get("/v1/access/me", headers={"Authorization": f"{scheme} {token}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic dXNlcjpwdw==", "Bearer nonsense", "Token x"])
def test_without_a_valid_credential_the_answer_is_401_and_says_how(admin: Api, header: str | None) -> None:
    answer = admin.http.get("/v1/access/me", headers={} if header is None else {"Authorization": header})
    failed(answer, 401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
