"""Import: what is stored, skipped and refused, which ids and revisions the lines get."""

import json

import pytest

from tests.http_contract.api import NDJSON, Api, Json, experience, failed, invalid, ref_of, scope_path, topic
from tests.http_contract.sidecar import Sidecar


def entry(text: str, **fields: object) -> Json:
    return {"type": "memory-entry", "kind": "fact", "text": text, **fields}


def artifact(family: str, content: Json, **fields: object) -> Json:
    return {"type": family, "content": content, **fields}


def statuses(reports: list[Json]) -> list[str]:
    return [report["status"] for report in reports]


def only(reports: list[Json], status: str, code: str | None = None) -> Json:
    (report,) = reports
    assert report["status"] == status, report
    assert (report["error"] or {}).get("code") == code
    return report


def memory_ref(revision: int) -> Json:
    return {"family": "memory", "artifact_id": "memory", "revision": revision}


def test_each_family_is_stored_and_reported_by_its_own_reference(api: Api, scope: str) -> None:
    lines = [
        entry("text", reason="why"),
        artifact("experience", experience()),
        artifact("profile", {"content": "# P"}),
        artifact("topic-memory", topic()),
    ]
    reports = api.import_lines(scope, *lines)
    assert statuses(reports) == ["stored"] * 4
    assert [report["line"] for report in reports] == [1, 2, 3, 4]
    cited, *made = reports
    assert (cited["artifact"], cited["error"]) == (None, None)
    assert api.entry(scope, cited["citation"])["text"] == "text"
    assert api.changes(scope)[0]["changes"][0]["reason"] == "why"
    for report, line in zip(made, lines[1:], strict=True):
        assert (report["citation"], report["error"]) == (None, None)
        assert report["artifact"]["family"] == line["type"]
        assert report["artifact"]["revision"] == 1
    assert api.read(scope, made[0]["artifact"])["content"] == experience()
    assert api.read(scope, made[1]["artifact"])["content"]["content"] == "# P\n"
    assert api.read(scope, made[2]["artifact"])["content"] == topic()


def test_what_is_imported_is_found_at_once(api: Api, scope: str) -> None:
    api.import_lines(
        scope, entry("apple"), artifact("experience", experience("banana")), artifact("topic-memory", topic("cherry"))
    )
    assert [hit["text"] for hit in api.search(scope, "apple")] == ["apple"]
    assert len(api.call("/v1/experience/search", scope_id=scope, query="banana")["hits"]) == 1
    assert len(api.call("/v1/topic-memory/search", scope_id=scope, query="cherry")["hits"]) == 1


def test_given_ids_and_revisions_are_kept(api: Api, scope: str) -> None:
    given = {"entry_id": "entry-1", "entry_version_id": "entry-1-v2", "revision": 3}
    reports = api.import_lines(
        scope,
        entry("text", **given),
        artifact("experience", experience(), artifact_id="experience-1", revision=7),
        artifact("topic-memory", topic(), artifact_id="~!" * 64, revision=2),
        artifact("profile", {"content": "p"}, artifact_id="profile", revision=4),
    )
    assert reports[0]["citation"] == {
        "memory_ref": memory_ref(3),
        "entry_id": "entry-1",
        "entry_version_id": "entry-1-v2",
    }
    assert [report["artifact"] for report in reports[1:]] == [
        {"family": "experience", "artifact_id": "experience-1", "revision": 7},
        {"family": "topic-memory", "artifact_id": "~!" * 64, "revision": 2},
        {"family": "profile", "artifact_id": "profile", "revision": 4},
    ]
    for report in reports[1:]:
        assert ref_of(api.read(scope, report["artifact"])) == report["artifact"]
    assert api.remember(scope, "more")["memory"] == memory_ref(4)


def test_lines_without_a_revision_share_one_new_revision_of_their_batch(api: Api, scope: str) -> None:
    api.remember(scope, "before")
    reports = api.import_lines(scope, *(entry(f"text {number}") for number in range(3)))
    assert [report["citation"]["memory_ref"] for report in reports] == [memory_ref(2)] * 3
    (revision,) = api.changes(scope, since=1)
    assert [change["op"] for change in revision["changes"]] == ["add"] * 3
    again = api.import_lines(scope, entry("text 3"))
    assert again[0]["citation"]["memory_ref"] == memory_ref(3)
    assert len(api.changes(scope, since=1)) == 2


def test_a_revision_once_readable_never_changes(api: Api, scope: str) -> None:
    many = (entry(f"text {number}") for number in range(1200))  # more than one batch
    revisions = [report["citation"]["memory_ref"]["revision"] for report in api.import_lines(scope, *many)]
    assert revisions == sorted(revisions)
    assert len(api.entries(scope)) == 1200
    head = api.get(f"{scope_path(scope)}/artifacts/memory/memory").json()
    api.import_lines(scope, entry("later"))
    assert api.read(scope, ref_of(head)) == head


