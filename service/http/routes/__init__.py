"""All operations, by room."""

from litestar.handlers import HTTPRouteHandler

from service.http.routes import access, artifacts, bulk, candidates, context, experience, memory, meta, scopes

ROUTES: tuple[HTTPRouteHandler, ...] = (
    *meta.ROUTES,
    *context.ROUTES,
    *scopes.ROUTES,
    *memory.ROUTES,
    *experience.ROUTES,
    *candidates.ROUTES,
    *artifacts.ROUTES,
    *bulk.ROUTES,
    *access.ROUTES,
)
