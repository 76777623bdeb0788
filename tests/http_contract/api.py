"""The operations over HTTP. Every success is held against the shape that the contract gives it."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote
from uuid import uuid4

import httpx

from tests.http_contract.shapes import ANSWERS, ARTIFACT, ARTIFACT_PAGE, IMPORT_REPORT, IMPORT_TOTALS, conform

Json: TypeAlias = dict[str, Any]
REQUEST_ID = "X-PowerContext-Request-ID"
NDJSON = "application/x-ndjson"


class Api:
    """One caller. `call` and its kin expect success; `send` and `post` take any answer."""

    def __init__(self, http: httpx.Client, token: str | None = None) -> None:
        self.http = http
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One request; `body` is written as JSON."""
        named = dict(headers or {})
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode()
        if content is not None:
            named.setdefault("Content-Type", "application/json")
        return self.http.request(method, path, content=content, headers=self._authorization | named)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.send("POST", path, body)

    def call(self, path: str, *, success: int = 200, **body: Any) -> Json:
        """The body of a success of an operation that is called by POST."""
        answer: Json = succeeded(self.post(path, **body), success)
        conform(answer, ANSWERS[path], path)
        return answer

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Header names are given with `_` for `-`."""
        return self.send("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def new_scope(self, scope_id: str | None = None, **fields: Any) -> str:
        """The id of a new Scope."""
        body = {"title": "t", "summary": "s", "idempotency_key": uuid4().hex, **fields}
        if scope_id is not None:
            body["scope_id"] = scope_id
        return str(self.call("/v1/scopes", success=201, **body)["scope_id"])

    def remember(self, scope: str, text: str, kind: str = "fact", **fields: Any) -> Json:
        return self.call("/v1/memory/remember", scope_id=scope, kind=kind, text=text, **fields)

    def search(self, scope: str, query: str, **fields: Any) -> list[Json]:
        hits: list[Json] = self.call("/v1/memory/search", scope_id=scope, query=query, **fields)["hits"]
        return hits

    def entry(self, scope: str, citation: Json) -> Json:
        return self.call("/v1/memory/entries/get", scope_id=scope, citation=citation)

    def entries(self, scope: str, **fields: Any) -> list[Json]:
        found: list[Json] = self.call("/v1/memory/entries/list", scope_id=scope, **fields)["entries"]
        return found

    def changes(self, scope: str, since: int | None = 0) -> list[Json]:
        found: list[Json] = self.call("/v1/memory/changes", scope_id=scope, since_revision=since)["revisions"]
        return found

    def propose(self, scope: str, proposal: Json, **fields: Any) -> Json:
        return self.call("/v1/experience/propose", success=201, scope_id=scope, proposal=proposal, **fields)

    def propose_profile(self, scope: str, content: str, **fields: Any) -> Json:
        return self.call("/v1/profile/propose", success=201, scope_id=scope, content=content, **fields)

    def approve(self, scope: str, candidate: Json) -> Json:
        """The Ref that the approval made."""
        approved = self.call(
            "/v1/artifact-candidates/approve",
            scope_id=scope,
            candidate_id=candidate["candidate_id"],
            expected_version=candidate["version"],
        )
        result: Json = approved["result_artifact"]
        return result

    def prepare(self, scope: str, query: str, **fields: Any) -> Json:
        answer = self.call("/v1/context/prepare", scope_id=scope, query=query, **fields)
        content = answer["content"]
        assert answer["content_bytes"] == (0 if content is None else len(content.encode()))
        return answer

    def prepared(self, scope: str, query: str, *families: str, **fields: Any) -> str:
        """The prepared text of a selection of `families`, "" where it is empty."""
        share = {1: 8, 2: 4, 3: 2, 4: 2}[len(families)]
        sections = [{"family": each, "limit": min(share, 2) if each == "experience" else share} for each in families]
        return self.prepare(scope, query, assembly={"sections": sections}, **fields)["content"] or ""

    def create_artifact(self, scope: str, family: str, content: Json) -> Json:
        answer = self.send("POST", artifacts_path(scope), {"family": family, "content": content})
        return artifact_of(answer, 201)

    def replace_artifact(self, scope: str, ref: Json, content: Json) -> Json:
        """The revision after `ref`."""
        answer = self.send(
            "PUT",
            artifact_path(scope, ref),
            {"content": content},
            headers={"If-Match": f'"revision:{ref["revision"]}"'},
        )
        return artifact_of(answer, 200)

    def read(self, scope: str, ref: Json) -> Json:
        """The exact revision that `ref` names."""
        return artifact_of(self.get(f"{artifact_path(scope, ref)}/revisions/{ref['revision']}"), 200)

    def list_artifacts(self, path: str) -> Json:
        answer: Json = succeeded(self.get(path), 200)
        conform(answer, ARTIFACT_PAGE, path)
        return answer

    def erase_artifact(self, scope: str, ref: Json, **fields: Any) -> int:
        answer = succeeded(self.send("POST", artifact_path(scope, ref) + "/erase", fields), 200)
        expected = {"scope_id": scope, "family": ref["family"], "artifact_id": ref["artifact_id"]}
        assert answer == {**expected, "erased_revisions": answer["erased_revisions"]}
        return int(answer["erased_revisions"])

    def import_lines(self, scope: str, *lines: Json) -> list[Json]:
        """The report of each line, held against the totals behind them."""
        return self.import_bytes(scope, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def import_bytes(self, scope: str, data: bytes | Iterable[bytes]) -> list[Json]:
        answer = self.http.post(
            f"{scope_path(scope)}/import", content=data, headers={**self._authorization, "Content-Type": NDJSON}
        )
        assert (answer.status_code, answer.headers["content-type"]) == (200, NDJSON), answer.text
        *reports, totals = [json.loads(line) for line in answer.content.splitlines()]
        conform(totals, IMPORT_TOTALS, "totals")
        for report in reports:
            conform(report, IMPORT_REPORT, "report")
        for status, count in totals["totals"].items():
            assert count == sum(report["status"] == status for report in reports)
        return reports

    def export(self, scope: str) -> list[Json]:
        answer = self.get(f"{scope_path(scope)}/export")
        assert (answer.status_code, answer.headers["content-type"]) == (200, NDJSON), answer.text
        return [json.loads(line) for line in answer.content.split(b"\n") if line]


def succeeded(answer: httpx.Response, status: int) -> Any:
    """The JSON of a success with this status."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    assert re.fullmatch("[0-9a-f]{16}", answer.headers[REQUEST_ID])
    return json.loads(answer.content)