def test_identical_content_under_the_same_identity_is_skipped(api: Api, scope: str) -> None:
    lines = [
        entry("text"),
        entry("named", entry_id="e", entry_version_id="v", revision=5),
        artifact("experience", experience()),
        artifact("experience", experience("named"), artifact_id="x", revision=2),
        artifact("profile", {"content": "p"}),
        artifact("topic-memory", topic()),
    ]
    first = api.import_lines(scope, *lines)
    assert statuses(first) == ["stored"] * 6
    again = api.import_lines(scope, *lines)
    assert statuses(again) == ["skipped"] * 6
    for before, after in zip(first, again, strict=True):
        assert (after["citation"], after["artifact"]) == (before["citation"], before["artifact"])
    assert api.get(f"{scope_path(scope)}/artifacts/memory/memory").json()["revision"] == 5
    assert len(api.list_artifacts(f"{scope_path(scope)}/artifacts/experience")["items"]) == 2


def test_identical_means_after_the_normal_form(api: Api, scope: str) -> None:
    api.remember(scope, "Caf\u00e9")
    api.create_artifact(scope, "profile", {"content": "a\nb\n"})
    reports = api.import_lines(scope, entry(" Cafe\u0301\n"), artifact("profile", {"content": "\ufeffa\r\nb"}))
    assert statuses(reports) == ["skipped", "skipped"]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (entry("text", entry_id="e", entry_version_id="v"), entry("other", entry_id="e", entry_version_id="v")),
        (entry("text", entry_id="e", entry_version_id="v"), entry("text", entry_id="f", entry_version_id="v")),
        (
            artifact("experience", experience(), artifact_id="x", revision=1),
            artifact("experience", experience("other"), artifact_id="x", revision=1),
        ),
        (artifact("profile", {"content": "a"}, revision=1), artifact("profile", {"content": "b"}, revision=1)),
        (
            artifact("topic-memory", topic(), artifact_id="t", revision=3),
            artifact("topic-memory", topic("other"), artifact_id="t", revision=3),
        ),
    ],
    ids=["version", "entry", "experience", "profile", "topic-memory"],
)
def test_other_content_under_a_taken_identity_is_refused(api: Api, scope: str, first: Json, other: Json) -> None:
    only(api.import_lines(scope, first), "stored")
    report = only(api.import_lines(scope, other), "refused", "artifact_already_exists")
    assert (report["citation"], report["artifact"]) == (None, None)
    only(api.import_lines(scope, first), "skipped")


def test_a_revision_below_one_already_stored_is_refused(api: Api, scope: str) -> None:
    for number in range(3):
        api.remember(scope, f"text {number}")
    only(api.import_lines(scope, entry("late", revision=2)), "refused", "revision_conflict")
    only(api.import_lines(scope, artifact("experience", experience(), artifact_id="x", revision=5)), "stored")
    older = artifact("experience", experience("older"), artifact_id="x", revision=4)
    only(api.import_lines(scope, older), "refused", "revision_conflict")
    assert len(api.entries(scope)) == 3


def test_new_content_under_a_given_artifact_id_is_its_next_revision(api: Api, scope: str) -> None:
    for number, lesson in enumerate(("first", "second", "third"), start=1):
        report = only(api.import_lines(scope, artifact("experience", experience(lesson), artifact_id="x")), "stored")
        assert report["artifact"] == {"family": "experience", "artifact_id": "x", "revision": number}
    only(api.import_lines(scope, artifact("experience", experience("first"), artifact_id="x", revision=1)), "skipped")


