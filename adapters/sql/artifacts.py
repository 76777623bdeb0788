"""Experience, Profile and Topic Memory as revisions, and the Memory manifest read as an Artifact."""

import msgspec

from adapters.sql.artifact_rows import (
    Provenance,
    as_object,
    family_of,
    new_artifact_id,
    publish,
    read_artifact_head,
    unindex,
)
from adapters.sql.candidates import erase_candidates
from adapters.sql.cursors import decode_cursor, encode_cursor
from adapters.sql.engine import Engine, Row, Transaction
from adapters.sql.memory_manifest import memory_artifact, memory_head_item, memory_revisions
from adapters.sql.memory_rows import read_head
from adapters.sql.recall import experience_hits, topic_hits
from adapters.sql.scopes import lock_scope, scope_key
from contracts.artifacts import (
    Artifact,
    ArtifactContent,
    ArtifactItem,
    ArtifactSource,
    ExperienceSearchHit,
    TopicMemorySearchHit,
)
from contracts.errors import (
    ArtifactAlreadyExists,
    ArtifactNotFound,
    ContentErased,
    InvalidCursor,
    PreconditionFailed,
)
from contracts.identity import MEMORY_ARTIFACT_ID, Cite, Ref, SourceRef
from contracts.ports import QueryVector

_sources = msgspec.json.Decoder(tuple[SourceRef, ...])
_refs = msgspec.json.Decoder(tuple[Ref, ...])
_citations = msgspec.json.Decoder(tuple[Cite, ...])

_REVISION_COLUMNS = (
    "r.artifact_id, r.revision, r.digest, r.source_refs, r.artifact_refs, r.title, r.summary, r.published_at"
)


class SqlArtifacts:
    """`contracts.ports.ArtifactStore`."""

    def __init__(self, engine: Engine, cursor_key: bytes) -> None:
        self._engine = engine
        self._cursor_key = cursor_key

    async def create(self, scope_id: str, content: ArtifactContent) -> Artifact:
        family = family_of(content)

        async def job(transaction: Transaction) -> Artifact:
            scope = await lock_scope(transaction, self._engine.dialect.for_update, scope_id)
            artifact_id = new_artifact_id(family)
            head = await read_artifact_head(transaction, scope, family, artifact_id)
            if head is not None:
                raise ContentErased if head.erased else ArtifactAlreadyExists("The Scope has a Profile; replace it.")
            await publish(transaction, self._engine.dialect, scope, artifact_id, 1, content, Provenance())
            return await _artifact(transaction, scope, scope_id, family, artifact_id, 1)

        return await self._engine.write(job)

    async def replace(self, scope_id: str, artifact_id: str, content: ArtifactContent, expected: int) -> Artifact:
        family = family_of(content)

        async def job(transaction: Transaction) -> Artifact:
            scope = await lock_scope(transaction, self._engine.dialect.for_update, scope_id)
            head = await read_artifact_head(transaction, scope, family, artifact_id)
            if head is None:
                raise ArtifactNotFound
            if head.erased:
                raise ContentErased
            if head.revision != expected:
                raise PreconditionFailed
            revision = head.revision + 1
            await publish(transaction, self._engine.dialect, scope, artifact_id, revision, content, Provenance())
            return await _artifact(transaction, scope, scope_id, family, artifact_id, revision)

        return await self._engine.write(job)

    async def read(self, scope_id: str, family: str, artifact_id: str, revision: int | None) -> Artifact:
        async def job(transaction: Transaction) -> Artifact:
            scope = await scope_key(transaction, scope_id)
            if family == "memory":
                return await memory_artifact(transaction, scope, scope_id, artifact_id, revision)
            head = await read_artifact_head(transaction, scope, family, artifact_id)
            if head is None:
                raise ArtifactNotFound
            return await _artifact(
                transaction, scope, scope_id, family, artifact_id, head.revision if revision is None else revision
            )

        return await self._engine.read(job)

    async def revisions(
        self, scope_id: str, family: str, artifact_id: str, *, limit: int, cursor: str | None
    ) -> tuple[tuple[ArtifactItem, ...], str | None]:
        listing = f"revisions:{family}:{artifact_id}:{scope_id}"

        async def job(transaction: Transaction) -> tuple[tuple[ArtifactItem, ...], str | None]:
            scope = await scope_key(transaction, scope_id)
            before = decode_cursor(self._cursor_key, listing, cursor) if cursor is not None else 2**63 - 1
            if family == "memory":
                if artifact_id != MEMORY_ARTIFACT_ID or not (await read_head(transaction, scope)).exists:
                    raise ArtifactNotFound
                items, more = await memory_revisions(transaction, scope, scope_id, before, limit)
            else:
                if await read_artifact_head(transaction, scope, family, artifact_id) is None:
                    raise ArtifactNotFound
                items, more = await _revisions(transaction, scope, scope_id, family, artifact_id, before, limit)
            following = encode_cursor(self._cursor_key, listing, items[-1].revision) if more else None
            return tuple(items), following

        return await self._engine.read(job)

    async def heads(
        self, scope_id: str, family: str, *, limit: int, cursor: str | None
    ) -> tuple[tuple[ArtifactItem, ...], str | None]:
        listing = f"heads:{family}:{scope_id}"

        async def job(transaction: Transaction) -> tuple[tuple[ArtifactItem, ...], str | None]:
            scope = await scope_key(transaction, scope_id)
            after = "" if cursor is None else await self._artifact_at(transaction, scope, listing, cursor)
            if family == "memory":
                item = await memory_head_item(transaction, scope, scope_id)
                return (item,) if item is not None else (), None
            rows = await transaction.fetch(
                f"SELECT {_REVISION_COLUMNS}, h.number FROM artifact_head h JOIN artifact_revision r"
                " ON r.scope = h.scope AND r.family = h.family AND r.artifact_id = h.artifact_id"
                " AND r.revision = h.revision WHERE h.scope = ? AND h.family = ? AND h.artifact_id > ?"
                " AND h.erased = 0 ORDER BY h.artifact_id LIMIT ?",
                scope,
                family,
                after,
                limit + 1,
            )
            more = len(rows) > limit
            following = encode_cursor(self._cursor_key, listing, rows[limit - 1][8]) if more else None
            return tuple(_item(scope_id, family, row) for row in rows[:limit]), following

        return await self._engine.read(job)

    async def search_experience(
        self, scope_id: str, query: str, limit: int, vector: QueryVector | None = None
    ) -> tuple[ExperienceSearchHit, ...]:
        async def job(transaction: Transaction) -> tuple[ExperienceSearchHit, ...]:
            scope = await scope_key(transaction, scope_id)
            return tuple(
                ExperienceSearchHit(
                    artifact=Ref(family="experience", artifact_id=found.artifact_id, revision=found.revision),
                    content=found.content,
                )
                for found in await experience_hits(transaction, self._engine.dialect, scope, query, limit, vector)
            )

        return await self._engine.read(job)

    async def search_topic_memory(
        self, scope_id: str, query: str, limit: int, vector: QueryVector | None = None
    ) -> tuple[TopicMemorySearchHit, ...]:
        async def job(transaction: Transaction) -> tuple[TopicMemorySearchHit, ...]:
            scope = await scope_key(transaction, scope_id)
            return await topic_hits(transaction, self._engine.dialect, scope, query, limit, vector)

        return await self._engine.read(job)

    async def erase(self, scope_id: str, family: str, artifact_id: str, reason: str | None) -> int:
        async def job(transaction: Transaction) -> int:
            scope = await lock_scope(transaction, self._engine.dialect.for_update, scope_id)
            head = await read_artifact_head(transaction, scope, family, artifact_id)
            if head is None:
                raise ArtifactNotFound
            if head.erased:
                return 0
            await unindex(transaction, self._engine.dialect, scope, family, head)
            await transaction.execute(
                "UPDATE artifact_head SET erased = 1 WHERE scope = ? AND family = ? AND artifact_id = ?",
                scope,
                family,
                artifact_id,
            )
            await erase_candidates(transaction, scope, family, artifact_id)
            return await transaction.execute(
                "UPDATE artifact_revision SET content = '', digest = '', source_refs = '[]', artifact_refs = '[]',"
                " memory_citations = '[]', title = NULL, summary = NULL, erased = 1"
                " WHERE scope = ? AND family = ? AND artifact_id = ? AND erased = 0",
                scope,
                family,
                artifact_id,
            )

        erased = await self._engine.write(job)
        await self._engine.scrub()
        return erased

    async def _artifact_at(self, transaction: Transaction, scope: int, listing: str, cursor: str) -> str:
        """The artifact id at which the page before ended."""
        number = decode_cursor(self._cursor_key, listing, cursor)
        rows = await transaction.fetch(
            "SELECT artifact_id FROM artifact_head WHERE scope = ? AND number = ?", scope, number
        )
        if not rows:
            raise InvalidCursor
        return str(rows[0][0])


