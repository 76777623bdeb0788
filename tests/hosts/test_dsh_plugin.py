"""The DSH plugin in Node, on steps that a headless run does not have; no host is needed."""

import json
import subprocess
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.programs import PLUGINS
from tests.hosts.test_plugin_checks import NODE, needs_node

pytestmark = needs_node

CONTENT = " \n验 content\n"
SCRIPT = """
const data = JSON.parse(process.argv[1]);
const { apply } = await import(data.plugin);
const stop = new AbortController();
if (data.aborted) stop.abort();
let listener;
apply({ on: (event, called) => { if (event === "agent/pre-step") listener = called; } });
const payload = { agent: { session: { header: { origin: data.origin } } }, signal: stop.signal, turn: 1, step: 1 };
process.stdout.write(JSON.stringify(await listener(payload, async () => data.decision)));
"""


def step(decision: dict[str, Any], *, origin: str | None = None, aborted: bool = False) -> tuple[Any, FakeService]:
    """What the plugin makes of a decision, and the service with what it was asked."""
    ready = {"schema": "powercontext.prepared-context.v1", "status": "ready"}
    body = {**ready, "content": CONTENT, "content_bytes": len(CONTENT.encode())}
    data = {"plugin": (PLUGINS / "dsh" / "powercontext.mjs").as_uri(), "decision": decision}
    with running(FakeService(body=body)) as service:
        done = subprocess.run(
            [
                str(NODE),
                "--input-type=module",
                "-e",
                SCRIPT,
                json.dumps({**data, "origin": origin, "aborted": aborted}),
            ],
            env={"POWERCONTEXT_SCOPE_ID": "s", "POWERCONTEXT_BASE_URL": service.url},
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), service


def message(text: str, kind: str = "user") -> dict[str, Any]:
    return {"id": text, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": kind}}


def entering(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "enter", "startsRequestSeries": True, "messages": list(messages)}


def test_the_user_alone_is_asked_about_and_all_else_of_the_decision_is_kept() -> None:
    picture = {**message("Two"), "content": [{"type": "image", "data": ""}, {"type": "text", "text": "Two"}]}
    given = entering(message("One"), message("Now: Monday", "runtime-context"), picture)
    decided, service = step(given)
    (*kept, added) = decided["messages"]
    assert {**decided, "messages": kept} == given
    assert (added["role"], added["content"]) == ("user", [{"type": "text", "text": CONTENT}])
    assert added["source"] == {"kind": "powercontext"}
    assert [asked.json()["query"] for asked in service.received] == ["One\nTwo"]


@pytest.mark.parametrize(
    ("decision", "how"),
    [
        pytest.param({"kind": "reject"}, {}, id="a rejected step"),
        pytest.param(entering(), {}, id="a step after a tool"),
        pytest.param(entering(message("Finished.", "subagent-settled")), {}, id="another agent's word"),
        pytest.param(entering(message("Do it.")), {"origin": "subagent"}, id="a subagent's task"),
        pytest.param(entering(message("Do it.")), {"aborted": True}, id="a turn that was stopped"),
    ],
)
def test_what_no_user_says_is_left_as_it_is_and_asks_nothing(decision: dict[str, Any], how: dict[str, Any]) -> None:
    decided, service = step(decision, **how)
    assert decided == decision
    assert service.received == []
