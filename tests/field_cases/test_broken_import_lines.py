"""A broken import line is refused for itself, by number, with a code of the contract, and nothing of it is stored."""

import json
from typing import Any

import httpx
import pytest

from tests.field_cases.calls import add_experience, export, import_lines, lines_of, post

GOOD = b'{"type":"memory-entry","kind":"k","text":"good %d"}'
CONTENT: dict[str, str] = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}


def entry(**fields: Any) -> bytes:
    return json.dumps({"type": "memory-entry", "kind": "k", "text": "t", **fields}).encode()


def raw(fields: str) -> bytes:
    return b'{"type":"memory-entry","kind":"k",' + fields.encode() + b"}"


def artifact(family: str, content: Any, **fields: Any) -> bytes:
    return json.dumps({"type": family, "content": content, **fields}).encode()


MALFORMED = {
    "invalid UTF-8": b'{"type":"memory-entry","kind":"k","text":"\xff"}',
    "overlong UTF-8": b'{"type":"memory-entry","kind":"k","text":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"type":"memory-entry","kind":"k","text":"\xed\xa0\x80"}',
    "an unclosed object": b"{",
    "words": b"not json",
    "a lone high surrogate": raw(r'"text":"a\ud800"'),
    "a lone low surrogate": raw(r'"text":"\udc00a"'),
    "a repeated key": raw('"text":"a","text":"b"'),
    "a repeated key inside": b'{"type":"profile","content":{"content":"a","content":"b"}}',
    "too deep arrays": b"[" * 20_000 + b"]" * 20_000,
    "too deep objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "unclosed arrays": b"[" * 500_000,
    "NaN": raw('"text":"a","revision":NaN'),
    "two objects": raw('"text":"a"') + b" " + raw('"text":"b"'),
    "a trailing comma": raw('"text":"a",'),
    "single quotes": b"{'type':'memory-entry','kind':'k','text':'a'}",
    "a byte order mark inside the file": b"\xef\xbb\xbf" + raw('"text":"a"'),
    "a raw control": b'{"type":"memory-entry","kind":"k","text":"a\x01b"}',
    "a NUL byte": b'{"type":"memory-entry","kind":"k","text":"a"}\x00',
}

INVALID = {
    "an array": b"[]",
    "null": b"null",
    "a number": b"1",
    "a string": b'"text"',
    "no fields": b"{}",
    "an unknown field alone": b'{"unknown":1}',
    "an unknown field": entry(unknown=1),
    "a scope of its own": entry(scope_id="t"),
    "an unknown type": entry(type="skill"),
    "a type in capitals": entry(type="Memory-Entry"),
    "a null type": entry(type=None),
    "no kind": b'{"type":"memory-entry","text":"t"}',
    "no text": b'{"type":"memory-entry","kind":"k"}',
    **{
        f"a null {field}": entry(**{field: None})
        for field in ("kind", "text", "entry_id", "entry_version_id", "revision", "left_revision", "reason")
    },
    "an empty text": entry(text=""),
    "a blank text": entry(text=" \u3000\n"),
    "a NUL": entry(text="a\0b"),
    "a NUL in the kind": entry(kind="a\0b"),
    "a NUL in the reason": entry(reason="a\0b"),
    "8193 bytes": entry(text="x" * 8193),
    "8193 bytes of Chinese": entry(text="查" * 2731),
    "an empty kind": entry(kind=""),
    "a kind of 129": entry(kind="k" * 129),
    "a reason of 513": entry(reason="r" * 513),
    "a number as text": entry(text=1),
    "an array as text": entry(text=["t"]),
    **{
        f"{name} as entry id": entry(entry_id=value)
        for name, value in [
            ("a blank", "a b"),
            ("a dot", "."),
            ("two dots", ".."),
            ("nothing", ""),
            ("129 characters", "e" * 129),
            ("Chinese", "条"),
            ("a line end", "e\n"),
        ]
    },
    "a dot as version id": entry(entry_version_id="."),
    **{
        f"{number} as revision": raw(f'"text":"t","revision":{number}')
        for number in ("0", "-1", "1.0", "1e0", '"1"', "true", "9223372036854775808", "18446744073709551617", "1e999")
    },
    "left at its own revision": entry(revision=3, left_revision=3),
    "left before it entered": entry(revision=3, left_revision=2),
    "content on a memory entry": entry(content=CONTENT),
    "text on an Experience": artifact("experience", CONTENT, text="t"),
    "no content": b'{"type":"experience"}',
    "null content": artifact("experience", None),
    "an Experience without lesson": artifact("experience", {"situation": "s", "action": "a", "outcome": "o"}),
    "an Experience with more": artifact("experience", {**CONTENT, "more": "m"}),
    "a blank lesson": artifact("experience", {**CONTENT, "lesson": " "}),
    "a lesson of 8001": artifact("experience", {**CONTENT, "lesson": "l" * 8001}),
    "a Profile under another id": artifact("profile", {"content": "c"}, artifact_id="other"),
    "an empty Profile": artifact("profile", {"content": ""}),
    "a blank Profile": artifact("profile", {"content": "\n\n"}),
    "a Profile over 256 KiB": artifact("profile", {"content": "c" * (256 * 1024)}),
    "a Topic Memory without detail": artifact("topic-memory", {"title": "t", "summary": "s"}),
    "a Topic Memory with a long title": artifact("topic-memory", {"title": "t" * 513, "summary": "s", "detail": "d"}),
    "a Topic Memory with an empty summary": artifact("topic-memory", {"title": "t", "summary": "", "detail": "d"}),
}

TOO_LONG = entry(text="x" * (3 * 2**20))  # the longest line that the contract allows has 1.5 MB


@pytest.mark.parametrize(
    ("broken", "code"),
    [(MALFORMED, "malformed_request"), (INVALID, "invalid_request"), ({"too long": TOO_LONG}, "payload_too_large")],
    ids=["malformed", "invalid", "too long"],
)
async def test_every_broken_line_is_refused_alone(
    client: httpx.AsyncClient, broken: dict[str, bytes], code: str
) -> None:
    """A good line stands before, between and after."""
    lines = [GOOD % 0]
    for number, line in enumerate(broken.values(), 1):
        lines += [line, GOOD % number]
    reports, totals = await import_lines(client, "/v1/scopes/s", b"\n".join(lines))
    assert [report["line"] for report in reports] == list(range(1, len(lines) + 1))
    found = {name: report["error"] for name, report in zip(broken, reports[1::2], strict=True)}
    assert {name: error and error["code"] for name, error in found.items()} == dict.fromkeys(broken, code)
    assert totals == {"stored": len(broken) + 1, "skipped": 0, "refused": len(broken)}
    stored = [json.loads(line) for line in (await export(client, "/v1/scopes/s")).split(b"\n")[:-1]]
    assert [line["text"] for line in stored] == [f"good {number}" for number in range(len(broken) + 1)]


async def test_a_refusal_never_quotes_the_line(client: httpx.AsyncClient) -> None:
    secret = "hunter2"
    lines = [entry(text=secret * 2000), entry(type=secret), entry(entry_id=secret + " "), b"{" + secret.encode()]
    reports, totals = await import_lines(client, "/v1/scopes/s", b"\n".join(lines))
    assert totals["refused"] == len(lines)
    assert secret not in json.dumps(reports)


# What only the stored state makes wrong.

STORED = {"type": "memory-entry", "kind": "k", "text": "one", "entry_id": "e1", "entry_version_id": "v1", "revision": 5}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param({"text": "two"}, "artifact_already_exists", id="other text under a taken version id"),
        pytest.param({"kind": "K"}, "artifact_already_exists", id="other kind under a taken version id"),
        pytest.param({"entry_id": "e2"}, "artifact_already_exists", id="another entry under a taken version id"),
        pytest.param(
            {"text": "two", "entry_version_id": "v2"}, "revision_conflict", id="a second version at the same revision"
        ),
        pytest.param(
            {"text": "two", "entry_id": "e2", "entry_version_id": "v2", "revision": 4},
            "revision_conflict",
            id="a revision below one that is stored",
        ),
        pytest.param({"left_revision": 5}, "revision_conflict", id="leaving at the head revision"),
    ],
)
async def test_what_contradicts_the_stored_memory_is_refused(
    client: httpx.AsyncClient, change: dict[str, Any], code: str
) -> None:
    await import_lines(client, "/v1/scopes/s", lines_of([STORED]))
    before = await export(client, "/v1/scopes/s")
    reports, totals = await import_lines(client, "/v1/scopes/s", lines_of([{**STORED, **change}]))
    assert totals == {"stored": 0, "skipped": 0, "refused": 1}
    assert reports[0]["error"]["code"] == code
    assert await export(client, "/v1/scopes/s") == before


