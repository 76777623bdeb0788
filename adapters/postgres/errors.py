"""Our error for one of the driver, by its class or SQLSTATE, never by its words."""

from typing import Final

import asyncpg

from adapters.sql import conditions
from adapters.sql.attempts import RolledBack
from adapters.sql.engine import UniqueViolation
from contracts.errors import RuntimeNotReady

DRIVER_ERRORS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What asyncpg raises; TimeoutError is an OSError."""

_SERIALIZATION_FAILURE: Final = "40001"
_DEADLOCK: Final = "40P01"
_LOCK_NOT_AVAILABLE: Final = "55P03"
_LOST_RACES: Final = frozenset({_SERIALIZATION_FAILURE, _DEADLOCK, _LOCK_NOT_AVAILABLE})

# An administrator or a crash ended this connection; whether the server is there shows when the next one is opened.
_CONNECTION_ENDED: Final = frozenset({"57P01", "57P02", "08003", "08006"})

_MESSAGES: Final = {
    "28P01": conditions.LOGIN_REFUSED,
    "28000": conditions.LOGIN_REFUSED,
    "3D000": conditions.NO_DATABASE,
    "42501": conditions.NOT_ALLOWED,
    "42P01": conditions.NO_TABLE,
    "25006": conditions.READ_ONLY,
    "53100": conditions.DISK_FULL,
    "53200": conditions.MEMORY_FULL,
    "53300": conditions.NO_CONNECTION_LEFT,
    "57014": conditions.TOO_SLOW,
    "57P03": conditions.GOING,
}
# Whole classes of conditions that are the server's and pass: connection, resources, operator, system.
_PASSING_CLASSES: Final = ("08", "53", "57", "58")


def translate(error: Exception, *, connected: bool, committing: bool) -> Exception:
    """`error` itself where it is a bug.

    connected: whether the connection is still open. committing: whether COMMIT had been sent.
    """
    if isinstance(error, asyncpg.UniqueViolationError):
        return UniqueViolation()
    state = error.sqlstate if isinstance(error, asyncpg.PostgresError) else None
    if state in _LOST_RACES or isinstance(error, asyncpg.InvalidCachedStatementError):
        return RolledBack()
    if isinstance(error, TimeoutError):  # an OSError too, so it comes first
        return RuntimeNotReady(conditions.UNKNOWN_END if committing else conditions.TOO_SLOW)
    # An InternalClientError is asyncpg's state after a connection that broke in the middle of a message.
    lost = state in _CONNECTION_ENDED or isinstance(error, OSError | asyncpg.InternalClientError)
    if lost or (not connected and isinstance(error, asyncpg.InterfaceError)):
        return RuntimeNotReady(conditions.UNKNOWN_END) if committing else RolledBack(conditions.UNREACHABLE)
    if state is not None and (state in _MESSAGES or state[:2] in _PASSING_CLASSES):
        return RuntimeNotReady(_MESSAGES.get(state))
    return error


def translate_connecting(error: Exception) -> RuntimeNotReady:
    """Why no connection could be opened."""
    state = error.sqlstate if isinstance(error, asyncpg.PostgresError) else None
    return RuntimeNotReady(_MESSAGES.get(state or "", conditions.UNREACHABLE))