def failed(answer: httpx.Response, status: int, code: str) -> Json:
    """The error in an answer that is this error, in exactly the form of the contract."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    assert re.fullmatch("[0-9a-f]{16}", answer.headers[REQUEST_ID])
    body = json.loads(answer.content)
    assert list(body) == ["error"]
    error: Json = body["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == code
    assert isinstance(error["message"], str)
    assert error["message"]
    assert error["details"] is None or isinstance(error["details"], dict)
    return error


def invalid(answer: httpx.Response, *loc: str | int) -> None:
    """The answer is 422 invalid_request with one error, at `loc`."""
    details = failed(answer, 422, "invalid_request")["details"]
    assert list(details) == ["errors"]
    (found,) = details["errors"]
    assert set(found) == {"type", "loc", "msg"}
    assert found["loc"] == list(loc)


def artifact_of(answer: httpx.Response, status: int) -> Json:
    """The Artifact in an answer, whose ETag names its revision."""
    artifact: Json = succeeded(answer, status)
    conform(artifact, ARTIFACT, "artifact")
    assert answer.headers["ETag"] == f'"revision:{artifact["revision"]}"'
    return artifact


def scope_path(scope: str) -> str:
    return f"/v1/scopes/{quote(scope, safe='')}"


def artifacts_path(scope: str) -> str:
    return f"{scope_path(scope)}/artifacts"


def artifact_path(scope: str, ref: Json) -> str:
    return f"{artifacts_path(scope)}/{ref['family']}/{quote(ref['artifact_id'], safe='')}"


def ref_of(artifact: Json) -> Json:
    """The Ref of an Artifact body or a line of a listing."""
    return {name: artifact[name] for name in ("family", "artifact_id", "revision")}


def experience(lesson: str = "lesson", situation: str = "situation") -> Json:
    return {"situation": situation, "action": "action", "outcome": "outcome", "lesson": lesson}


def topic(title: str = "title", summary: str = "summary", detail: str = "detail") -> Json:
    return {"title": title, "summary": summary, "detail": detail}
