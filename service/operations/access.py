"""Access: who the caller is, tokens and their revocation."""

from typing import TYPE_CHECKING

from contracts.access import (
    AccessMe,
    CreatedToken,
    CreateTokenRequest,
    Principal,
    RevokedToken,
    RevokeTokenRequest,
    TokenPage,
)
from service.access import Caller, new_token, token_digest

if TYPE_CHECKING:
    from service.runtime import Runtime


class AccessOperations:
    """Tokens are for admins on every Scope; `me` is for everybody."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._caller = caller

    async def me(self) -> AccessMe:
        caller = self._caller
        return AccessMe(principal=caller.principal, mode=caller.mode, grants=caller.grants)

    async def create_token(self, request: CreateTokenRequest) -> CreatedToken:
        """The only answer that ever shows the token."""
        self._caller.require_global_admin()
        token = new_token()
        principal = Principal(type=request.type, id=request.id, description=request.description)
        item = await self._runtime.storage.access.create_token(token_digest(token), principal, request.grants)
        self._runtime.authenticator.forget()
        return CreatedToken(token_id=item.token_id, token=token, principal=item.principal, grants=item.grants)

    async def tokens(self, limit: int, cursor: str | None) -> TokenPage:
        """Oldest first, revoked ones included."""
        self._caller.require_global_admin()
        items, following = await self._runtime.storage.access.tokens(limit=limit, cursor=cursor)
        return TokenPage(items=items, next_cursor=following)

    async def revoke_token(self, request: RevokeTokenRequest) -> RevokedToken:
        """Raises NotFound; revoking again answers with the first time."""
        self._caller.require_global_admin()
        item = await self._runtime.storage.access.revoke(request.token_id)
        self._runtime.authenticator.forget()
        return RevokedToken(token_id=item.token_id, revoked_at=item.revoked_at or "")
