"""Principals, roles and the token cache."""

from collections.abc import Callable

import pytest

from contracts.access import Grant, Principal, Role
from contracts.errors import Forbidden, Unauthorized
from service.access import Action, Authenticator, Caller, new_token, token_digest

ROLE_TABLE: dict[Role, set[Action]] = {
    "viewer": {Action.READ},
    "contributor": {Action.READ, Action.CONTRIBUTE},
    "reviewer": {Action.READ, Action.REVIEW},
    "admin": {Action.READ, Action.CONTRIBUTE, Action.REVIEW, Action.ADMINISTER},
}


def _nothing() -> None:
    pass


class TokenStore:
    """The one method of the port that authentication uses, with a look counted and a pause where one is wanted."""

    def __init__(self) -> None:
        self.known: dict[bytes, tuple[Principal, tuple[Grant, ...]]] = {}
        self.looks = 0
        self.during_look: Callable[[], None] = _nothing

    async def authenticate(self, digest: bytes) -> tuple[Principal, tuple[Grant, ...]] | None:
        self.looks += 1
        found = self.known.get(digest)
        self.during_look()
        return found


def caller(*grants: tuple[str, Role]) -> Caller:
    return Caller(Principal(type="user", id="u"), tuple(Grant(scope_id=scope, role=role) for scope, role in grants))


@pytest.mark.parametrize("role", list(ROLE_TABLE))
@pytest.mark.parametrize("action", list(Action))
def test_a_role_allows_what_the_table_says_on_its_scope_alone(role: Role, action: Action) -> None:
    allowed = action in ROLE_TABLE[role]
    assert caller(("a", role)).may(action, "a") is allowed
    assert caller(("a", role)).may(action, "b") is False
    assert caller(("*", role)).may(action, "b") is allowed


def test_roles_on_one_scope_add_up() -> None:
    both = caller(("a", "contributor"), ("a", "reviewer"))
    assert both.may(Action.CONTRIBUTE, "a")
    assert both.may(Action.REVIEW, "a")
    assert not both.may(Action.ADMINISTER, "a")


def test_only_admin_on_every_scope_is_a_global_admin() -> None:
    caller(("*", "admin")).require_global_admin()
    for other in (caller(), caller(("a", "admin")), caller(("*", "reviewer"))):
        with pytest.raises(Forbidden):
            other.require_global_admin()


def test_requiring_several_scopes_needs_all_of_them() -> None:
    with pytest.raises(Forbidden):
        caller(("a", "viewer"), ("b", "viewer")).require(Action.READ, "a", "b", "c")


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic abc", "token", "Bearer unknown", "Bearer t\u00f6ken", "Bearer a b"]
)
async def test_whatever_holds_no_valid_token_is_unauthorized(header: str | None) -> None:
    store = TokenStore()
    with pytest.raises(Unauthorized) as refused:
        await Authenticator(store, "enforced", "static-secret").authenticate(header)  # type: ignore[arg-type]
    assert refused.value.headers == {"WWW-Authenticate": "Bearer"}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_scheme_is_case_insensitive_and_the_static_token_may_everything(scheme: str) -> None:
    found = await Authenticator(TokenStore(), "enforced", "s3cret").authenticate(f"{scheme} s3cret")  # type: ignore[arg-type]
    found.require_global_admin()
    found.require(*[Action.REVIEW, "any"])  # type: ignore[arg-type]
    assert found.mode == "enforced"


async def test_a_token_is_looked_up_once_and_again_after_something_changed_here() -> None:
    store, token = TokenStore(), new_token()
    store.known[token_digest(token)] = (Principal(type="user", id="u"), ())
    authenticator = Authenticator(store, "enforced", None)  # type: ignore[arg-type]
    await authenticator.authenticate(f"Bearer {token}")
    await authenticator.authenticate(f"Bearer {token}")
    assert store.looks == 1
    store.known.clear()
    authenticator.forget()
    with pytest.raises(Unauthorized):
        await authenticator.authenticate(f"Bearer {token}")


async def test_a_revocation_during_a_look_is_not_hidden_by_the_cache() -> None:
    store, token = TokenStore(), new_token()
    store.known[token_digest(token)] = (Principal(type="user", id="u"), ())
    authenticator = Authenticator(store, "enforced", None)  # type: ignore[arg-type]

    def revoked_meanwhile() -> None:
        store.known.clear()
        authenticator.forget()

    store.during_look = revoked_meanwhile
    await authenticator.authenticate(f"Bearer {token}")  # this one was under way before the revocation
    with pytest.raises(Unauthorized):
        await authenticator.authenticate(f"Bearer {token}")
