"""`import` and `export`: a Scope as lines of JSON (NDJSON), straight from and to the database."""

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any

import click

from contracts.errors import ScopeNotFound
from service.cli.failure import CommandFailed, note, text, visible
from service.cli.opening import in_runtime
from service.cli.scopes import create_scope
from service.runtime import Runtime

CHUNK_BYTES = 1 << 16


@click.command("import")
@click.argument("scope_id", metavar="SCOPE", type=text)
@click.argument("source", metavar="FILE", type=click.File("rb"))
@click.option("--create-scope", "create", is_flag=True, help="Create the Scope first when it does not exist.")
@click.option("--title", type=text, help="Title of a Scope that is created; its id unless given.")
@click.option("--summary", type=text, help="Summary of a Scope that is created; its title unless given.")
def import_scope(scope_id: str, source: IO[bytes], create: bool, title: str | None, summary: str | None) -> None:
    """Store every line of FILE (- for standard input) in SCOPE, in batches that are durable once reported.

    A line is one JSON object: {"type":"memory-entry","kind":"fact","text":"…"} or one of the types experience, profile
    and topic-memory with a "content". What is stored already is skipped, so an import can be repeated. A refused line
    does not stop the others: each is named with its number and the reason, and the exit code is 1.

    \b
    Examples:
      powercontext-sidecar import project:demo memory.ndjson --create-scope
      powercontext-sidecar export project:old | powercontext-sidecar import project:new - --create-scope
    """

    async def work(runtime: Runtime) -> dict[str, int]:
        if create:
            await _ensure_scope(runtime, scope_id, title, summary)
        else:
            await _require_scope(runtime, scope_id)
        totals: dict[str, int] = {}
        async for report in runtime.bulk.import_lines(scope_id, _chunks(source)):
            line = json.loads(report)
            if "totals" in line:
                totals = line["totals"]
            elif line["status"] == "refused":
                error = line["error"]
                note(visible(f"line {line['line']} refused: {error['code']}: {error['message']}"))
        return totals

    totals = in_runtime(work)
    click.echo(f"{totals['stored']} stored, {totals['skipped']} skipped, {totals['refused']} refused")
    if totals["refused"]:
        sys.exit(1)


@click.command("export")
@click.argument("scope_id", metavar="SCOPE", type=text)
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write here instead of to stdout."
)
def export_scope(scope_id: str, output: Path | None) -> None:
    """Print every revision in SCOPE that was not erased, one JSON object a line, ids and revisions included.

    The Scope's own title and references are not in it; `import --create-scope` makes a Scope for the lines. A file
    named with --output appears when the export is complete, not before.

    \b
    Example:
      powercontext-sidecar export project:demo --output demo.ndjson
    """
    if output is not None and not output.parent.is_dir():
        raise CommandFailed(f"{output.parent}: there is no such folder")

    async def work(runtime: Runtime) -> None:
        await runtime.bulk.authorize_export(scope_id)
        if output is None:
            await _write_lines(runtime, scope_id, sys.stdout.buffer)
            return
        partial = output.with_name(f"{output.name}.{os.getpid()}.part")
        try:
            with partial.open("xb") as file:
                partial.chmod(0o600)  # as the database from which it comes
                await _write_lines(runtime, scope_id, file)
            partial.replace(output)
        finally:
            partial.unlink(missing_ok=True)

    in_runtime(work)


async def _write_lines(runtime: Runtime, scope_id: str, file: IO[bytes]) -> None:
    count = 0
    shown = sys.stderr.isatty()
    async for lines in runtime.bulk.export(scope_id):
        file.write(lines)
        count += lines.count(b"\n")
        if shown:
            click.echo(f"\r{count} lines", err=True, nl=False)
    file.flush()
    if shown:
        click.echo(f"\r{count} lines exported", err=True)


async def _chunks(source: IO[bytes]) -> AsyncIterator[bytes]:
    """The bytes of the file; on a terminal with a progress bar, where the size of the file is known."""
    size = _size(source)
    if not size or not sys.stderr.isatty():
        while chunk := source.read(CHUNK_BYTES):
            yield chunk
        return
    bar: Any
    with click.progressbar(length=size, label="importing", file=sys.stderr) as bar:
        while chunk := source.read(CHUNK_BYTES):
            yield chunk
            bar.update(len(chunk))


def _size(source: IO[bytes]) -> int:
    """In bytes, 0 where there is no telling (a pipe)."""
    try:
        return os.fstat(source.fileno()).st_size if source.seekable() else 0
    except OSError:
        return 0


async def _require_scope(runtime: Runtime, scope_id: str) -> None:
    try:
        await runtime.bulk.authorize_import(scope_id)
    except ScopeNotFound:
        raise CommandFailed(
            "There is no such Scope; add --create-scope, or create it with: powercontext-sidecar scope create"
        ) from None


async def _ensure_scope(runtime: Runtime, scope_id: str, title: str | None, summary: str | None) -> None:
    try:
        await runtime.bulk.authorize_import(scope_id)
    except ScopeNotFound:
        title = title or scope_id
        await create_scope(runtime, scope_id, title=title, summary=summary or title)
        note(f"created the Scope {visible(scope_id)}")
