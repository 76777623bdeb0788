"""A sidecar is spoken to directly, whatever the proxy variables of its host's environment say."""

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.conftest import Bench
from tests.hosts.plugin_params import PROGRAMS
from tests.hosts.plugin_programs import PluginProgram
from tests.hosts.proxy_for_all import proxy_for_all

TOKEN = "pct_secret-token"
CONTENT = "验 content"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_plugin_asks_through_a_proxy(program: PluginProgram) -> None:
    with running(FakeService(body=READY)) as service, proxy_for_all() as proxy:
        settings = {"SCOPE_ID": "s", "BASE_URL": service.url, "TOKEN": TOKEN}
        assert program.ask("q", settings, proxy.variables).content == CONTENT
        assert proxy.passed == []
        assert len(service.received) == 1


@pytest.mark.hosts
@pytest.mark.timeout(600)
def test_no_hosts_turn_takes_the_token_or_the_asking_to_a_proxy(bench: Bench) -> None:
    """The host's own words with its model may go there: they are the host's."""
    bench.proxy.content = CONTENT
    with proxy_for_all() as proxy:
        turn = bench.turn(settings={"TOKEN": TOKEN}, variables=proxy.variables)
    assert turn.answered, turn
    assert [request for request in proxy.passed if TOKEN in request or "/v1/context/prepare" in request] == []
    (prepare,) = bench.proxy.prepares
    assert prepare.headers["Authorization"] == f"Bearer {TOKEN}"
    assert [text.count(CONTENT) for text in bench.delivered() if CONTENT in text] == [1]
