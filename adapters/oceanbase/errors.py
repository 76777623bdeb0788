"""Our error for one of the driver, by its code, never by its words."""

from typing import Final

import pymysql.err

from adapters.sql import conditions
from adapters.sql.attempts import RolledBack
from adapters.sql.engine import UniqueViolation
from contracts.errors import RuntimeNotReady

_DUPLICATE_KEY: Final = 1062
NO_SUCH_TABLE: Final = 1146

# A lock that another writer held too long, a deadlock, a snapshot that another writer passed, and the transaction's end
# at OceanBase's own hands (6001, 6002, 6003, 6005). The transaction is gone and a fresh one may succeed.
_LOST_RACES: Final = frozenset({1205, 1213, 6001, 6002, 6003, 6005, 6235})

# Cannot connect, server gone, connection lost, packets out of step; 0 is pymysql's for a connection that is closed.
_CONNECTION_LOST: Final = frozenset({0, 2003, 2006, 2013, 2014, 2055})

_MESSAGES: Final = {
    1040: conditions.NO_CONNECTION_LEFT,
    1044: conditions.NOT_ALLOWED,
    1045: conditions.LOGIN_REFUSED,
    1049: conditions.NO_DATABASE,
    1053: conditions.GOING,
    1142: conditions.NOT_ALLOWED,
    NO_SUCH_TABLE: conditions.NO_TABLE,
    1290: conditions.READ_ONLY,
    4012: conditions.TOO_SLOW,
    4030: conditions.MEMORY_FULL,
    4184: conditions.DISK_FULL,
}
# OceanBase's own conditions begin here: memory, disk, a leader that moves, a transaction that ended. A bug of ours has
# one of MySQL's codes instead.
_OWN_CODES: Final = 4000


def code_of(error: pymysql.err.MySQLError) -> int | None:
    """The server's or the driver's number, None where the error has none."""
    code = error.args[0] if error.args else None
    return code if isinstance(code, int) else None


def connection_lost(error: BaseException) -> bool:
    """Whether the connection on which `error` came up is of no more use."""
    if isinstance(error, pymysql.err.MySQLError):
        return code_of(error) in _CONNECTION_LOST
    return isinstance(error, OSError)


def translate(error: Exception, *, committing: bool) -> Exception:
    """`error` itself where it is ours or a bug. committing: whether COMMIT had been sent."""
    if connection_lost(error):
        return RuntimeNotReady(conditions.UNKNOWN_END) if committing else RolledBack(conditions.UNREACHABLE)
    if not isinstance(error, pymysql.err.MySQLError):
        return error
    code = code_of(error)
    if code == _DUPLICATE_KEY:
        return UniqueViolation()
    if code in _LOST_RACES:
        return RolledBack()
    if code in _MESSAGES or (code is not None and code >= _OWN_CODES):
        return RuntimeNotReady(conditions.UNKNOWN_END if committing else _MESSAGES.get(code))
    return error


def translate_connecting(error: Exception) -> RuntimeNotReady:
    """Why no connection could be opened."""
    code = code_of(error) if isinstance(error, pymysql.err.MySQLError) else None
    return RuntimeNotReady(_MESSAGES.get(code or 0, conditions.UNREACHABLE))
