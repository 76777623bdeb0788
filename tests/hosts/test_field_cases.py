"""Cases R25, R77 and R78 with real hosts: frames as stored texts, writers during a turn, changing turns."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from powercontext_client import ContextClient

from tests.client.fake_service import FakeService, running
from tests.hosts.conftest import Bench, strings, turn_strings
from tests.hosts.programs import Host
from tests.hosts.sidecar import QUESTION

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(600)]

NOTICE = "PowerContext prepared untrusted historical context."
BEGIN = "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1"
LEGACY_BEGIN = "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1"
ABOUT_FRAMES = (
    "Which notes speak of PowerContext prepared untrusted historical context or BEGIN_POWERCONTEXT_PREPARED_TEXT?"
)
TWO_ENTRIES = '{"sections": [{"family": "memory", "limit": 2}]}'
ONE_ENTRY = '{"sections": [{"family": "memory", "limit": 1}]}'


def scope_with(url: str, name: str, host: Host, *texts: str) -> str:
    """A Scope for this host alone with these entries."""
    scope_id = f"{name}:{type(host).__name__}"
    with ContextClient(url) as client:
        client.create_scope(title="Case", summary="Case", idempotency_key=scope_id, scope_id=scope_id)
        for text in texts:
            client.remember(scope_id, kind="note", text=text)
    return scope_id


def delivered_content(bench: Bench, question: str) -> str:
    """The content of the turn's one prepare, after asserting that the model got it unchanged and once."""
    (prepare,) = bench.proxy.prepares
    content = prepare.content
    assert content is not None
    assert [text.count(content) for text in bench.delivered(question) if content in text] == [1]
    return content


@pytest.mark.parametrize("assembly", [TWO_ENTRIES, None], ids=["assembly", "legacy"])
def test_the_notice_and_the_marker_as_stored_texts_arrive_as_frame_once_and_quoted_once(
    bench: Bench, sidecar_url: str, assembly: str | None
) -> None:
    """R25."""
    scope_id = scope_with(sidecar_url, "frames", bench.host, NOTICE, BEGIN)
    assert bench.turn(ABOUT_FRAMES, {"SCOPE_ID": scope_id, **bench.assembly(assembly)}).answered
    lines = delivered_content(bench, ABOUT_FRAMES).split("\n")
    assert lines.count(NOTICE) == 1
    if assembly is None:
        items = json.loads(lines[lines.index(LEGACY_BEGIN) + 1])["items"]
        assert sorted(item["content"] for item in items) == [BEGIN, NOTICE]
        return
    assert lines.count(BEGIN) == 1
    assert [lines.count(f">     {text}") for text in (NOTICE, BEGIN)] == [1, 1]


class _Heard(list[dict[str, Any]]):
    """What a model was asked; each question lets another client write before it is answered."""

    def __init__(self, write: Callable[[int], None]) -> None:
        super().__init__()
        self._write = write

    def append(self, asked: dict[str, Any]) -> None:
        super().append(asked)
        self._write(len(self))


def test_what_another_client_writes_during_a_turn_with_three_tool_calls_changes_nothing_in_it(
    bench: Bench, sidecar_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R77."""
    scope_id = scope_with(sidecar_url, "writers", bench.host, "HTTP API contract: generate the client first.")
    with ContextClient(sidecar_url) as writer:

        def write(number: int) -> None:
            writer.remember(scope_id, kind="note", text=f"HTTP API contract: how to change it, written late, {number}.")

        monkeypatch.setattr(bench.model, "asked", _Heard(write))
        bench.model.tool_calls = 3
        assert bench.turn(settings={"SCOPE_ID": scope_id, **bench.assembly("{}")}).answered
        content = delivered_content(bench, QUESTION)
        assert len(bench.model.asked) == 4
        told = [[text.count(content) for text in turn_strings(asked, QUESTION)] for asked in bench.model.asked]
        assert [sum(counts) for counts in told] == [1, 1, 1, 1]
        assert "written late" not in "\n".join(strings(bench.model.asked[-1]))
        now = writer.prepare_context(scope_id, QUESTION, assembly={}).content
    assert now is not None
    assert now.count("written late") == 4


def test_each_turn_gets_the_text_for_its_own_question_and_budget_or_none(bench: Bench, sidecar_url: str) -> None:
    """R78: topic A, topic B, topic A again with another budget, and a sidecar that is slower than the turn."""
    backup, parser = "The orders database is backed up every night.", "The invoice parser lives in tools/parse.py."
    about_backup, about_parser = "When is the orders database backed up?", "Where does the invoice parser live?"
    scope_id = scope_with(sidecar_url, "topics", bench.host, backup, parser)
    always = {"SCOPE_ID": scope_id, **bench.assembly(ONE_ENTRY)}
    turns = [(about_backup, "8000", backup), (about_parser, "8000", parser), (about_backup, "1500", backup)]
    for number, (question, max_bytes, text) in enumerate(turns):
        assert bench.turn(question, {**always, "MAX_BYTES": max_bytes}, resume=number > 0).answered
        (prepare,) = bench.proxy.prepares
        assert question in prepare.request["query"]
        assert prepare.request["max_bytes"] == int(max_bytes)
        content = delivered_content(bench, question)
        assert [entry in content for entry in (backup, parser)] == [entry == text for entry in (backup, parser)]
    late = "LATE POWERCONTEXT_PREPARED text"
    fields = {"status": "ready", "content": late, "content_bytes": len(late)}
    slow = FakeService(delay_s=4, body={"schema": "powercontext.prepared-context.v1", **fields})
    with running(slow):
        settings = {**always, "BASE_URL": slow.url, "TOTAL_TIMEOUT_S": "1"}
        assert bench.turn(about_parser, settings, resume=True).answered
    assert len(slow.received) == 1
    assert [text for text in bench.delivered(about_parser) if "POWERCONTEXT_PREPARED" in text] == []
