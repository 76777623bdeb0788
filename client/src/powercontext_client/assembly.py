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


def written_out(assembly: AssemblyInput) -> Any:
    """The assembly as plain JSON data with every default written.

    A mapping may be anything that a configuration file held: what it leaves out is filled in, what it says is kept,
    an illegal key or value included, so that the service can refuse it by name. So is what is no mapping at all.
    Raises TypeError for what no JSON can hold.
    """
    if isinstance(assembly, Assembly | Mapping):
        given = assembly if isinstance(assembly, Assembly) else dict(assembly)
        return {**msgspec.to_builtins(Assembly()), **msgspec.to_builtins(given, str_keys=True)}
    return msgspec.to_builtins(assembly, str_keys=True)
