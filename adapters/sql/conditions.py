"""What engines on a server say about conditions of that server: what is wrong and what a person can do about it."""

from typing import Final

UNREACHABLE: Final = "The database server cannot be reached; check that it runs and that the URL names it."
LOGIN_REFUSED: Final = "The database server refused the user or password of the database URL."
NO_DATABASE: Final = "The database named in the URL does not exist on its server; create it."
NOT_ALLOWED: Final = "The user of the database URL lacks a privilege on the database or its tables."
NO_TABLE: Final = "The database lacks a table; run: powercontext-sidecar migrate"
READ_ONLY: Final = "The database server is read-only, perhaps a standby; name the primary."
DISK_FULL: Final = "The disk of the database server is full."
MEMORY_FULL: Final = "The database server has no memory left."
NO_CONNECTION_LEFT: Final = "The database server has no connection left; raise its limit or run fewer sidecars."
GOING: Final = "The database server is starting or shutting down; try again."
LOCKED: Final = "Other writers hold what this request needs; try again."
BUSY: Final = "All connections to the database are busy; try again."
TOO_SLOW: Final = "The database took too long for a statement; try again."
UNKNOWN_END: Final = (
    "The connection broke during the commit, so the write may or may not be stored; read before writing again."
)
