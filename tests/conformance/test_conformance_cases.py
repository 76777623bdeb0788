"""Every recorded case gives exactly the recorded answer."""

import json
from pathlib import Path

import pytest

from service.conformance_case import CaseError, run_case

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


def test_the_cases_are_all_there() -> None:
    assert len(CASES) == 88


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_gives_the_recorded_answer(path: Path) -> None:
    raw = path.read_bytes()
    assert json.loads(run_case(raw)) == json.loads(raw)["expected"]


def test_result_is_ascii_json_even_when_an_id_holds_a_lone_surrogate() -> None:
    result = run_case(one_hit('{"max_bytes":800,"assembly":{}}', entry_id="\\udc00", text="\\u9a8c"))
    assert result.isascii()
    assert json.loads(result)["origins"][0]["entry_id"] == "\udc00"


def test_limits_may_add_up_to_more_than_eight() -> None:
    hits = ",".join(f'{{"entry_id":"e{n}","entry_version_id":"v","text":"t"}}' for n in range(9))
    experience = '{"artifact_id":"x","revision":1,"situation":"s","action":"a","outcome":"o","lesson":"l"}'
    raw = (
        '{"input":{"current_scope_id":"s","request":{"max_bytes":32768,"assembly":{"sections":'
        '[{"family":"memory","limit":8},{"family":"experience","limit":1}]}},'
        f'"memory":[{{"scope_id":"s","artifact_id":"m","revision":1,"hits":[{hits}]}}],'
        f'"experience":[{{"scope_id":"s","hits":[{experience}]}}]}}}}'
    )
    assert len(json.loads(run_case(raw.encode()))["origins"]) == 9


@pytest.mark.parametrize("max_bytes", [-(10**30), 0, 1])
def test_a_budget_too_small_for_anything_gives_the_empty_answer(max_bytes: int) -> None:
    raw = f'{{"input":{{"current_scope_id":"s","request":{{"max_bytes":{max_bytes}}}}}}}'
    expected: dict[str, object] = {"status": "empty", "content": None, "content_bytes": 0, "origins": []}
    assert json.loads(run_case(raw.encode())) == expected


def one_hit(request: str, *, artifact_id: str = '"m"', entry_id: str = "e", text: str = "t") -> bytes:
    hit = f'{{"entry_id":"{entry_id}","entry_version_id":"v","text":"{text}"}}'
    memory = f'{{"scope_id":"s","artifact_id":{artifact_id},"revision":1,"hits":[{hit}]}}'
    return f'{{"input":{{"current_scope_id":"s","request":{request},"memory":[{memory}]}}}}'.encode()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a conformance case"),
        (b'{"input":{"current_scope_id":"s"}}', "missing required field `request`"),
        (one_hit('{"max_bytes":"8"}'), "Expected `int`"),
        (one_hit('{"max_bytes":8,"assembly":null}'), "Expected `object`"),
        (one_hit('{"max_bytes":8000,"assembly":{}}', artifact_id="null"), "needs the artifact id"),
        (one_hit('{"max_bytes":8000,"assembly":{}}', text="\\ud800"), "lone surrogate"),
        (one_hit('{"max_bytes":8000}', entry_id="\\ud800"), "lone surrogate"),
    ],
    ids=range(10),
)
def test_what_is_no_case_is_refused_with_a_reason(raw: bytes, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        run_case(raw)
