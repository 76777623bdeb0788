"""The PowerContext client 1.0.0, as published, works unmodified against this server."""

import subprocess
from pathlib import Path

import pytest

from tests.client.sidecar_process import running_sidecar
from tests.peers.installed import peer_environment

SCRIPT = Path(__file__).with_name("published_client.py")


@pytest.mark.peers
def test_scopes_memory_prepare_experience_topics_and_exact_reads_succeed(tmp_path: Path) -> None:
    interpreter = peer_environment("1.0.0") / "bin" / "python"
    with running_sidecar(tmp_path) as base_url:
        done = subprocess.run([interpreter, SCRIPT, base_url], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "all ok"
