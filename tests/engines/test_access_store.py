"""Tokens and grants on every engine."""

import pytest

from adapters.sql.storage import SqlStorage
from contracts.access import Grant, Principal
from contracts.errors import NotFound


def digest(number: int) -> bytes:
    """A digest with every kind of byte in it: NUL, quotes, what is not UTF-8."""
    return bytes([number, 0, 0x27, 0x22, 0x5C, 0xFF, 0x80, 0xED]) * 4


async def test_a_token_authenticates_by_its_digest_until_it_is_revoked(storage: SqlStorage) -> None:
    principal = Principal(type="user", id="erika 🧑‍💻", description="d 'quoted'")
    grant = Grant(scope_id="s 📅", role="contributor")
    created = await storage.access.create_token(digest(1), principal, (grant,))
    assert (created.principal, created.grants, created.revoked_at) == (principal, (grant,), None)
    assert await storage.access.authenticate(digest(1)) == (principal, (grant,))
    assert await storage.access.authenticate(digest(2)) is None
    revoked = await storage.access.revoke(created.token_id)
    assert revoked.revoked_at is not None
    assert await storage.access.authenticate(digest(1)) is None
    assert (await storage.access.revoke(created.token_id)).revoked_at == revoked.revoked_at
    with pytest.raises(NotFound):
        await storage.access.revoke("tok_unknown")


async def test_tokens_are_paged_in_the_order_in_which_they_were_made(storage: SqlStorage) -> None:
    made = [
        (
            await storage.access.create_token(digest(10 + number), Principal(type="service", id=f"p{number}"), ())
        ).token_id
        for number in range(5)
    ]
    listed: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = await storage.access.tokens(limit=2, cursor=cursor)
        listed += [token.token_id for token in page]
        if cursor is None:
            break
    assert [token_id for token_id in listed if token_id in made] == made
    assert len(listed) == len(set(listed))


async def test_grants_are_added_once_and_removed_once(storage: SqlStorage) -> None:
    viewer, admin = Grant(scope_id="*", role="viewer"), Grant(scope_id="*", role="admin")
    for grant in (viewer, admin, viewer):
        await storage.access.add_grant("granted", grant)
    assert set(await storage.access.grants("granted")) == {("granted", viewer), ("granted", admin)}
    assert ("granted", viewer) in await storage.access.grants(None)
    assert await storage.access.remove_grant("granted", viewer) is True
    assert await storage.access.remove_grant("granted", viewer) is False
    assert await storage.access.grants("granted") == (("granted", admin),)
