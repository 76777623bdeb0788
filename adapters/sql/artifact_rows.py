"""Rows of Experience, Profile and Topic Memory: contents as canonical JSON, and the one way a revision is published.

Used by direct writes, approval and import.
"""

import hashlib
import secrets
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from adapters.pieces import split_pieces
from adapters.sql.engine import Dialect, Transaction
from adapters.sql.index import Corpus, Document, index_documents
from contracts.artifacts import (
    ArtifactContent,
    ExperienceContent,
    ProfileContent,
    StoredProfile,
    TopicMemoryContent,
)
from contracts.identity import PROFILE_ARTIFACT_ID, Cite, Ref, SourceRef

_sorted_json = msgspec.json.Encoder(order="sorted")
_experience = msgspec.json.Decoder(ExperienceContent)
_profile = msgspec.json.Decoder(StoredProfile)
_topic = msgspec.json.Decoder(TopicMemoryContent)

_CORPUS = {"experience": Corpus.EXPERIENCE, "topic-memory": Corpus.TOPIC}
_ID_PREFIX = {"experience": "exp_", "topic-memory": "top_"}


class Provenance(Struct, frozen=True, kw_only=True):
    """What a revision was drawn from."""

    source_refs: tuple[SourceRef, ...] = ()
    artifact_refs: tuple[Ref, ...] = ()
    memory_citations: tuple[Cite, ...] = ()


class HeadRow(Struct, frozen=True):
    """The head of one Artifact."""

    artifact_id: str
    number: int
    revision: int
    slot: int
    erased: bool


def family_of(content: ArtifactContent) -> str:
    """The family whose Artifacts hold such content."""
    if isinstance(content, ExperienceContent):
        return "experience"
    return "profile" if isinstance(content, ProfileContent) else "topic-memory"


def canonical_json(content: ArtifactContent) -> str:
    """The content as exact reads give it: sorted keys, no spaces, non-ASCII raw. Its SHA-256 is the digest."""
    stored: ArtifactContent | StoredProfile = content
    if isinstance(content, ProfileContent):
        stored = StoredProfile(content=content.content)
    return _sorted_json.encode(stored).decode()


def digest_of(canonical: str) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def decode_content(family: str, canonical: str) -> ArtifactContent:
    """The content behind a stored canonical text."""
    if family == "experience":
        return decode_experience(canonical)
    if family == "profile":
        return ProfileContent(content=decode_profile(canonical))
    return _topic.decode(canonical)


def decode_experience(canonical: str) -> ExperienceContent:
    """The Experience behind a stored canonical text."""
    return _experience.decode(canonical)


def decode_profile(canonical: str) -> str:
    """The Markdown of the Profile behind a stored canonical text."""
    return _profile.decode(canonical).content


def as_object(canonical: str) -> dict[str, Any]:
    """The content as the JSON object that exact reads answer."""
    decoded: dict[str, Any] = msgspec.json.decode(canonical)
    return decoded


def new_artifact_id(family: str) -> str:
    """An id that nothing has: the Profile of a Scope is always called the same."""
    return PROFILE_ARTIFACT_ID if family == "profile" else _ID_PREFIX[family] + secrets.token_hex(16)


def searched_text(content: ArtifactContent) -> str:
    """What the family's corpus indexes."""
    if isinstance(content, ExperienceContent):
        return f"{content.situation}\n{content.action}\n{content.outcome}\n{content.lesson}"
    return f"{content.title}\n{content.summary}" if isinstance(content, TopicMemoryContent) else ""


async def read_artifact_head(transaction: Transaction, scope: int, family: str, artifact_id: str) -> HeadRow | None:
    """The head of one Artifact, None where it does not exist."""
    rows = await transaction.fetch(
        "SELECT artifact_id, number, revision, slot, erased FROM artifact_head"
        " WHERE scope = ? AND family = ? AND artifact_id = ?",
        scope,
        family,
        artifact_id,
    )
    if not rows:
        return None
    found_id, number, revision, slot, erased = rows[0]
    return HeadRow(found_id, number, revision, slot, bool(erased))


