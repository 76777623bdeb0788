"""`scope create` and `scope list`."""

import uuid
from collections.abc import Sequence

import click

from contracts import limits
from contracts.scopes import CreateScopeRequest, ScopeDescriptor
from service.cli.failure import text, visible
from service.cli.opening import in_runtime
from service.runtime import Runtime
from service.validation import checked


@click.group()
def scope() -> None:
    """Create and list Scopes, the rooms in which memory is kept."""


@scope.command("create")
@click.argument("scope_id", metavar="ID", type=text)
@click.option("--title", type=text, required=True, help="1 to 256 characters.")
@click.option("--summary", type=text, required=True, help="What the Scope is about, 1 to 2000 characters.")
@click.option(
    "--reference",
    "references",
    type=text,
    multiple=True,
    metavar="ID",
    help="A Scope that is read along when this one is prepared; repeatable, and the order counts.",
)
def create(scope_id: str, title: str, summary: str, references: tuple[str, ...]) -> None:
    """Create the Scope ID and print its id.

    \b
    Example:
      powercontext-sidecar scope create project:demo --title "Demo" --summary "The demo project" \\
          --reference team:platform
    """

    async def work(runtime: Runtime) -> None:
        created = await create_scope(runtime, scope_id, title=title, summary=summary, references=references)
        click.echo(visible(created.scope_id))

    in_runtime(work)


@scope.command("list")
@click.option("--query", type=text, default="", help="Only Scopes with this text in their id or title.")
def list_scopes(query: str) -> None:
    """Print every Scope as id, title and Context References, one a line, separated by tabs.

    \b
    Example:
      powercontext-sidecar scope list --query project:
    """

    async def work(runtime: Runtime) -> None:
        cursor = None
        while True:
            page = await runtime.scopes.list(query, limits.PAGE_MAX, cursor)
            for item in page.items:
                columns = (item.scope_id, item.title, ", ".join(item.context_references))
                click.echo("\t".join(visible(column) for column in columns))
            cursor = page.next_cursor
            if cursor is None:
                return

    in_runtime(work)


async def create_scope(
    runtime: Runtime, scope_id: str, *, title: str, summary: str, references: Sequence[str] = ()
) -> ScopeDescriptor:
    """Create a Scope that does not exist. Raises InvalidRequest, ScopeAlreadyExists, InvalidScopeRelationship."""
    given = {
        "scope_id": scope_id,
        "title": title,
        "summary": summary,
        "context_references": references,
        "idempotency_key": f"cli:{uuid.uuid4()}",
    }
    return await runtime.scopes.create(checked(given, CreateScopeRequest))
