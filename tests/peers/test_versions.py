"""The table of version combinations of RFC 1489, each row with real programs on both sides.

New callers are this repository's client and plugins; old ones are the published client 0.2.0 and a bare request. The
new server is this one; the old one is PowerContext 0.2.0, which has prepare and no assembly. 1.0.0 and 1.4.1 answer
assembly too, so they stand beside the new one.
"""

import functools
import http.client
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from powercontext_client import ContextClient, InvalidRequest

from bench.data import Entry
from bench.fill import Api
from bench.peer import running_peer
from tests.client.sidecar_process import running_sidecar
from tests.hosts.recording_proxy import RecordingProxy, recording_proxy
from tests.hosts.sidecar import MEMORIES, QUESTION
from tests.peers.callers import CALLERS, Caller
from tests.peers.installed import peer_environment

pytestmark = pytest.mark.peers

THIS, OLD = "this server", "0.2.0"
WITH_ASSEMBLY = (THIS, "1.0.0", "1.4.1")
ASSEMBLY = (
    '{"format": "markdown", "sections": [{"family": "experience", "limit": 1}, {"family": "memory", "limit": 2}],'
    ' "show": ["recall_rank"]}'
)
LEGACY = "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1"
MARKDOWN = "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1\n\n## Memory\n\n### Memory 1\n"
PREPARE = "/v1/context/prepare"

every_caller = pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.name)


@dataclass(frozen=True)
class Seeded:
    """A running server with one Scope, and the proxy that callers are pointed at."""

    url: str
    scope_id: str
    proxy: RecordingProxy

    def status(self, body: bytes) -> int:
        """How the server itself answers this prepare."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        try:
            connection.request("POST", PREPARE, body, {"Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Seeded]]:
    """Starts a server at its first use; all end with the session."""
    with ExitStack() as stack:

        @functools.cache
        def start(version: str) -> Seeded:
            folder: Path = tmp_path_factory.mktemp("server")
            if version == THIS:
                url = stack.enter_context(running_sidecar(folder))
            else:
                peer = stack.enter_context(running_peer(peer_environment(version), folder))
                url = f"http://127.0.0.1:{peer.port}"
            port = urlsplit(url).port
            assert port is not None
            with Api(port) as api:
                scope_id = api.create_scope("demo")
                for text in MEMORIES:
                    api.remember(scope_id, Entry("note", text))
            return Seeded(url, scope_id, stack.enter_context(recording_proxy(url)))

        yield start


@pytest.fixture
def server(started: Callable[[str], Seeded], request: pytest.FixtureRequest) -> Seeded:
    """The server that the test names, its proxy without records."""
    seeded = started(request.param)
    seeded.proxy.prepares.clear()
    return seeded


def asked(caller: Caller, server: Seeded, assembly: str | None) -> str | None:
    """What a caller hands over for QUESTION."""
    return caller.content(server.proxy.url, server.scope_id, QUESTION, assembly)


@pytest.mark.parametrize("server", [THIS], indirect=True)
def test_an_old_request_to_the_new_server_gets_the_legacy_text(server: Seeded) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    body = json.dumps({"scope_id": server.scope_id, "query": QUESTION})
    try:
        connection.request("POST", PREPARE, body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    assert set(answer) == {"schema", "status", "content", "content_bytes"}
    assert (answer["schema"], answer["status"]) == ("powercontext.prepared-context.v1", "ready")
    assert answer["content_bytes"] == len(answer["content"].encode())
    assert LEGACY in answer["content"]


@pytest.mark.parametrize("server", [THIS], indirect=True)
def test_the_published_client_020_sends_no_assembly_and_gets_the_legacy_text(server: Seeded) -> None:
    interpreter = str(peer_environment(OLD) / "bin" / "python")
    script = str(Path(__file__).with_name("published_prepare.py"))
    arguments = [interpreter, script, server.proxy.url, server.scope_id, QUESTION]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    (prepare,) = server.proxy.prepares
    assert "assembly" not in prepare.request
    assert prepare.content is not None
    assert LEGACY in prepare.content
    assert json.loads(done.stdout) == prepare.content


@every_caller
@pytest.mark.parametrize("server", [OLD, *WITH_ASSEMBLY], indirect=True)
def test_without_configuration_no_assembly_is_sent_and_the_legacy_text_handed_over(
    caller: Caller, server: Seeded
) -> None:
    content = asked(caller, server, None)
    (prepare,) = server.proxy.prepares
    assert set(prepare.request) == {"scope_id", "query", "max_bytes"}
    assert content is not None
    assert content == prepare.content
    assert LEGACY in content
    assert MEMORIES[0] in content


@every_caller
@pytest.mark.parametrize("server", WITH_ASSEMBLY, indirect=True)
def test_with_configuration_the_assembly_is_sent_and_its_text_handed_over_unchanged(
    caller: Caller, server: Seeded
) -> None:
    content = asked(caller, server, ASSEMBLY)
    (prepare,) = server.proxy.prepares
    assert prepare.request["assembly"] == json.loads(ASSEMBLY)
    assert content is not None
    assert content == prepare.content
    assert MARKDOWN in content
    assert LEGACY not in content
    assert content.count("\n### ") == 2
    assert content.count("\n    Recall rank: ") == 2


@every_caller
@pytest.mark.parametrize("server", [OLD], indirect=True)
def test_with_configuration_the_old_server_refuses_and_nothing_is_handed_over_or_relaxed(
    caller: Caller, server: Seeded
) -> None:
    assert asked(caller, server, ASSEMBLY) is None
    (prepare,) = server.proxy.prepares
    assert prepare.request["assembly"] == json.loads(ASSEMBLY)
    # It is the assembly that is refused: the same request without it is answered, and was not made.
    assert server.status(prepare.body) == http.client.UNPROCESSABLE_ENTITY
    relaxed = {name: value for name, value in prepare.request.items() if name != "assembly"}
    assert server.status(json.dumps(relaxed).encode()) == http.client.OK


@pytest.mark.parametrize("server", [OLD], indirect=True)
def test_the_client_names_the_refusal_of_the_old_server(server: Seeded) -> None:
    with ContextClient(server.proxy.url) as client, pytest.raises(InvalidRequest) as refused:
        client.prepare_context(server.scope_id, QUESTION, assembly=json.loads(ASSEMBLY))
    assert (refused.value.status, refused.value.code) == (422, "invalid_request")
    assert refused.value.details is not None
    assert refused.value.details["errors"][0]["loc"] == ["body", "assembly"]
    assert len(server.proxy.prepares) == 1
