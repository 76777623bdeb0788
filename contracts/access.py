"""Principals, roles, grants and tokens (CONTRACT section 3, Access)."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from contracts.identity import PrintableId, ScopeId
from contracts.text import NotBlank, Text

Role: TypeAlias = Literal["viewer", "contributor", "reviewer", "admin"]
AccessMode: TypeAlias = Literal["disabled", "enforced"]
PrincipalType: TypeAlias = Literal["user", "service"]

EVERY_SCOPE = "*"
"""The `scope_id` of a grant that holds on every Scope, one that is named `*` included."""


class Principal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who calls."""

    type: PrincipalType
    id: str
    description: str | None = None


class Grant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A role on one Scope, or on every Scope with `*`."""

    scope_id: ScopeId
    role: Role


class AccessMe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The caller as the service sees it."""

    principal: Principal
    mode: AccessMode
    grants: tuple[Grant, ...]


class CreateTokenRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make a token for a principal, with its first grants."""

    id: Annotated[NotBlank, Meta(max_length=128)]
    type: PrincipalType = "service"
    description: Annotated[Text, Meta(max_length=512)] | None = None
    grants: tuple[Grant, ...] = ()


class CreatedToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The one answer that shows the token itself."""

    token_id: str
    token: str
    principal: Principal
    grants: tuple[Grant, ...]


class TokenItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token without its secret. Times are RFC 3339 in UTC."""

    token_id: str
    principal: Principal
    grants: tuple[Grant, ...]
    created_at: str
    revoked_at: str | None


class TokenPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page of tokens, oldest first."""

    items: tuple[TokenItem, ...]
    next_cursor: str | None


class RevokeTokenRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Revoke a token."""

    token_id: PrintableId


class RevokedToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the token stopped."""

    token_id: str
    revoked_at: str
