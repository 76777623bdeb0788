"""A sidecar that is away, slow or wrong costs a host its recall, never its answer (RFC 1489, acceptance 7)."""

import json

import pytest

from tests.hosts.conftest import Bench, strings
from tests.hosts.programs import Bub, Codex, Dsh, Hermes, HermesHook, Host, OpenClaw, Opencode, Pi, WorkBuddy
from tests.hosts.recording_proxy import FAULTS, FAULTY_TEXT, HANGS

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(600)]

TOKEN = "pct_secret-token"
TOTAL_TIMEOUT_S = 2.0
ASSEMBLY = '{"sections": [{"family": "memory", "limit": 3}]}'
FEW = ("500", "403", "422", "wrong content type", "over the budget", "one byte too few")
# A turn of Hermes takes seven seconds and both its plugins share one module, which is tested with every fault.
FAULTS_OF: dict[type[Host], tuple[str, ...]] = {
    Codex: tuple(FAULTS),
    Hermes: FEW,
    HermesHook: ("422", "over the budget"),
    Pi: tuple(FAULTS),
    Opencode: FEW,
    Bub: FEW,
    Dsh: tuple(FAULTS),
    OpenClaw: FEW,
    WorkBuddy: tuple(FAULTS),
}


def assert_answered_without_injection(bench: Bench, **settings: str) -> None:
    """One turn with the token set: answered in time, nothing injected, the token in no word of it."""
    always = {"TOKEN": TOKEN, "TOTAL_TIMEOUT_S": str(TOTAL_TIMEOUT_S), **bench.assembly(ASSEMBLY)}
    turn = bench.turn(settings={**always, **settings})
    assert turn.answered, turn
    assert turn.seconds < TOTAL_TIMEOUT_S + bench.host.slack_s
    told = "\n".join(strings(bench.model.asked))
    assert "POWERCONTEXT_PREPARED" not in told
    assert FAULTY_TEXT not in told
    assert bench.host.lead_in == "" or bench.host.lead_in not in told
    assert TOKEN not in told + turn.output + turn.errors


def test_a_refused_connection_leaves_the_turn_as_it_is(bench: Bench, closed_port: str) -> None:
    assert_answered_without_injection(bench, BASE_URL=closed_port)


@pytest.mark.parametrize("hang", HANGS)
def test_an_answer_that_does_not_end_costs_the_stated_time_at_most(bench: Bench, hang: str) -> None:
    bench.proxy.fault = hang
    assert_answered_without_injection(bench)
    assert len(bench.proxy.prepares) == 1


def test_a_faulty_answer_is_neither_injected_nor_asked_for_again(bench: Bench) -> None:
    for fault in FAULTS_OF[type(bench.host)]:
        bench.proxy.fault = fault
        assert_answered_without_injection(bench)
        (prepare,) = bench.proxy.prepares
        assert prepare.request["assembly"] == json.loads(ASSEMBLY), fault
        assert prepare.headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_broken_configuration_asks_for_nothing(bench: Bench) -> None:
    """A selection that cannot be read must not turn into a request without one."""
    assert_answered_without_injection(bench, **bench.assembly('{"sections": ['))
    assert bench.proxy.prepares == []
