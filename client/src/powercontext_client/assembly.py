"""The `assembly` of a prepare request: which families take part, in which order, how many, and what is shown."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

Family: TypeAlias = Literal["memory", "experience", "profile", "topic-memory"]
Show: TypeAlias = Literal["confidence", "recall_rank"]


class Section(Struct, frozen=True):
    """At most `limit` items of one family. Sections that come first also have the budget first."""

    family: Family
    limit: int


DEFAULT_SECTIONS = (Section("memory", 6), Section("experience", 2))


class Assembly(Struct, frozen=True, kw_only=True):
    """A whole selection (RFC 1489, request contract). `sections=()` selects nothing; it does not take the default."""

    format: Literal["markdown"] = "markdown"
    sections: tuple[Section, ...] = DEFAULT_SECTIONS
    show: tuple[Show, ...] = ()


AssemblyInput: TypeAlias = Assembly | Mapping[str, Any] | None


def written_out(assembly: AssemblyInput) -> dict[str, Any] | None:
    """The assembly as plain JSON data with every default written; None stays None.

    A mapping may be anything that a configuration file held: what it leaves out is filled in, what it says is kept,
    an illegal key or value included, so that the service can refuse it by name.
    """
    if assembly is None:
        return None
    given = msgspec.to_builtins(assembly) if isinstance(assembly, Assembly) else dict(assembly)
    return {**msgspec.to_builtins(Assembly()), **given}