async def publish(
    transaction: Transaction,
    dialect: Dialect,
    scope: int,
    artifact_id: str,
    revision: int,
    content: ArtifactContent,
    provenance: Provenance,
) -> None:
    """Store `revision` and make it the head, searched from this transaction on. The caller holds the Scope's lock."""
    family = family_of(content)
    canonical = canonical_json(content)
    topic = content if isinstance(content, TopicMemoryContent) else None
    await transaction.execute(
        "INSERT INTO artifact_revision (scope, family, artifact_id, revision, content, digest, source_refs,"
        " artifact_refs, memory_citations, title, summary, published_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        scope,
        family,
        artifact_id,
        revision,
        canonical,
        digest_of(canonical),
        msgspec.json.encode(provenance.source_refs).decode(),
        msgspec.json.encode(provenance.artifact_refs).decode(),
        msgspec.json.encode(provenance.memory_citations).decode(),
        topic.title if topic else None,
        topic.summary if topic else None,
        datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
    old = await read_artifact_head(transaction, scope, family, artifact_id)
    slot = await _next(transaction, "SELECT MAX(slot) FROM artifact_head WHERE scope = ? AND family = ?", scope, family)
    number = (
        old.number if old else await _next(transaction, "SELECT MAX(number) FROM artifact_head WHERE scope = ?", scope)
    )
    sql = dialect.upsert("artifact_head", ["scope", "family", "artifact_id"], ["number", "revision", "slot", "erased"])
    await transaction.execute(sql, scope, family, artifact_id, number, revision, slot, 0)
    corpus = _CORPUS.get(family)
    if corpus is not None:
        leaving = (old.slot,) if old else ()
        await index_documents(transaction, dialect, scope, corpus, [Document(slot, searched_text(content))], leaving)
    if topic is not None:
        await _replace_pieces(transaction, dialect, scope, artifact_id, topic.detail)


async def unindex(transaction: Transaction, dialect: Dialect, scope: int, family: str, head: HeadRow) -> None:
    """Take an Artifact out of the text index."""
    corpus = _CORPUS.get(family)
    if corpus is not None:
        await index_documents(transaction, dialect, scope, corpus, (), (head.slot,))
    if family == "topic-memory":
        await _replace_pieces(transaction, dialect, scope, head.artifact_id, "")


async def index_artifact(
    transaction: Transaction, dialect: Dialect, scope: int, head: HeadRow, content: ArtifactContent
) -> None:
    """Index the head of an Artifact that is not in the index (reindex)."""
    corpus = _CORPUS.get(family_of(content))
    if corpus is not None:
        await index_documents(transaction, dialect, scope, corpus, [Document(head.slot, searched_text(content))], ())
    if isinstance(content, TopicMemoryContent):
        await _replace_pieces(transaction, dialect, scope, head.artifact_id, content.detail)


async def _replace_pieces(
    transaction: Transaction, dialect: Dialect, scope: int, artifact_id: str, detail: str
) -> None:
    """Index the pieces of `detail` instead of those that the Topic Memory had."""
    rows = await transaction.fetch(
        "SELECT slot FROM topic_piece WHERE scope = ? AND artifact_id = ? ORDER BY slot", scope, artifact_id
    )
    # Numbered after every live piece, those that leave included, so that slots only grow.
    first = await _next(transaction, "SELECT MAX(slot) FROM topic_piece WHERE scope = ?", scope)
    pieces = [Document(first + offset, piece) for offset, piece in enumerate(split_pieces(detail))]
    await transaction.execute("DELETE FROM topic_piece WHERE scope = ? AND artifact_id = ?", scope, artifact_id)
    await transaction.execute_many(
        "INSERT INTO topic_piece (scope, slot, artifact_id, text) VALUES (?, ?, ?, ?)",
        [(scope, piece.slot, artifact_id, piece.text) for piece in pieces],
    )
    leaving = [row[0] for row in rows]
    await index_documents(transaction, dialect, scope, Corpus.TOPIC_DETAIL, pieces, leaving)


async def _next(transaction: Transaction, sql: str, *args: int | str) -> int:
    rows = await transaction.fetch(sql, *args)
    return int(rows[0][0] or 0) + 1