async def test_the_same_line_again_is_skipped_with_its_citation(client: httpx.AsyncClient) -> None:
    (stored,), _ = await import_lines(client, "/v1/scopes/s", lines_of([STORED]))
    (skipped,), totals = await import_lines(client, "/v1/scopes/s", lines_of([STORED]))
    assert totals == {"stored": 0, "skipped": 1, "refused": 0}
    assert (
        skipped["citation"]
        == stored["citation"]
        == {
            "memory_ref": {"family": "memory", "artifact_id": "memory", "revision": 5},
            "entry_id": "e1",
            "entry_version_id": "v1",
        }
    )


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        pytest.param({}, "skipped", None, id="the same"),
        pytest.param({"content": {**CONTENT, "lesson": "other"}}, "refused", "artifact_already_exists", id="other"),
        pytest.param(
            {"content": {**CONTENT, "lesson": "other"}, "revision": 3}, "refused", "revision_conflict", id="below"
        ),
        pytest.param({"content": {**CONTENT, "lesson": "other"}, "revision": 9}, "stored", None, id="above"),
    ],
)
async def test_an_artifact_under_a_taken_id(
    client: httpx.AsyncClient, change: dict[str, Any], status: str, code: str | None
) -> None:
    known = {"type": "experience", "content": CONTENT, "artifact_id": "exp", "revision": 4}
    await import_lines(client, "/v1/scopes/s", lines_of([known]))
    (report,), _ = await import_lines(client, "/v1/scopes/s", lines_of([{**known, **change}]))
    assert report["status"] == status
    assert (report["error"] or {}).get("code") == code