async def _artifact(
    transaction: Transaction, scope: int, scope_id: str, family: str, artifact_id: str, revision: int
) -> Artifact:
    """One exact revision. Raises ArtifactNotFound, ContentErased."""
    rows = await transaction.fetch(
        "SELECT content, digest, source_refs, artifact_refs, memory_citations, erased FROM artifact_revision"
        " WHERE scope = ? AND family = ? AND artifact_id = ? AND revision = ?",
        scope,
        family,
        artifact_id,
        revision,
    )
    if not rows:
        raise ArtifactNotFound
    content, digest, sources, artifacts, citations, erased = rows[0]
    if erased:
        raise ContentErased
    return Artifact(
        scope_id=scope_id,
        family=family,  # type: ignore[arg-type]  # checked where the request was decoded
        artifact_id=artifact_id,
        revision=revision,
        content=as_object(content),
        sources=_artifact_sources(sources),
        artifacts=_refs.decode(artifacts),
        memory_citations=_citations.decode(citations),
        content_digest=digest,
    )


async def _revisions(
    transaction: Transaction, scope: int, scope_id: str, family: str, artifact_id: str, before: int, limit: int
) -> tuple[list[ArtifactItem], bool]:
    """At most `limit` revisions below `before`, newest first, and whether there are more."""
    rows = await transaction.fetch(
        f"SELECT {_REVISION_COLUMNS} FROM artifact_revision r WHERE r.scope = ? AND r.family = ?"
        " AND r.artifact_id = ? AND r.revision < ? AND r.erased = 0 ORDER BY r.revision DESC LIMIT ?",
        scope,
        family,
        artifact_id,
        before,
        limit + 1,
    )
    return [_item(scope_id, family, row) for row in rows[:limit]], len(rows) > limit


def _artifact_sources(stored: str) -> tuple[ArtifactSource, ...]:
    return tuple(ArtifactSource(source_id=source.source_id) for source in _sources.decode(stored))


def _item(scope_id: str, family: str, row: Row) -> ArtifactItem:
    artifact_id, revision, digest, sources, artifacts, title, summary, published_at = row[:8]
    listed = _artifact_sources(sources)
    return ArtifactItem(
        scope_id=scope_id,
        family=family,  # type: ignore[arg-type]  # checked where the request was decoded
        artifact_id=artifact_id,
        revision=revision,
        sources=listed,
        artifacts=_refs.decode(artifacts),
        content_digest=digest,
        title=title,
        summary=summary,
        published_at=published_at,
        source_count=len(listed),
    )
