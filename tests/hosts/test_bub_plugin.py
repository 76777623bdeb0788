"""The Bub plugin inside an installed Bub's Python, on turns that `bub run` does not make: pictures, subagents."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.conftest import Bench
from tests.hosts.programs import Bub

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.timeout(600),
    pytest.mark.slow,
    pytest.mark.parametrize("host", [Bub], ids=["Bub"], indirect=True),
]

SCRIPT = """
import asyncio, json, sys, time
import powercontext_bub as plugin
from bub.hooks.interception import LlmCallRequest

case = json.load(sys.stdin)
asked = []
plugin.read_settings = lambda host: None

def prepare(settings, query):
    asked.append(query)
    time.sleep(case["takes_s"])
    return case["content"]

plugin.prepare = prepare

async def main():
    hooks = plugin.PowerContext(None)
    state = {"session_id": "a", **hooks.load_state({"content": case["query"]}, "a"), **case["state"]}
    async def call(messages):
        request = LlmCallRequest(run_id="r", model="m", messages=messages)
        changed = await hooks.before_llm_call(request, dict(state))
        assert request.messages == messages
        return (changed or request).messages

    if case["at_once"]:
        sent = await asyncio.gather(*map(call, case["calls"]))
    else:
        sent = [await call(messages) for messages in case["calls"]]
    json.dump({"sent": sent, "asked": asked}, sys.stdout)

asyncio.run(main())
"""
CONTENT = " \n验 content\n"


@pytest.fixture
def bub(bench: Bench) -> Bub:
    assert isinstance(bench.host, Bub)
    return bench.host


def run(
    bub: Bub, *calls: list[dict[str, Any]], query: str = "What is this?", at_once: bool = False, **state: str
) -> Any:
    """The messages of each model call as they leave the plugin, and what it asked the sidecar."""
    asking = {"query": query, "content": CONTENT, "takes_s": 0.3 if at_once else 0}
    case = {**asking, "calls": calls, "at_once": at_once, "state": state}
    done = subprocess.run(
        [str(Path(bub.program).with_name("python")), "-c", SCRIPT],
        input=json.dumps(case),
        env={"PYTHONPATH": str(bub.home / "plugins"), "HOME": str(bub.home), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_text_ends_the_users_own_message_in_every_call_of_the_turn(bub: Bub) -> None:
    before = [{"role": "user", "content": "What is this?"}, {"role": "assistant", "content": "A."}]
    first = [*before, {"role": "user", "content": "context\nWhat is this?"}]
    second = [*first, {"role": "assistant", "content": "B."}, {"role": "user", "content": "steering"}]
    done = run(bub, first, second)
    told = {"role": "user", "content": f"context\nWhat is this?\n\n{CONTENT}"}
    assert done["sent"] == [[*before, told], [*before, told, *second[3:]]]
    assert done["asked"] == ["What is this?"]


def test_beside_a_picture_the_text_is_one_more_part(bub: Bub) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    done = run(bub, [{"role": "user", "content": parts}])
    assert done["sent"] == [[{"role": "user", "content": [*parts, {"type": "text", "text": CONTENT}]}]]


def test_a_subagent_is_not_given_the_text_of_its_parent(bub: Bub) -> None:
    messages = [{"role": "user", "content": "What is this?"}]
    assert run(bub, messages, session_id="temp/b") == {"sent": [messages], "asked": []}


def test_nothing_is_added_when_the_users_message_is_gone(bub: Bub) -> None:
    messages = [{"role": "assistant", "content": "[Anchor created]"}, {"role": "user", "content": "other"}]
    assert run(bub, messages)["sent"] == [messages]


def test_calls_of_one_turn_at_once_ask_once_and_all_get_the_text(bub: Bub) -> None:
    messages = [{"role": "user", "content": "What is this?"}]
    done = run(bub, messages, messages, messages, at_once=True)
    assert done["sent"] == [[{"role": "user", "content": f"What is this?\n\n{CONTENT}"}]] * 3
    assert done["asked"] == ["What is this?"]
