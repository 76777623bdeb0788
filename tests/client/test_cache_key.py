"""One key: requests that mean the same share it, all others do not (RFC 1489, hosts; case R78)."""

import itertools
from typing import Any

import pytest
from msgspec import UNSET
from powercontext_client import Assembly, Section, prepare_cache_key

BASE: dict[str, Any] = {"scope_id": "s", "session_or_turn": "t", "query": "q", "max_bytes": 8000}
MEMORY_6 = {"family": "memory", "limit": 6}
EXPERIENCE_2 = {"family": "experience", "limit": 2}


def key(assembly: Any = UNSET, **change: Any) -> str:
    return prepare_cache_key(**{**BASE, **change}, assembly=assembly)


@pytest.mark.parametrize(
    "same",
    [
        {},
        Assembly(),
        {"format": "markdown"},
        {"sections": [MEMORY_6, EXPERIENCE_2]},
        {"show": [], "sections": [{"limit": 6, "family": "memory"}, {"limit": 2, "family": "experience"}]},
        {"sections": (MEMORY_6, EXPERIENCE_2), "format": "markdown", "show": ()},
        {"sections": (Section("memory", 6), Section("experience", 2))},
        {"sections": [Section("memory", 6), EXPERIENCE_2]},
    ],
    ids=repr,
)
def test_the_default_assembly_has_one_key_however_it_is_written(same: Any) -> None:
    assert key(same) == key({"format": "markdown", "sections": [MEMORY_6, EXPERIENCE_2], "show": []})


def test_the_order_of_show_makes_no_difference() -> None:
    assert key({"show": ["confidence", "recall_rank"]}) == key(Assembly(show=("recall_rank", "confidence")))


def test_requests_that_differ_have_different_keys() -> None:
    keys = [
        key(),
        key({}),
        key(None),
        key({"sections": []}),
        key({"sections": [EXPERIENCE_2, MEMORY_6]}),
        key({"sections": [MEMORY_6]}),
        key({"sections": [{"family": "memory", "limit": 5}, EXPERIENCE_2]}),
        key(Assembly(sections=(Section("profile", 6), Section("experience", 2)))),
        key({"show": ["confidence"]}),
        key({"show": ["recall_rank"]}),
        key({"show": ["confidence", "recall_rank"]}),
        key({"show": ["confidence", "confidence"]}),
        key({"format": "text"}),
        key({"sort_by": "score"}),
        key([]),
        key(""),
        key(0),
        key(False),
        key([["show", ["recall_rank"]]]),
        key(max_bytes=8001),
        key({}, max_bytes=8001),
        key(query="q "),
        key(query="Q"),
        key(scope_id="S"),
        key(session_or_turn="t2"),
        key(scope_id="st", session_or_turn=""),
        key(scope_id="", session_or_turn="st"),
    ]
    assert [(a, b) for a, b in itertools.combinations(range(len(keys)), 2) if keys[a] == keys[b]] == []


def test_a_key_shows_nothing_of_the_query_or_the_scope() -> None:
    assert "secret" not in key(query="secret", scope_id="secret")
