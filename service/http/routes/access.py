"""Access: who the caller is, and tokens."""

from contracts.access import (
    AccessMe,
    CreatedToken,
    CreateTokenRequest,
    RevokedToken,
    RevokeTokenRequest,
    TokenPage,
)
from service.http.operation import Call, PageQuery, operation


@operation("GET", "/v1/access/me", role="any", tag="access", answer=AccessMe)
async def get_access(call: Call) -> AccessMe:
    """Tell who the caller is and what it may do."""
    return await call.operations.access.me()


@operation(
    "POST",
    "/v1/access/tokens",
    role="global-admin",
    tag="access",
    status=201,
    body=CreateTokenRequest,
    answer=CreatedToken,
)
async def create_token(call: Call) -> CreatedToken:
    """Make a token; the answer is the only one that shows it."""
    return await call.operations.access.create_token(call.body)


@operation("GET", "/v1/access/tokens", role="global-admin", tag="access", query=PageQuery, answer=TokenPage)
async def list_tokens(call: Call) -> TokenPage:
    """List tokens, revoked ones included, oldest first."""
    return await call.operations.access.tokens(call.query.limit, call.query.cursor)


@operation(
    "POST",
    "/v1/access/tokens/revoke",
    role="global-admin",
    tag="access",
    body=RevokeTokenRequest,
    answer=RevokedToken,
    errors=(404,),
)
async def revoke_token(call: Call) -> RevokedToken:
    """Revoke a token: at once in this process, within a second in others."""
    return await call.operations.access.revoke_token(call.body)


ROUTES = (get_access, create_token, list_tokens, revoke_token)
