"""Exact citations of what a prepared text holds, made from typed candidates and never read back out of text.

An address names its Scope and is what assembly cites. The legacy output cites items of the current Scope without
naming it. Source: RFC 1489, standard text; CONTRACT section 5.
"""

from typing import TypeAlias, assert_never

from msgspec import Struct

from contracts.identity import Ref


class MemoryEntryAddress(Struct, frozen=True, tag_field="type", tag="memory_entry_address"):
    """One Memory entry version of one Scope, at the Memory revision that held it."""

    scope_id: str
    artifact: Ref
    entry_id: str
    entry_version_id: str


class ArtifactAddress(Struct, frozen=True, tag_field="type", tag="artifact_address"):
    """One revision of an Experience, Profile or Topic Memory of one Scope."""

    scope_id: str
    artifact: Ref


class MemoryCitation(Struct, frozen=True, tag_field="type", tag="memory_citation"):
    """One Memory entry version of the current Scope, as the legacy output cites it."""

    artifact: Ref
    entry_id: str
    entry_version_id: str


class ArtifactRef(Struct, frozen=True, tag_field="type", tag="artifact_ref"):
    """One revision of an Experience or Topic Memory of the current Scope, as the legacy output cites it."""

    artifact: Ref


Address: TypeAlias = MemoryEntryAddress | ArtifactAddress
Origin: TypeAlias = Address | MemoryCitation | ArtifactRef


def legacy_origin(address: Address, current_scope_id: str) -> Origin:
    """Return how the legacy output cites `address`: without its Scope when that is the current one."""
    if address.scope_id != current_scope_id:
        return address
    match address:
        case MemoryEntryAddress():
            return MemoryCitation(address.artifact, address.entry_id, address.entry_version_id)
        case ArtifactAddress():
            return ArtifactRef(address.artifact)
        case _:
            assert_never(address)
