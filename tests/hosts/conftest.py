"""One sidecar, model and proxy for all host tests, and each host in a home of its own.

The tests that run a host are marked `hosts` and left out unless `-m` names that marker: they need programs that
deploy/hosts/install.py puts on the machine.
"""

import dataclasses
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.programs import HOSTS, Host, Turn, installer
from tests.hosts.recording_proxy import RecordingProxy, recording_proxy
from tests.hosts.sidecar import QUESTION, SCOPE_ID, seeded_sidecar
from tests.hosts.stub_model import StubModel, stub_model

# Of more hosts that happen to be installed, only those that `make hosts-test` names are run: one turn takes seconds.
NAMED = os.environ.get("POWERCONTEXT_HOSTS", "").split() or [host.name for host in HOSTS]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "hosts: runs an installed agent host (deploy/hosts/install.py)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs a host unless `-m` names the marker."""
    if "hosts" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("hosts")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@dataclasses.dataclass
class Bench:
    """A host with everything around it. `settings` are what the plugin is told unless a test says otherwise."""

    host: Host
    model: StubModel
    proxy: RecordingProxy

    def turn(
        self,
        question: str = QUESTION,
        settings: Mapping[str, str] | None = None,
        *,
        resume: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> Turn:
        """One turn of the host; the records of model and proxy start afresh. variables: what else is set."""
        self.model.asked.clear()
        self.proxy.prepares.clear()
        defaults = {"SCOPE_ID": SCOPE_ID, "BASE_URL": self.proxy.url}
        return self.host.turn(question, {**defaults, **(settings or {})}, resume=resume, variables=variables)

    def assembly(self, text: str | None) -> dict[str, str]:
        """The setting that configures this assembly for this host."""
        return {} if text is None else {f"{self.host.setting}_CONTEXT_ASSEMBLY": text}

    def delivered(self, question: str = QUESTION) -> list[str]:
        """Every string of the newest user turn in the last question to the model."""
        return turn_strings(self.model.asked[-1], question)


def turn_strings(asked: dict[str, Any], question: str) -> list[str]:
    """Every string from the last message in which the user asks `question` to the model's next word."""
    items = asked.get("messages") or asked["input"]
    begins = [
        i for i, item in enumerate(items) if item.get("role") == "user" and any(question in s for s in strings(item))
    ]
    assert begins, "the model was not asked the question"
    own: list[str] = []
    for item in items[begins[-1] :]:
        if item.get("role") in {"assistant", "tool"} or item.get("type", "message") != "message":
            break
        own += strings(item)
    return own


def strings(value: Any) -> list[str]:
    """Every string value within JSON data, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for item in inner for found in strings(item)]


@pytest.fixture(scope="session")
def sidecar_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with seeded_sidecar(tmp_path_factory.mktemp("sidecar")) as url:
        yield url


@pytest.fixture(scope="session")
def model() -> Iterator[StubModel]:
    with stub_model() as running:
        yield running


@pytest.fixture(scope="session")
def shared_proxy(sidecar_url: str) -> Iterator[RecordingProxy]:
    with recording_proxy(sidecar_url) as running:
        yield running


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(host, id=host.__name__, marks=[pytest.mark.slow] if host.slow else [])
        for host in HOSTS
        if host.name in NAMED
    ],
)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model: StubModel) -> Host:
    """A configured host that has answered once, so that its first-run work is done."""
    kind: type[Host] = request.param
    install = installer()
    program: Path | None = install.installed_program(install.HOSTS[kind.name])
    if program is None:
        pytest.skip(f"{kind.name} is not installed: python3 deploy/hosts/install.py {kind.name}")
    configured = kind(program, tmp_path_factory.mktemp("home") / kind.__name__, model.url)
    first = configured.turn("Hello", {})
    assert first.answered, first
    return configured


@pytest.fixture
def bench(host: Host, model: StubModel, shared_proxy: RecordingProxy) -> Bench:
    shared_proxy.fault = shared_proxy.content = None
    model.tool_calls, model.tool = 0, host.tool
    return Bench(host, model, shared_proxy)


@pytest.fixture
def closed_port() -> str:
    """The address of a port on which nobody listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{reserved.getsockname()[1]}"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a key and a certificate for `localhost` that nobody has signed."""
    file = tmp_path_factory.mktemp("certificate") / "localhost.pem"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *name, "-keyout", str(file), "-out", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    file.write_bytes(file.read_bytes() + done.stdout)
    return file
