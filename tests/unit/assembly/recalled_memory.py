"""Small recalled contexts for unit tests."""

from contracts.prepare import Assembly, MemorySection
from contracts.recalled import ExperienceGroup, ExperienceHit, MemoryGroup, MemoryHit, Recalled

ENTRY_ID = "mem_ent_" + "0" * 32
VERSION_ID = "mem_ver_" + "0" * 32


def memory_of(*texts: str, scope_id: str = "s") -> MemoryGroup:
    """Return the Memory of one Scope at revision 1, its entries e1, e2, … with version v."""
    hits = tuple(MemoryHit(f"e{number}", "v", text) for number, text in enumerate(texts, start=1))
    return MemoryGroup(scope_id, "memory", 1, hits)


def one_entry(text: str, *, entry_id: str = "e", entry_version_id: str = "v") -> Recalled:
    """Return a recalled context with a single entry in Scope `s`."""
    return Recalled("s", memory=(MemoryGroup("s", "memory", 1, (MemoryHit(entry_id, entry_version_id, text),)),))


def experiences_of(count: int, scope_id: str = "s") -> ExperienceGroup:
    """Return Experiences x1, x2, … of one Scope."""
    hits = tuple(ExperienceHit(f"x{number}", 1, "s", "a", "o", "l") for number in range(1, count + 1))
    return ExperienceGroup(scope_id, hits)


def memory_section(limit: int) -> Assembly:
    """Return an assembly of one Memory section without optional lines."""
    return Assembly(sections=(MemorySection(limit=limit),))


def body_of(content: str | None) -> str:
    """Return the body of a text with one item, its line prefixes taken off."""
    assert content is not None
    lines = content.split("\n")
    return "\n".join(line.removeprefix(">     ") for line in lines if line.startswith(">     "))
