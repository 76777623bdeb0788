"""Exit code 0 when the sidecar of this container answers 200 on /health/ready, else 1 with its answer on stdout.

The health check of the image. It runs every few seconds, so it imports next to nothing.
"""

import os
import socket
import sys

PREFIX = "POWERCONTEXT_SERVER_HTTP_"
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # compared, not bound


def connect(timeout_s: float) -> socket.socket:
    """A connection to the address that the settings tell the server to listen on. Raises OSError."""
    path = os.environ.get(PREFIX + "UDS")
    if path:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout_s)
        connection.connect(path)
        return connection
    host = os.environ.get(PREFIX + "HOST", "127.0.0.1").strip("[]")
    port = int(os.environ.get(PREFIX + "PORT", "8000"))
    return socket.create_connection((ANYWHERE.get(host, host), port), timeout_s)


def main() -> int:
    """The exit code; what the server said goes to `docker inspect`."""
    try:
        with connect(timeout_s=4) as connection:
            connection.sendall(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
    except OSError as error:
        sys.stdout.write(f"not listening: {error}\n")
        return 1
    head, _, body = answer.partition(b"\r\n\r\n")
    sys.stdout.write(body.decode(errors="replace") + "\n")
    return 0 if head.split(b" ")[1:2] == [b"200"] else 1


if __name__ == "__main__":
    sys.exit(main())
