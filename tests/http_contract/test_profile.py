"""Profile: proposed, normalised, one for each Scope, its head unchanged until a replacement is approved."""

import hashlib
import json

import pytest

from tests.http_contract.api import Api, Json, failed, invalid

SCHEMA = {"schema": "powercontext.profile.v1", "media_type": "text/markdown"}


def head(api: Api, scope: str) -> Json:
    found: Json = api.get(f"/v1/scopes/{scope}/artifacts/profile/profile").json()
    return found


def test_a_proposal_is_a_pending_candidate_with_its_content(api: Api, scope: str) -> None:
    candidate = api.propose_profile(scope, "# Who\n", reason="asked")
    assert (candidate["family"], candidate["status"], candidate["version"]) == ("profile", "pending", 1)
    assert candidate["proposal"] == {"content": "# Who\n"}
    assert candidate["reason"] == "asked"
    failed(api.get(f"/v1/scopes/{scope}/artifacts/profile/profile"), 404, "artifact_not_found")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("text", "text\n"),
        ("text\n", "text\n"),
        ("text\n\n\n", "text\n"),
        ("\ufefftext", "text\n"),
        ("\ufeff\ufefftext", "\ufefftext\n"),
        ("e\u0301", "\u00e9\n"),
        ("a\r\nb\rc\r\n", "a\nb\nc\n"),
        ("a\r\n\r\nb\r\r", "a\n\nb\n"),
        (" a \n b \t", " a \n b \t\n"),
        ("a\u2028b\u0085", "a\u2028b\u0085\n"),
    ],
    ids=[
        "lf-added",
        "lf-kept",
        "lf-reduced",
        "bom",
        "one-bom",
        "nfc",
        "line-ends",
        "blank-lines",
        "blanks",
        "separators",
    ],
)
def test_content_is_stored_in_its_normal_form(api: Api, scope: str, given: str, stored: str) -> None:
    ref = api.approve(scope, api.propose_profile(scope, given))
    assert ref == {"family": "profile", "artifact_id": "profile", "revision": 1}
    content = {**SCHEMA, "content": stored}
    artifact = api.read(scope, ref)
    assert artifact["content"] == content
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    assert artifact["content_digest"] == "sha256:" + hashlib.sha256(canonical).hexdigest()
    direct = api.new_scope()
    assert api.create_artifact(direct, "profile", {"content": given})["content"] == content
    assert api.replace_artifact(direct, ref, {"content": given})["content"] == content
    imported = api.new_scope()
    api.import_lines(imported, {"type": "profile", "content": {"content": given}})
    assert api.read(imported, ref)["content"] == content


def test_content_is_at_most_256_kib_and_not_empty(api: Api, scope: str) -> None:
    most = 256 * 1024
    assert api.propose_profile(scope, "é" * (most // 2 - 1) + "x\n")["status"] == "pending"
    for illegal in ("x" * most + "y", "é" * (most // 2 + 1), "", None):
        invalid(api.post("/v1/profile/propose", scope_id=scope, content=illegal), "body", "content")
    for illegal in ("", "r" * 2001):
        invalid(api.post("/v1/profile/propose", scope_id=scope, content="c", reason=illegal), "body", "reason")


def test_the_head_stays_while_a_replacement_is_pending_or_rejected(api: Api, scope: str) -> None:
    def prepared() -> str:
        return api.prepared(scope, "anything", "profile")

    first = api.propose_profile(scope, "first")
    assert prepared() == ""
    api.approve(scope, first)
    second = api.propose_profile(scope, "second")
    assert "first" in prepared()
    assert "second" not in prepared()
    deciding = {"scope_id": scope, "candidate_id": second["candidate_id"], "expected_version": 1}
    api.call("/v1/artifact-candidates/reject", **deciding, reason="no")
    assert (head(api, scope)["revision"], head(api, scope)["content"]["content"]) == (1, "first\n")
    assert "second" not in prepared()
    third = api.approve(scope, api.propose_profile(scope, "third"))
    assert third == {"family": "profile", "artifact_id": "profile", "revision": 2}
    assert "third" in prepared()
    assert "first" not in prepared()
    assert api.read(scope, {**third, "revision": 1})["content"]["content"] == "first\n"


def test_a_scope_has_one_profile(api: Api, scope: str) -> None:
    api.create_artifact(scope, "profile", {"content": "first"})
    answer = api.send("POST", f"/v1/scopes/{scope}/artifacts", {"family": "profile", "content": {"content": "second"}})
    failed(answer, 409, "artifact_already_exists")
