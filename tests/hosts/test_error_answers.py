"""What the plugins say of an answer that is an error: its status, its code and its request id alone."""

import json
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.plugin_params import PROGRAMS
from tests.hosts.plugin_programs import Outcome, PluginProgram

pytestmark = pytest.mark.parametrize("program", PROGRAMS)

ECHO = "pct_secret-token"
ID = "0123456789abcdef"


def error(code: Any) -> dict[str, Any]:
    """The contract's error body; whatever a plugin must not say is in its other fields."""
    return {"error": {"code": code, "message": ECHO, "details": {"errors": [{"msg": ECHO}]}}}


# Status, body, request id, and what is said after "the sidecar answered".
SAID: tuple[tuple[int, Any, str, str], ...] = (
    (422, error("invalid_request"), ID, "422 invalid_request (request 0123456789abcdef)"),
    (401, error("unauthorized"), "", "401 unauthorized"),
    (404, error("a" * 64), "A-z_9" * 12 + "----", f"404 {'a' * 64} (request {'A-z_9' * 12}----)"),
    (502, b"<html>bad gateway</html>", ID, "502 (request 0123456789abcdef)"),
    (502, b"", "", "502"),
    (500, error("a" * 65), "a" * 65, "500"),
    (500, error(ECHO), "two words", "500"),
    (500, error("line\n"), "", "500"),
    (500, error(["invalid_request"]), "", "500"),
    (500, error(404), "", "500"),
    (500, error(""), "", "500"),
    (500, {"error": "invalid_request"}, "", "500"),
    (500, [None], "", "500"),
    (500, json.dumps(error("invalid_request")).encode() + b" " * 60_000, "", "500"),
)


def reason(outcome: Outcome) -> str:
    """What was said, without the hook program's own words."""
    return outcome.said.rstrip("\n").removeprefix("powercontext: nothing added: ")


def test_the_code_and_the_request_id_are_said_and_no_other_word_of_the_answer(program: PluginProgram) -> None:
    with running(FakeService()) as service:
        for status, body, request_id, said in SAID:
            service.answer(body, status, **({"X_PowerContext_Request_ID": request_id} if request_id else {}))
            outcome = program.ask("q", {"SCOPE_ID": "s", "BASE_URL": service.url, "TOKEN": ECHO})
            assert (outcome.content, reason(outcome)) == (None, f"the sidecar answered {said}")


def test_of_an_error_in_another_form_than_json_nothing_is_read(program: PluginProgram) -> None:
    with running(FakeService(status=503, body=error("runtime_not_ready"))) as service:
        service.headers = {"Content-Type": "text/plain"}
        outcome = program.ask("q", {"SCOPE_ID": "s", "BASE_URL": service.url})
        assert (outcome.content, reason(outcome)) == (None, "the sidecar answered 503")


def test_an_error_that_does_not_end_costs_the_stated_time_at_most(program: PluginProgram) -> None:
    with running(FakeService(status=422, body=error("invalid_request"), trickle_s=0.3)) as service:
        outcome = program.ask("q", {"SCOPE_ID": "s", "BASE_URL": service.url, "TOTAL_TIMEOUT_S": "0.5"})
        assert (outcome.content, reason(outcome)) == (None, "the sidecar did not answer within 0.5 seconds")
