"""The pi extension where pi has a screen: why nothing is added is told through pi, which then shows it."""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.hosts.conftest import NAMED
from tests.hosts.programs import Pi, installer
from tests.hosts.stub_model import StubModel

pytestmark = [pytest.mark.hosts, pytest.mark.slow, pytest.mark.skipif(Pi.name not in NAMED, reason="pi is not named")]

LIMIT_S = 60


def test_a_turn_without_recalled_text_is_told_of_and_goes_on(tmp_path: Path, model: StubModel) -> None:
    install = installer()
    program = install.installed_program(install.HOSTS[Pi.name])
    if program is None:
        pytest.skip("pi is not installed: python3 deploy/hosts/install.py pi")
    pi = Pi(program, tmp_path / "home", model.url)
    command = [*pi.command("", resume=False)[:-2], "--mode", "rpc"]  # without -p and the question
    environment = {"PATH": os.environ["PATH"], "HOME": str(pi.home), **pi.environment()}
    with subprocess.Popen(
        command, cwd=pi.workspace(), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        stop = threading.Timer(LIMIT_S, process.kill)
        stop.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"type": "prompt", "message": "Hello"}) + "\n")
            process.stdin.flush()
            events = []
            for line in process.stdout:
                events.append(json.loads(line))
                if events[-1]["type"] == "agent_end":
                    break
        finally:
            stop.cancel()
            process.kill()
    told = [(event["message"], event["notifyType"]) for event in events if event.get("method") == "notify"]
    assert told == [("powercontext: nothing added: POWERCONTEXT_SCOPE_ID is not set", "warning")]
    assert events[-1]["type"] == "agent_end"
