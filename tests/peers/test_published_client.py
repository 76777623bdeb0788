"""The PowerContext client 1.0.0, as published, works unmodified against this server."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.client.sidecar_process import running_sidecar

SCRIPT = Path(__file__).with_name("published_client.py")
PYTHON = "POWERCONTEXT_PEER_CLIENT_PYTHON"


@pytest.mark.peers
def test_scopes_memory_prepare_experience_topics_and_exact_reads_succeed(tmp_path: Path) -> None:
    interpreter = os.environ.get(PYTHON)
    assert interpreter, f"set {PYTHON} to a Python that has the published client, or run: make peers-test"
    with running_sidecar(tmp_path) as base_url:
        done = subprocess.run([interpreter, SCRIPT, base_url], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "all ok"
