"""Prepare."""

from contracts.prepare import ContextPrepareRequest, PreparedContext
from service.http.operation import Call, operation


@operation(
    "POST",
    "/v1/context/prepare",
    role="viewer",
    tag="context",
    body=ContextPrepareRequest,
    answer=PreparedContext,
    errors=(404, 503),
)
async def prepare_context(call: Call) -> PreparedContext:
    """Prepare one injection-ready text for a query, within a byte budget and with exact citations."""
    return await call.operations.context.prepare(call.body)


ROUTES = (prepare_context,)
