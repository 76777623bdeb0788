"""The OpenAPI document: equal to the committed one, valid, and saying what the contract says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from service.http.openapi import document

ROOT = Path(__file__).resolve().parents[2]
GENERATED = document()
ARTIFACT = "/v1/scopes/{scope_id}/artifacts/{family}/{artifact_id}"

# Method, path, role, status of success, statuses of refusal beside those that every operation of its kind has.
OPERATIONS = [
    ("GET", "/health/live", "none", 200, set()),
    ("GET", "/health/ready", "none", 200, {503}),
    ("GET", "/openapi.yaml", "none", 200, set()),
    ("GET", "/openapi.json", "none", 200, set()),
    ("GET", "/docs", "none", 200, set()),
    ("GET", "/metrics", "global-admin", 200, set()),
    ("GET", "/v1/capabilities", "any", 200, set()),
    ("POST", "/v1/context/prepare", "viewer", 200, {404, 503}),
    ("POST", "/v1/scopes", "global-admin", 201, {409}),
    ("GET", "/v1/scopes", "any", 200, {400}),
    ("GET", "/v1/scopes/{scope_id}", "viewer", 200, {404}),
    ("PUT", "/v1/scopes/{scope_id}", "admin", 200, {404, 409}),
    ("POST", "/v1/scopes/{scope_id}/delete", "admin", 200, {404, 409}),
    ("POST", "/v1/memory/remember", "contributor", 200, {404, 409}),
    ("POST", "/v1/memory/search", "viewer", 200, {404}),
    ("POST", "/v1/memory/changes", "viewer", 200, {404}),
    ("POST", "/v1/memory/entries/list", "viewer", 200, {400, 404}),
    ("POST", "/v1/memory/entries/get", "viewer", 200, {404, 410}),
    ("POST", "/v1/memory/entries/revise", "contributor", 200, {404, 409}),
    ("POST", "/v1/memory/entries/retire", "contributor", 200, {404, 409}),
    ("POST", "/v1/memory/entries/erase", "admin", 200, {404}),
    ("POST", "/v1/experience/propose", "contributor", 201, {404}),
    ("POST", "/v1/experience/search", "viewer", 200, {404}),
    ("POST", "/v1/experience/get", "viewer", 200, {404, 410}),
    ("POST", "/v1/profile/propose", "contributor", 201, {404}),
    ("POST", "/v1/topic-memory/search", "viewer", 200, {404}),
    ("POST", "/v1/topic-memory/get", "viewer", 200, {404, 410}),
    ("POST", "/v1/artifact-candidates/list", "viewer", 200, {400, 404}),
    ("POST", "/v1/artifact-candidates/get", "viewer", 200, {404}),
    ("POST", "/v1/artifact-candidates/approve", "reviewer", 200, {404, 409}),
    ("POST", "/v1/artifact-candidates/reject", "reviewer", 200, {404, 409}),
    ("POST", "/v1/artifact-candidates/revise", "reviewer", 200, {404, 409}),
    ("GET", ARTIFACT, "viewer", 200, {304, 404, 410}),
    ("PUT", ARTIFACT, "reviewer", 200, {404, 410, 412, 428}),
    ("POST", ARTIFACT + "/erase", "admin", 200, {404}),
    ("GET", ARTIFACT + "/revisions", "viewer", 200, {400, 404}),
    ("GET", ARTIFACT + "/revisions/{revision}", "viewer", 200, {404, 410}),
    ("GET", "/v1/scopes/{scope_id}/artifacts/{family}", "viewer", 200, {400, 404}),
    ("POST", "/v1/scopes/{scope_id}/artifacts", "reviewer", 201, {404, 409}),
    ("POST", "/v1/scopes/{scope_id}/import", "contributor", 200, {404}),
    ("GET", "/v1/scopes/{scope_id}/export", "viewer", 200, {404}),
    ("GET", "/v1/access/me", "any", 200, set()),
    ("POST", "/v1/access/tokens", "global-admin", 201, set()),
    ("GET", "/v1/access/tokens", "global-admin", 200, {400}),
    ("POST", "/v1/access/tokens/revoke", "global-admin", 200, {404}),
]


@pytest.fixture
def schemas() -> dict[str, Any]:
    components: dict[str, Any] = GENERATED.content["components"]["schemas"]
    return components


def described(method: str, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = GENERATED.content["paths"][path][method.lower()]
    return operation


def everything(node: Any) -> Iterator[dict[str, Any]]:
    """Every object anywhere in the document."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from everything(value)
    elif isinstance(node, list):
        for value in node:
            yield from everything(value)


def test_the_committed_document_is_the_generated_one() -> None:
    assert (ROOT / "openapi.yaml").read_bytes() == GENERATED.yaml(), "run: make api-generate"


def test_yaml_and_json_say_the_same() -> None:
    assert yaml.safe_load(GENERATED.yaml()) == yaml.safe_load(GENERATED.json()) == GENERATED.content


