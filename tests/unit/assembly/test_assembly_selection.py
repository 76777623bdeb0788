"""Pools, turns of Scopes, blanks and duplicates, and the receipt that tells of them."""

from msgspec import UNSET

from contracts.prepare import Assembly, ExperienceSection, MemorySection, ProfileSection, TopicMemorySection
from contracts.recalled import (
    ExperienceGroup,
    ExperienceHit,
    MemoryGroup,
    MemoryHit,
    ProfileSnapshot,
    Recalled,
    TopicMemoryHit,
)
from service.assembly import ArtifactAddress, Assembled, MemoryEntryAddress, assemble, pool_shares, round_robin
from tests.unit.assembly.recalled_memory import experiences_of, memory_of, memory_section


def entries(assembled: Assembled, *outcomes: str) -> list[str]:
    """Return `scope/entry` of the receipt lines with one of `outcomes`, in their order."""
    return [
        f"{line.candidate.scope_id}/{line.candidate.entry_id}"
        for line in assembled.receipt
        if isinstance(line.candidate, MemoryEntryAddress) and line.outcome in outcomes
    ]


def test_three_scopes_of_sixteen_hits_keep_6_5_and_5() -> None:
    assert pool_shares([16, 16, 16], 16) == [6, 5, 5]


def test_a_scope_with_few_hits_leaves_its_turns_to_the_others() -> None:
    assert pool_shares([1, 16, 0, 3], 16) == [1, 12, 0, 3]
    assert pool_shares([], 16) == []


def test_scopes_take_turns_in_order() -> None:
    assert round_robin([["a1", "a2", "a3"], [], ["c1"], ["d1", "d2"]]) == ["a1", "c1", "d1", "a2", "d2", "a3"]


def test_sections_take_scopes_in_turn() -> None:
    recalled = Recalled("s", memory=(memory_of("1", "2"), memory_of("1"), memory_of("1", "2", scope_id="u")))
    renamed = Recalled("s", memory=(recalled.memory[0], memory_of("1", scope_id="t"), recalled.memory[2]))
    assert entries(assemble(renamed, memory_section(8), 32768), "included") == ["s/e1", "t/e1", "u/e1", "s/e2", "u/e2"]


def test_pools_are_16_8_and_8_and_profile_has_none() -> None:
    recalled = Recalled(
        "s",
        memory=(memory_of(*["t"] * 18),),
        experience=(experiences_of(10),),
        profile=tuple(ProfileSnapshot(f"s{n}", "profile", 1, "p") for n in range(20)),
        topic_memory=tuple(TopicMemoryHit(f"t{n}", 1, "t", "s") for n in range(11)),
    )
    assembly = Assembly(
        sections=(
            MemorySection(limit=1),
            ExperienceSection(limit=1),
            ProfileSection(limit=1),
            TopicMemorySection(limit=1),
        )
    )
    receipt = assemble(recalled, assembly, 8000).receipt
    beyond = [line.candidate.artifact.family for line in receipt if line.outcome == "beyond_pool"]
    assert [beyond.count(family) for family in ("memory", "experience", "profile", "topic-memory")] == [2, 2, 0, 3]


def test_a_blank_in_the_pool_is_not_replaced_from_beyond_it() -> None:
    recalled = Recalled("s", memory=(memory_of(" ", *["t"] * 16),))
    assembled = assemble(recalled, memory_section(8), 32768)
    assert entries(assembled, "blank") == ["s/e1"]
    assert entries(assembled, "beyond_pool") == ["s/e17"]
    assert len(entries(assembled, "included", "over_limit")) == 15


def test_blank_is_what_str_strip_leaves_nothing_of() -> None:
    blanks = ("", " ", "\n\t\x1c\x1f\x85\xa0\u2028\u3000")
    not_blanks = ("\u200b", "\x00", " " * 5000 + "x")
    assembled = assemble(Recalled("s", memory=(memory_of(*blanks, *not_blanks),)), memory_section(8), 32768)
    assert entries(assembled, "blank") == ["s/e1", "s/e2", "s/e3"]
    assert entries(assembled, "included", "included_truncated") == ["s/e4", "s/e5", "s/e6"]


