"""What a real host sends to the sidecar and to the model (RFC 1489, acceptance 7 and 8; cases R25, R77, R78)."""

import json

import pytest

from tests.hosts.conftest import Bench, turn_strings
from tests.hosts.programs import HermesHook, Turn
from tests.hosts.sidecar import LARGE_SCOPE_ID, MEMORIES, QUESTION, TAG_MEMORY, TAG_SCOPE_ID

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(600)]

EXPERIENCE_FIRST = (
    '{"format": "markdown", "sections": [{"family": "experience", "limit": 2}, {"family": "memory", "limit": 6}],'
    ' "show": ["confidence", "recall_rank"]}'
)
MEMORY_FIRST = (
    '{"sections": [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}],'
    ' "show": ["confidence", "recall_rank"]}'
)
FEWER = '{"sections": [{"family": "memory", "limit": 2}, {"family": "experience", "limit": 2}]}'
RANKED = (
    '{"sections": [{"family": "memory", "limit": 2}, {"family": "experience", "limit": 2}], "show": ["recall_rank"]}'
)


def only_text(bench: Bench, question: str = QUESTION) -> str:
    """The one string of the newest user turn that holds the content of the turn's one prepare, unchanged and once."""
    (prepare,) = bench.proxy.prepares
    assert prepare.content is not None
    holding = [text for text in bench.delivered(question) if prepare.content in text]
    assert len(holding) == 1
    assert holding[0].count(prepare.content) == 1
    marker = "END_POWERCONTEXT_PREPARED"
    assert "".join(bench.delivered(question)).count(marker) == prepare.content.count(marker)
    return holding[0]


@pytest.mark.parametrize("assembly", [EXPERIENCE_FIRST, "{}"], ids=["explicit", "default"])
def test_a_configured_assembly_reaches_the_sidecar_as_written_and_its_text_the_model(
    bench: Bench, assembly: str
) -> None:
    assert bench.turn(settings=bench.assembly(assembly)).answered
    (prepare,) = bench.proxy.prepares
    assert prepare.request["assembly"] == json.loads(assembly)
    assert assembly.encode() in prepare.body
    text = only_text(bench)
    assert "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1" in text
    assert MEMORIES[3].partition(": ")[2] in text  # the notice as a stored text is one more text (R25)


def test_without_a_configured_assembly_none_is_sent_and_the_legacy_text_reaches_the_model(bench: Bench) -> None:
    assert bench.turn().answered
    (prepare,) = bench.proxy.prepares
    assert set(prepare.request) == {"scope_id", "query", "max_bytes"}
    assert "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" in only_text(bench)


def test_the_hosts_own_words_stay_outside_the_content(bench: Bench) -> None:
    assert bench.turn(settings=bench.assembly(EXPERIENCE_FIRST)).answered
    text = only_text(bench)
    content = bench.proxy.prepares[0].content
    assert content is not None
    before, _, after = text.partition(content)
    assert before.endswith(bench.host.lead_in)
    assert "POWERCONTEXT_PREPARED" not in before + after
    told = "\n".join(bench.delivered())
    assert (told.index(content) < told.index(QUESTION)) is bench.host.text_first


def test_a_change_of_order_limit_show_or_budget_within_a_session_gives_the_text_of_that_turn(bench: Bench) -> None:
    texts: list[str] = []
    turns = [
        (QUESTION, EXPERIENCE_FIRST, "8000"),
        (QUESTION, MEMORY_FIRST, "8000"),
        (QUESTION, FEWER, "8000"),
        (QUESTION, RANKED, "8000"),
        (QUESTION, RANKED, "1500"),
        ("Which quotes are in the HTTP API contract?", RANKED, "1500"),
        (QUESTION, RANKED, "8000"),
        (QUESTION, None, "8000"),
    ]
    for question, assembly, max_bytes in turns:
        turn = bench.turn(question, {"MAX_BYTES": max_bytes, **bench.assembly(assembly)}, resume=bool(texts))
        assert turn.answered, turn
        (prepare,) = bench.proxy.prepares
        assert question in prepare.request["query"]
        assert prepare.request["max_bytes"] == int(max_bytes)
        assert prepare.request.get("assembly") == (None if assembly is None else json.loads(assembly))
        only_text(bench, question)
        assert prepare.content is not None
        assert len(prepare.content.encode()) <= int(max_bytes)
        others = set(texts) - {prepare.content}
        assert [old for old in others if any(old in text for text in bench.delivered(question))] == []
        texts.append(prepare.content)
    assert texts[0] != texts[1] != texts[2] != texts[3] != texts[4]
    assert texts[6] == texts[3]


def test_one_prepare_serves_all_model_calls_of_a_turn(bench: Bench) -> None:
    bench.model.tool_calls = 2
    assert bench.turn(settings=bench.assembly(EXPERIENCE_FIRST)).answered
    assert len(bench.model.asked) == 3
    text = only_text(bench)
    assert [text in turn_strings(asked, QUESTION) for asked in bench.model.asked] == [True, True, True]


def test_the_largest_text_that_the_host_passes_on_arrives_unchanged(bench: Bench) -> None:
    assembly = bench.assembly('{"sections": [{"family": "memory", "limit": 8}]}')
    settings = {"SCOPE_ID": LARGE_SCOPE_ID, "MAX_BYTES": "32768", **assembly}
    assert bench.turn(settings=settings).answered
    (prepare,) = bench.proxy.prepares
    room = bench.host.host_max_bytes - len(bench.host.lead_in.encode())
    assert prepare.request["max_bytes"] == room
    only_text(bench)
    assert prepare.content is not None
    assert len(prepare.content.encode()) > min(room - 100, 15_000)


def test_white_space_around_the_content_is_kept_or_nothing_is_handed_over(bench: Bench) -> None:
    """The content is opaque: that today's texts begin and end with a word is nothing a host may rely on."""
    bench.proxy.content = " \n\tPOWERCONTEXT_PREPARED\r\n  trailing \n\n"
    turn = bench.turn()
    assert turn.answered
    if isinstance(bench.host, HermesHook):
        assert_left_out(bench, turn, "Hermes would trim the white space")
    else:
        only_text(bench)


def test_the_hosts_own_tags_in_the_content_are_kept_or_nothing_is_handed_over(bench: Bench) -> None:
    turn = bench.turn(settings={"SCOPE_ID": TAG_SCOPE_ID, **bench.assembly("{}")})
    assert turn.answered
    content = bench.proxy.prepares[0].content
    assert content is not None
    assert TAG_MEMORY in content
    assert bench.host.altered in content
    if bench.host.altered:
        assert_left_out(bench, turn, "would alter the text")
    else:
        only_text(bench)


def assert_left_out(bench: Bench, turn: Turn, reason: str) -> None:
    """Nothing was injected, and the plugin says why."""
    assert [text for text in bench.delivered() if "POWERCONTEXT_PREPARED" in text] == []
    assert reason in bench.host.said(turn)
