"""How a command fails, what it takes as text, and how stored text is printed."""

import sys
from typing import IO, Any

import click


class CommandFailed(click.ClickException):
    """An expected failure: `error: …` in one line on stderr."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {visible(self.message)}", file=file or sys.stderr)


def text(value: str) -> str:
    """The type of a text argument. Bytes that are not UTF-8 arrive from the shell as lone surrogates; refused here."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("is not valid UTF-8") from None
    return value


def visible(said: str) -> str:
    """`said` on one line, with what could steer a terminal (controls, format characters) as printed escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in said)


def note(said: str) -> None:
    """Say something to the person, on stderr, so that stdout holds the result alone."""
    click.echo(said, err=True)