def test_a_history_is_carried_over_with_where_versions_left(api: Api, scope: str) -> None:
    reports = api.import_lines(
        scope,
        entry("one", entry_id="a", entry_version_id="a1", revision=2, left_revision=4),
        entry("two", entry_id="a", entry_version_id="a2", revision=4),
        entry("gone", entry_id="b", entry_version_id="b1", revision=5, left_revision=6),
    )
    assert statuses(reports) == ["stored"] * 3
    assert {each["text"]: each["state"] for each in api.entries(scope, include_inactive=True)} == {
        "two": "active",
        "gone": "inactive",
    }
    versions = {
        each["citation"]["entry_version_id"]: each["version"] for each in api.entries(scope, include_inactive=True)
    }
    assert versions == {"a2": 2, "b1": 1}
    ops = [(each["memory_ref"]["revision"], change["op"]) for each in api.changes(scope) for change in each["changes"]]
    assert ops == [(2, "add"), (4, "revise"), (5, "add"), (6, "deactivate")]
    assert api.search(scope, "gone") == api.search(scope, "one") == []
    assert api.call("/v1/memory/search", scope_id=scope, query="two")["memory"] == memory_ref(6)
    failed(
        api.post(
            "/v1/memory/entries/get",
            scope_id=scope,
            citation={"memory_ref": memory_ref(4), "entry_id": "a", "entry_version_id": "a1"},
        ),
        404,
        "memory_not_found",
    )
    backwards = entry("three", revision=8, left_revision=8)
    only(api.import_lines(scope, backwards), "refused", "invalid_request")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"type":"memory-entry","kind":"k","text":"\xff"}', "malformed_request"),
        (b"{", "malformed_request"),
        (b'{"type":"memory-entry","kind":"k","text":"\\ud800"}', "malformed_request"),
        (b'{"type":"memory-entry","kind":"k","text":"t","kind":"k"}', "malformed_request"),
        (b"[" * 20000 + b"]" * 20000, "malformed_request"),
        (b"[]", "invalid_request"),
        (b'{"unknown":1}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"t","unknown":1}', "invalid_request"),
        (b'{"type":"skill","content":{}}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":" "}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"\\u0000"}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"' + b"x" * 9000 + b'"}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"t","revision":0}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"t","revision":"1"}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"t","entry_id":".."}', "invalid_request"),
        (b'{"type":"memory-entry","kind":"k","text":"t","reason":null}', "invalid_request"),
        (b'{"type":"experience","content":{"situation":"s"}}', "invalid_request"),
        (b'{"type":"profile","content":{"content":"p"},"artifact_id":"other"}', "invalid_request"),
        (b'{"type":"topic-memory","content":{"title":"","summary":"s","detail":"d"}}', "invalid_request"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_and_does_not_stop_the_rest(api: Api, scope: str, line: bytes, code: str) -> None:
    good = [json.dumps(entry(text)).encode() for text in ("before", "after")]
    reports = api.import_bytes(scope, b"\n".join([good[0], line, good[1]]))
    assert statuses(reports) == ["stored", "refused", "stored"]
    refused = reports[1]
    assert (refused["line"], refused["citation"], refused["artifact"]) == (2, None, None)
    assert refused["error"]["code"] == code
    assert [each["text"] for each in api.search(scope, "before after")]
    assert len(api.entries(scope)) == 2


def test_blank_lines_bom_crlf_and_a_missing_last_line_end_do_no_harm(api: Api, scope: str) -> None:
    texts = ["first", "a\u2028b\u2029c\u0085d\fe", "third", "last"]
    first, second, third, last = (json.dumps(entry(text), ensure_ascii=False).encode() for text in texts)
    data = b"\xef\xbb\xbf" + first + b"\n\n" + second + b"\n" + third + b"\r\n  \n" + last
    reports = api.import_bytes(scope, data)
    assert [(report["line"], report["status"]) for report in reports] == [
        (1, "stored"), (3, "stored"), (4, "stored"), (6, "stored")
    ]  # fmt: skip
    assert sorted(each["text"] for each in api.entries(scope)) == sorted(texts)


def test_an_import_is_ndjson_into_a_scope_that_exists(api: Api, scope: str) -> None:
    line = json.dumps(entry("text")).encode()
    path = f"{scope_path(scope)}/import"
    failed(api.send("POST", path, content=line), 415, "unsupported_media_type")
    ndjson = {"Content-Type": NDJSON}
    failed(api.send("POST", "/v1/scopes/no-such-scope/import", content=line, headers=ndjson), 404, "scope_not_found")
    invalid(api.send("POST", path + "?batch=1", content=line, headers=ndjson), "query", "batch")
    assert api.import_bytes(scope, b"") == []
    assert api.entries(scope) == []


def test_an_import_over_its_limit_is_413_or_ends_with_one_refused_line(
    open_sidecar: Sidecar, api: Api, scope: str
) -> None:
    most = 64 * 2**20
    head = f"POST {scope_path(scope)}/import HTTP/1.1\r\nHost: sidecar\r\nContent-Type: {NDJSON}\r\n"
    with open_sidecar.connection() as connection:
        connection.sendall(f"{head}Content-Length: {most + 1}\r\n\r\n".encode())
        assert connection.recv(2**16).startswith(b"HTTP/1.1 413 ")  # before anything of the body was sent
    line = json.dumps(entry("text")).encode() + b"\n"
    blanks = b" " * (2**16 - 1) + b"\n"
    *stored, refused = api.import_bytes(scope, (line if piece == 0 else blanks for piece in range(1026)))
    assert statuses(stored) in (["stored"], [])
    assert (refused["status"], refused["error"]["code"]) == ("refused", "payload_too_large")
