"""The root of the command line: its commands, and how a failure is told.

A command's module is imported when that command is asked for: what `serve` needs costs half a second, and `--help`
should answer at once.
"""

from importlib import import_module
from typing import Any, NamedTuple

import click

from contracts.errors import ContextError, InvalidRequest
from service.cli.failure import CommandFailed
from service.settings import SettingsError


class _Entry(NamedTuple):
    """Where a command is, and its line in `--help`."""

    module: str
    attribute: str
    summary: str


_COMMANDS = {
    "demo": _Entry("server", "demo", "Serve a sample project memory from ./data."),
    "migrate": _Entry("database", "migrate", "Bring the database's tables up to this version."),
    "serve": _Entry("server", "serve", "Serve the HTTP API."),
    "doctor": _Entry("doctor", "doctor", "Check settings, database and exposure."),
    "scope": _Entry("scopes", "scope", "Create and list Scopes."),
    "prepare": _Entry("context", "prepare", "Print the prepared text for a query."),
    "import": _Entry("bulk", "import_scope", "Store lines of JSON in a Scope."),
    "export": _Entry("bulk", "export_scope", "Print a Scope as lines of JSON."),
    "backup": _Entry("backup", "backup", "Copy an SQLite database while it is served."),
    "token": _Entry("access", "token", "Create, list and revoke tokens."),
    "grant": _Entry("access", "grant", "Add, list and remove what principals may do."),
    "reindex": _Entry("database", "reindex", "Build the text index anew."),
    "assemble": _Entry("context", "assemble", "Print what the core makes of a conformance case."),
    "openapi": _Entry("openapi", "openapi", "Print the OpenAPI document."),
}


class _Program(click.Group):
    """Finds commands late, and tells an expected failure in one line on stderr with exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(f"service.cli.{entry.module}"), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SettingsError as error:
            raise CommandFailed(str(error)) from error
        except InvalidRequest as error:
            raise CommandFailed("; ".join(f"{_place(e.loc)}: {e.msg}" for e in error.errors)) from error
        except ContextError as error:
            raise CommandFailed(error.message) from error
        except BrokenPipeError:
            raise  # click ends quietly: whoever read our output has stopped
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            raise CommandFailed(f"{named}{error.strerror or type(error).__name__}") from error


def _place(loc: tuple[str | int, ...]) -> str:
    """The path of a field without its root: `assembly.sections.0.limit`."""
    return ".".join(str(part) for part in loc[1:]) or str(loc[0])


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="powercontext-sidecar")
def main() -> None:
    """Store what agents learned; prepare one cited, budgeted text for each query.

    \b
    First steps:
      powercontext-sidecar demo      a server with sample data in ./data
      powercontext-sidecar doctor    what is set, and whether it can serve

    Settings are environment variables that begin with POWERCONTEXT_SERVER_; the README lists them. The one that
    matters to almost every command is POWERCONTEXT_SERVER_DATABASE_URL (default sqlite:///./data/powercontext.db).
    """
