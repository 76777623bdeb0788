"""Where, when and with what a run measured."""

import os
import platform
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.results import Machine

PACKAGES = ("litestar", "msgspec", "uvicorn", "uvloop", "httptools", "aiosqlite")


def describe_machine(command: str) -> Machine:
    """This machine, now."""
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        command=command,
        cpu=_cpu(),
        cores=os.cpu_count() or 0,
        memory_gib=round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions={**{name: _version(name) for name in PACKAGES}, "SQLite": sqlite3.sqlite_version},
        revision=_revision(),
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _revision() -> str:
    """The commit, with a plus sign when the tree differs from it; empty outside of a repository."""
    described = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--dirty=+"], capture_output=True, text=True, check=False
    )
    return described.stdout.strip()