async def test_what_was_erased_is_not_imported_again(client: httpx.AsyncClient) -> None:
    experience = await add_experience(client, "s", CONTENT)
    await import_lines(client, "/v1/scopes/s", lines_of([STORED]))
    exported = await export(client, "/v1/scopes/s")
    assert exported.count(b"\n") == 2
    await post(client, "/v1/memory/entries/erase", {"scope_id": "s", "entry_id": "e1"})
    await post(client, f"/v1/scopes/s/artifacts/experience/{experience['artifact_id']}/erase", {})
    reports, _ = await import_lines(client, "/v1/scopes/s", exported)
    assert [(report["status"], report["error"]["code"]) for report in reports] == [("refused", "content_erased")] * 2
    another_version = {**STORED, "entry_version_id": "v2", "text": "new", "revision": 9}
    reports, _ = await import_lines(client, "/v1/scopes/s", lines_of([another_version]))
    assert [report["error"]["code"] for report in reports] == ["content_erased"]
    assert await export(client, "/v1/scopes/s") == b""


@pytest.mark.parametrize("n_bad", [1, 499, 500, 501, 1200])
async def test_any_number_of_bad_lines_in_a_row_is_reported(client: httpx.AsyncClient, n_bad: int) -> None:
    body = b"\n".join([GOOD % 1, *[b"{"] * n_bad, GOOD % 2])
    reports, totals = await import_lines(client, "/v1/scopes/s", body)
    assert totals == {"stored": 2, "skipped": 0, "refused": n_bad}
    assert [report["line"] for report in reports] == list(range(1, n_bad + 3))
