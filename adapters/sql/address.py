"""Addresses of database servers, read from URLs. What a URL holds is never quoted: it may be a password."""

from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, unquote

from msgspec import Struct


class DatabaseUrlError(ValueError):
    """A database URL that names no storage; the message ends the sentence "The URL …" and never quotes the URL."""


class ServerAddress(Struct, frozen=True, kw_only=True):
    """Where a database is and as whom to log in; `password` is empty where the URL has none."""

    host: str
    port: int
    user: str
    password: str
    database: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(host={self.host!r}, port={self.port}, database={self.database!r})"


def parse_address(database_url: str, *, default_port: int, options: Collection[str]) -> ServerAddress:
    """Read `scheme://user:password@host:port/database?option=value`, every part percent-encoded where it must be.

    A user may hold `@` and `#` unencoded, as in `user@tenant#cluster`: the host begins after the last `@`. The password
    begins after the first `:`. Raises DatabaseUrlError for anything that is missing, odd or not among `options`.
    """
    _, _, rest = database_url.partition("://")
    location, _, query = rest.partition("?")
    login, at, place = location.rpartition("@")
    user, _, password = login.partition(":")
    host_and_port, _, database = place.partition("/")
    if not at or not user:
        raise DatabaseUrlError("must name a user, as in scheme://user:password@host:port/database")
    if not database or "/" in database:
        raise DatabaseUrlError("must name one database after the host, as in scheme://user:password@host:port/database")
    host, port = _host_and_port(host_and_port, default_port)
    found = _options(query, options)
    host = found.pop("host", host)  # a folder with a socket, which no place before a port can name
    if not host:
        raise DatabaseUrlError("must name a host, as in scheme://user:password@host:port/database")
    return ServerAddress(
        host=host,
        port=port,
        user=_decoded(user),
        password=_decoded(password),
        database=_decoded(database),
        options=found,
    )


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    if text.startswith("["):  # an IPv6 address
        host, bracket, after = text[1:].partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise DatabaseUrlError("must close the bracket around an IPv6 address, as in [::1]:5432")
        port = after[1:]
    else:
        host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise DatabaseUrlError("must have a port from 1 to 65535 after the host")
    return _decoded(host), int(port) if port else default_port


def _options(query: str, known: Collection[str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict") if query else []
    except ValueError:
        raise DatabaseUrlError("must have parameters of the form ?name=value&name=value") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            # A name is quoted only when it looks like one: an unencoded `?` in a password ends up here too.
            shown = f" {name}" if name.isidentifier() and len(name) <= 32 and "@" not in query else ""
            allowed = ", ".join(sorted(known))
            raise DatabaseUrlError(f"has a parameter{shown} that this database does not take; it takes: {allowed}")
        if name in found:
            raise DatabaseUrlError(f"has the parameter {name} twice")
        found[name] = value
    return found


def _decoded(part: str) -> str:
    try:
        text = unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise DatabaseUrlError("must be percent-encoded UTF-8") from None
    if "\0" in text:
        raise DatabaseUrlError("must not hold NUL")
    return text
