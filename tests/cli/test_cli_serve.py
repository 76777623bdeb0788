import json
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import Result

Run = Callable[..., Result]
Spawn = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., tuple["subprocess.Popen[str]", httpx.Client]]

ENTRY = '{"type":"memory-entry","kind":"fact","text":"canary rollout steps"}'


def stop(process: "subprocess.Popen[str]", sent: signal.Signals = signal.SIGTERM) -> tuple[str, str]:
    """Output and errors of a server that was asked to end, which it must do by itself and in peace."""
    process.send_signal(sent)
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "Aborted" not in errors
    return output, errors


def test_serve_answers_until_sigterm_and_prepare_prints_what_http_answers(
    run: Run, start: Start, demo_scope: str, database: Path
) -> None:
    run("import", demo_scope, "-", input=ENTRY)
    process, client = start("serve", database_url=f"sqlite:///{database}")
    assert client.get("/health/ready").json()["status"] == "ready"
    selection = {"sections": [{"family": "memory", "limit": 2}], "show": ["recall_rank"]}
    question = {"scope_id": demo_scope, "query": "canary", "max_bytes": 2000}
    for assembly, options in (
        ({"assembly": {}}, []),
        ({"assembly": selection}, ["--section", "memory:2", "--show", "recall_rank"]),
        ({}, ["--legacy"]),
    ):
        answered = client.post("/v1/context/prepare", json=question | assembly).json()
        printed = run("prepare", demo_scope, "canary", "--max-bytes", "2000", *options)
        assert answered["status"] == "ready"
        assert printed.stdout_bytes == answered["content"].encode()
        assert len(printed.stdout_bytes) == answered["content_bytes"]
    stop(process)
    with pytest.raises(httpx.TransportError):
        client.get("/health/live")


def test_options_of_serve_go_before_the_settings(start: Start, database: Path, tmp_path: Path) -> None:
    arguments = ["serve", "--migrate", "--uds", "api.sock"]
    process, client = start(*arguments, uds="api.sock", database_url=f"sqlite:///{database}", http_uds="other.sock")
    assert client.get("/health/ready").json()["status"] == "ready"
    output, _ = stop(process)
    assert output.splitlines()[0] == "applied 0001 initial"
    assert not (tmp_path / "api.sock").exists()


def test_serve_sets_a_new_default_database_up(start: Start, tmp_path: Path) -> None:
    process, client = start("serve")
    assert client.get("/health/ready").json()["status"] == "ready"
    stop(process)
    assert (tmp_path / "data" / "powercontext.db").exists()


def test_several_workers_serve_one_database_and_all_end(
    run: Run, start: Start, demo_scope: str, database: Path
) -> None:
    process, client = start("serve", "--workers", "2", database_url=f"sqlite:///{database}")
    remembered = client.post("/v1/memory/remember", json={"scope_id": demo_scope, "kind": "fact", "text": "canary"})
    assert remembered.status_code == 200
    stop(process)
    with pytest.raises(httpx.TransportError):
        client.get("/health/live")


def test_a_revoked_token_and_a_new_grant_reach_a_running_server(
    run: Run, start: Start, demo_scope: str, database: Path
) -> None:
    token = run("token", "create", "ci").stdout.strip()
    _, client = start("serve", database_url=f"sqlite:///{database}", access_mode="enforced")
    path = f"/v1/scopes/{demo_scope}"

    def status() -> int:
        # Grants and revocations are seen within one second.
        time.sleep(0.6)
        return client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code

    assert client.get(path).status_code == 401
    assert status() == 403
    run("grant", "add", "ci", demo_scope, "viewer")
    assert status() == 200
    run("grant", "remove", "ci", demo_scope, "viewer")
    assert status() == 403
    run("token", "revoke", run("token", "list").stdout.split("\t")[0])
    assert status() == 401


def test_a_port_that_is_taken_is_one_line(
    run: Run, spawn: Spawn, start: Start, demo_scope: str, database: Path
) -> None:
    _, client = start("serve", database_url=f"sqlite:///{database}")
    port = str(client.base_url.port)
    for command in ("serve", "demo"):
        done = spawn(command, http_port=port)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ")
        assert port in line


def test_the_demo_imports_its_sample_once_and_its_requests_work(start: Start, tmp_path: Path) -> None:
    process, client = start("demo")
    scopes = client.get("/v1/scopes").json()["items"]
    output, _ = stop(process)
    assert (tmp_path / "data" / "powercontext.db").is_file()
    assert "lines imported" in output
    assert "\nEND_POWERCONTEXT_PREPARED_TEXT_V1\n" in output
    again, client = start("demo")
    assert client.get("/v1/scopes").json()["items"] == scopes
    cited = client.post("/v1/memory/entries/list", json={"scope_id": scopes[1]["scope_id"]}).json()
    assert cited["memory"]["revision"] == 1
    for request in [line for line in output.splitlines() if line.startswith("curl ")]:
        words = shlex.split(request)
        path = httpx.URL(words[2]).path
        body = words[words.index("-d") + 1] if "-d" in words else None
        answer = client.get(path) if body is None else client.post(path, json=json.loads(body))
        assert answer.status_code == 200, request
        assert answer.json().get("status") != "empty"
    assert "0 migration(s) applied\nsample: not imported" in stop(again, signal.SIGINT)[0]


def test_openapi_is_yaml_and_describes_prepare(run: Run, tmp_path: Path) -> None:
    done = run("openapi")
    assert done.exit_code == 0
    assert yaml.safe_load(done.stdout)["paths"]["/v1/context/prepare"]["post"]["operationId"] == "prepare_context"
    file = tmp_path / "openapi.yaml"
    assert run("openapi", "--output", str(file)).stdout == ""
    assert file.read_bytes() == done.stdout_bytes
