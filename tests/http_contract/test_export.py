"""Export: every revision in order; imported again it stores nothing, imported elsewhere all of it."""

from typing import Any

from tests.http_contract.api import Api, Json, experience, failed, invalid, ref_of, scope_path, topic
from tests.http_contract.test_memory_writes import cited_at, retire, revise


def filled(api: Api) -> str:
    """A Scope with a history in every family."""
    scope = api.new_scope()
    first = api.remember(scope, "first → 部署 📅 𠮷野家", reason="because")["entry"]["citation"]
    second = api.remember(scope, "second\u2028\u0085x")["entry"]["citation"]
    revise(api, scope, cited_at(first, 2), "third")
    retire(api, scope, cited_at(second, 3), reason="old")
    api.import_lines(scope, *({"type": "memory-entry", "kind": "k", "text": f"batch {n}"} for n in range(3)))
    target = api.approve(scope, api.propose(scope, experience("first 𠮷")))
    api.approve(scope, api.propose(scope, experience("second"), target=target))
    api.approve(scope, api.propose_profile(scope, "# One"))
    api.approve(scope, api.propose_profile(scope, "# Two"))
    subject = ref_of(api.create_artifact(scope, "topic-memory", topic("one")))
    api.replace_artifact(scope, subject, topic("two", "摘要", "détail\r\n"))
    api.propose(scope, experience("pending"))
    return scope


def everything(api: Api, scope: str) -> Any:
    """All that exact reads tell of a Scope, but for its id and when things were published."""
    artifacts = []
    for family in ("memory", "experience", "profile", "topic-memory"):
        for head in api.list_artifacts(f"{scope_path(scope)}/artifacts/{family}")["items"]:
            for revision in range(1, head["revision"] + 1):
                artifact = api.read(scope, {**ref_of(head), "revision": revision})
                digest = artifact["content_digest"] if family != "memory" else None
                artifacts.append((ref_of(artifact), digest, artifact["content"].get("manifest", artifact["content"])))
    return artifacts, api.entries(scope, include_inactive=True)


def ops(api: Api, scope: str) -> list[Any]:
    return [
        (each["memory_ref"]["revision"], change["op"], change["entry_id"], change["to_entry_version_id"])
        for each in api.changes(scope)
        for change in each["changes"]
    ]


def test_an_export_has_every_revision_in_order_with_ids(api: Api) -> None:
    scope = filled(api)
    lines = api.export(scope)
    entries = [line for line in lines if line["type"] == "memory-entry"]
    assert [(line["text"], line["revision"]) for line in entries[:3]] == [
        ("first → 部署 📅 𠮷野家", 1),
        ("second\u2028\u0085x", 2),
        ("third", 3),
    ]
    assert [line.get("left_revision") for line in entries[:3]] == [3, 4, None]
    assert entries[0]["reason"] == "because"
    assert {line["revision"] for line in entries[3:]} == {5}
    assert all({"entry_id", "entry_version_id", "kind"} <= set(line) for line in entries)
    for family, contents in (
        ("experience", [experience("first 𠮷"), experience("second")]),
        ("profile", [{"content": "# One\n"}, {"content": "# Two\n"}]),
        ("topic-memory", [topic("one"), topic("two", "摘要", "détail\r\n")]),
    ):
        of_family = [line for line in lines if line["type"] == family]
        assert [line["content"] for line in of_family] == contents
        assert [line["revision"] for line in of_family] == [1, 2]
        assert len({line["artifact_id"] for line in of_family}) == 1
    assert len(lines) == len(entries) + 6


def test_importing_an_export_where_it_came_from_stores_nothing(api: Api) -> None:
    scope = filled(api)
    before, lines = everything(api, scope), api.export(scope)
    for _ in range(2):
        assert {report["status"] for report in api.import_lines(scope, *lines)} == {"skipped"}
    assert everything(api, scope) == before
    assert api.export(scope) == lines


def test_importing_an_export_elsewhere_carries_the_history_over_with_equal_digests(api: Api) -> None:
    scope, other = filled(api), api.new_scope()
    lines = api.export(scope)
    assert {report["status"] for report in api.import_lines(other, *lines)} == {"stored"}
    assert everything(api, other) == everything(api, scope)
    assert ops(api, other) == ops(api, scope)
    assert api.export(other) == lines
    assert {report["status"] for report in api.import_lines(other, *lines)} == {"skipped"}


def test_a_later_export_brings_an_older_copy_up_to_date(api: Api) -> None:
    scope, other = filled(api), api.new_scope()
    api.import_lines(other, *api.export(scope))
    citation = next(each["citation"] for each in api.entries(scope) if each["text"] == "third")
    new = revise(api, scope, citation, "fourth")["entry"]["citation"]
    live = next(each["citation"] for each in api.entries(scope) if each["text"] == "batch 0")
    retire(api, scope, live)
    assert new["entry_id"] == citation["entry_id"]
    api.import_lines(other, *api.export(scope))
    assert everything(api, other) == everything(api, scope)


def test_an_export_of_an_empty_scope_is_empty_and_of_none_404(api: Api, scope: str) -> None:
    assert api.export(scope) == []
    failed(api.get("/v1/scopes/no-such-scope/export"), 404, "scope_not_found")
    invalid(api.get(f"{scope_path(scope)}/export?limit=1"), "query", "limit")


def test_a_large_scope_comes_over_whole(api: Api, scope: str) -> None:
    lines: list[Json] = [{"type": "memory-entry", "kind": "k", "text": f"entry {n}"} for n in range(1100)]
    lines += [{"type": "experience", "content": experience(str(n))} for n in range(110)]
    api.import_lines(scope, *lines)
    exported = api.export(scope)
    assert sorted(line["text"] for line in exported[:1100]) == sorted(line["text"] for line in lines[:1100])
    assert [line["content"] for line in exported[1100:]] == [line["content"] for line in lines[1100:]]
    other = api.new_scope()
    assert {report["status"] for report in api.import_lines(other, *exported)} == {"stored"}
    assert api.export(other) == exported
