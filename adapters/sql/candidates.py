"""Candidates: proposals that wait for a reviewer, and their decision."""

import secrets

import msgspec

from adapters.sql.artifact_rows import (
    Provenance,
    canonical_json,
    decode_content,
    family_of,
    new_artifact_id,
    publish,
    read_artifact_head,
)
from adapters.sql.cursors import decode_cursor, encode_cursor
from adapters.sql.engine import Engine, Row, Transaction
from adapters.sql.scopes import lock_scope, scope_key
from contracts.artifacts import ProfileContent
from contracts.errors import (
    ArtifactNotFound,
    CandidateConflict,
    CandidateNotFound,
    CandidateTerminal,
    ContentErased,
    InvalidRequest,
    RevisionConflict,
)
from contracts.identity import PROFILE_ARTIFACT_ID, Cite, Ref, SourceRef
from contracts.ports import Proposal
from contracts.review import Candidate

_sources = msgspec.json.Decoder(tuple[SourceRef, ...])
_refs = msgspec.json.Decoder(tuple[Ref, ...])
_citations = msgspec.json.Decoder(tuple[Cite, ...])
_ref = msgspec.json.Decoder(Ref)

_COLUMNS = (
    "candidate_id, version, family, status, proposal, source_refs, artifact_refs, memory_citations, target, reason,"
    " result_artifact, decision_reason, number"
)

_ERASED = ""
"""The proposal of a Candidate that was erased; no proposal is written so."""


class SqlCandidates:
    """`contracts.ports.CandidateStore`."""

    def __init__(self, engine: Engine, cursor_key: bytes) -> None:
        self._engine = engine
        self._cursor_key = cursor_key

    async def propose(self, scope_id: str, proposal: Proposal) -> Candidate:
        family = family_of(proposal.content)
        candidate_id = "cand_" + secrets.token_hex(16)

        async def job(transaction: Transaction) -> Candidate:
            scope = await self._lock(transaction, scope_id)
            await _check_target(transaction, scope, family, proposal.target)
            if family == "profile":
                head = await read_artifact_head(transaction, scope, family, PROFILE_ARTIFACT_ID)
                if head is not None and head.erased:
                    raise ContentErased  # it could never be approved
            rows = await transaction.fetch("SELECT MAX(number) FROM candidate WHERE scope = ?", scope)
            await transaction.execute(
                "INSERT INTO candidate (scope, candidate_id, number, version, family, status, proposal, source_refs,"
                " artifact_refs, memory_citations, target, reason) VALUES (?, ?, ?, 1, ?, 'pending', ?, ?, ?, ?, ?, ?)",
                scope,
                candidate_id,
                int(rows[0][0] or 0) + 1,
                family,
                *_stored(proposal),
            )
            return await _read(transaction, scope, candidate_id)

        return await self._engine.write(job)

    async def list(
        self, scope_id: str, *, status: str, family: str | None, limit: int, cursor: str | None
    ) -> tuple[tuple[Candidate, ...], str | None]:
        listing = f"candidates:{status}:{family}:{scope_id}"

        async def job(transaction: Transaction) -> tuple[tuple[Candidate, ...], str | None]:
            scope = await scope_key(transaction, scope_id)
            after = 0 if cursor is None else decode_cursor(self._cursor_key, listing, cursor)
            which, chosen = ("", ()) if family is None else (" AND family = ?", (family,))
            rows = await transaction.fetch(
                f"SELECT {_COLUMNS} FROM candidate WHERE scope = ? AND number > ? AND status = ?{which}"
                f" AND proposal <> '{_ERASED}' ORDER BY number LIMIT ?",
                scope,
                after,
                status,
                *chosen,
                limit + 1,
            )
            more = len(rows) > limit
            following = encode_cursor(self._cursor_key, listing, rows[limit - 1][12]) if more else None
            return tuple(_candidate(row) for row in rows[:limit]), following

        return await self._engine.read(job)

    async def get(self, scope_id: str, candidate_id: str) -> Candidate:
        async def job(transaction: Transaction) -> Candidate:
            return await _read(transaction, await scope_key(transaction, scope_id), candidate_id)

        return await self._engine.read(job)

    async def approve(self, scope_id: str, candidate_id: str, expected_version: int) -> Candidate:
        async def job(transaction: Transaction) -> Candidate:
            scope = await self._lock(transaction, scope_id)
            candidate = await _pending(transaction, scope, candidate_id, expected_version)
            result = await self._publish(transaction, scope, candidate)
            await transaction.execute(
                "UPDATE candidate SET status = 'approved', result_artifact = ? WHERE scope = ? AND candidate_id = ?",
                msgspec.json.encode(result).decode(),
                scope,
                candidate_id,
            )
            return await _read(transaction, scope, candidate_id)

        return await self._engine.write(job)

    async def reject(self, scope_id: str, candidate_id: str, expected_version: int, reason: str) -> Candidate:
        async def job(transaction: Transaction) -> Candidate:
            scope = await self._lock(transaction, scope_id)
            await _pending(transaction, scope, candidate_id, expected_version)
            await transaction.execute(
                "UPDATE candidate SET status = 'rejected', decision_reason = ? WHERE scope = ? AND candidate_id = ?",
                reason,
                scope,
                candidate_id,
            )
            return await _read(transaction, scope, candidate_id)

        return await self._engine.write(job)

    async def revise(
        self, scope_id: str, candidate_id: str, expected_version: int, proposal: Proposal, *, keep_citations: bool
    ) -> Candidate:
        async def job(transaction: Transaction) -> Candidate:
            scope = await self._lock(transaction, scope_id)
            candidate = await _pending(transaction, scope, candidate_id, expected_version)
            replacing = proposal
            if keep_citations:
                replacing = msgspec.structs.replace(proposal, memory_citations=candidate.memory_citations)
            if family_of(proposal.content) != candidate.family:
                raise InvalidRequest.at("body", "proposal", msg=f"must be that of a Candidate of {candidate.family}")
            await _check_target(transaction, scope, candidate.family, replacing.target)
            await transaction.execute(
                "UPDATE candidate SET version = version + 1, proposal = ?, source_refs = ?, artifact_refs = ?,"
                " memory_citations = ?, target = ?, reason = ? WHERE scope = ? AND candidate_id = ?",
                *_stored(replacing),
                scope,
                candidate_id,
            )
            return await _read(transaction, scope, candidate_id)

        return await self._engine.write(job)

    async def _lock(self, transaction: Transaction, scope_id: str) -> int:
        return await lock_scope(transaction, self._engine.dialect.for_update, scope_id)

    async def _publish(self, transaction: Transaction, scope: int, candidate: Candidate) -> Ref:
        """Make the proposal the next revision of its target, of the Scope's Profile, or of a new Experience."""
        family = candidate.family
        artifact_id = candidate.target.artifact_id if candidate.target else new_artifact_id(family)
        head = await read_artifact_head(transaction, scope, family, artifact_id)
        if head is not None and head.erased:
            raise ContentErased
        current = head.revision if head else 0
        if candidate.target is not None and candidate.target.revision != current:
            raise RevisionConflict
        content = (
            ProfileContent(content=candidate.proposal["content"])
            if family == "profile"
            else decode_content(family, msgspec.json.encode(candidate.proposal).decode())
        )
        provenance = Provenance(
            source_refs=candidate.source_refs,
            artifact_refs=candidate.artifact_refs,
            memory_citations=candidate.memory_citations,
        )
        await publish(transaction, self._engine.dialect, scope, artifact_id, current + 1, content, provenance)
        return Ref(family=family, artifact_id=artifact_id, revision=current + 1)


