"""The checks of bench/locomo_prepare.py on a conversation made here: they pass, and each of them can fail."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.locomo_prepare import check_prepared, main
from tests.field_cases.calls import create_scope, memory_section, post, read_entry, remember
from tests.field_cases.prepared_text import Item

NAMES = ["Ana", "Bo"]
HOBBIES = ["sailing", "pottery", "陶艺", "chess", "bird watching 🐦", "baking", "climbing", "the cello"]


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    """Two conversations in LoCoMo's form, with a fact too long for a body and one of odd characters."""
    conversations = []
    for number in range(2):
        facts = [[f"{NAMES[at % 2]} began {hobby} in year {at}.", f"D1:{at}"] for at, hobby in enumerate(HOBBIES)]
        facts += [
            ["Ana began a diary: " + "day after day 一天又一天 " * 200, "D2:1"],
            ["Bo began\ta\u202e\u2028list", "D2:2"],
        ]
        conversations.append(
            {
                "sample_id": f"made-{number}",
                "observation": {"session_1_observation": {"Ana": facts[::2], "Bo": facts[1::2]}},
                "qa": [{"question": f"When did {name} begin {hobby}?"} for name in NAMES for hobby in HOBBIES[:4]]
                + [{"question": "What did Ana write in her diary?"}],
            }
        )
    path = tmp_path / "made.json"
    path.write_text(json.dumps(conversations), encoding="utf-8")
    return path


def test_a_made_conversation_passes_every_check(locomo_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(locomo_file), "--max-bytes", "8000", "700", "512"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("20 entries, 18 questions, 108 prepared texts (")
    assert said.out.endswith("; 0 violations\n")
    assert "with 0 items" not in said.out
    assert "(0 cut)" not in said.out


@pytest.mark.parametrize("content", [None, b"{", b"[{}]", b"[1]", b'{"a": 1}', b"\xff"])
def test_missing_or_other_data_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    path = tmp_path / "data.json"
    if content is not None:
        path.write_bytes(content)
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert str(path) in said.err


def changed(answer: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The answer with another content of the same claim about its bytes."""
    assert old in answer["content"]
    content = answer["content"].replace(old, new, 1)
    return {**answer, "content": content, "content_bytes": len(content.encode())}


async def test_each_check_fails_on_what_it_is_for(client: httpx.AsyncClient) -> None:
    await create_scope(client, "other")
    entries = [await remember(client, "s", text) for text in ("the needle", "needle " + "x" * 3000)]
    citation_texts = {entry["citation"]["entry_version_id"]: entry["text"] for entry in entries}
    body = {"scope_id": "s", "query": "needle", "assembly": memory_section(2)}
    answer = await post(client, "/v1/context/prepare", body)
    legacy_answer = await post(client, "/v1/context/prepare", {"scope_id": "s", "query": "needle"})
    assert (await read_entry(client, "s", entries[0]["citation"]))["text"] == "the needle"

    def read_back(item: Item) -> str | None:
        assert item.entry is not None
        return citation_texts.get(item.entry[1])

    def wrong_with(answer: dict[str, Any], max_bytes: int = 8000, scope_id: str = "s", *, legacy: bool = False) -> str:
        _, wrong = check_prepared(answer, max_bytes, scope_id, legacy=legacy, read_back=read_back)
        return "; ".join(wrong)

    assert wrong_with(answer) == wrong_with(legacy_answer, legacy=True) == ""
    assert wrong_with(dict(zip(answer, ["powercontext.prepared-context.v1", "empty", None, 0], strict=True))) == ""
    assert "content_bytes" in wrong_with({**answer, "content_bytes": answer["content_bytes"] + 1})
    assert "budget" in wrong_with(answer, answer["content_bytes"] - 1)
    assert "other fields" in wrong_with({**answer, "items": []})
    assert "empty answer" in wrong_with({**answer, "content": None, "content_bytes": 0})
    assert "schema or status" in wrong_with({**answer, "status": "empty"})
    assert "another text" in wrong_with(changed(answer, ">     the needle", ">     a needle"))
    assert "another text" in wrong_with(changed(answer, "x…", "y…"))
    assert "another text" in wrong_with(changed(answer, "Truncated: no", "Truncated: yes"))
    assert "another text" in wrong_with(changed(legacy_answer, "the needle", "a needle"), legacy=True)
    assert "reads nothing back" in wrong_with(changed(answer, 'version="mem_ver_', 'version="mem_vex_'))
    assert "no Memory entry of this Scope" in wrong_with(answer, scope_id="other")
    assert "cannot be read" in wrong_with(changed(answer, "\n>     the", "\nthe"))
    assert "cannot be read" in wrong_with(changed(answer, "### Memory 2", "### Memory 3"))
    assert "cannot be read" in wrong_with(changed(answer, "_PREPARED_TEXT_V1", "_PREPARED_TEXT_V2"))
    assert "cannot be read" in wrong_with(answer, legacy=True)
