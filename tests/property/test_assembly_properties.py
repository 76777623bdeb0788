"""What holds for every prepared text, whatever was stored."""

import json
import re
from itertools import dropwhile, pairwise

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import UNSET, UnsetType, structs

from contracts.prepare import Assembly, MemorySection, Section
from contracts.recalled import MemoryGroup, MemoryHit, Recalled
from service.assembly import Assembled, assemble, pool_shares, round_robin
from tests.property.hostile_recall import assemblies, budgets, recalled_contexts, texts
from tests.property.slow_definition import NOTICE, TITLES, prepare_text, units

UNLIMITED = 10**9
modes = st.just(UNSET) | assemblies()
sizes = st.lists(st.integers(0, 20), max_size=6)


def one_memory(text: str) -> Recalled:
    return Recalled("s", memory=(MemoryGroup("s", "memory", 1, (MemoryHit("e", "v", text),)),))


def one_item_of(max_bytes: int, text: str) -> Assembled:
    return assemble(one_memory(text), Assembly(sections=(MemorySection(limit=1),)), max_bytes)


def without_blank_ends(body: str) -> str:
    """Return `body` without the blank lines around it, which CommonMark does not count as part of a code block."""
    lines = list(dropwhile(lambda line: not line.strip(" "), body.split("\n")))
    return "\n".join(reversed(list(dropwhile(lambda line: not line.strip(" "), reversed(lines)))))


@given(recalled_contexts, assemblies(), st.data())
def test_markdown_shows_our_headings_and_no_other_and_every_body_as_literal_text(
    recalled: Recalled, assembly: Assembly, data: st.DataObject
) -> None:
    """The reader is CommonMark's own: no stored text may become a heading, a link, HTML or an item of its own."""
    max_bytes = data.draw(budgets(assemble(recalled, assembly, UNLIMITED).content_bytes))
    content = assemble(recalled, assembly, max_bytes).content
    if content is None:
        return
    items = prepare_text(recalled, assembly, max_bytes).items
    seen: list[tuple[str, str]] = []
    for token in MarkdownIt("commonmark").parse(content):
        if token.type == "inline":
            seen.append(("inline", token.content))
        elif token.nesting != -1:
            seen.append((token.type + token.tag, token.content if token.type == "code_block" else ""))
    expected = [
        ("heading_openh1", ""),
        ("inline", "PowerContext historical context"),
        ("paragraph_openp", ""),
        ("inline", NOTICE),
        ("paragraph_openp", ""),
        ("inline", "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1"),
    ]
    for item in items:
        title = TITLES[item.family]
        if item.number == 1:
            expected += [("heading_openh2", ""), ("inline", title)]
        expected += [("heading_openh3", ""), ("inline", f"{title} {item.number}")]
        expected += [("code_blockcode", "metadata"), ("blockquote_openblockquote", "")]
        expected += [("code_blockcode", without_blank_ends(item.body) + "\n")]
    expected += [("paragraph_openp", ""), ("inline", "END_POWERCONTEXT_PREPARED_TEXT_V1")]
    metadata = [token for previous, token in pairwise(seen) if is_metadata(previous, token)]
    assert len(metadata) == len(items)
    layout = re.compile(r"Scope: .*\nArtifact: .*\n(?:.*\n){0,3}Truncated: (yes|no)\n")
    assert all(layout.fullmatch(text) for _, text in metadata)
    shown = [
        ("code_blockcode", "metadata") if is_metadata(previous, token) else token
        for previous, token in zip([("", ""), *seen], seen, strict=False)
    ]
    assert shown == expected


def is_metadata(previous: tuple[str, str], token: tuple[str, str]) -> bool:
    return token[0] == "code_blockcode" and previous[0] == "inline"


@given(recalled_contexts, assemblies())
def test_each_marker_begins_exactly_one_line_and_lines_end_in_lf_alone(recalled: Recalled, assembly: Assembly) -> None:
    content = assemble(recalled, assembly, 32768).content
    if content is not None:
        lines = content.splitlines()
        assert lines == content.split("\n")
        assert sum(line.startswith("BEGIN_POWERCONTEXT") for line in lines) == 1
        assert [n for n, line in enumerate(lines) if line.startswith("END_POWERCONTEXT")] == [len(lines) - 1]