def test_the_document_is_valid_openapi_3_1() -> None:
    assert GENERATED.content["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(GENERATED.content).validate()


def test_it_lists_exactly_the_operations_of_the_contract() -> None:
    listed = {(method.upper(), path) for path, methods in GENERATED.content["paths"].items() for method in methods}
    assert listed == {(method, path) for method, path, *_ in OPERATIONS}


@pytest.mark.parametrize(("method", "path", "role", "status", "refusals"), OPERATIONS)
def test_each_operation_has_its_role_and_its_statuses(
    method: str, path: str, role: str, status: int, refusals: set[int]
) -> None:
    operation = described(method, path)
    assert operation["x-required-role"] == role
    assert operation.get("security") == ([] if role == "none" else None)
    common = {405, 422, 500, 503}
    common |= set() if role == "none" else {401}
    common |= {400, 413, 415} if "requestBody" in operation else set()
    # Naming another Scope as a reference needs read on it; a cursor and an erased content are seen late.
    assert {int(code) for code in operation["responses"]} >= {status} | refusals | common
    successes = {code for code in operation["responses"] if code.startswith("2")}
    assert successes == {str(status)}
    for code, given in operation["responses"].items():
        answer = GENERATED.content["components"]["responses"][f"Error{code}"] if "$ref" in given else given
        assert "X-PowerContext-Request-ID" in answer["headers"]
        if int(code) >= 400 and not (path == "/health/ready" and code == "503"):
            assert answer["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorEnvelope"}}}


def test_operation_ids_are_unique_snake_case_and_prepare_has_that_of_the_rfc() -> None:
    ids = [each["operationId"] for methods in GENERATED.content["paths"].values() for each in methods.values()]
    assert len(ids) == len(set(ids)) == len(OPERATIONS)
    assert all(each.replace("_", "").isalpha() and each.islower() for each in ids)
    assert described("POST", "/v1/context/prepare")["operationId"] == "prepare_context"


def test_every_object_refuses_unknown_fields(schemas: dict[str, Any]) -> None:
    open_objects = {name for name, schema in schemas.items() if schema.get("additionalProperties") is not False}
    assert open_objects == set()


def test_every_reference_points_somewhere_and_nothing_is_left_over() -> None:
    components = GENERATED.content["components"]
    named = {each["$ref"] for each in everything(GENERATED.content) if "$ref" in each}
    assert named == {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses", "headers") for name in components[kind]
    }


def test_bounds_of_integers_are_integers() -> None:
    for schema in everything(GENERATED.content):
        if schema.get("type") == "integer":
            bounds = [schema[name] for name in ("minimum", "maximum") if name in schema]
            assert all(type(bound) is int for bound in bounds)


def test_prepare_has_the_bounds_of_the_rfc(schemas: dict[str, Any]) -> None:
    prepare = schemas["ContextPrepareRequest"]
    assert set(prepare["required"]) == {"scope_id", "query"}
    assert (prepare["properties"]["query"]["minLength"], prepare["properties"]["query"]["maxLength"]) == (1, 8192)
    max_bytes = prepare["properties"]["max_bytes"]
    assert (max_bytes["minimum"], max_bytes["maximum"], max_bytes["default"]) == (512, 32768, 8000)
    assert prepare["properties"]["assembly"] == {"$ref": "#/components/schemas/Assembly"}  # may be absent, never null
    assembly = schemas["Assembly"]["properties"]
    assert assembly["sections"]["maxItems"] == 4
    assert assembly["sections"]["default"] == [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}]
    assert assembly["show"]["items"] == {"enum": ["confidence", "recall_rank"]}
    mapping = assembly["sections"]["items"]["discriminator"]["mapping"]
    limits = {family: schemas[ref.rpartition("/")[2]]["properties"]["limit"] for family, ref in mapping.items()}
    assert {family: (limit["minimum"], limit["maximum"]) for family, limit in limits.items()} == {
        "memory": (1, 8),
        "experience": (1, 2),
        "profile": (1, 8),
        "topic-memory": (1, 8),
    }


def test_the_prepared_context_has_exactly_four_fields(schemas: dict[str, Any]) -> None:
    prepared = schemas["PreparedContext"]
    assert list(prepared["properties"]) == ["schema", "status", "content", "content_bytes"]


def test_contents_that_a_family_decides_name_what_they_may_be(schemas: dict[str, Any]) -> None:
    content = schemas["ReplaceArtifactRequest"]["properties"]["content"]["anyOf"]
    assert [each["$ref"].rpartition("/")[2] for each in content] == [
        "ExperienceContent",
        "ProfileContent",
        "TopicMemoryContent",
    ]
    proposal = schemas["ReviseCandidateRequest"]["properties"]["proposal"]["anyOf"]
    assert [each["$ref"].rpartition("/")[2] for each in proposal] == ["ExperienceContent", "ProfileContent"]


def test_parameters_have_their_true_bounds() -> None:
    parameters = {each["name"]: each for each in described("GET", "/v1/scopes")["parameters"]}
    assert set(parameters) == {"limit", "cursor", "query"}
    assert all(each["in"] == "query" and each["required"] is False for each in parameters.values())
    limit = parameters["limit"]["schema"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 100, 50)
    assert parameters["cursor"]["schema"]["maxLength"] == 128
    assert parameters["query"]["schema"]["maxLength"] == 256
    in_path = {
        each["name"]: each["schema"] for each in described("GET", ARTIFACT + "/revisions/{revision}")["parameters"]
    }
    assert in_path["scope_id"]["maxLength"] == 256
    assert in_path["family"]["enum"] == ["experience", "memory", "profile", "topic-memory"]
    assert in_path["artifact_id"]["maxLength"] == 128
    assert (in_path["revision"]["minimum"], in_path["revision"]["maximum"]) == (1, 2**63 - 1)
