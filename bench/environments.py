"""Python environments of their own, made once and kept in the user's cache folder.

What ships is measured as it ships: a developer's environment holds packages that the framework imports when it finds
them (pydantic alone costs 8 MB and a third of the start).
"""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNTIME_LOCK = ROOT / "requirements" / "runtime.txt"
PEER_VERSION = "1.4.1"
PEER_REQUIREMENT = f"powercontext[builtin,server,cli,client]=={PEER_VERSION}"


class InstallError(Exception):
    """An environment could not be made; pip's own message stands above."""


def runtime_environment() -> Path:
    """The folder of an environment with the locked requirements of the running service and nothing else."""
    lock = hashlib.sha256(RUNTIME_LOCK.read_bytes()).hexdigest()[:12]
    return _environment(f"runtime-{lock}", ["--require-hashes", "--requirement", str(RUNTIME_LOCK)])


def peer_environment() -> Path:
    """The folder of an environment with the published server."""
    return _environment(f"peer-{PEER_VERSION}", [PEER_REQUIREMENT])


def python_of(environment: Path) -> str:
    """The interpreter of an environment."""
    return str(environment / "bin" / "python")


def _environment(name: str, wanted: Sequence[str]) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "powercontext-sidecar-bench" / f"{name}-py{sys.version_info[0]}.{sys.version_info[1]}"
    done = folder / ".installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        if subprocess.run([*pip, *wanted], check=False).returncode != 0:
            raise InstallError(f"could not install {name} into {folder}")
        done.touch()
    return folder
