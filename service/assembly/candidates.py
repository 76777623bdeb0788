"""Candidates: one recalled hit with its exact address, and the text that each family shows of it.

Source: RFC 1489, standard text; the body row of its table of items; CONTRACT section 4.
"""

from typing import TypeAlias, assert_never

from msgspec import Struct

from contracts.identity import Ref
from contracts.limits import BODY_MAX_BYTES
from contracts.recalled import (
    ExperienceGroup,
    ExperienceHit,
    MemoryGroup,
    MemoryHit,
    ProfileSnapshot,
    TopicMemoryHit,
)
from service.assembly.origins import Address, ArtifactAddress, MemoryEntryAddress

Hit: TypeAlias = MemoryHit | ExperienceHit | ProfileSnapshot | TopicMemoryHit

# Of a field, no more can ever be shown: each code point comes out as at least one byte, CRLF as one for two.
FIELD_HEAD_CHARS = 2 * BODY_MAX_BYTES + 2


class Candidate(Struct, frozen=True):
    """One hit that may become an item, and where exactly it comes from."""

    address: Address
    hit: Hit


def memory_candidates(group: MemoryGroup) -> list[Candidate]:
    """Return the candidates of one Scope's Memory hits, in their order.

    Raises ValueError when there are hits but no Memory artifact that could be cited.
    """
    if not group.hits:
        return []
    if group.artifact_id is None:
        raise ValueError("a Memory group with hits needs the artifact id of its Memory")
    artifact = Ref(family="memory", artifact_id=group.artifact_id, revision=group.revision)
    return [
        Candidate(MemoryEntryAddress(group.scope_id, artifact, hit.entry_id, hit.entry_version_id), hit)
        for hit in group.hits
    ]


def experience_candidates(group: ExperienceGroup) -> list[Candidate]:
    """Return the candidates of one Scope's Experience hits, in their order."""
    return [_artifact_candidate(group.scope_id, "experience", hit) for hit in group.hits]


def profile_candidate(snapshot: ProfileSnapshot) -> Candidate:
    """Return the candidate of one Scope's Profile."""
    return _artifact_candidate(snapshot.scope_id, "profile", snapshot)


def topic_memory_candidates(scope_id: str, hits: tuple[TopicMemoryHit, ...]) -> list[Candidate]:
    """Return the candidates of the current Scope's Topic Memory hits, in their order."""
    return [_artifact_candidate(scope_id, "topic-memory", hit) for hit in hits]


def _artifact_candidate(scope_id: str, family: str, hit: ExperienceHit | ProfileSnapshot | TopicMemoryHit) -> Candidate:
    artifact = Ref(family=family, artifact_id=hit.artifact_id, revision=hit.revision)
    return Candidate(ArtifactAddress(scope_id, artifact), hit)


def is_blank(hit: Hit) -> bool:
    """Tell whether nothing is left of the hit's whole stored text after `str.strip()`, or of a Memory hit's ids.

    Experience and Topic Memory are never blank, because their labels count.
    """
    match hit:
        case MemoryHit():
            return _is_blank_text(hit.text) or _is_blank_text(hit.entry_id) or _is_blank_text(hit.entry_version_id)
        case ProfileSnapshot():
            return _is_blank_text(hit.content)
        case ExperienceHit() | TopicMemoryHit():
            return False
        case _:
            assert_never(hit)


def _is_blank_text(text: str) -> bool:
    # Same as `not text.strip()`, but stops at the first character that is no white space and copies nothing.
    return not text or text.isspace()


def body_text(hit: Hit) -> str:
    """Return the text that assembly shows of a hit, before escaping; long fields only as far as they can be shown."""
    match hit:
        case MemoryHit():
            return hit.text
        case ExperienceHit():
            return experience_text(hit)
        case ProfileSnapshot():
            return hit.content
        case TopicMemoryHit():
            text = f"Title: {hit.title[:FIELD_HEAD_CHARS]}\n\nSummary: {hit.summary[:FIELD_HEAD_CHARS]}"
            return text if hit.snippet is None else f"{text}\n\nSnippet: {hit.snippet[:FIELD_HEAD_CHARS]}"
        case _:
            assert_never(hit)


def experience_text(hit: ExperienceHit) -> str:
    """Return the four labelled lines of an Experience; long fields only as far as they can be shown."""
    return (
        f"Situation: {hit.situation[:FIELD_HEAD_CHARS]}\n"
        f"Action: {hit.action[:FIELD_HEAD_CHARS]}\n"
        f"Outcome: {hit.outcome[:FIELD_HEAD_CHARS]}\n"
        f"Lesson: {hit.lesson[:FIELD_HEAD_CHARS]}"
    )
