"""The hook program of Codex, Claude Code and WorkBuddy, run as these run it: an event comes in, an answer goes out."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.programs import PLUGINS, WorkBuddy
from tests.hosts.recording_proxy import FAULTS

HOOK = PLUGINS / "codex-claude-code" / "powercontext_hook.py"
CONTENT = "# PowerContext historical context\n\n验 👩\u200d🔬 & <b> \\ trailing  \n"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}
TOKEN = "pct_secret-token"
VARIABLE = {"codex": "CODEX", "claude-code": "CLAUDE_CODE", "workbuddy": "WORKBUDDY"}
MOST_BYTES = {"codex": 10_000, "claude-code": 10_000, "workbuddy": 32_768}


@pytest.fixture
def service() -> Iterator[FakeService]:
    with running(FakeService(body=READY)) as fake:
        yield fake


@pytest.fixture(params=VARIABLE)
def host(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def run(
    *arguments: str, event: Any = None, shell: str = 'exec "$@"', **settings: str | bytes
) -> "subprocess.CompletedProcess[bytes]":
    """One run of the hook with these settings alone. shell: how a shell starts it."""
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "怎么改 API?"} if event is None else event
    named = {f"POWERCONTEXT_{name}": value for name, value in settings.items()}
    environment: dict[str, str | bytes] = {"PATH": os.environ["PATH"], **named}
    raw = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
    return subprocess.run(
        ["/bin/sh", "-c", shell, "sh", sys.executable, str(HOOK), *arguments],
        input=raw,
        env=environment,
        capture_output=True,
        check=False,
        timeout=60,
    )


def added(done: "subprocess.CompletedProcess[bytes]") -> str:
    """The context that a run adds."""
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert set(answer) == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    context: str = answer["hookSpecificOutput"]["additionalContext"]
    return context


def assert_nothing_added(done: "subprocess.CompletedProcess[bytes]") -> None:
    """Exit 0, nothing on standard output, one line that says why, without a secret."""
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"powercontext: nothing added: ")
    assert done.stderr.count(b"\n") == 1
    assert TOKEN.encode() not in done.stderr


def test_the_content_is_added_unchanged_after_the_hooks_own_words(host: str, service: FakeService) -> None:
    context = added(run(host, SCOPE_ID="项目 x", BASE_URL=service.url))
    assert context.endswith(CONTENT)
    assert context.count(CONTENT) == 1
    assert service.last.json() == {"scope_id": "项目 x", "query": "怎么改 API?", "max_bytes": 8000}


def test_the_assembly_of_this_host_is_sent_as_written(host: str, service: FakeService) -> None:
    written = '{"sections":[{"limit":2, "family":"experience"}],"show":["recall_rank"]}'
    settings = {f"{variable}_CONTEXT_ASSEMBLY": '{"sections":[]}' for variable in VARIABLE.values()}
    settings[f"{VARIABLE[host]}_CONTEXT_ASSEMBLY"] = written
    added(run(host, SCOPE_ID="s", BASE_URL=service.url, **settings))
    assert written.encode() in service.last.body
    assert service.last.json()["assembly"] == json.loads(written)


def test_an_assembly_configured_for_all_hosts_is_not_taken(host: str, service: FakeService) -> None:
    added(run(host, SCOPE_ID="s", BASE_URL=service.url, CONTEXT_ASSEMBLY='{"sections":[]}'))
    assert "assembly" not in service.last.json()


def test_a_setting_of_the_host_wins_over_the_common_one(host: str, service: FakeService) -> None:
    added(run(host, SCOPE_ID="all", BASE_URL=service.url, **{f"{VARIABLE[host]}_SCOPE_ID": "own"}))
    assert service.last.json()["scope_id"] == "own"


def test_the_budget_is_lowered_so_that_words_and_content_pass_the_hosts_limit(host: str, service: FakeService) -> None:
    words = len(added(run(host, SCOPE_ID="s", BASE_URL=service.url)).encode()) - len(CONTENT.encode())
    run(host, SCOPE_ID="s", BASE_URL=service.url, MAX_BYTES="32768")
    assert service.last.json()["max_bytes"] == MOST_BYTES[host] - words
    run(host, SCOPE_ID="s", BASE_URL=service.url, MAX_BYTES="600")
    assert service.last.json()["max_bytes"] == 600


def test_the_token_goes_to_the_sidecar_alone(host: str, service: FakeService) -> None:
    done = run(host, SCOPE_ID="s", BASE_URL=service.url, TOKEN=TOKEN)
    assert service.last.headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN.encode() not in done.stdout + done.stderr


def test_a_unix_socket_takes_the_place_of_the_network(host: str, tmp_path: Path) -> None:
    with running(FakeService(body=READY), tmp_path / "s"):
        assert added(run(host, SCOPE_ID="s", UNIX_SOCKET=str(tmp_path / "s"))).endswith(CONTENT)


def test_a_prompt_longer_than_a_query_is_asked_by_its_beginning(host: str, service: FakeService) -> None:
    added(run(host, SCOPE_ID="s", BASE_URL=service.url, event={"prompt": "𠮷" * 9000}))
    assert service.last.json()["query"] == "𠮷" * 8192


def test_a_blank_prompt_asks_nothing_and_adds_nothing(host: str, service: FakeService) -> None:
    done = run(host, SCOPE_ID="s", BASE_URL=service.url, event={"prompt": " \n"})
    assert (done.returncode, done.stdout, service.received) == (0, b"", [])


def test_an_empty_answer_adds_nothing(host: str, service: FakeService) -> None:
    service.answer({**READY, "status": "empty", "content": None, "content_bytes": 0})
    done = run(host, SCOPE_ID="s", BASE_URL=service.url)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_text_that_workbuddy_would_rewrite_is_left_out_there_alone(host: str, service: FakeService) -> None:
    content = f"a {WorkBuddy.altered} b"
    service.answer({**READY, "content": content, "content_bytes": len(content)})
    done = run(host, SCOPE_ID="s", BASE_URL=service.url)
    if host == "workbuddy":
        assert_nothing_added(done)
    else:
        assert added(done).endswith(content)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_answer_adds_nothing_and_is_not_asked_for_again(service: FakeService, fault: str) -> None:
    status, content_type, body = FAULTS[fault]
    service.status, service.body = status, body
    service.headers = {"Content-Type": content_type, "Location": f"{service.url}/v1/context/prepare"}
    assert_nothing_added(run("codex", SCOPE_ID="s", BASE_URL=service.url, TOKEN=TOKEN))
    assert len(service.received) == 1


def test_a_refused_connection_adds_nothing() -> None:
    assert_nothing_added(run("codex", SCOPE_ID="s", BASE_URL="http://127.0.0.1:1", TOKEN=TOKEN))


@pytest.mark.parametrize("slow", ["silent", "trickling"])
def test_a_slow_sidecar_adds_nothing_within_the_total_timeout(service: FakeService, slow: str) -> None:
    service.delay_s, service.trickle_s = (30, 0) if slow == "silent" else (0, 0.5)
    begun = time.monotonic()
    assert_nothing_added(run("codex", SCOPE_ID="s", BASE_URL=service.url, TOTAL_TIMEOUT_S="1"))
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"SCOPE_ID": "s", "CODEX_CONTEXT_ASSEMBLY": '{"sections": ['},
        {"SCOPE_ID": "s", "MAX_BYTES": "many"},
        {"SCOPE_ID": "s", "TOTAL_TIMEOUT_S": "soon"},
        {"SCOPE_ID": "s", "TOKEN": "pct_secret-token with blanks"},
        {"SCOPE_ID": "s", "BASE_URL": "ftp://127.0.0.1"},
        {"SCOPE_ID": "s", "BASE_URL": "http://127.0.0.1:port"},
    ],
    ids=lambda settings: "+".join(settings.values()) or "no Scope",
)
def test_a_configuration_that_cannot_be_used_asks_nothing(service: FakeService, settings: dict[str, str]) -> None:
    assert_nothing_added(run("codex", **{"BASE_URL": service.url, **settings}))
    assert service.received == []


WRONG: dict[str, tuple[str | bytes, ...]] = {
    "CODEX_CONTEXT_ASSEMBLY": (b'{"sections": ["\xff"]}', "[" * 60_000 + "]" * 60_000, '{"limit": NaN}', "{}]"),
    "SCOPE_ID": (b"\xff",),
    "UNIX_SOCKET": (f"/{'x' * 107}",),
    "BASE_URL": (
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:-1",
        "http:///x",
        "http://",
        b"http://\xff",
        f"http://{'x' * 64}.invalid",
        "http://127.0.0.1/a b",
        "http://127.0.0.1\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_setting_that_is_wrong_is_named(name: str) -> None:
    for value in WRONG[name]:
        settings: dict[str, Any] = {"SCOPE_ID": "s", name: value}
        done = run("codex", **settings)
        assert_nothing_added(done)
        assert done.stderr.startswith(f"powercontext: nothing added: POWERCONTEXT_{name} ".encode()), value


@pytest.mark.parametrize(
    "event", [b"", b"null", b"{}", b'{"prompt": 3}', b"\xff", b"[" * 100_000, b'{"prompt":' + b"[" * 100_000]
)
def test_an_event_without_a_prompt_lets_the_prompt_through(event: bytes, service: FakeService) -> None:
    assert_nothing_added(run("codex", event=event, SCOPE_ID="s", BASE_URL=service.url))


def test_an_unknown_host_is_named_and_lets_the_prompt_through() -> None:
    for arguments in ((), ("cursor",)):
        assert_nothing_added(run(*arguments, SCOPE_ID="s"))


CLOSED = {"standard output": ">&-", "standard error": "2>&-", "both": ">&- 2>&-", "all three": "<&- >&- 2>&-"}


@pytest.mark.parametrize("closed", CLOSED)
def test_a_stream_that_is_closed_lets_the_prompt_through(service: FakeService, closed: str) -> None:
    for settings in ({"SCOPE_ID": "s", "BASE_URL": service.url}, {}):
        done = run("codex", shell=f'exec "$@" {CLOSED[closed]}', event=b'{"prompt": "q"}', **settings)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(b"\n") <= 1


def test_an_input_that_is_closed_is_an_event_without_a_prompt() -> None:
    assert_nothing_added(run("codex", shell='exec "$@" <&-', event=b"", SCOPE_ID="s"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("full", [">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full"])
def test_a_stream_that_takes_nothing_lets_the_prompt_through(service: FakeService, full: str) -> None:
    for settings in ({"SCOPE_ID": "s", "BASE_URL": service.url}, {}):
        assert run("codex", shell=f'exec "$@" {full}', **settings).returncode == 0


def test_a_text_that_nobody_takes_is_said_to_be_lost(service: FakeService) -> None:
    done = run("codex", shell='exec "$@" >&-', SCOPE_ID="s", BASE_URL=service.url)
    assert_nothing_added(done)
    assert b"output" in done.stderr
