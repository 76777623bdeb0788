"""The OpenAPI 3.1 document, made from what the routes declare and from the contract's Structs.

Litestar's own document loses what this contract lives from: unknown fields refused, bounds as integers, discriminators.
"""

import html
import json
from functools import cached_property
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from contracts.artifacts import ExperienceContent, ProfileContent, TopicMemoryContent
from contracts.errors import ErrorEnvelope
from service.http.body import JSON_TYPE
from service.http.links import LINKS
from service.http.operation import PATH_KINDS, Operation
from service.http.routes import ROUTES

VERSION = "1.0.0"
"""Of the wire contract."""

REQUEST_ID = "X-PowerContext-Request-ID"
_REF = "#/components/schemas/{name}"
_INTRODUCTION = """\
Prepared context text assembly for agents: what they learned is kept per Scope, recalled for a query over the Scope \
and its direct Context References, and rendered as one injection-ready text under a byte budget, with exact citations.

Bodies are strict: unknown fields, repeated keys and `null` where it is not named are refused, and integers must be \
written without a fraction or an exponent. Every answer carries `X-PowerContext-Request-ID`.
"""
_STATUS_TEXT = {
    200: "Success.",
    201: "Created, or created before by the same request.",
    304: "The revision that If-None-Match names is the head. No body.",
    400: "The request is not well-formed, or a cursor is damaged or of another listing.",
    401: "No valid token.",
    403: "No permission; nothing is told of whether the Scope exists.",
    404: "Not found.",
    405: "Another method; see Allow.",
    409: "The stored state is not what the request expects.",
    410: "The content was erased.",
    412: "If-Match does not name the head.",
    413: "The body is too large.",
    415: "Another media type or content encoding.",
    422: "The request breaks the contract; `details.errors` say where.",
    428: "If-Match is missing.",
    500: "The service failed.",
    503: "The storage cannot serve the request now; try again.",
}
_HEADERS: dict[str, dict[str, Any]] = {
    REQUEST_ID: {"description": "Identifies this request in the log.", "schema": {"type": "string"}},
    "ETag": {"description": "The revision.", "schema": {"type": "string", "pattern": '^"revision:[1-9][0-9]*"$'}},
    "Location": {"description": "Where the Artifact is read.", "schema": {"type": "string"}},
    "WWW-Authenticate": {"description": "How to authenticate.", "schema": {"const": "Bearer"}},
    "Retry-After": {"description": "Seconds until another try is worth it.", "schema": {"type": "string"}},
    "Allow": {"description": "The methods that this path takes.", "schema": {"type": "string"}},
}
# The family in the path, or of the Candidate, decides which of these fits, which no Struct of the body can say.
_BY_FAMILY = {
    ("ReplaceArtifactRequest", "content"): ("ExperienceContent", "ProfileContent", "TopicMemoryContent"),
    ("ReviseCandidateRequest", "proposal"): ("ExperienceContent", "ProfileContent"),
}


class Document:
    """The document in its three forms. It is made when it is first read: most servers are never asked for it."""

    @cached_property
    def content(self) -> dict[str, Any]:
        return _content()

    @cached_property
    def _yaml(self) -> bytes:
        return _to_yaml(self.content)

    def yaml(self) -> bytes:
        return self._yaml

    def json(self) -> bytes:
        return json.dumps(self.content, ensure_ascii=False).encode()

    def html(self) -> bytes:
        return _page(self.content)


def document() -> Document:
    """The document of all routes."""
    return Document()


def _content() -> dict[str, Any]:
    operations = declared_operations(ROUTES)
    kinds = [ErrorEnvelope, ExperienceContent, ProfileContent, TopicMemoryContent]
    kinds += [kind for each in operations for kind in (each.body, *_answers(each)) if kind not in (None, str, dict)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    schema_of = dict(zip(map(str, kinds), schemas, strict=True))
    for (struct, field), allowed in _BY_FAMILY.items():
        components[struct]["properties"][field] = {"anyOf": [{"$ref": _REF.format(name=name)} for name in allowed]}
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _described(each, schema_of)
    content = {
        "openapi": "3.1.0",
        "info": {"title": "PowerContext sidecar", "version": VERSION, "description": _INTRODUCTION},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": {_error_name(status): _error(status) for status in _STATUS_TEXT if status >= 400},
            "headers": _HEADERS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))  # defaults of fields are tuples
    return plain


def _to_yaml(content: dict[str, Any]) -> bytes:
    """Everything is written out: readers of the document should not have to follow YAML anchors."""
    import yaml  # noqa: PLC0415  # 1 MB and a twentieth of the start, for this document alone

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # which of the two is built in
        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text.encode()


