"""A prepared text is injected only when its four fields keep every rule (RFC 1489, hosts; cases R75)."""

import json
from typing import Any

import pytest
from powercontext_client import InvalidPrepared, PreparedContext, check_prepared

SCHEMA = "powercontext.prepared-context.v1"
READY = {"schema": SCHEMA, "status": "ready", "content": "验 a", "content_bytes": 5}
EMPTY = {"schema": SCHEMA, "status": "empty", "content": None, "content_bytes": 0}


def test_a_ready_answer_passes_with_its_content_unchanged() -> None:
    content = " \n 验 👩‍🔬 & <b>\n"
    size = len(content.encode())
    answer = {"schema": SCHEMA, "status": "ready", "content": content, "content_bytes": size}
    expected = PreparedContext(status="ready", content=content, content_bytes=size)
    assert check_prepared(answer, 512) == expected
    assert check_prepared(json.dumps(answer).encode(), 512) == expected
    assert check_prepared(json.dumps(answer, ensure_ascii=False).encode(), 512) == expected


def test_an_empty_answer_passes_without_content() -> None:
    assert check_prepared(EMPTY, 512) == PreparedContext(status="empty", content=None, content_bytes=0)


def test_content_as_large_as_the_budget_passes_and_one_byte_more_does_not() -> None:
    assert check_prepared(READY, 5).content_bytes == 5
    with pytest.raises(InvalidPrepared):
        check_prepared(READY, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"content_bytes": 4},
        {"content_bytes": 6},
        {"content_bytes": 3},  # code points, not bytes
        {"content_bytes": 5.0},
        {"content_bytes": "5"},
        {"content_bytes": None},
        {"content": None},
        {"content": None, "content_bytes": 0},
        {"content": "", "content_bytes": 0},
        {"content": ["验 a"]},
        {"content": "\ud800 a"},
        {"content": "x", "content_bytes": True},
        {"status": "empty"},
        {"status": "READY"},
        {"status": None},
        {"schema": "powercontext.prepared-context.v2"},
        {"schema": None},
        {"items": []},
    ],
    ids=repr,
)
def test_a_ready_answer_with_one_rule_broken_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidPrepared):
        check_prepared({**READY, **change}, 512)


@pytest.mark.parametrize(
    "change",
    [{"content": ""}, {"content": "x"}, {"content_bytes": 1}, {"content_bytes": False}, {"content_bytes": 0.0}],
    ids=repr,
)
def test_an_empty_answer_with_content_or_bytes_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidPrepared):
        check_prepared({**EMPTY, **change}, 512)


@pytest.mark.parametrize("answer", [json.dumps(READY), [READY], None], ids=["str", "list", "NoneType"])
def test_what_is_neither_a_json_object_nor_bytes_is_refused_by_its_type(
    answer: Any, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(InvalidPrepared, match=f"a JSON object, decoded or as bytes, not {request.node.callspec.id}"):
        check_prepared(answer, 512)


@pytest.mark.parametrize("missing", list(READY))
def test_an_answer_without_one_of_the_four_fields_is_refused(missing: str) -> None:
    with pytest.raises(InvalidPrepared):
        check_prepared({name: value for name, value in READY.items() if name != missing}, 512)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"ready"',
        b"<html></html>",
        b"[" * 100_000,
        json.dumps(EMPTY).encode("utf-16"),
        b"\xef\xbb\xbf" + json.dumps(EMPTY).encode(),
        json.dumps(READY).encode() + b"x",
        json.dumps(READY).encode().replace(b"}", b', "status": "ready"}'),
        json.dumps(READY, ensure_ascii=False).encode("gb18030"),
    ],
    ids=["nothing", "null", "array", "string", "html", "deep", "utf-16", "bom", "trailing", "repeated key", "gb18030"],
)
def test_a_body_that_is_no_plain_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidPrepared):
        check_prepared(body, 512)
