"""Candidates: what waits for a reviewer, and its decision."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from contracts import limits
from contracts.artifacts import ArtifactContent, ExperienceContent, ProfileContent
from contracts.errors import InvalidRequest
from contracts.identity import Cite, Ref, SourceRef
from contracts.ports import Proposal
from contracts.review import (
    ApproveCandidateRequest,
    Candidate,
    CandidateList,
    CandidatePermissions,
    GetCandidateRequest,
    ListCandidatesRequest,
    RejectCandidateRequest,
    ReviseCandidateRequest,
)
from service.access import Action, Caller
from service.normalize import stored_content
from service.validation import checked

if TYPE_CHECKING:
    from service.runtime import Runtime


class CandidateOperations:
    """The review queue of a Scope."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._candidates = runtime.storage.candidates
        self._runtime = runtime
        self._caller = caller

    async def list(self, request: ListCandidatesRequest) -> CandidateList:
        """Oldest first."""
        self._caller.require(Action.READ, request.scope_id)
        candidates, following = await self._candidates.list(
            request.scope_id,
            status=request.status,
            family=request.family,
            limit=request.limit,
            cursor=request.cursor,
        )
        shown = tuple(with_permissions(candidate, self._caller, request.scope_id) for candidate in candidates)
        return CandidateList(candidates=shown, next_cursor=following)

    async def get(self, request: GetCandidateRequest) -> Candidate:
        """Raises CandidateNotFound."""
        self._caller.require(Action.READ, request.scope_id)
        return self._shown(await self._candidates.get(request.scope_id, request.candidate_id), request.scope_id)

    async def approve(self, request: ApproveCandidateRequest) -> Candidate:
        """Raises CandidateNotFound, CandidateTerminal, CandidateConflict, RevisionConflict."""
        self._caller.require(Action.REVIEW, request.scope_id)
        approved = await self._candidates.approve(request.scope_id, request.candidate_id, request.expected_version)
        await self._runtime.inference.written(request.scope_id)
        return self._shown(approved, request.scope_id)

    async def reject(self, request: RejectCandidateRequest) -> Candidate:
        """Raises CandidateNotFound, CandidateTerminal, CandidateConflict."""
        self._caller.require(Action.REVIEW, request.scope_id)
        rejected = await self._candidates.reject(
            request.scope_id, request.candidate_id, request.expected_version, request.reason
        )
        return self._shown(rejected, request.scope_id)

    async def revise(self, request: ReviseCandidateRequest) -> Candidate:
        """Replace a pending Candidate's content. Raises CandidateNotFound, CandidateTerminal, CandidateConflict."""
        citations = request.memory_citations
        check_provenance(request.source_refs, request.artifact_refs, citations or ())
        content = _proposed(request)
        self._caller.require(Action.REVIEW, request.scope_id)
        proposal = Proposal(
            content=content,
            source_refs=request.source_refs,
            artifact_refs=request.artifact_refs,
            memory_citations=citations or (),
            target=request.target,
            reason=request.reason,
        )
        revised = await self._candidates.revise(
            request.scope_id,
            request.candidate_id,
            request.expected_version,
            proposal,
            keep_citations=citations is None,
        )
        return self._shown(revised, request.scope_id)

    def _shown(self, candidate: Candidate, scope_id: str) -> Candidate:
        return with_permissions(candidate, self._caller, scope_id)


def with_permissions(candidate: Candidate, caller: Caller, scope_id: str) -> Candidate:
    """The Candidate with what this caller may do to it; null when access is disabled."""
    if caller.mode == "disabled":
        return candidate
    may = candidate.status == "pending" and caller.may(Action.REVIEW, scope_id)
    permissions = CandidatePermissions(can_revise=may, can_approve=may, can_reject=may)
    return msgspec.structs.replace(candidate, permissions=permissions)


def check_provenance(sources: Sequence[SourceRef], artifacts: Sequence[Ref], citations: Sequence[Cite]) -> None:
    """Raises InvalidRequest when the three lists together hold more than 32."""
    if len(sources) + len(artifacts) + len(citations) > limits.SOURCES_MAX:
        message = f"source_refs, artifact_refs and memory_citations together must hold at most {limits.SOURCES_MAX}"
        raise InvalidRequest.at("body", "source_refs", type="too_long", msg=message)


def _proposed(request: ReviseCandidateRequest) -> ArtifactContent:
    """The new proposal. Its shape tells the family; the storage refuses one that is not the Candidate's."""
    kind: type[ArtifactContent] = ProfileContent if "content" in request.proposal else ExperienceContent
    return stored_content(checked(request.proposal, kind, "body", "proposal"), "body", "proposal")
