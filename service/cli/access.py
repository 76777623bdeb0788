"""`token` and `grant`: who may call a server that enforces access."""

from collections.abc import AsyncIterator
from typing import get_args

import click

from contracts import limits
from contracts.access import EVERY_SCOPE, CreateTokenRequest, Grant, PrincipalType, RevokeTokenRequest, Role, TokenItem
from contracts.errors import ScopeNotFound
from service.cli.failure import CommandFailed, note, text, visible
from service.cli.opening import in_runtime
from service.runtime import Runtime
from service.validation import checked

_ROLE = click.Choice(get_args(Role))


@click.group()
def token() -> None:
    """Create, list and revoke tokens.

    Tokens count while access is enforced: POWERCONTEXT_SERVER_ACCESS_MODE=enforced.
    """


@token.command("create")
@click.argument("principal_id", metavar="PRINCIPAL", type=text)
@click.option(
    "--type", "kind", type=click.Choice(get_args(PrincipalType)), default="service", help="Who this is (service)."
)
@click.option("--description", type=text, help="What the token is for.")
@click.option(
    "--grant",
    "grants",
    type=(text, _ROLE),
    multiple=True,
    metavar="SCOPE ROLE",
    help="A role (viewer, contributor, reviewer, admin) on a Scope, or on every Scope with '*'; repeatable.",
)
def create_token(principal_id: str, kind: str, description: str | None, grants: tuple[tuple[str, str], ...]) -> None:
    """Make a token for PRINCIPAL and print it. It is shown this once; only its hash is stored.

    \b
    Examples:
      powercontext-sidecar token create ci-agent --grant project:demo contributor
      TOKEN=$(powercontext-sidecar token create ops --type user --grant '*' admin)
    """

    async def work(runtime: Runtime) -> None:
        given = {
            "id": principal_id,
            "type": kind,
            "description": description,
            "grants": [{"scope_id": scope_id, "role": role} for scope_id, role in grants],
        }
        created = await runtime.access.create_token(checked(given, CreateTokenRequest))
        click.echo(created.token)
        note(f"token {created.token_id}: keep it now, it is not shown again")
        await _note_unknown_scopes(runtime, *(scope_id for scope_id, _ in grants))
        if not created.grants:
            note(f"it may do nothing yet: powercontext-sidecar grant add {visible(principal_id)} SCOPE ROLE")

    in_runtime(work)


@token.command("list")
def list_tokens() -> None:
    """Print every token as id, principal, grants, time made and time revoked, separated by tabs; never its secret."""

    async def work(runtime: Runtime) -> None:
        async for item in _all_tokens(runtime):
            granted = ", ".join(f"{grant.role} on {grant.scope_id}" for grant in item.grants)
            revoked = f"revoked {item.revoked_at}" if item.revoked_at else "valid"
            principal = f"{item.principal.type}:{item.principal.id}"
            columns = (item.token_id, principal, granted, item.created_at, revoked)
            click.echo("\t".join(visible(column) for column in columns))

    in_runtime(work)


@token.command("revoke")
@click.argument("token_id", metavar="TOKEN_ID", type=text)
def revoke_token(token_id: str) -> None:
    """Stop a token, named by its id (tok_…) and not by its secret. A running server refuses it within one second.

    \b
    Example:
      powercontext-sidecar token revoke tok_0123456789abcdef0123456789abcdef
    """

    async def work(runtime: Runtime) -> None:
        revoked = await runtime.access.revoke_token(checked({"token_id": token_id}, RevokeTokenRequest))
        click.echo(f"{revoked.token_id}\trevoked {revoked.revoked_at}")

    in_runtime(work)


@click.group()
def grant() -> None:
    """Add, list and remove what principals may do.

    \b
    viewer       prepare, search, read, export
    contributor  viewer, and remember, revise, retire, propose, import memory
    reviewer     viewer, and decide Candidates, write Experience, Profile and Topic Memory
    admin        all of it, and change, erase in or delete the Scope; on '*' also create Scopes and tokens
    """


@grant.command("add")
@click.argument("principal_id", metavar="PRINCIPAL", type=text)
@click.argument("scope_id", metavar="SCOPE", type=text)
@click.argument("role", type=_ROLE)
def add_grant(principal_id: str, scope_id: str, role: str) -> None:
    """Give PRINCIPAL a role on SCOPE, or on every Scope with '*'. A running server heeds it within one second.

    \b
    Example:
      powercontext-sidecar grant add ci-agent project:demo viewer
    """

    async def work(runtime: Runtime) -> None:
        await runtime.storage.access.add_grant(principal_id, _grant(principal_id, scope_id, role))
        click.echo(f"{visible(principal_id)} is {role} on {visible(scope_id)}")
        await _note_unknown_scopes(runtime, scope_id)
        if principal_id not in {item.principal.id async for item in _all_tokens(runtime)}:
            note(f"there is no token for {visible(principal_id)} yet: powercontext-sidecar token create")

    in_runtime(work)


@grant.command("list")
@click.argument("principal_id", metavar="[PRINCIPAL]", type=text, required=False)
def list_grants(principal_id: str | None) -> None:
    """Print grants as principal, Scope and role, separated by tabs: all of them, or those of PRINCIPAL."""

    async def work(runtime: Runtime) -> None:
        for principal, granted in await runtime.storage.access.grants(principal_id):
            click.echo(f"{visible(principal)}\t{visible(granted.scope_id)}\t{granted.role}")

    in_runtime(work)


@grant.command("remove")
@click.argument("principal_id", metavar="PRINCIPAL", type=text)
@click.argument("scope_id", metavar="SCOPE", type=text)
@click.argument("role", type=_ROLE)
def remove_grant(principal_id: str, scope_id: str, role: str) -> None:
    """Take a role on SCOPE from PRINCIPAL. A running server heeds it within one second."""

    async def work(runtime: Runtime) -> None:
        if not await runtime.storage.access.remove_grant(principal_id, _grant(principal_id, scope_id, role)):
            raise CommandFailed(f"{principal_id} has no grant {role} on {scope_id}")
        click.echo(f"{visible(principal_id)} is no longer {role} on {visible(scope_id)}")

    in_runtime(work)


async def _all_tokens(runtime: Runtime) -> AsyncIterator[TokenItem]:

    cursor = None
    while True:
        page = await runtime.access.tokens(limits.PAGE_MAX, cursor)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return


def _grant(principal_id: str, scope_id: str, role: str) -> Grant:
    """The grant, by the rules of a token's first ones. Raises InvalidRequest."""
    given = {"id": principal_id, "grants": [{"scope_id": scope_id, "role": role}]}
    return checked(given, CreateTokenRequest).grants[0]


async def _note_unknown_scopes(runtime: Runtime, *scope_ids: str) -> None:
    """A grant on a Scope that is not there yet is allowed, but often a slip of the pen."""
    for scope_id in scope_ids:
        if scope_id == EVERY_SCOPE:
            continue
        try:
            await runtime.scopes.get(scope_id)
        except ScopeNotFound:
            note(f"there is no Scope {visible(scope_id)} yet: powercontext-sidecar scope create")
