"""smoke.sh and the health check of the image, against the program on a real socket."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deploy.conftest import ROOT, TOKEN, Sidecar, serving

SMOKE = ROOT / "deploy" / "smoke.sh"
READY = ROOT / "deploy" / "ready.py"
CHECKS_WITH_TOKEN = 14
CHECKS_WITHOUT_TOKEN = 11

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="smoke.sh needs curl")


def smoke(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [SMOKE, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=60
    )


def check_ready(**environment: str) -> int:
    return subprocess.run(
        [sys.executable, "-I", "-S", READY], env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=False
    ).returncode


def scopes(sidecar: Sidecar) -> list[str]:
    answer = httpx.get(f"{sidecar.address}/v1/scopes", headers={"Authorization": f"Bearer {TOKEN}"})
    return [scope["scope_id"] for scope in answer.json()["items"]]


@pytest.fixture
def unready() -> Iterator[int]:
    """The port of a server that answers one request with 503."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


@needs_curl
def test_smoke_passes_again_and_again_and_leaves_no_scope(closed: Sidecar) -> None:
    for arguments, environment in (([TOKEN], {}), ([], {"POWERCONTEXT_TOKEN": TOKEN})):
        done = smoke(closed.address, *arguments, **environment)
        assert done.returncode == 0, done.stdout
        *checks, last = done.stdout.splitlines()
        assert [line for line in checks if not line.startswith("ok ")] == []
        assert last == f"{len(checks)} checks passed"
        assert len(checks) == CHECKS_WITH_TOKEN
    assert scopes(closed) == []


@needs_curl
def test_smoke_without_a_token_says_what_it_skips(tmp_path: Path) -> None:
    with serving(tmp_path / "context.db") as open_to_all:
        done = smoke(open_to_all.address, POWERCONTEXT_TOKEN="")
    assert done.returncode == 0, done.stdout
    assert sum(line.startswith("skipped ") for line in done.stdout.splitlines()) == 2
    assert done.stdout.splitlines()[-1] == f"{CHECKS_WITHOUT_TOKEN} checks passed"


@needs_curl
def test_smoke_ends_at_the_first_check_that_fails(closed: Sidecar) -> None:
    done = smoke(closed.address, "wrong")
    assert done.returncode == 1
    failed, answer = done.stdout.splitlines()[-2:]
    assert failed == "FAILED  POST /v1/scopes: expected 201, got 401"
    assert '"code":"unauthorized"' in answer


@needs_curl
def test_smoke_fails_where_nothing_listens() -> None:
    done = smoke("http://127.0.0.1:1")
    assert done.returncode == 1
    assert done.stdout.startswith("FAILED  GET /health/live: curl: ")


def test_the_health_check_asks_the_address_that_is_served(closed: Sidecar) -> None:
    settings = {"POWERCONTEXT_SERVER_HTTP_HOST": "0.0.0.0", "POWERCONTEXT_SERVER_HTTP_PORT": str(closed.port)}
    assert check_ready(**settings) == 0


def test_the_health_check_fails_where_the_server_is_not_ready(unready: int) -> None:
    assert check_ready(POWERCONTEXT_SERVER_HTTP_PORT=str(unready)) == 1


def test_the_health_check_fails_where_nothing_listens(tmp_path: Path) -> None:
    assert check_ready(POWERCONTEXT_SERVER_HTTP_PORT="1") == 1
    assert check_ready(POWERCONTEXT_SERVER_HTTP_UDS=str(tmp_path / "none")) == 1
