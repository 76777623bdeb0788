"""Import and export as NDJSON streams."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from contracts.bulk import ImportLine, ImportSummary, LineReport
from service.http.body import NDJSON_TYPE, check_announced_size, discard_body, stream_body
from service.http.errors import HttpRequest
from service.http.operation import Call, operation
from service.http.places import Place
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
    call.place.give_back()  # until the first batch is there
    reports = call.operations.bulk.import_lines(call.scope_id, body, call.place)
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
    pages = call.operations.bulk.export(call.scope_id)
    return StreamedResponse(_while_read(pages, call.request, call.place), NDJSON_TYPE)


async def _while_read(
    pages: AsyncGenerator[bytes, None], request: HttpRequest, place: Place
) -> AsyncGenerator[bytes, None]:
    """The pages, until the client left; a place is held while a page is made, not while it is sent."""
    gone = asyncio.create_task(_left(request))
    try:
        async with aclosing(pages):
            while not gone.done():
                async with place:
                    page = await anext(pages, None)
                if page is None:
                    return
                yield page
    finally:
        gone.cancel()


async def _left(request: HttpRequest) -> None:
    """Return when the client closed its connection; for a request whose body nobody else reads."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _spooled(
    reports: AsyncIterator[bytes], request: HttpRequest, timeout_s: float
) -> AsyncGenerator[bytes, None]:
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

    writer = asyncio.create_task(write())
    try:
        async with aclosing(spool.read()) as pieces:
            async for piece in pieces:
                yield piece
        if writer.done():
            writer.result()  # where it failed, the answer has no end
    finally:
        writer.cancel()
        await asyncio.wait([writer])


ROUTES = (import_scope, export_scope)