async def erase_candidates(transaction: Transaction, scope: int, family: str, artifact_id: str) -> None:
    """Erase every Candidate that became a revision of this Artifact or was meant to; its id and status are left."""
    rows = await transaction.fetch(
        "SELECT candidate_id, target, result_artifact FROM candidate WHERE scope = ? AND family = ?", scope, family
    )
    for candidate_id, *named in rows:
        # A Scope has one Profile, so every Candidate for a Profile is for that one, with or without a target.
        if family == "profile" or any(ref is not None and _ref.decode(ref).artifact_id == artifact_id for ref in named):
            await transaction.execute(
                "UPDATE candidate SET proposal = ?, source_refs = '[]', artifact_refs = '[]', memory_citations = '[]',"
                " reason = NULL, decision_reason = NULL WHERE scope = ? AND candidate_id = ?",
                _ERASED,
                scope,
                candidate_id,
            )


async def _check_target(transaction: Transaction, scope: int, family: str, target: Ref | None) -> None:
    """The target must be a revision of the same family that exists in this Scope.

    Raises InvalidRequest, ArtifactNotFound, ContentErased.
    """
    if target is None:
        return
    if target.family != family:
        raise InvalidRequest.at("body", "target", "family", msg=f"must be {family}, the family of the proposal")
    rows = await transaction.fetch(
        "SELECT erased FROM artifact_revision WHERE scope = ? AND family = ? AND artifact_id = ? AND revision = ?",
        scope,
        family,
        target.artifact_id,
        target.revision,
    )
    if not rows:
        raise ArtifactNotFound
    if rows[0][0]:
        raise ContentErased


async def _pending(transaction: Transaction, scope: int, candidate_id: str, expected_version: int) -> Candidate:
    """The Candidate when it may still change.

    Raises CandidateNotFound, ContentErased, CandidateTerminal, CandidateConflict.
    """
    candidate = await _read(transaction, scope, candidate_id)
    if candidate.status != "pending":
        raise CandidateTerminal(status=candidate.status)
    if candidate.version != expected_version:
        raise CandidateConflict(expected_version=expected_version, current_version=candidate.version)
    return candidate


async def _read(transaction: Transaction, scope: int, candidate_id: str) -> Candidate:
    rows = await transaction.fetch(
        f"SELECT {_COLUMNS} FROM candidate WHERE scope = ? AND candidate_id = ?", scope, candidate_id
    )
    if not rows:
        raise CandidateNotFound
    if rows[0][4] == _ERASED:
        raise ContentErased
    return _candidate(rows[0])


def _stored(proposal: Proposal) -> tuple[str, str, str, str, str | None, str | None]:
    """The columns proposal, source_refs, artifact_refs, memory_citations, target, reason."""
    content = proposal.content
    # A Profile's proposal is what was written, not the stored form with its schema.
    shown = msgspec.json.encode(content).decode() if isinstance(content, ProfileContent) else canonical_json(content)
    return (
        shown,
        msgspec.json.encode(proposal.source_refs).decode(),
        msgspec.json.encode(proposal.artifact_refs).decode(),
        msgspec.json.encode(proposal.memory_citations).decode(),
        None if proposal.target is None else msgspec.json.encode(proposal.target).decode(),
        proposal.reason,
    )


def _candidate(row: Row) -> Candidate:
    candidate_id, version, family, status, proposal, sources, artifacts, citations, target, reason, result, decision = (
        row[:12]
    )
    return Candidate(
        memory_citations=_citations.decode(citations),
        permissions=None,
        candidate_id=candidate_id,
        version=version,
        family=family,
        status=status,
        proposal=msgspec.json.decode(proposal),
        source_refs=_sources.decode(sources),
        artifact_refs=_refs.decode(artifacts),
        target=None if target is None else _ref.decode(target),
        reason=reason,
        result_artifact=None if result is None else _ref.decode(result),
        decision_reason=decision,
    )
