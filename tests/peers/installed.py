"""Where the published PowerContext releases are: each in an environment of its own, made by `make peers-test`."""

import os
from pathlib import Path

FOLDER = "POWERCONTEXT_PEERS_DIR"


def peer_environment(version: str) -> Path:
    """The environment of one release. A missing one fails the test: what was asked for is never left out."""
    folder = os.environ.get(FOLDER)
    assert folder, f"set {FOLDER} to a folder with one environment per release, or run: make peers-test"
    environment = Path(folder).resolve() / version
    assert (environment / "bin" / "powercontext").exists(), f"PowerContext {version} is not installed in {environment}"
    return environment
