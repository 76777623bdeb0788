"""The HTTP edge, thin over `service.runtime`: decode, authenticate, call, encode.

A request passes `protocol` (bytes to ASGI), `edge` (request id, path, concurrency, log, metrics), Litestar's router,
and `operation.answer`, which does every step of the contract's order in sight of each other. `errors` is the one place
that maps errors to answers, `openapi` describes what `routes` declare.
"""