def declared_operations(routes: tuple[HTTPRouteHandler, ...]) -> tuple[Operation, ...]:
    """What the routes declare, in their order."""
    return tuple(route.opt["operation"] for route in routes)


def _described(each: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": each.operation_id,
        "summary": each.summary,
        "tags": [each.tag],
        "x-required-role": each.role,
        "parameters": [*_path_parameters(each), *_query_parameters(each), *_header_parameters(each)],
    }
    if each.role == "none":
        described["security"] = []
    if each.body is not None:
        content = {each.body_type: {"schema": schema_of[str(each.body)]}}
        described["requestBody"] = {"required": True, "content": content}
    described["responses"] = _responses(each, schema_of)
    return described


def _path_parameters(each: Operation) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in each.path.split("/") if part.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(PATH_KINDS[name])}
        for name in names
    ]


def _query_parameters(each: Operation) -> list[dict[str, Any]]:
    parameters = []
    for field in msgspec.structs.fields(each.query):
        schema = msgspec.json.schema(field.type)
        # A query parameter has no null: it is there or not.
        schema = next((part for part in schema.get("anyOf", ()) if part != {"type": "null"}), schema)
        if field.default is not None:
            schema["default"] = field.default
        parameters.append({"name": field.name, "in": "query", "required": False, "schema": schema})
    return parameters


def _header_parameters(each: Operation) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in each.takes]


def _responses(each: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    answers = [schema_of.get(str(answer), _plain(answer)) for answer in _answers(each)]
    success = {
        "description": _STATUS_TEXT[each.status],
        "headers": _headers(*each.sends, REQUEST_ID),
        "content": {each.answer_type: {"schema": answers[0] if len(answers) == 1 else {"anyOf": answers}}},
    }
    if each.operation_id in LINKS:
        success["links"] = LINKS[each.operation_id]
    responses = {each.status: success}
    if each.operation_id == "get_ready":
        responses[503] = {**success, "description": "Not ready."}
    if 304 in each.errors:
        responses[304] = {"description": _STATUS_TEXT[304], "headers": _headers("ETag", REQUEST_ID)}
    for status in {*each.errors, *_common_errors(each)} - responses.keys():
        responses[status] = {"$ref": f"#/components/responses/{_error_name(status)}"}
    return {str(status): responses[status] for status in sorted(responses)}


def _answers(each: Operation) -> tuple[Any, ...]:
    """The types of a successful answer, or of its lines: one, or each of several."""
    return each.answer if isinstance(each.answer, tuple) else (each.answer,)


def _plain(kind: Any) -> dict[str, Any]:
    return {"type": "object"} if kind is dict else {"type": "string"}


def _common_errors(each: Operation) -> set[int]:
    """What every operation of this kind may answer."""
    common = {405, 422, 500, 503}
    if each.role != "none":
        common |= {401}
    if each.role not in ("none", "any"):
        common |= {403}
    if each.body is not None:
        common |= {400, 413, 415}
    if "cursor" in each.query.__struct_fields__:
        common |= {400}
    return common


def _error(status: int) -> dict[str, Any]:
    own = {401: ("WWW-Authenticate",), 405: ("Allow",), 503: ("Retry-After",)}.get(status, ())
    return {
        "description": _STATUS_TEXT[status],
        "headers": _headers(*own, REQUEST_ID),
        "content": {JSON_TYPE: {"schema": {"$ref": _REF.format(name="ErrorEnvelope")}}},
    }


def _error_name(status: int) -> str:
    return f"Error{status}"


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _page(content: dict[str, Any]) -> bytes:
    """All operations on one page that loads nothing from anywhere."""
    rows = [
        f"<tr><td><code>{method.upper()}</code></td><td><code>{html.escape(path)}</code></td>"
        f"<td>{html.escape(each['summary'])}</td><td>{html.escape(each['x-required-role'])}</td></tr>"
        for path, methods in content["paths"].items()
        for method, each in methods.items()
    ]
    style = (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
        "table{border-collapse:collapse;width:100%}"
        "td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ccc}"
    )
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{content["info"]["title"]}</title>'
        f"<style>{style}</style></head><body><h1>{content['info']['title']}</h1>"
        '<p>The whole contract: <a href="/openapi.yaml">openapi.yaml</a>,'
        ' <a href="/openapi.json">openapi.json</a>.</p>'
        f"<table><tr><th>Method</th><th>Path</th><th>What it does</th><th>Role</th></tr>{''.join(rows)}</table>"
        "</body></html>"
    )
    return page.encode()
