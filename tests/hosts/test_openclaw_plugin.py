"""The OpenClaw plugin in Node, on turns that `openclaw agent` does not make: of timers, of sessions, tried again."""

import json
import subprocess
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.programs import PLUGINS, OpenClaw
from tests.hosts.test_plugin_checks import NODE, needs_node

pytestmark = needs_node

CONTENT = " \n验 content\n"
SCRIPT = """
const { plugin, turns } = JSON.parse(process.argv[1]);
const { default: entry } = await import(plugin);
let build;
const said = [];
entry.register({ on: (name, handler) => { if (name === "before_prompt_build") build = handler; },
                 logger: { warn: (line) => said.push(line) } });
const built = [];
for (const { event, context, settings } of turns) {
  Object.assign(process.env, settings);
  built.push((await build(event, context)) ?? null);
}
process.stdout.write(JSON.stringify({ built, said }));
"""
ADDED = {"appendContext": CONTENT}


def turn(
    prompt: str = "q", *, event: dict[str, str] | None = None, settings: dict[str, str] | None = None, **context: Any
) -> dict[str, Any]:
    """One building of a prompt; `settings` are changed before it and stay."""
    return {
        "event": {"prompt": prompt, "messages": [], **(event or {})},
        "context": {"runId": "run-1", "trigger": "user", **context},
        "settings": {f"POWERCONTEXT_{name}": value for name, value in (settings or {}).items()},
    }


def build(service: FakeService, *turns: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """What the plugin adds to each prompt in one process, and what it says."""
    data = {"plugin": (PLUGINS / "openclaw" / "index.js").as_uri(), "turns": turns}
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", SCRIPT, json.dumps(data)],
        env={"POWERCONTEXT_SCOPE_ID": "s", "POWERCONTEXT_BASE_URL": service.url},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads(done.stdout)
    return result["built"], result["said"]


def ready(content: str) -> dict[str, Any]:
    frame = {"schema": "powercontext.prepared-context.v1", "status": "ready"}
    return {**frame, "content": content, "content_bytes": len(content.encode())}


def test_a_prompt_that_is_built_again_for_the_same_turn_asks_once() -> None:
    with running(FakeService(body=ready(CONTENT))) as service:
        assert build(service, turn(), turn())[0] == [ADDED, ADDED]
        assert len(service.received) == 1


def test_a_failure_is_not_asked_for_again_within_the_turn() -> None:
    with running(FakeService(status=422)) as service:
        built, said = build(service, turn(), turn())
        assert built == [None, None]
        assert said == ["powercontext: nothing added: the sidecar answered 422"] * 2
        assert len(service.received) == 1


@pytest.mark.parametrize(
    "other",
    [
        turn(runId="run-2"),
        turn("another"),
        turn(settings={"MAX_BYTES": "600"}),
        turn(settings={"OPENCLAW_CONTEXT_ASSEMBLY": "{}"}),
        turn(event={"currentUserMessageId": "m-2"}),
    ],
    ids=["turn", "words", "budget", "assembly", "message"],
)
def test_another_turn_words_or_settings_ask_anew(other: dict[str, Any]) -> None:
    with running(FakeService(body=ready(CONTENT))) as service:
        assert build(service, turn(), other)[0] == [ADDED, ADDED]
        assert len(service.received) == 2


@pytest.mark.parametrize("conversation", ["sessionKey", "sessionId", "channel", "chatId"])
def test_messages_with_the_same_id_in_two_conversations_are_two_turns(conversation: str) -> None:
    message = {"currentUserMessageId": "5"}
    names: list[dict[str, Any]] = [{conversation: name} for name in ("A", "B", "A", "B")]
    conversations = [turn(event=message, **name) for name in names]
    with running(FakeService(body=ready(CONTENT))) as service:
        assert build(service, *conversations)[0] == [ADDED] * 4
        assert len(service.received) == 2


def test_a_turn_without_a_name_keeps_nothing() -> None:
    with running(FakeService(body=ready(CONTENT))) as service:
        assert build(service, turn(runId=None), turn(runId=None))[0] == [ADDED, ADDED]
        assert len(service.received) == 2


def test_the_users_own_words_are_asked_about_where_the_prompt_holds_more() -> None:
    with running(FakeService(body=ready(CONTENT))) as service:
        build(service, turn("history\n\nq", event={"currentUserMessage": "q"}))
        assert service.last.json()["query"] == "q"


@pytest.mark.parametrize(
    "context",
    [
        {"trigger": "cron"},
        {"trigger": "heartbeat"},
        {"inputProvenance": {"kind": "inter_session"}},
        {"inputProvenance": {"kind": "internal_system"}},
    ],
    ids=json.dumps,
)
def test_what_no_person_says_asks_nothing(context: dict[str, Any]) -> None:
    with running(FakeService(body=ready(CONTENT))) as service:
        assert build(service, turn(**context)) == ([None], [])
        assert service.received == []


@pytest.mark.parametrize("mark", [OpenClaw.altered, OpenClaw.altered.replace("BEGIN", "END")])
def test_a_text_with_a_mark_that_openclaw_rewrites_is_not_handed_over(mark: str) -> None:
    with running(FakeService(body=ready(f"a {mark} b"))) as service:
        assert build(service, turn()) == ([None], ["powercontext: nothing added: OpenClaw would alter the text"])


def test_an_empty_answer_adds_nothing_and_is_no_failure() -> None:
    empty = {**ready(""), "status": "empty", "content": None}
    with running(FakeService(body=empty)) as service:
        assert build(service, turn()) == ([None], [])
