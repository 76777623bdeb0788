"""The asking of every plugin as a process of its own, without its host: what it would hand over, and what it says.

Found by file name, so that a new plugin that carries the common module is tested from its first day.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.programs import PLUGINS, Codex, installer

NODE = shutil.which("node")
HOOK_FOLDER = PLUGINS / "codex-claude-code"

_PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
from powercontext_prepare import NothingToInject, prepare, read_settings
try:
    content = prepare(read_settings(sys.argv[2]), json.load(sys.stdin)["prompt"])
except NothingToInject as reason:
    sys.exit(print(reason, file=sys.stderr))
if content is not None:
    print(json.dumps(content))
"""
_JAVASCRIPT = """
let text = ""; for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
const { NothingToInject, prepare, readSettings } = await import(process.argv[1]);
try {
  const content = await prepare(readSettings(process.argv[2]), JSON.parse(text).prompt);
  if (content !== null) process.stdout.write(JSON.stringify(content));
} catch (failure) {
  if (!(failure instanceof NothingToInject)) throw failure;
  process.stderr.write(failure.message);
}
"""


@dataclass(frozen=True)
class Outcome:
    """What was handed over, None when nothing was; standard output and error; wall-clock seconds."""

    content: str | None
    said: str
    seconds: float


@dataclass(frozen=True)
class PluginProgram:
    """One plugin. `setting` stands for the host in the names of its settings."""

    name: str
    setting: str
    command: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    """What the interpreter itself needs in its environment."""

    def ask(self, prompt: str, settings: Mapping[str, str], variables: Mapping[str, str] | None = None) -> Outcome:
        """One turn's asking. settings: names without POWERCONTEXT_ and their values. It must end with status 0.

        variables: what else is set in the environment.
        """
        environment = {f"POWERCONTEXT_{name}": value for name, value in settings.items()}
        begun = time.monotonic()
        done = subprocess.run(
            self.command,
            input=json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": prompt}).encode(),
            env={"PATH": os.environ["PATH"], **dict(self.variables), **(variables or {}), **environment},
            capture_output=True,
            check=False,
            timeout=60,
        )
        seconds = time.monotonic() - begun
        output, errors = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == 0, errors
        return Outcome(_content(output), output + errors, seconds)

    def assembly(self, text: str | None) -> dict[str, str]:
        """The setting that configures this assembly."""
        return {} if text is None else {f"{self.setting}_CONTEXT_ASSEMBLY": text}


def _content(output: str) -> str | None:
    if not output:
        return None
    handed_over = json.loads(output)
    if isinstance(handed_over, dict):
        added: str = handed_over["hookSpecificOutput"]["additionalContext"]
        assert added.startswith(Codex.lead_in)
        return added.removeprefix(Codex.lead_in)
    assert isinstance(handed_over, str)
    return handed_over


def _programs() -> list[PluginProgram]:
    hook = str(HOOK_FOLDER / "powercontext_hook.py")
    found = [
        PluginProgram("codex", "CODEX", (sys.executable, hook, "codex")),
        PluginProgram("claude-code", "CLAUDE_CODE", (sys.executable, hook, "claude-code")),
    ]
    for copy in sorted(PLUGINS.glob("**/powercontext_prepare.py")):
        if copy.parent != HOOK_FOLDER:
            name, setting = _names(copy)
            found.append(PluginProgram(name, setting, (sys.executable, "-c", _PYTHON, str(copy.parent), setting)))
    for copy in sorted(PLUGINS.glob("**/prepare.mjs")):
        name, setting = _names(copy)
        command = (NODE or "node", "--input-type=module", "-e", _JAVASCRIPT, copy.as_uri(), setting)
        found.append(PluginProgram(name, setting, command))
    return found


def _names(copy: Path) -> tuple[str, str]:
    folder = copy.parent.relative_to(PLUGINS)
    return str(folder), folder.parts[0].upper().replace("-", "_")


PLUGIN_PROGRAMS = _programs()


def runs_node(program: PluginProgram) -> bool:
    """Whether the plugin is written in JavaScript."""
    return "--input-type=module" in program.command


def opencode_in_bun() -> PluginProgram | None:
    """The plugin of opencode in the interpreter that opencode is, None where opencode is not installed."""
    install = installer()
    opencode = install.installed_program(install.HOSTS["opencode"])
    if opencode is None:
        return None
    copy = PLUGINS / "opencode" / "powercontext" / "prepare.mjs"
    command = (str(opencode), "-e", _JAVASCRIPT, copy.as_uri(), "OPENCODE")
    return PluginProgram("opencode in Bun", "OPENCODE", command, (("BUN_BE_BUN", "1"),))
