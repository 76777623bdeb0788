"""`prepare` and `assemble`: one prepared text, from the database or from a conformance case."""

import sys
from typing import IO, Any

import click

from service.cli.failure import CommandFailed, note, text
from service.cli.opening import in_runtime
from service.conformance_case import CaseError, run_case
from service.runtime import Runtime


class BadCase(CommandFailed):
    """The input of `assemble` cannot be decoded, or its result cannot be encoded."""

    exit_code = 2


def _section(value: str) -> dict[str, Any]:
    """`family:limit` as the object that the wire has for it; the contract checks both."""
    family, separator, limit = value.rpartition(":")
    if not separator or not limit.isascii() or not limit.isdigit():
        raise click.BadParameter("must be FAMILY:LIMIT, as in memory:6")
    return {"family": family, "limit": int(limit)}


@click.command()
@click.argument("scope_id", metavar="SCOPE", type=text)
@click.argument("query", metavar="QUERY", type=text)
@click.option("--max-bytes", type=int, help="Upper bound of the text in UTF-8 bytes, 512 to 32768 (8000).")
@click.option(
    "--section",
    "sections",
    type=_section,
    multiple=True,
    metavar="FAMILY:LIMIT",
    help="A family and how many of it, in the order of the text: memory, experience, profile, topic-memory. "
    "Repeatable; without any: memory:6, experience:2.",
)
@click.option(
    "--show",
    type=click.Choice(["confidence", "recall_rank"]),
    multiple=True,
    help="An optional metadata line; repeatable.",
)
@click.option("--legacy", is_flag=True, help="The output of a request without `assembly`.")
def prepare(
    scope_id: str,
    query: str,
    max_bytes: int | None,
    sections: tuple[dict[str, Any], ...],
    show: tuple[str, ...],
    legacy: bool,
) -> None:
    """Print the prepared text for QUERY in SCOPE, exactly as a host would inject it, and nothing else.

    Says so on stderr when nothing was found or fits. The sum of all limits is bound by
    POWERCONTEXT_SERVER_RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES.

    \b
    Examples:
      powercontext-sidecar prepare project:demo "How is the client regenerated?"
      powercontext-sidecar prepare project:demo "release" --section experience:2 --section memory:4 --max-bytes 4000
    """
    if legacy and (sections or show):
        raise click.UsageError("--legacy takes neither --section nor --show")
    options: dict[str, Any] = {} if max_bytes is None else {"max_bytes": max_bytes}
    if not legacy:
        options["assembly"] = {"show": list(show)} | ({"sections": list(sections)} if sections else {})

    async def work(runtime: Runtime) -> None:
        prepared = await runtime.context.for_scope(scope_id).prepare(query, **options)
        if prepared.content is None:
            note("empty: nothing was found, or nothing fits into the budget")
        else:
            sys.stdout.buffer.write(prepared.content.encode())

    in_runtime(work)


@click.command()
@click.argument("case", metavar="CASE.json", type=click.File("rb"))
def assemble(case: IO[bytes]) -> None:
    """Print as JSON what the assembly core makes of a conformance case (- for standard input). Needs no database.

    The format of a case is described in tests/conformance/README.md. The exit code is 2, with the reason on stderr,
    for a file that is no case, or whose texts UTF-8 cannot express.

    \b
    Example:
      powercontext-sidecar assemble tests/conformance/cases/case_019.json
    """
    try:
        result = run_case(case.read())
    except CaseError as error:
        raise BadCase(str(error)) from error
    click.echo(result)
