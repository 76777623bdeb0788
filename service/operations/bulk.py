"""Import and export as streams of NDJSON lines (CONTRACT section 3, Bulk)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from contracts.bulk import ImportLine, ImportSummary, ImportTotals, LineError, LineReport, MemoryEntryLine
from contracts.errors import CallerError, ContextError, Forbidden, InvalidRequest, PayloadTooLarge
from service.access import Action, Caller
from service.ndjson import Line, split_lines
from service.normalize import entry_text, stored_content
from service.validation import decode_json

if TYPE_CHECKING:
    from service.runtime import Runtime

BATCH_LINES = 500
BATCH_BYTES = 1 << 20
"""Lines and bytes of one committed batch: large enough to share the cost of a commit, small enough for memory and
for other writers, who wait for one batch at most."""

DECODED_AT_ONCE = 50
"""Lines decoded before other requests get their turn: a few milliseconds for bad lines, which wait for no storage."""

REFUSED_MAX = 100_000
"""An import ends after the batch that reaches this many refused lines. Two bytes are enough for a bad line and its
report has over a hundred, so without a bound a body of rubbish costs far more to answer than to send. A file that
somebody means to import is far below it."""

LINE_MAX_BYTES = 2 << 20
"""A longer line is refused. The longest that the contract allows, a Topic Memory whose detail is 125,000 escaped pairs
of surrogates, has 1.5 MB."""


_ALWAYS = nullcontext()


class BulkOperations:
    """Import and export of one Scope. The authorize methods come first, so that a refusal is a status, not a line."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._caller = caller

    async def authorize_import(self, scope_id: str) -> None:
        """Raises Forbidden unless the caller may import something, ScopeNotFound."""
        if not any(self._caller.may(action, scope_id) for action in (Action.CONTRIBUTE, Action.REVIEW)):
            raise Forbidden
        await self._runtime.storage.scopes.resolve(scope_id)

    async def authorize_export(self, scope_id: str) -> None:
        """Raises Forbidden, ScopeNotFound."""
        self._caller.require(Action.READ, scope_id)
        await self._runtime.storage.scopes.resolve(scope_id)

    async def import_lines(
        self, scope_id: str, chunks: AsyncIterator[bytes], turn: AbstractAsyncContextManager[object] = _ALWAYS
    ) -> AsyncIterator[bytes]:
        """Report lines as batches are committed, then the totals. A bad line does not stop the rest.

        A body that passes its size limit, a storage that fails, or `REFUSED_MAX` refused lines end the import with one
        refused line more. `turn` is entered for each batch and left while the next one arrives.
        """
        totals = {"stored": 0, "skipped": 0, "refused": 0}
        number = 0
        try:
            async for batch in _batches(split_lines(chunks, LINE_MAX_BYTES)):
                number = batch[-1].number
                async with turn:
                    reports = await self._import_batch(scope_id, batch)
                for report in reports:
                    totals[report.status] += 1
                    yield _encode(report)
                if totals["refused"] >= REFUSED_MAX:
                    raise _too_many_refused()
        except ContextError as error:
            totals["refused"] += 1
            yield _encode(
                LineReport(line=number + 1, status="refused", error=LineError(code=error.code, message=error.message))
            )
        yield _encode(ImportSummary(totals=ImportTotals(**totals)))

    async def export(self, scope_id: str) -> AsyncGenerator[bytes, None]:
        """Every stored revision in order, one line each."""
        async for lines in self._runtime.storage.bulk.export(scope_id):
            yield b"".join(_encode(line) for line in lines)

    async def _import_batch(self, scope_id: str, batch: list[Line]) -> list[LineReport]:
        """Reports in the order of the lines: refused ones from here, the others from the storage."""
        accepted: list[tuple[int, ImportLine]] = []
        reports: dict[int, LineReport] = {}
        for position, line in enumerate(batch, 1):
            if position % DECODED_AT_ONCE == 0:
                await asyncio.sleep(0)
            try:
                accepted.append((line.number, self._decode(scope_id, line)))
            except CallerError as error:
                reports[line.number] = LineReport(
                    line=line.number, status="refused", error=LineError(code=error.code, message=error.message)
                )
        if accepted:
            stored = await self._runtime.storage.bulk.import_batch(scope_id, accepted)
            await self._runtime.inference.written(scope_id)
            reports.update((report.line, report) for report in stored)
        return [reports[line.number] for line in batch]

    def _decode(self, scope_id: str, line: Line) -> ImportLine:
        """The line in its stored form, when the caller may import it. Raises CallerError."""
        if line.too_long:
            raise PayloadTooLarge(f"a line must be at most {LINE_MAX_BYTES} bytes")
        decoded: ImportLine = decode_json(line.data, ImportLine)
        if isinstance(decoded, MemoryEntryLine):
            self._caller.require(Action.CONTRIBUTE, scope_id)
            return msgspec.structs.replace(decoded, text=entry_text(decoded.text))
        self._caller.require(Action.REVIEW, scope_id)
        return msgspec.structs.replace(decoded, content=stored_content(decoded.content, "body", "content"))


def _too_many_refused() -> InvalidRequest:
    return InvalidRequest(
        [], f"The import ended here, because {REFUSED_MAX} lines were refused: correct them and import the file again."
    )


async def _batches(lines: AsyncIterator[Line]) -> AsyncIterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    async for line in lines:
        batch.append(line)
        size += len(line.data)
        if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_json = msgspec.json.Encoder()


def _encode(line: LineReport | ImportSummary | ImportLine) -> bytes:
    return _json.encode(line) + b"\n"
