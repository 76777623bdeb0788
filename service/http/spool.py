"""A stream that its writer never waits for: what the reader has not taken lies in memory, then in a temporary file.

The answer to an import begins while the client still sends. A client that reads only after it has sent everything would
otherwise fill the connection with reports and both sides would wait for each other.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator

MEMORY_BYTES = 1 << 20
CHUNK_BYTES = 64 * 1024


class Spool:
    """Bytes from one writer task to one reader, in order."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115  # closed by `read`
        self._written = 0
        self._ended = False
        self._more = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Append; never waits."""
        self._file.seek(self._written)
        self._written += self._file.write(data)
        self._more.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self._more.set()

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Everything that is written, until the end."""
        position = 0
        with self._file:
            while True:
                self._more.clear()
                while position < self._written:
                    self._file.seek(position)
                    chunk = self._file.read(CHUNK_BYTES)
                    position += len(chunk)
                    yield chunk
                if self._ended:
                    return
                await self._more.wait()
