"""Topic Memory: written directly, found by title, summary and detail, read with its detail."""

import pytest

from tests.http_contract.api import Api, Json, failed, invalid, ref_of, topic


def searched(api: Api, scope: str, query: str, **fields: int) -> list[Json]:
    answer = api.call("/v1/topic-memory/search", scope_id=scope, query=query, **fields)
    assert answer["mode"] == "fts"
    hits: list[Json] = answer["hits"]
    return hits


def test_a_topic_is_read_whole_by_its_reference(api: Api, scope: str) -> None:
    content = topic("标题 é", "summary\r\n\u2028", " detail 𠮷 \n")
    ref = ref_of(api.create_artifact(scope, "topic-memory", content))
    assert api.call("/v1/topic-memory/get", scope_id=scope, artifact=ref) == {
        "artifact": ref,
        **content,
        "source_refs": [],
    }
    for wrong in ({**ref, "revision": 2}, {**ref, "artifact_id": "top_" + "0" * 32}):
        failed(api.post("/v1/topic-memory/get", scope_id=scope, artifact=wrong), 404, "artifact_not_found")
    failed(api.post("/v1/topic-memory/get", scope_id="no-such-scope", artifact=ref), 404, "scope_not_found")


def test_a_hit_tells_where_it_matched(api: Api, scope: str) -> None:
    by_title = ref_of(api.create_artifact(scope, "topic-memory", topic("apple", "s", "d")))
    by_summary = ref_of(api.create_artifact(scope, "topic-memory", topic("t", "banana", "d")))
    by_detail = ref_of(api.create_artifact(scope, "topic-memory", topic("t", "s", "cherry")))
    for query, ref, matched_by, snippet in (
        ("apple", by_title, ["topic_fts"], None),
        ("banana", by_summary, ["topic_fts"], None),
        ("cherry", by_detail, ["detail_fts"], "cherry"),
    ):
        (hit,) = searched(api, scope, query)
        assert (hit["artifact"], hit["matched_by"], hit["snippet"]) == (ref, matched_by, snippet)
        assert 0 < hit["score"] <= 100
    both = ref_of(api.create_artifact(scope, "topic-memory", topic("durian", "s", "durian")))
    (hit,) = searched(api, scope, "durian")
    assert (hit["artifact"], set(hit["matched_by"])) == (both, {"topic_fts", "detail_fts"})


def test_a_snippet_is_a_piece_of_the_detail_that_matched(api: Api, scope: str) -> None:
    detail = "\n\n".join(f"Paragraph {number}: " + "filler words of no interest. " * 12 for number in range(40))
    detail = detail.replace("Paragraph 23:", "Paragraph 23 needle:")
    api.create_artifact(scope, "topic-memory", topic("t", "s", detail))
    (hit,) = searched(api, scope, "needle")
    assert "needle" in hit["snippet"]
    assert hit["snippet"] in detail
    assert len(hit["snippet"]) <= 480


def test_search_shows_the_head_alone(api: Api, scope: str) -> None:
    first = ref_of(api.create_artifact(scope, "topic-memory", topic("apple", "s", "cherry")))
    second = ref_of(api.replace_artifact(scope, first, topic("banana", "s", "damson")))
    assert searched(api, scope, "apple") == searched(api, scope, "cherry") == []
    assert [hit["artifact"] for hit in searched(api, scope, "banana")] == [second]
    assert [hit["artifact"] for hit in searched(api, scope, "damson")] == [second]
    assert api.call("/v1/topic-memory/get", scope_id=scope, artifact=first)["title"] == "apple"


def test_search_limits_its_hits_to_ten_or_to_the_limit(api: Api, scope: str) -> None:
    lines = ({"type": "topic-memory", "content": topic(f"needle {number}")} for number in range(21))
    api.import_lines(scope, *lines)
    assert [len(searched(api, scope, "needle", **given)) for given in ({}, {"limit": 1}, {"limit": 20})] == [10, 1, 20]
    scores = [hit["score"] for hit in searched(api, scope, "needle", limit=20)]
    assert scores == sorted(scores, reverse=True)
    for illegal in (0, 21):
        invalid(api.post("/v1/topic-memory/search", scope_id=scope, query="q", limit=illegal), "body", "limit")


@pytest.mark.parametrize(("field", "most"), [("title", 512), ("summary", 8000), ("detail", 125_000)])
def test_each_part_is_bounded_and_not_empty(api: Api, scope: str, field: str, most: int) -> None:
    path = f"/v1/scopes/{scope}/artifacts"
    longest = topic() | {field: "é" * most}
    assert api.create_artifact(scope, "topic-memory", longest)["content"] == longest
    for illegal in ("", "é" * (most + 1), None):
        answer = api.send("POST", path, {"family": "topic-memory", "content": topic() | {field: illegal}})
        invalid(answer, "body", "content", field)
