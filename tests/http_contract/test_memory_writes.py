"""remember, revise, retire: what they store, what they answer, and which check comes first."""

from typing import Any

import pytest

from tests.http_contract.api import Api, Json, failed, invalid


def memory_ref(revision: int) -> Json:
    return {"family": "memory", "artifact_id": "memory", "revision": revision}


def cited_at(citation: Json, revision: int) -> Json:
    return {**citation, "memory_ref": memory_ref(revision)}


def revise(api: Api, scope: str, citation: Json, text: str, kind: str = "fact", **fields: Any) -> Json:
    path = "/v1/memory/entries/revise"
    return api.call(path, scope_id=scope, citation=citation, kind=kind, text=text, **fields)


def retire(api: Api, scope: str, citation: Json, **fields: Any) -> Json:
    return api.call("/v1/memory/entries/retire", scope_id=scope, citation=citation, **fields)


def test_remember_answers_the_new_head_and_the_entry(api: Api, scope: str) -> None:
    first = api.remember(scope, "text", kind="Rule")
    assert first["memory"] == memory_ref(1)
    entry = first["entry"]
    assert entry == {
        "citation": {**entry["citation"], "memory_ref": memory_ref(1)},
        "version": 1,
        "kind": "Rule",
        "text": "text",
        "state": "active",
        "source_refs": [],
        "artifact_refs": [],
    }
    second = api.remember(scope, "more", reason=None, expected_revision=None)
    assert second["memory"] == second["entry"]["citation"]["memory_ref"] == memory_ref(2)


def test_identical_active_content_changes_nothing(api: Api, scope: str) -> None:
    api.remember(scope, "Caf\u00e9")
    for same in ("Caf\u00e9", "Cafe\u0301", " \u3000Caf\u00e9\n"):
        assert api.remember(scope, same) == {"memory": memory_ref(1), "entry": None}
    assert len(api.entries(scope)) == 1


def test_identical_means_kind_and_text_byte_for_byte(api: Api, scope: str) -> None:
    for number, (kind, text) in enumerate([("Rule", "T"), ("rule", "T"), ("rule", "t"), ("rule", "T "), ("r", "uleT")]):
        answer = api.remember(scope, text, kind=kind)
        assert (answer["entry"] is None) is (number == 3)
    assert len(api.entries(scope)) == 4


def test_a_retired_or_replaced_text_may_be_remembered_anew(api: Api, scope: str) -> None:
    first = api.remember(scope, "text")["entry"]["citation"]
    revise(api, scope, first, "other")
    again = api.remember(scope, "text")["entry"]
    assert (again["version"], again["citation"]["memory_ref"]) == (1, memory_ref(3))
    assert again["citation"]["entry_id"] != first["entry_id"]
    retire(api, scope, again["citation"])
    assert api.remember(scope, "text")["memory"] == memory_ref(5)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("  a  b\t", "a  b"),
        ("\u3000a\u2028b\u0085", "a\u2028b"),
        ("e\u0301", "\u00e9"),
        ("\u200ba\ufeff", "\u200ba\ufeff"),
        ("a\r\nb\rc", "a\r\nb\rc"),
        ("→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb", "→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb"),
    ],
    ids=["spaces", "unicode-spaces", "nfc", "zero-width", "line-ends", "astral"],
)
def test_text_is_stored_after_nfc_and_strip_and_otherwise_as_given(
    api: Api, scope: str, given: str, stored: str
) -> None:
    entry = api.remember(scope, given)["entry"]
    assert entry["text"] == stored
    assert api.entry(scope, entry["citation"])["text"] == stored
    assert [each["text"] for each in api.entries(scope)] == [stored]


def test_text_is_at_most_8192_bytes_after_nfc_and_strip(api: Api, scope: str) -> None:
    assert api.remember(scope, " " * 9000 + "é" * 4096)["entry"]["text"] == "é" * 4096
    decomposed = "e\u0301" * 4096  # 12288 bytes as sent, 8192 composed
    assert api.remember(scope, decomposed) == {"memory": memory_ref(1), "entry": None}
    for too_long in ("x" * 8193, "é" * 4097, "𠮷" * 2049):
        invalid(api.post("/v1/memory/remember", scope_id=scope, kind="k", text=too_long), "body", "text")
    citation = api.entries(scope)[0]["citation"]
    answer = api.post("/v1/memory/entries/revise", scope_id=scope, citation=citation, kind="k", text="x" * 8193)
    invalid(answer, "body", "text")


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000", "\u2029"])
def test_text_is_not_empty_after_strip(api: Api, scope: str, blank: str) -> None:
    invalid(api.post("/v1/memory/remember", scope_id=scope, kind="k", text=blank), "body", "text")


def test_kind_and_reason_are_bounded(api: Api, scope: str) -> None:
    api.remember(scope, "text", kind="種" * 128, reason="理" * 512)
    invalid(api.post("/v1/memory/remember", scope_id=scope, kind="", text="t"), "body", "kind")
    invalid(api.post("/v1/memory/remember", scope_id=scope, kind="種" * 129, text="t"), "body", "kind")
    citation = api.entries(scope)[0]["citation"]
    too_long = "理" * 513
    invalid(api.post("/v1/memory/remember", scope_id=scope, kind="k", text="t", reason=too_long), "body", "reason")
    for name, more in (("revise", {"kind": "k", "text": "t"}), ("retire", {})):
        path = f"/v1/memory/entries/{name}"
        invalid(api.post(path, scope_id=scope, citation=citation, reason=too_long, **more), "body", "reason")


