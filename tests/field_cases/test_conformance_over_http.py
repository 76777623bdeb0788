"""The recorded cases whose limits add up to more than the server allows are refused over HTTP."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.field_cases.calls import Instance, create_scope, post, prepare

CASES = [
    json.loads(path.read_bytes())
    for path in sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.json"))
]
OVER_MAX = [case for case in CASES if case["sum_over_max"]]


def request_of(case: dict[str, Any]) -> dict[str, Any]:
    return {"scope_id": "s", "query": "q", **case["input"]["request"]}


def test_there_are_cases_of_both_kinds() -> None:
    assert 0 < len(OVER_MAX) < len(CASES)


async def test_a_sum_of_limits_over_the_maximum_is_422_at_the_sections(client: httpx.AsyncClient) -> None:
    for case in OVER_MAX:
        refused = await post(client, "/v1/context/prepare", request_of(case), 422)
        assert refused["error"]["code"] == "invalid_request"
        errors = refused["error"]["details"]["errors"]
        assert [error["loc"] for error in errors] == [["body", "assembly", "sections"]]


async def test_the_sum_is_checked_before_anything_is_read(client: httpx.AsyncClient) -> None:
    """422 comes before 404."""
    for case in OVER_MAX:
        await post(client, "/v1/context/prepare", {**request_of(case), "scope_id": "no such Scope"}, 422)


async def test_every_other_recorded_request_is_taken(client: httpx.AsyncClient) -> None:
    for case in CASES:
        if not case["sum_over_max"]:
            assert await prepare(client, **request_of(case)) is None


@pytest.mark.parametrize(("most", "status"), [(7, 422), (8, 200)])
async def test_the_default_sections_count_against_a_smaller_maximum_and_legacy_does_not(
    instance: Instance, most: int, status: int
) -> None:
    async with instance(runtime_context_assembly_max_entries=most) as client:
        await create_scope(client, "s")
        await post(client, "/v1/context/prepare", {"scope_id": "s", "query": "q", "assembly": {}}, status)
        await post(client, "/v1/context/prepare", {"scope_id": "s", "query": "q"}, 200)


async def test_a_server_with_a_larger_maximum_takes_them(instance: Instance) -> None:
    sums = [sum(section["limit"] for section in case["input"]["request"]["assembly"]["sections"]) for case in OVER_MAX]
    async with instance(runtime_context_assembly_max_entries=max(sums)) as client:
        await create_scope(client, "s")
        for case in OVER_MAX:
            assert await prepare(client, **request_of(case)) is None
