"""The opencode plugin in Node: why nothing is added is shown on opencode's screen and kept in its log."""

import json
import subprocess
from typing import Any

import pytest

from tests.hosts.programs import PLUGINS
from tests.hosts.test_plugin_checks import NODE, needs_node

pytestmark = needs_node

LINE = "powercontext: nothing added: POWERCONTEXT_SCOPE_ID is not set"
# The turn goes on before the host has answered, so what was shown is looked at after it.
SCRIPT = """
const { PowerContext } = await import(process.argv[1]);
const shown = [];
const show = (kind) => (call) => { shown.push([kind, call.body]); return (%s)(); };
const client = { tui: { showToast: show("toast") }, app: { log: show("log") } };
const output = { message: { id: "m" }, parts: [{ id: "p", type: "text", text: "q" }] };
const { "chat.message": heard } = await PowerContext({ client });
await heard({ sessionID: "s" }, output);
await new Promise(setImmediate);
process.stdout.write(JSON.stringify({ shown, parts: output.parts.length }));
process.exit();
"""


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("async () => true", id="shows it"),
        pytest.param("() => new Promise(() => setInterval(() => {}, 1000))", id="never answers"),
        pytest.param("async () => { throw new Error() }", id="refuses"),
        pytest.param("() => { throw new Error() }", id="fails at once"),
    ],
)
def test_a_turn_without_recalled_text_is_told_of_and_goes_on_whatever_the_host_does(host: str) -> None:
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", SCRIPT % host, (PLUGINS / "opencode" / "powercontext.js").as_uri()],
        env={},
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert (done.returncode, done.stderr.decode()) == (0, f"{LINE}\n")
    told: dict[str, Any] = json.loads(done.stdout)
    toast = {"message": LINE, "variant": "warning"}
    log = {"service": "powercontext", "level": "warn", "message": LINE}
    assert told == {"shown": [["toast", toast], ["log", log]], "parts": 1}
