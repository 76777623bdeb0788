"""Who calls, and what they may do: principal x action x Scope -> decision (CONTRACT section 3, Access)."""

import hashlib
import hmac
import secrets
import time
from enum import Enum

from msgspec import Struct

from contracts.access import EVERY_SCOPE, AccessMode, Grant, Principal, Role
from contracts.errors import Forbidden, Unauthorized
from contracts.ports import AccessStore

TOKEN_CACHE_SECONDS = 0.5
"""How long a token's principal and grants are trusted without a look at the storage. A revocation or a grant that
another process wrote is therefore seen within one second; one of this process is seen at once."""

TOKEN_CACHE_SIZE = 1024


class Action(Enum):
    """What an operation does to a Scope."""

    READ = "read"
    CONTRIBUTE = "contribute"
    REVIEW = "review"
    ADMINISTER = "administer"


ALLOWED: dict[Role, frozenset[Action]] = {
    "viewer": frozenset({Action.READ}),
    "contributor": frozenset({Action.READ, Action.CONTRIBUTE}),
    "reviewer": frozenset({Action.READ, Action.REVIEW}),
    "admin": frozenset(Action),
}


class Caller(Struct, frozen=True):
    """A principal with its grants. Decides from them alone, so it cannot tell whether a Scope exists."""

    principal: Principal
    grants: tuple[Grant, ...]
    mode: AccessMode = "enforced"

    def may(self, action: Action, scope_id: str) -> bool:
        """Whether a grant on this Scope or on every Scope allows `action`."""
        return any(grant.scope_id in (scope_id, EVERY_SCOPE) and action in ALLOWED[grant.role] for grant in self.grants)

    def require(self, action: Action, *scope_ids: str) -> None:
        """Raises Forbidden unless `action` is allowed on every one of the Scopes."""
        if not all(self.may(action, scope_id) for scope_id in scope_ids):
            raise Forbidden

    def require_global_admin(self) -> None:
        """Raises Forbidden unless the caller is admin on every Scope."""
        if not any(grant.scope_id == EVERY_SCOPE and grant.role == "admin" for grant in self.grants):
            raise Forbidden

    def readable(self) -> frozenset[str] | None:
        """The Scopes that the caller may read, None for all of them."""
        if any(grant.scope_id == EVERY_SCOPE for grant in self.grants):
            return None
        return frozenset(grant.scope_id for grant in self.grants)


_EVERYTHING = (Grant(scope_id=EVERY_SCOPE, role="admin"),)

ANONYMOUS = Caller(Principal(type="service", id="anonymous"), _EVERYTHING, "disabled")
"""The caller of every request when access is disabled, and of in-process use."""

_STATIC = Caller(
    Principal(type="service", id="static", description="The token of POWERCONTEXT_SERVER_AUTH_TOKEN"),
    tuple(Grant(scope_id=EVERY_SCOPE, role=role) for role in ("viewer", "contributor", "reviewer", "admin")),
)


def new_token() -> str:
    """A token: 256 bits at random."""
    return "pct_" + secrets.token_urlsafe(32)


def token_digest(token: str) -> bytes:
    """What is stored of a token. A plain hash suffices, since a token is random and long."""
    return hashlib.sha256(token.encode()).digest()


class Authenticator:
    """From the Authorization header to a Caller."""

    def __init__(self, store: AccessStore, mode: AccessMode, static_token: str | None) -> None:
        self._store = store
        self.mode = mode
        self._static_digest = None if static_token is None else token_digest(static_token)
        self._known: dict[bytes, tuple[float, Caller]] = {}
        self._generation = 0

    async def authenticate(self, header: str | None) -> Caller:
        """The caller. Raises Unauthorized when access is enforced and the header holds no valid token."""
        if self.mode == "disabled":
            return ANONYMOUS
        digest = token_digest(_bearer(header))
        if self._static_digest is not None and hmac.compare_digest(digest, self._static_digest):
            return _STATIC
        known = self._known.get(digest)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        # Both are taken before the look: what changes during it, here or elsewhere, is not missed afterwards.
        until, generation = time.monotonic() + TOKEN_CACHE_SECONDS, self._generation
        found = await self._store.authenticate(digest)
        if found is None:
            self._known.pop(digest, None)
            raise Unauthorized
        caller = Caller(*found)
        if len(self._known) >= TOKEN_CACHE_SIZE:
            self._known.clear()
        if generation == self._generation:
            self._known[digest] = (until, caller)
        return caller

    def forget(self) -> None:
        """Look at the storage again for every token: something changed in this process."""
        self._generation += 1
        self._known.clear()

    def require_metrics(self, caller: Caller) -> None:
        """Raises Forbidden unless the caller may read `/metrics`."""
        caller.require_global_admin()


def _bearer(header: str | None) -> str:
    scheme, _, token = (header or "").partition(" ")
    token = token.strip(" ")
    if scheme.lower() != "bearer" or not token or not token.isascii():
        raise Unauthorized
    return token