def test_an_expected_revision_must_be_the_head(api: Api, scope: str) -> None:
    def remembering(text: str, expected: int) -> Any:
        return api.post("/v1/memory/remember", scope_id=scope, kind="fact", text=text, expected_revision=expected)

    failed(remembering("first", 1), 409, "revision_conflict")
    api.remember(scope, "first")
    assert remembering("second", 1).status_code == 200
    failed(remembering("third", 1), 409, "revision_conflict")
    failed(remembering("third", 3), 409, "revision_conflict")
    failed(remembering("first", 1), 409, "revision_conflict")  # checked before identity
    assert remembering("first", 2).json() == {"memory": memory_ref(2), "entry": None}
    invalid(remembering("third", 0), "body", "expected_revision")


def test_revise_makes_the_next_version_of_the_entry(api: Api, scope: str) -> None:
    first = api.remember(scope, "first")["entry"]
    api.remember(scope, "bystander")
    answer = revise(api, scope, cited_at(first["citation"], 2), "second", kind="rule", reason="why")
    new = answer["entry"]
    assert answer["memory"] == new["citation"]["memory_ref"] == memory_ref(3)
    assert (new["version"], new["kind"], new["text"], new["state"]) == (2, "rule", "second", "active")
    assert new["citation"]["entry_id"] == first["citation"]["entry_id"]
    assert new["citation"]["entry_version_id"] != first["citation"]["entry_version_id"]
    assert revise(api, scope, new["citation"], "third")["entry"]["version"] == 3


def test_revising_to_the_same_kind_and_text_changes_nothing(api: Api, scope: str) -> None:
    citation = api.remember(scope, "é")["entry"]["citation"]
    assert revise(api, scope, citation, " e\u0301 ") == {"memory": memory_ref(1), "entry": None}
    assert revise(api, scope, citation, "é", kind="other")["memory"] == memory_ref(2)


def test_retire_answers_the_entry_now_inactive(api: Api, scope: str) -> None:
    entry = api.remember(scope, "text")["entry"]
    answer = retire(api, scope, entry["citation"], reason=None)
    assert answer["memory"] == memory_ref(2)
    assert answer["entry"] == {**entry, "state": "inactive"}
    assert api.entry(scope, answer["entry"]["citation"]) == answer["entry"]
    assert api.entries(scope) == []


def test_an_inactive_entry_comes_before_a_citation_that_is_not_at_the_head(api: Api, scope: str) -> None:
    first = api.remember(scope, "first")["entry"]["citation"]
    second = api.remember(scope, "second")["entry"]["citation"]
    retire(api, scope, second)
    for name, more in (("revise", {"kind": "k", "text": "t"}), ("retire", {})):
        path = f"/v1/memory/entries/{name}"
        failed(api.post(path, scope_id=scope, citation=second, **more), 409, "memory_entry_inactive")
        failed(api.post(path, scope_id=scope, citation=first, **more), 409, "revision_conflict")
        unknown = {**cited_at(first, 3), "entry_version_id": "mem_ver_" + "0" * 32}
        failed(api.post(path, scope_id=scope, citation=unknown, **more), 404, "memory_not_found")
        failed(api.post(path, scope_id=scope, citation=cited_at(second, 3), **more), 404, "memory_not_found")
    assert revise(api, scope, cited_at(first, 3), "third")["memory"] == memory_ref(4)


def test_a_stale_citation_conflicts_even_when_the_text_would_be_the_same(api: Api, scope: str) -> None:
    first = api.remember(scope, "first")["entry"]["citation"]
    api.remember(scope, "second")
    same = {"scope_id": scope, "citation": first, "kind": "fact", "text": "first"}
    failed(api.post("/v1/memory/entries/revise", **same), 409, "revision_conflict")


def test_all_versions_stay_readable_byte_for_byte(api: Api, scope: str) -> None:
    texts = [f"version {number} é\r\n\u2028𠮷" for number in range(1, 6)]
    citations = [api.remember(scope, texts[0])["entry"]["citation"]]
    for text in texts[1:]:
        citations.append(revise(api, scope, citations[-1], text)["entry"]["citation"])
    retire(api, scope, citations[-1])
    for number, (citation, text) in enumerate(zip(citations, texts, strict=True), start=1):
        entry = api.entry(scope, citation)
        assert (entry["text"], entry["version"], entry["state"], entry["citation"]) == (
            text,
            number,
            "inactive",
            citation,
        )


def test_a_scope_that_does_not_exist_is_404(api: Api) -> None:
    absent = {"scope_id": "no-such-scope"}
    citation = {"memory_ref": memory_ref(1), "entry_id": "e", "entry_version_id": "v"}
    for path, body in (
        ("remember", {"kind": "k", "text": "t"}),
        ("search", {"query": "q"}),
        ("changes", {}),
        ("entries/list", {}),
        ("entries/get", {"citation": citation}),
        ("entries/revise", {"citation": citation, "kind": "k", "text": "t"}),
        ("entries/retire", {"citation": citation}),
        ("entries/erase", {"entry_id": "e"}),
    ):
        failed(api.post(f"/v1/memory/{path}", **absent, **body), 404, "scope_not_found")
