import subprocess
import sys

import click
import pytest

from service.cli import main
from tests.cli.conftest import Spawn

COMMANDS = main.list_commands(click.Context(main))
GROUPED = {"scope": ("create", "list"), "token": ("create", "list", "revoke"), "grant": ("add", "list", "remove")}
PATHS = [*((name,) for name in COMMANDS), *((group, name) for group, names in GROUPED.items() for name in names)]


def test_every_command_of_the_design_is_there() -> None:
    expected = "assemble backup demo doctor export grant import migrate openapi prepare reindex scope serve token"
    assert " ".join(sorted(COMMANDS)) == expected


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    command: click.Command | None = main
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    assert command.help
    assert len(command.help) > 50
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, parameter.name


def test_help_starts_neither_web_framework_nor_database() -> None:
    script = (
        "import sys\nfrom service.cli import main\nmain(['--help'], standalone_mode=False)\n"
        "print(sorted({'litestar', 'uvicorn', 'adapters', 'aiosqlite', 'asyncio'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=20
    ).stdout
    assert "Commands:" in shown
    assert shown.splitlines()[-1] == "[]"


def test_an_unknown_command_is_a_usage_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from service.cli import main; main()", "sevre"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("lines", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(
    "command", [["doctor"], ["scope", "list"], ["export", "project:demo"], ["token", "list"]], ids=" ".join
)
def test_a_reader_that_stops_early_ends_a_command_quietly(
    spawn: Spawn, demo_scope: str, command: list[str], lines: int
) -> None:
    done = spawn(*command, prefix=("sh", "-c", f'"$0" "$@" | head -n {lines}'))
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) <= lines
