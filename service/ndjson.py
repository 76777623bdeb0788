"""Cuts a stream of bytes into NDJSON lines: at LF alone, so that U+2028 and its kind stay inside their text. Pure."""

from collections.abc import AsyncIterator
from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line that is not blank, counted from 1 among all lines; `data` is empty where it was too long."""

    number: int
    data: bytes
    too_long: bool = False


async def split_lines(chunks: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[Line]:
    """Lines without their LF or CRLF; a leading BOM and blank lines are passed over, the last line may lack its LF.

    Never holds more than `max_bytes` of a line.
    """
    number = 1
    pending: list[bytes] = []
    size = 0

    def finish() -> Line | None:
        too_long = size > max_bytes
        data = b"" if too_long else b"".join(pending)
        if number == 1:
            data = data.removeprefix(_BOM)
        data = data.strip(b" \t\r")
        return Line(number, data, too_long) if data or too_long else None

    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            pending.append(part)
            size += len(part)
            line = finish()
            if line is not None:
                yield line
            number += 1
            pending, size = [], 0
        size += len(rest)
        if size <= max_bytes:
            pending.append(rest)
        else:
            pending = []
    line = finish()
    if line is not None:
        yield line
