"""Requests made from the document, against a running server.

What breaks the document is refused, and every answer is one that it describes.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import GenerationMode
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.specs.openapi import checks
from schemathesis.specs.openapi.schemas import OpenApiSchema

from service.http.links import LINKS
from service.http.openapi import document
from tests.api.application import Programs, migrated, scope_body

Json = dict[str, Any]
EXAMPLES = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
ANSWERS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def schema_of(mode: GenerationMode) -> OpenApiSchema:
    """The document, for requests that fit it or that break it. Lines of an import are no JSON body."""
    project = ProjectConfig(
        generation=GenerationConfig(modes=[mode], deterministic=True, with_security_parameters=False)
    )
    config = SchemathesisConfig(projects=ProjectsConfig(default=project))
    schema = schemathesis.openapi.from_dict(document().content, config=config)
    return cast("OpenApiSchema", schema.exclude(operation_id="import_scope"))


FITTING = schema_of(GenerationMode.POSITIVE)
BREAKING = schema_of(GenerationMode.NEGATIVE)
LINKED = schema_of(GenerationMode.POSITIVE)


def without_fractions(value: Any) -> Any:
    """JSON Schema calls 5.0 an integer; the contract wants integers written without a fraction."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: without_fractions(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_fractions(each) for each in value]
    return value


@FITTING.hook
def map_body(context: Any, body: Any) -> Any:
    """About every second request names the Scope that exists, so that more than 404 is answered."""
    body = without_fractions(body)
    if isinstance(body, dict) and "scope_id" in body and len(body) % 2 and context.operation.label != "POST /v1/scopes":
        body["scope_id"] = "s"
    return body


@LINKED.hook("map_body")
def keep_scopes(context: Any, body: Any) -> Any:
    return without_fractions(body)


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with one Scope `s` that remembers something."""
    url = asyncio.run(migrated(tmp_path_factory.mktemp("contract") / "context.db"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings_of_server = {"DATABASE_URL": url, "HTTP_PORT": str(port), "LOG_LEVEL": "error"}
    environment = {f"POWERCONTEXT_SERVER_{name}": value for name, value in settings_of_server.items()}
    with Programs() as programs:
        command = [sys.executable, "-c", "from service.cli import main; main()", "serve"]
        process = subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.PIPE)
        programs.running.append(process)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            while process.poll() is None:
                with suppress(httpx.ConnectError):
                    assert client.post("/v1/scopes", json=scope_body("s")).status_code == 201
                    break
                time.sleep(0.05)
            remembered = {"scope_id": "s", "kind": "fact", "text": "0 0 0"}
            assert client.post("/v1/memory/remember", json=remembered).status_code == 200
        yield f"http://127.0.0.1:{port}"


@FITTING.parametrize()
@EXAMPLES
def test_what_fits_the_document_gets_an_answer_that_it_describes(case: schemathesis.Case[Any], base_url: str) -> None:
    case.call_and_validate(base_url=base_url, checks=ANSWERS)


@BREAKING.parametrize()
@EXAMPLES
def test_what_breaks_the_document_is_refused(case: schemathesis.Case[Any], base_url: str) -> None:
    case.call_and_validate(base_url=base_url, checks=[*ANSWERS, checks.negative_data_rejection])


def test_random_walks_along_the_links_get_described_answers(base_url: str) -> None:
    """Whatever order of requests is tried, each follows from an answer before it or starts anew."""

    class Walk(LINKED.as_state_machine()):  # type: ignore[misc]  # made from the document
        def get_call_kwargs(self, case: schemathesis.Case[Any]) -> dict[str, Any]:
            return {"base_url": base_url}

        def validate_response(
            self, response: Any, case: schemathesis.Case[Any], additional_checks: Any = None, **_: Any
        ) -> None:
            case.validate_response(response, checks=ANSWERS)

    Walk.run(settings=settings(EXAMPLES, max_examples=10, stateful_step_count=8, phases=[Phase.generate]))


def test_every_link_leads_where_it_says(base_url: str) -> None:
    """What is made (Scopes, entries, Candidates, Artifacts, tokens) is read, changed, decided and erased by links."""
    answered: dict[tuple[str, str], set[int]] = {}

    def follow(operation_id: str, path: Json, body: Any) -> int:
        """The status of one request, after all links of its answer were followed."""
        given = {} if body is None else {"body": body, "media_type": "application/json"}
        case = LINKED.find_operation_by_id(operation_id).Case(path_parameters=path, **given)
        response = case.call(base_url=base_url)
        case.validate_response(response, checks=ANSWERS)
        if response.status_code < 300:
            for name, link in LINKS.get(operation_id, {}).items():
                linked = {
                    part: filled(link.get(part, {}), body, response.json()) for part in ("parameters", "requestBody")
                }
                takes_body = LINKED.find_operation_by_id(link["operationId"]).body
                status = follow(
                    link["operationId"], linked["parameters"], linked["requestBody"] if takes_body else None
                )
                answered.setdefault((operation_id, name), set()).add(status)
        return int(response.status_code)

    follow("create_scope", {}, {"title": "t", "summary": "s", "idempotency_key": "links"})
    follow("create_token", {}, {"id": "links"})
    profile = {"scope_id": "s", "content": "# Who"}
    follow("propose_profile", {}, profile)
    assert answered.keys() == {(operation_id, name) for operation_id, links in LINKS.items() for name in links}
    # One link may make the next one stale: an entry that was revised cannot be retired by its old citation.
    assert {link for link, statuses in answered.items() if min(statuses) >= 300} <= {
        ("remember_memory", "retire"),
        ("propose_experience", "reject"),
        ("propose_profile", "reject"),
    }


def filled(template: Any, request: Any, response: Any) -> Any:
    """A link's values with its runtime expressions replaced by what was sent and answered."""
    if isinstance(template, dict):
        return {name: filled(value, request, response) for name, value in template.items()}
    if isinstance(template, str) and template.startswith("$"):
        source, _, pointer = template.partition("#/")
        value = response if source == "$response.body" else request
        for part in pointer.split("/"):
            value = value[part]
        return value
    return template
