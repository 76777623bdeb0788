"""Exact references, as requests and answers carry them."""

from typing import Literal

from msgspec import Struct


class Ref(Struct, frozen=True, kw_only=True):
    """One exact revision of one Artifact."""

    family: str
    artifact_id: str
    revision: int


class Cite(Struct, frozen=True, kw_only=True):
    """One exact Memory entry version, at a Memory revision whose manifest held it."""

    memory_ref: Ref
    entry_id: str
    entry_version_id: str


class SourceRef(Struct, frozen=True, kw_only=True):
    """Where a proposal came from; kept as given, never followed."""

    source_id: str
    name: Literal["content"] = "content"
