"""Strict decoding: what is not JSON is 400 wherever it stands, what breaks the contract is 422 with its place."""

import time

import pytest

from contracts.errors import InvalidRequest, MalformedRequest
from contracts.memory import MemoryChangesRequest, RememberRequest
from contracts.prepare import ContextPrepareRequest
from contracts.scopes import CreateScopeRequest
from service.validation import NAME_MAX_CHARS, checked, decode_json

PREPARE = b'{"scope_id":"s","query":"q"%s}'


@pytest.mark.parametrize(
    ("body", "type_", "loc"),
    [
        (b'{"query":"q"}', "missing", ("body", "scope_id")),
        (b"[]", "type_error", ("body",)),
        (PREPARE % b',"sort_by":"score"', "extra_forbidden", ("body", "sort_by")),
        (PREPARE % b',"Assembly":{}', "extra_forbidden", ("body", "Assembly")),
        (PREPARE % b',"assembly":null', "type_error", ("body", "assembly")),
        (PREPARE % b',"assembly":{"min_confidence":0.5}', "extra_forbidden", ("body", "assembly", "min_confidence")),
        (PREPARE % b',"assembly":{"Format":"markdown"}', "extra_forbidden", ("body", "assembly", "Format")),
        (PREPARE % b',"assembly":{"format":"html"}', "literal_error", ("body", "assembly", "format")),
        (PREPARE % b',"assembly":{"format":null}', "type_error", ("body", "assembly", "format")),
        (PREPARE % b',"assembly":{"sections":null}', "type_error", ("body", "assembly", "sections")),
        (PREPARE % b',"assembly":{"show":null}', "type_error", ("body", "assembly", "show")),
        (PREPARE % b',"assembly":{"show":["score"]}', "literal_error", ("body", "assembly", "show", 0)),
        (
            PREPARE % b',"assembly":{"sections":[{"family":"skill","limit":1}]}',
            "literal_error",
            ("body", "assembly", "sections", 0, "family"),
        ),
        (
            PREPARE % b',"assembly":{"sections":[{"limit":1}]}',
            "missing",
            ("body", "assembly", "sections", 0, "family"),
        ),
        (
            PREPARE % b',"assembly":{"sections":[{"family":"memory"}]}',
            "missing",
            ("body", "assembly", "sections", 0, "limit"),
        ),
        (
            PREPARE % b',"assembly":{"sections":[{"family":"memory","limit":1,"scope":"b"}]}',
            "extra_forbidden",
            ("body", "assembly", "sections", 0, "scope"),
        ),
        *[
            (
                PREPARE % b',"assembly":{"sections":[{"family":"%s","limit":%s}]}' % (family, limit),
                type_,
                ("body", "assembly", "sections", 0, "limit"),
            )
            for family, limit, type_ in [
                (b"memory", b"0", "greater_than_equal"),
                (b"memory", b"9", "less_than_equal"),
                (b"profile", b"9", "less_than_equal"),
                (b"topic-memory", b"9", "less_than_equal"),
                (b"experience", b"3", "less_than_equal"),
                (b"experience", b"0", "greater_than_equal"),
                (b"memory", b"-1", "greater_than_equal"),
                (b"memory", b'"8"', "type_error"),
                (b"memory", b"8.0", "type_error"),
                (b"memory", b"true", "type_error"),
                (b"memory", b"null", "type_error"),
                (b"memory", b"18446744073709551617", "less_than_equal"),
            ]
        ],
        *[
            (PREPARE % b',"max_bytes":%s' % number, type_, ("body", "max_bytes"))
            for number, type_ in [
                (b"511", "greater_than_equal"),
                (b"32769", "less_than_equal"),
                (b"19933688932870350000", "less_than_equal"),
                (b"18446744073709551616", "less_than_equal"),
                (b"18446744073709559616", "less_than_equal"),
                (b"-9223372036854775809", "greater_than_equal"),
                (b"9" * 5000, "out_of_range"),
                (b"1e999", "out_of_range"),
                (b"null", "type_error"),
                (b'"8000"', "type_error"),
            ]
        ],
        (b'{"scope_id":"s","query":""}', "string_too_short", ("body", "query")),
        (b'{"scope_id":"s","query":" \\u001c\\u3000\\n"}', "string_pattern_mismatch", ("body", "query")),
        (b'{"scope_id":"s","query":"a\\u0000"}', "string_pattern_mismatch", ("body", "query")),
        (b'{"scope_id":".","query":"q"}', "string_pattern_mismatch", ("body", "scope_id")),
        (b'{"scope_id":"..","query":"q"}', "string_pattern_mismatch", ("body", "scope_id")),
        (b'{"scope_id":"' + "𠮷".encode() * 257 + b'","query":"q"}', "string_too_long", ("body", "scope_id")),
        (b'{"scope_id":"s","query":"' + b"a" * 8193 + b'"}', "string_too_long", ("body", "query")),
        (b'{"scope_id":"s","query":"' + "查".encode() * 8193 + b'"}', "string_too_long", ("body", "query")),
        (b'{"scope_id":"s","query":"' + "🧪".encode() * 8193 + b'"}', "string_too_long", ("body", "query")),
    ],
)
def test_what_breaks_the_contract_is_422_at_its_place(body: bytes, type_: str, loc: tuple[str | int, ...]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decode_json(body, ContextPrepareRequest)
    assert [(error.type, error.loc) for error in refused.value.errors] == [(type_, loc)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"scope_id":"s","query":"q"}x',
        b'{"scope_id":"s","query":"q","max_bytes":NaN}',
        b'{"scope_id":"s","query":"q","max_bytes":Infinity}',
        b'{"scope_id":"s","query":"\xff"}',
        b'{"scope_id":"s","query":"\xed\xa0\x80"}',
        b'{"scope_id":"s","query":"\\ud800"}',
        b'{"scope_id":"s","query":"a\nb"}',
        b'\xef\xbb\xbf{"scope_id":"s","query":"q"}',
        b'{"scope_id":"s","scope_id":"s","query":"q"}',
        b'{"scope_id":"s","query":"q","assembly":{"sections":[{"family":"memory","limit":1,"limit":1}]}}',
        b'{"scope_id":"s","query":"q","unknown":{"a":1,"a":2}}',
        b'{"scope_id":"s","query":"q","max_bytes":"8","max_bytes":8}',
        b'{"unknown":1,"max_bytes":1e999,"a":NaN}',
        b'{"unknown":1,"max_bytes":1e999,"a":"\\ud800"}',
        b'{"unknown":1,"max_bytes":1e999,"a":1,"a":2}',
        b'{"unknown":1,"max_bytes":1e999',
        b"[" * 20_000 + b"]" * 20_000,
        b"[" * 500_000,
        b'{"scope_id":"s","query":"q","assembly":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
    ],
)
def test_what_is_not_well_formed_is_400_even_behind_a_broken_field(body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode_json(body, ContextPrepareRequest)


def test_brackets_inside_strings_are_no_nesting() -> None:
    query = "[" * 5000 + '\\"{' * 100
    decoded = decode_json(b'{"scope_id":"s","query":"%s"}' % query.encode(), ContextPrepareRequest)
    assert decoded.query == query.replace('\\"', '"')


@pytest.mark.parametrize("query", ["a" * 8192, "查" * 8192, "🧪" * 8192])
def test_a_query_of_8192_code_points_is_taken(query: str) -> None:
    assert decode_json(b'{"scope_id":"s","query":"%s"}' % query.encode(), ContextPrepareRequest).query == query


@pytest.mark.parametrize("scope_id", ["a\n", "..\n", "a/b", "%2F", "a'\";--", " a ", "…", "a\u2028b", "x" * 256])
def test_odd_scope_ids_are_taken_as_they_are(scope_id: str) -> None:
    assert checked({"scope_id": scope_id, "query": "q"}, ContextPrepareRequest).scope_id == scope_id


def test_messages_and_places_never_repeat_a_value_and_cut_long_names() -> None:
    name = "secret" * 1000
    with pytest.raises(InvalidRequest) as refused:
        decode_json(b'{"scope_id":"s","query":"q","%s":1}' % name.encode(), ContextPrepareRequest)
    (error,) = refused.value.errors
    assert error.loc == ("body", name[:NAME_MAX_CHARS])
    assert "secret" not in error.msg
    with pytest.raises(InvalidRequest) as refused:
        checked({"scope_id": "s", "query": "q", "assembly": {"show": ["hunter2"]}}, ContextPrepareRequest)
    assert "hunter2" not in str(refused.value.details)


@pytest.mark.parametrize(
    "value",
    [
        {"scope_id": "s", "query": "\ud800"},
        {"scope_id": "s", "query": float("nan")},
        {"scope_id": "s", "query": object()},
        {"scope_id": "s", "query": "q", "max_bytes": True},
        {"scope_id": "s", "query": "q", "assembly": None},
        None,
    ],
)
def test_objects_of_this_process_are_checked_as_if_they_had_come_as_json(value: object) -> None:
    with pytest.raises(InvalidRequest):
        checked(value, ContextPrepareRequest)


def test_null_is_absence_only_where_the_contract_says_so() -> None:
    body = {"scope_id": "s", "kind": "k", "text": "t", "reason": None, "expected_revision": None}
    assert checked(body, RememberRequest).expected_revision is None
    assert checked({"scope_id": "s", "since_revision": None}, MemoryChangesRequest).since_revision is None
    scope = {"title": "t", "summary": "s", "idempotency_key": "k", "parent_scope_id": None}
    assert checked(scope, CreateScopeRequest).parent_scope_id is None
    with pytest.raises(InvalidRequest):
        checked({**scope, "scope_id": None}, CreateScopeRequest)


def test_a_body_made_of_escapes_is_judged_in_linear_time() -> None:
    """A pattern that could cut backslashes in two ways took 4 seconds for 20 KB of them."""
    body = b"[" * 65 + b'"' + b'\\"' * 300_000 + b"\\"
    started = time.perf_counter()
    with pytest.raises(MalformedRequest):
        decode_json(body, ContextPrepareRequest)
    assert time.perf_counter() - started < 2
