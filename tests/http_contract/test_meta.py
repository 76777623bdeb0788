"""Health, capabilities, metrics, and the document of the service."""

import yaml

from tests.http_contract.api import Api, failed, succeeded
from tests.http_contract.shapes import READINESS, conform


def test_health_needs_no_credential(guarded_nobody: Api) -> None:
    assert succeeded(guarded_nobody.get("/health/live"), 200) == {"status": "ok"}
    ready = succeeded(guarded_nobody.get("/health/ready"), 200)
    conform(ready, READINESS, "ready")
    assert ready["status"] == "ready"
    assert {"database", "migrations"} <= set(ready["checks"])
    assert all(isinstance(said, str) for said in ready["checks"].values())


def test_the_document_needs_no_credential_and_is_the_same_in_both_forms(guarded_nobody: Api) -> None:
    as_json = succeeded(guarded_nobody.get("/openapi.json"), 200)
    as_yaml = guarded_nobody.get("/openapi.yaml")
    assert as_yaml.status_code == 200
    assert yaml.safe_load(as_yaml.content) == as_json
    assert as_json["openapi"].startswith("3.1")
    page = guarded_nobody.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")


def test_capabilities_tell_what_prepare_and_search_can_do(api: Api) -> None:
    capabilities = succeeded(api.get("/v1/capabilities"), 200)
    assert set(capabilities) == {"artifact_families", "search_modes", "context_versions", "context_assembly"}
    assert sorted(capabilities["artifact_families"]) == ["experience", "memory", "profile", "topic-memory"]
    assert sorted(capabilities["search_modes"]) == ["auto", "fts"]
    assert capabilities["context_versions"] == ["powercontext.prepared-context.v1"]
    assert capabilities["context_assembly"] == {
        "formats": ["markdown"],
        "families": {
            "memory": {"min": 1, "max": 8},
            "experience": {"min": 1, "max": 2},
            "profile": {"min": 1, "max": 8},
            "topic-memory": {"min": 1, "max": 8},
        },
        "show": ["confidence", "recall_rank"],
        "max_entries": 8,
    }


def test_every_listed_search_mode_works_and_every_other_is_refused(api: Api, scope: str) -> None:
    api.remember(scope, "needle")
    listed = api.get("/v1/capabilities").json()["search_modes"]
    for mode in ("auto", "fts", "vector", "hybrid"):
        answer = api.post("/v1/memory/search", scope_id=scope, query="needle", mode=mode)
        if mode in listed:
            assert (answer.json()["mode"], len(answer.json()["hits"])) == ("fts", 1)
        else:
            failed(answer, 422, "capability_not_supported")


def test_capabilities_and_metrics_need_a_credential_when_access_is_enforced(admin: Api, guarded_nobody: Api) -> None:
    for path in ("/v1/capabilities", "/metrics"):
        failed(guarded_nobody.get(path), 401, "unauthorized")
        assert admin.get(path).status_code == 200


def test_metrics_are_in_the_prometheus_text_format(api: Api) -> None:
    answer = api.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'powercontext_requests_total{operation="get_metrics",status="200"}' in api.get("/metrics").text
