"""uvicorn's HTTP/1.1 protocol, with what it lacks: deadlines and a bound for what arrives, and our error answers.

Without them a client that sends a head one byte a second, a head without end, or a body that nobody reads any more,
holds its connection for as long as it likes.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from contracts.errors import MalformedRequest
from service.http.edge import REQUEST_ID_HEADER, new_request_id
from service.http.errors import error_bytes

HEAD_MAX_BYTES = 64 * 1024
"""Request line and headers. nginx takes 32 KiB; a path of 256 escaped four-byte characters has 3 KiB."""

LINGER_S = 5.0
"""How long the rest of a body is still taken in after it was answered (413, 415, 401), so that the client gets to read
the answer instead of a reset connection."""


UNREAD_S = 60.0
"""How long a client may take nothing of an answer that fills its connection before it is dropped: an export that nobody
reads would otherwise hold its place for ever. While the client still sends, the time begins again with every piece:
many read the reports of an import only after they have sent all of it."""


class SidecarProtocol(HttpToolsProtocol):
    """One connection."""

    head_timeout_s = 10.0
    """Set once in each process by `service.app.from_environment`, before any connection."""

    _in_head = True
    _in_message = False
    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._set_deadline(self.head_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self._end_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        in_head = self._in_head
        self._parse(data)
        if self._unread is not None:
            self._begin_unread()
        # What came with the end of the request before is not counted; `on_headers_complete` measures heads exactly.
        if in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_MAX_BYTES and not self.transport.is_closing():
                self.send_400_response("head too long")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._in_message = True
        self._head_bytes = 0
        self._set_deadline(self.head_timeout_s)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._set_deadline(None)
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_MAX_BYTES:
            raise ValueError("head too long")  # the parser turns this into `send_400_response`
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("no proxy")
            return  # `_parse` begins this request again
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._in_message = False
        self._set_deadline(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_message and not self._in_head:
            self._set_deadline(LINGER_S)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._begin_unread()

    def resume_writing(self) -> None:
        self._end_unread()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """The answer to what is not HTTP, in our form; `msg` is uvicorn's and may quote the client, so it ends here."""
        body = error_bytes(MalformedRequest("The request is not valid HTTP, or its head is too long."))
        head = [
            b"HTTP/1.1 400 Bad Request",
            b"content-type: application/json",
            b"content-length: " + str(len(body)).encode(),
            b"connection: close",
            REQUEST_ID_HEADER + b": " + new_request_id().encode(),
        ]
        self.transport.write(b"\r\n".join([*head, b"", body]))
        self.transport.close()

    def _parse(self, data: bytes) -> None:
        """As uvicorn does it, except that an `Upgrade`, which we never do, is ignored (RFC 9110, section 7.8).

        The parser takes no body after such a head and would read it as the next request.
        """
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        try:
            while True:
                try:
                    self.parser.feed_data(rest)
                except httptools.HttpParserUpgrade as upgrade:
                    rest = rest[upgrade.args[0] :]
                    self._begin_again_without_upgrade()
                else:
                    return
        except httptools.HttpParserError:
            message = "Invalid HTTP request received."
            self.logger.warning(message)
            self.send_400_response(message)

    def _begin_again_without_upgrade(self) -> None:
        """Give the head that was just read, without its `Upgrade`, to a parser that goes on with the body."""
        version = self.parser.get_http_version().encode()
        head = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        head += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn sets it
        self.parser.feed_data(b"\r\n".join([*head, b"", b""]))

    def _begin_unread(self) -> None:
        self._end_unread()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def _end_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _set_deadline(self, seconds: float | None) -> None:
        """Close the connection after `seconds`, instead of whatever was set before."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.close)
