"""Where the service is and how it is reached: checked once, shared by both clients."""

import re
from dataclasses import dataclass, field

import httpx

from powercontext_client.call import checked_timeout

DEFAULT_BASE_URL = "http://127.0.0.1:8000"
DEFAULT_TIMEOUT_S = 10.0

_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class Connection:
    """Address, credential and patience of a client. The token shows in no repr.

    base_url: http or https, without user and password. With `unix_socket` only its path prefix counts.
    timeout_s: seconds for a whole call, the connection included, above 0 and at most 86400.
    Raises ValueError for an illegal value, without quoting it.
    """

    base_url: str = DEFAULT_BASE_URL
    unix_socket: str | None = None
    token: str | None = field(default=None, repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.base_url)
        except (httpx.InvalidURL, UnicodeError):
            raise ValueError("base_url is no address") from None  # the cause would quote a password in it
        if url.scheme not in {"http", "https"} or not url.host or not 0 < (url.port or 1) < 65536:
            raise ValueError("base_url must be an http or https address")
        if url.userinfo or url.query or url.fragment:
            raise ValueError("base_url must hold neither user, query nor fragment")
        # Anything else would be quoted in the error of the HTTP library.
        if self.token is not None and not _TOKEN.fullmatch(self.token):
            raise ValueError("token must be printable ASCII without blanks")
        checked_timeout(self.timeout_s)

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers


def request_headers(body: bytes | None) -> dict[str, str]:
    """The headers that depend on whether there is a body."""
    return {} if body is None else {"Content-Type": "application/json"}
