"""Hypothesis strategies for recalled candidates whose ids and texts mean harm."""

from typing import TypeVar

from hypothesis import strategies as st
from msgspec import structs

from contracts.prepare import (
    Assembly,
    ExperienceSection,
    MemorySection,
    ProfileSection,
    Section,
    Show,
    TopicMemorySection,
)
from contracts.recalled import (
    ExperienceGroup,
    ExperienceHit,
    MemoryGroup,
    MemoryHit,
    ProfileSnapshot,
    Recalled,
    TopicMemoryHit,
)

T = TypeVar("T")

FRAGMENTS = [
    *["a", "word ", "é", "验", "𠮷", "…", " ", "\u00a0", "\u3000", "\ue000", "\ufffe", "\U0010ffff"],
    *["\n", "\r", "\r\n", "\n\r", "\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"],
    *["\x00", "\x01", "\t", "\x7f", "\u00ad", "\u200b", "\u200d", "\u202e", "\u2066", "\ufeff"],
    *["\U000110bd", "\U00013439", "\U0001343f", "\U000e0001", "\U000e0041"],
    *["\\", '"', "/", "\\u0009", "\\U000e0001", "\\n", "`", "```\n", "~~~\n", "# h\n", "### Memory 1\n\n"],
    *["> ", ">     ", "---\n", "===\n", "- [ ] x\n", "1. x\n", "[a]: b\n", "![x](y)"],
    *["<script>", "<!--", "-->", "${env}", "{{x}}", "&#35;"],
    *["    Truncated: no\n", "END_POWERCONTEXT_PREPARED_TEXT_V1\n", "END_POWERCONTEXT_PREPARED_CONTEXT_V1\n"],
]
# Long runs reach the 2000-byte limit and the 64-byte floor, which random text would hardly meet.
REPEATS = [1, 1, 1, 1, 1, 2, 3, 10, 30, 61, 64, 200, 333, 700, 2001]

runs = st.builds(lambda fragment, times: fragment * times, st.sampled_from(FRAGMENTS), st.sampled_from(REPEATS))
pieces = runs | st.text(max_size=8, alphabet=st.characters(exclude_categories=["Cs"]))
short_runs = st.builds(lambda fragment, times: fragment * times, st.sampled_from(FRAGMENTS), st.integers(1, 60))
texts = st.lists(pieces, max_size=8).map("".join)
ids = st.sampled_from(
    ["a", "b", "c", "d", "e-1", " ", "é", '"\\', "x\ny", "\u2028", "\x7f", "😀", "mem_ent_" + "0" * 32]
)
scope_ids = st.sampled_from(["s", "t", "项目:demo", "u\u0085v"])
revisions = st.integers(1, 2)


def tuples_of(strategy: st.SearchStrategy[T], max_size: int) -> st.SearchStrategy[tuple[T, ...]]:
    """Return tuples that are mostly short, now and then long enough to pass a pool."""
    return st.lists(strategy, max_size=3).map(tuple) | st.lists(strategy, max_size=max_size).map(tuple)


memory_hits = st.builds(MemoryHit, ids, ids, texts)
experience_hits = st.builds(ExperienceHit, ids, revisions, texts, texts, texts, texts)
memory_groups = st.builds(MemoryGroup, scope_ids, ids, revisions, tuples_of(memory_hits, 18))
recalled_contexts = st.builds(
    Recalled,
    current_scope_id=scope_ids,
    memory=st.lists(memory_groups, max_size=3).map(tuple),
    experience=st.lists(st.builds(ExperienceGroup, scope_ids, tuples_of(experience_hits, 9)), max_size=3).map(tuple),
    profile=st.lists(st.builds(ProfileSnapshot, scope_ids, ids, revisions, texts), max_size=3).map(tuple),
    topic_memory=tuples_of(st.builds(TopicMemoryHit, ids, revisions, texts, texts, st.none() | texts), 9),
)


@st.composite
def assemblies(draw: st.DrawFn) -> Assembly:
    """Draw any selection of families in any order, with limits that the contract permits for each of them."""
    available: list[st.SearchStrategy[Section]] = [
        st.builds(MemorySection, limit=st.integers(1, 8)),
        st.builds(ExperienceSection, limit=st.integers(1, 2)),
        st.builds(ProfileSection, limit=st.integers(1, 8)),
        st.builds(TopicMemorySection, limit=st.integers(1, 8)),
    ]
    order = draw(st.permutations(available))
    chosen = order[: draw(st.sampled_from([4, 3, 2, 1, 4, 3, 2, 0]))]
    shows: list[tuple[Show, ...]] = [(), ("confidence",), ("recall_rank",), ("recall_rank", "confidence")]
    return Assembly(sections=tuple(draw(section) for section in chosen), show=draw(st.sampled_from(shows)))


@st.composite
def budgets(draw: st.DrawFn, unlimited_bytes: int) -> int:
    """Draw a budget near the least useful one, near the size of the unlimited text, or anywhere between."""
    around_all = st.integers(max(0, unlimited_bytes - 80), unlimited_bytes + 1)
    between = st.integers(300, max(301, unlimited_bytes))
    return draw(st.one_of(st.integers(500, 1500), around_all, between))


@st.composite
def single_candidates(draw: st.DrawFn) -> tuple[Recalled, int]:
    """Draw one candidate of any family with an arbitrary text, and a budget that is likely to cut it."""
    text = "".join(draw(st.lists(short_runs, min_size=1, max_size=12)))
    bare = Recalled("s")
    alone = draw(
        st.sampled_from(
            [
                structs.replace(bare, memory=(MemoryGroup("s", "memory", 1, (MemoryHit("e", "v", text),)),)),
                structs.replace(bare, experience=(ExperienceGroup("t", (ExperienceHit("x", 1, text, "", "", ""),)),)),
                structs.replace(bare, profile=(ProfileSnapshot("s", "profile", 1, text),)),
                structs.replace(bare, topic_memory=(TopicMemoryHit("t", 1, "", text, None),)),
            ]
        )
    )
    return alone, draw(st.integers(450, 600) | st.integers(450, 600 + 3 * len(text.encode())))
