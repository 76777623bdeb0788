"""Candidates."""

from contracts.review import (
    ApproveCandidateRequest,
    Candidate,
    CandidateList,
    GetCandidateRequest,
    ListCandidatesRequest,
    RejectCandidateRequest,
    ReviseCandidateRequest,
)
from service.http.operation import Call, operation


@operation(
    "POST",
    "/v1/artifact-candidates/list",
    role="viewer",
    tag="candidates",
    body=ListCandidatesRequest,
    answer=CandidateList,
    errors=(404,),
)
async def list_candidates(call: Call) -> CandidateList:
    """List Candidates of one status, oldest first."""
    return await call.operations.candidates.list(call.body)


@operation(
    "POST",
    "/v1/artifact-candidates/get",
    role="viewer",
    tag="candidates",
    body=GetCandidateRequest,
    answer=Candidate,
    errors=(404, 410),
)
async def get_candidate(call: Call) -> Candidate:
    """Read one Candidate."""
    return await call.operations.candidates.get(call.body)


@operation(
    "POST",
    "/v1/artifact-candidates/approve",
    role="reviewer",
    tag="candidates",
    body=ApproveCandidateRequest,
    answer=Candidate,
    errors=(404, 409, 410),
)
async def approve_candidate(call: Call) -> Candidate:
    """Approve a Candidate; its proposal becomes a revision."""
    return await call.operations.candidates.approve(call.body)


@operation(
    "POST",
    "/v1/artifact-candidates/reject",
    role="reviewer",
    tag="candidates",
    body=RejectCandidateRequest,
    answer=Candidate,
    errors=(404, 409, 410),
)
async def reject_candidate(call: Call) -> Candidate:
    """Reject a Candidate."""
    return await call.operations.candidates.reject(call.body)


@operation(
    "POST",
    "/v1/artifact-candidates/revise",
    role="reviewer",
    tag="candidates",
    body=ReviseCandidateRequest,
    answer=Candidate,
    errors=(404, 409, 410),
)
async def revise_candidate(call: Call) -> Candidate:
    """Replace a pending Candidate's content."""
    return await call.operations.candidates.revise(call.body)


ROUTES = (list_candidates, get_candidate, approve_candidate, reject_candidate, revise_candidate)
