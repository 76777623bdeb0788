"""Health, capabilities, metrics and the document of all this."""

import msgspec
from litestar import Response
from litestar.enums import MediaType

from contracts.meta import Capabilities, Live, Readiness
from service.http.operation import Call, operation
from service.telemetry import METRICS_TYPE


@operation("GET", "/health/live", role="none", tag="meta", answer=Live)
async def get_live(call: Call) -> Live:
    """Tell that the process answers."""
    return Live()


@operation("GET", "/health/ready", role="none", tag="meta", answer=Readiness)
async def get_ready(call: Call) -> Response[bytes]:
    """Tell whether requests can be served, and what each check found; 503 with the same body when not."""
    readiness = await call.request.app.state.runtime.readiness()
    return Response(
        msgspec.json.encode(readiness),
        status_code=503 if readiness.status == "not_ready" else 200,
        media_type=MediaType.JSON,
    )


@operation("GET", "/v1/capabilities", role="any", tag="meta", answer=Capabilities)
async def get_capabilities(call: Call) -> Capabilities:
    """Tell what this server can do, so that a client knows whether it understands `assembly`."""
    return await call.operations.meta.capabilities()


@operation("GET", "/metrics", role="global-admin", tag="meta", answer=str, answer_type=METRICS_TYPE)
async def get_metrics(call: Call) -> Response[bytes]:
    """Give metrics in the Prometheus text format."""
    call.request.app.state.runtime.authenticator.require_metrics(call.caller)
    return Response(call.request.app.state.metrics.exposition(), media_type=METRICS_TYPE)


@operation("GET", "/openapi.yaml", role="none", tag="meta", answer=dict, answer_type="application/yaml")
async def get_openapi_yaml(call: Call) -> Response[bytes]:
    """Give the OpenAPI document as YAML."""
    return Response(call.request.app.state.document.yaml(), media_type="application/yaml")


@operation("GET", "/openapi.json", role="none", tag="meta", answer=dict)
async def get_openapi_json(call: Call) -> Response[bytes]:
    """Give the OpenAPI document as JSON."""
    return Response(call.request.app.state.document.json(), media_type=MediaType.JSON)


@operation("GET", "/docs", role="none", tag="meta", answer=str, answer_type="text/html")
async def get_docs(call: Call) -> Response[bytes]:
    """Give a page that lists all operations."""
    return Response(call.request.app.state.document.html(), media_type="text/html")


ROUTES = (get_live, get_ready, get_capabilities, get_metrics, get_openapi_yaml, get_openapi_json, get_docs)
