"""Case R75 for every plugin, without its host: no fault of the sidecar is injected, repeated or paid for for long."""

from collections.abc import Iterator

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.plugin_params import PROGRAMS
from tests.hosts.plugin_programs import PluginProgram
from tests.hosts.recording_proxy import FAULTS, FAULTY_TEXT, HANGS, recording_proxy

TOKEN = "pct_secret-token"
QUESTION = "怎么改 API?"
ASSEMBLY = '{"sections": [{"family": "memory", "limit": 3}]}'
TOTAL_TIMEOUT_S = 1.0
START_S = 4.0
"""Allowed beyond the plugin's own deadline, for its interpreter to start and end on a busy machine."""


@pytest.fixture
def service() -> Iterator[FakeService]:
    with running(FakeService()) as fake:
        yield fake


def assert_nothing_handed_over(program: PluginProgram, base_url: str) -> None:
    """One turn with a token and an assembly: nothing handed over, the reason said, neither token nor text in it."""
    settings = {"SCOPE_ID": "s", "BASE_URL": base_url, "TOKEN": TOKEN, "TOTAL_TIMEOUT_S": str(TOTAL_TIMEOUT_S)}
    outcome = program.ask(QUESTION, {**settings, **program.assembly(ASSEMBLY)})
    assert outcome.content is None
    assert outcome.said != ""
    assert TOKEN not in outcome.said
    assert FAULTY_TEXT not in outcome.said
    assert outcome.seconds < TOTAL_TIMEOUT_S + START_S


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_faulty_answer_is_handed_over_or_asked_for_again(program: PluginProgram, service: FakeService) -> None:
    for fault, (status, content_type, body) in FAULTS.items():
        service.status, service.body = status, body
        service.headers = {"Content-Type": content_type, "Location": f"{service.url}/v1/context/prepare"}
        service.received.clear()
        assert_nothing_handed_over(program, service.url)
        (request,) = service.received
        assert ASSEMBLY.encode() in request.body, fault
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_sidecar_that_is_away_costs_the_stated_time_at_most(program: PluginProgram, closed_port: str) -> None:
    assert_nothing_handed_over(program, closed_port)


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_answer_that_does_not_end_costs_the_stated_time_at_most(program: PluginProgram) -> None:
    with recording_proxy("") as proxy:
        for number, proxy.fault in enumerate(HANGS, start=1):
            assert_nothing_handed_over(program, proxy.url)
            assert len(proxy.prepares) == number, proxy.fault
