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
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.specs.openapi import checks

from service.http.openapi import document
from tests.api.application import Programs, migrated, scope_body

EXAMPLES = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
ANSWERS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def schema_of(mode: GenerationMode) -> schemathesis.BaseSchema:
    """The document, for requests that fit it or that break it. Lines of an import are no JSON body."""
    project = ProjectConfig(
        generation=GenerationConfig(modes=[mode], deterministic=True, with_security_parameters=False)
    )
    config = SchemathesisConfig(projects=ProjectsConfig(default=project))
    return schemathesis.openapi.from_dict(document().content, config=config).exclude(operation_id="import_scope")


FITTING = schema_of(GenerationMode.POSITIVE)
BREAKING = schema_of(GenerationMode.NEGATIVE)


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
