#!/usr/bin/env python3
"""Install the agent hosts that the host tests run, each at one pinned version, below one cache directory.

    python3 deploy/hosts/install.py hermes codex     # or no name: every host
    python3 deploy/hosts/install.py --where codex    # print the program of an installed host

The directory is $POWERCONTEXT_HOSTS_DIR, else ~/.cache/powercontext-hosts. A host that is there at its pinned
version is left alone. Needs pip's or npm's registry and, for the three hosts from npm, Node 20.6 or later.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

# Node writes progress bars and funding notes; the output of a failed installation is what matters.
NPM_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts")


@dataclass(frozen=True)
class Host:
    """One agent host: where it comes from, and a pattern for its program below the host's own folder."""

    name: str
    installer: str
    package: str
    version: str
    program: str


HOSTS = {
    host.name: host
    for host in (
        Host("hermes", "pip", "hermes-agent", "0.19.0", "bin/hermes"),
        Host("codex", "npm", "@openai/codex", "0.171.0", "node_modules/.bin/codex"),
        Host("pi", "npm", "@mariozechner/pi-coding-agent", "0.73.1", "node_modules/.bin/pi"),
        # The binary of the platform's own package: the one in .bin is put there by an installation script.
        Host("opencode", "npm", "opencode-ai", "1.18.33", "node_modules/opencode-*/bin/opencode"),
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


def install(host: Host) -> Path:
    """Install the host unless it is there, and return its program.

    Raises CalledProcessError when pip or npm fails; the next call then starts afresh.
    """
    present = installed_program(host)
    if present is not None:
        return present
    folder = hosts_directory() / host.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if host.installer == "pip":
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "--no-input", f"{host.package}=={host.version}"], check=True)
    else:
        subprocess.run([*NPM_INSTALL, "--prefix", str(folder), f"{host.package}@{host.version}"], check=True)
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
