"""Which Host headers are served while access is disabled: those that name this machine.

A web page elsewhere can let its own name resolve to 127.0.0.1 and then call a server here as if it were its own (DNS
rebinding). Its requests still carry that name. With access enforced the page has no token, so any name will do.
"""

import ipaddress
from collections.abc import Iterable

from contracts.errors import MalformedRequest


def refuse_foreign_host(headers: Iterable[tuple[bytes, bytes]], own_host: str) -> None:
    """Raises MalformedRequest unless Host names a loopback address, localhost, or `own_host`, on any port."""
    named = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(named) != 1 or not _is_own(_without_port(named[0]).lower(), own_host.lower()):
        raise MalformedRequest("Without access control, Host must name this machine: localhost, or the address itself.")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_own(host: str, own_host: str) -> bool:
    if host in ("localhost", own_host):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
