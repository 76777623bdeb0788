"""Import and export as NDJSON streams."""

import asyncio
from collections.abc import AsyncIterator

from contracts.bulk import ImportLine, ImportSummary, LineReport
from service.http.body import NDJSON_TYPE, check_announced_size, discard_body, stream_body
from service.http.errors import HttpRequest
from service.http.operation import Call, operation
from service.http.spool import Spool
from service.http.streaming import StreamedResponse


@operation(
    "POST",
    "/v1/scopes/{scope_id}/import",
    role="contributor",
    tag="bulk",
    body=ImportLine,
    body_type=NDJSON_TYPE,
    answer=(LineReport, ImportSummary),
    answer_type=NDJSON_TYPE,
    errors=(404,),
)
async def import_scope(call: Call) -> StreamedResponse:
    """Import lines: a report for each as batches are committed, then totals. Artifact lines need the role reviewer."""
    settings = call.request.app.state.settings
    check_announced_size(call.request, settings.http_max_import_bytes)
    await call.operations.bulk.authorize_import(call.scope_id)
    timeout_s = settings.http_body_timeout_seconds
    body = stream_body(call.request, settings.http_max_import_bytes, timeout_s)
    reports = call.operations.bulk.import_lines(call.scope_id, body)
    return StreamedResponse(_spooled(reports, call.request, timeout_s), NDJSON_TYPE)


@operation(
    "GET",
    "/v1/scopes/{scope_id}/export",
    role="viewer",
    tag="bulk",
    answer=ImportLine,
    answer_type=NDJSON_TYPE,
    errors=(404,),
)
async def export_scope(call: Call) -> StreamedResponse:
    """Export every stored revision in order, one line each."""
    await call.operations.bulk.authorize_export(call.scope_id)
    return StreamedResponse(call.operations.bulk.export(call.scope_id), NDJSON_TYPE)


async def _spooled(reports: AsyncIterator[bytes], request: HttpRequest, timeout_s: float) -> AsyncIterator[bytes]:
    """The reports, made at their own pace: an import goes on while nobody reads what it says.

    Where the import ended before the body did, the rest is taken in too, because a client may read nothing until it has
    sent everything.
    """
    spool = Spool()

    async def write() -> None:
        try:
            async for report in reports:
                spool.write(report)
        finally:
            spool.end()
        await discard_body(request, timeout_s)

    async with asyncio.TaskGroup() as tasks:
        writer = tasks.create_task(write())
        async for piece in spool.read():
            yield piece
        writer.cancel()


ROUTES = (import_scope, export_scope)