@given(recalled_contexts, st.data())
def test_legacy_output_is_six_lines_whose_fifth_is_json(recalled: Recalled, data: st.DataObject) -> None:
    max_bytes = data.draw(budgets(assemble(recalled, UNSET, UNLIMITED).content_bytes))
    content = assemble(recalled, UNSET, max_bytes).content
    if content is not None:
        # Not str.splitlines: DEL, U+001C and the like are escaped or no line ends for any JSON reader.
        lines = re.split("[\n\r\u0085\u2028\u2029]", content)
        assert len(lines) == 6
        for item in json.loads(lines[4])["items"]:
            assert len(item["content"].encode()) <= 2000
            assert not item["truncated"] or len(item["content"].encode()) >= 64


@given(recalled_contexts, modes, st.data())
def test_a_budget_of_exactly_what_was_spent_gives_the_same_text(
    recalled: Recalled, assembly: Assembly | UnsetType, data: st.DataObject
) -> None:
    max_bytes = data.draw(budgets(assemble(recalled, assembly, UNLIMITED).content_bytes))
    first = assemble(recalled, assembly, max_bytes)
    assert assemble(recalled, assembly, first.content_bytes).content == first.content


@given(texts, st.integers(500, 3000), st.integers(0, 100))
def test_a_larger_budget_never_shows_less_of_a_single_item(text: str, max_bytes: int, more: int) -> None:
    assert one_item_of(max_bytes, text).content_bytes <= one_item_of(max_bytes + more, text).content_bytes


@given(texts, st.integers(500, 4000))
def test_a_truncated_body_is_a_prefix_of_whole_units_and_an_ellipsis(text: str, max_bytes: int) -> None:
    assembled = one_item_of(max_bytes, text)
    if assembled.content is None or assembled.receipt[0].outcome != "included_truncated":
        return
    lines = assembled.content.split("\n")
    body = "\n".join(line.removeprefix(">     ") for line in lines if line.startswith(">     "))
    assert body.endswith("…")
    shown, rest = body[:-1], units(text)
    while shown:
        unit, rest = rest[0], rest[1:]
        assert shown.startswith(unit)
        shown = shown[len(unit) :]
    assert rest


@given(recalled_contexts, assemblies(), st.integers(500, 6000))
def test_families_that_are_not_selected_change_nothing(recalled: Recalled, assembly: Assembly, max_bytes: int) -> None:
    selected = {field_of(section) for section in assembly.sections}
    emptied = {field: () for field in ("memory", "experience", "profile", "topic_memory") if field not in selected}
    without_them = structs.replace(recalled, **emptied)
    assert assemble(without_them, assembly, max_bytes) == assemble(recalled, assembly, max_bytes)


def field_of(section: Section) -> str:
    return {"Memory": "memory", "Experience": "experience", "Profile": "profile", "TopicMemory": "topic_memory"}[
        type(section).__name__.removesuffix("Section")
    ]


@given(recalled_contexts, modes, st.integers(500, 6000))
def test_the_receipt_accounts_for_every_candidate_once_and_agrees_with_the_origins(
    recalled: Recalled, assembly: Assembly | UnsetType, max_bytes: int
) -> None:
    assembled = assemble(recalled, assembly, max_bytes)
    counts = {
        "memory": sum(len(group.hits) for group in recalled.memory),
        "experience": sum(len(group.hits) for group in recalled.experience),
        "profile": len(recalled.profile),
        "topic_memory": len(recalled.topic_memory),
    }
    if isinstance(assembly, UnsetType):
        fields = {"memory", "experience", "topic_memory"}
    else:
        fields = {field_of(section) for section in assembly.sections}
        # Legacy takes families in turn, so only here do receipt and text have the same order.
        included = tuple(line.candidate for line in assembled.receipt if line.outcome.startswith("included"))
        assert included == assembled.origins
    assert len(assembled.receipt) == sum(counts[field] for field in fields)
    for line in assembled.receipt:
        assert (line.recall_rank is None) == (line.outcome in ("blank", "duplicate", "beyond_pool"))


@given(sizes, st.integers(0, 20))
def test_cutting_to_a_pool_twice_is_cutting_once_and_turns_stay_even(sizes: list[int], pool: int) -> None:
    shares = pool_shares(sizes, pool)
    assert pool_shares(shares, pool) == shares
    assert sum(shares) == min(pool, sum(sizes))
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))
    unfilled = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not unfilled or max(shares) - min(unfilled) <= 1


@given(sizes, st.integers(0, 20))
def test_merging_what_was_cut_gives_the_beginning_of_merging_everything(sizes: list[int], pool: int) -> None:
    groups = [[(scope, position) for position in range(size)] for scope, size in enumerate(sizes)]
    cut = [group[:share] for group, share in zip(groups, pool_shares(sizes, pool), strict=True)]
    assert round_robin(cut) == round_robin(groups)[:pool]