def test_a_memory_hit_with_a_blank_id_is_dropped() -> None:
    hits = (MemoryHit(" ", "v", "t"), MemoryHit("e", "\n", "t"), MemoryHit("e", "v", "t"))
    assembled = assemble(Recalled("s", memory=(MemoryGroup("s", "memory", 1, hits),)), memory_section(8), 8000)
    assert [line.outcome for line in assembled.receipt] == ["included", "blank", "blank"]


def test_a_blank_profile_is_dropped_and_experience_and_topic_memory_never_are() -> None:
    recalled = Recalled(
        "s",
        experience=(ExperienceGroup("s", (ExperienceHit("x", 1, "", " ", "", ""),)),),
        profile=(ProfileSnapshot("s", "profile", 1, " \n"), ProfileSnapshot("u", "profile", 1, "p")),
        topic_memory=(TopicMemoryHit("t", 1, "", " ", ""),),
    )
    assembly = Assembly(sections=(ProfileSection(limit=2), ExperienceSection(limit=1), TopicMemorySection(limit=1)))
    outcomes = [(line.candidate.artifact.family, line.outcome) for line in assemble(recalled, assembly, 8000).receipt]
    assert outcomes == [
        ("profile", "included"),
        ("profile", "blank"),
        ("experience", "included"),
        ("topic-memory", "included"),
    ]


def test_only_the_exact_identity_makes_a_duplicate() -> None:
    """Scope, artifact, revision, entry and version all count; the text does not."""
    same = MemoryHit("e", "v", "t")
    groups = (
        MemoryGroup("s", "memory", 1, (same, MemoryHit("e", "w", "t"), MemoryHit("f", "v", "t"), same)),
        MemoryGroup("s", "memory", 1, (MemoryHit("e", "v", "other text"),)),
        MemoryGroup("s", "memory", 2, (same,)),
        MemoryGroup("s", "m", 1, (same,)),
        MemoryGroup("u", "memory", 1, (same,)),
    )
    assembled = assemble(Recalled("s", memory=groups), memory_section(8), 32768)
    assert [line.outcome for line in assembled.receipt] == ["included"] * 6 + ["duplicate"] * 2
    assert len(set(assembled.origins)) == 6


def test_receipt_tells_rank_and_outcome_of_every_candidate() -> None:
    recalled = Recalled("s", memory=(memory_of("a", " ", "x" * 3000, "\n" * 2000 + "x", "b", "c"),))
    # Room for: 507 + 1 digit of the id + 1; the second item in full length; one more short item.
    assembled = assemble(recalled, memory_section(3), 508 + 1 + 2150 + 200)
    assert [(line.outcome, line.recall_rank) for line in assembled.receipt] == [
        ("included", 1),
        ("included_truncated", 2),
        ("over_budget", 3),
        ("included", 4),
        ("over_limit", 5),
        ("blank", None),
    ]


def test_legacy_drops_blanks_before_scopes_take_turns_and_assembly_after() -> None:
    recalled = Recalled("s", memory=(memory_of(" ", "a"), memory_of("b", "c", scope_id="u")))
    assert entries(assemble(recalled, memory_section(8), 8000), "included") == ["u/e1", "s/e2", "u/e2"]
    assert entries(assemble(recalled, UNSET, 8000), "included") == ["s/e2", "u/e1", "u/e2"]


def test_legacy_cuts_to_the_pool_before_it_drops_blanks() -> None:
    """Of 16 + 16 hits 8 + 8 are in the pool; blanks among them are not replaced."""
    recalled = Recalled("s", memory=(memory_of(*[" "] * 8, *["a"] * 8), memory_of(*["b"] * 16, scope_id="u")))
    assembled = assemble(recalled, UNSET, 32768)
    assert entries(assembled, "included") == [f"u/e{number}" for number in range(1, 9)]
    assert len(entries(assembled, "beyond_pool")) == 16


def test_an_erased_profile_is_skipped_and_named_in_the_receipt() -> None:
    recalled = Recalled(
        "s",
        profile=(
            ProfileSnapshot("s", "profile", 3, "", erased=True),
            ProfileSnapshot("r", "profile", 1, "kept"),
        ),
    )
    assembled = assemble(recalled, Assembly(sections=(ProfileSection(limit=2),)), 8000)
    assert [line.outcome for line in assembled.receipt] == ["included", "erased"]
    assert [origin.scope_id for origin in assembled.origins if isinstance(origin, ArtifactAddress)] == ["r"]
