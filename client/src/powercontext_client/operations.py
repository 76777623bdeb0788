"""Every operation once: what it sends and what it answers. The clients turn each function into a method.

`None` leaves an optional field to the service, which holds the defaults and the limits. `timeout_s` is in seconds for
the whole call, above 0 and at most 86400; ValueError otherwise, and for a text with a lone surrogate. Ids, texts and
limits are not checked here: the service refuses them with an InvalidRequest that names the field.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from powercontext_client import records
from powercontext_client.assembly import AssemblyInput, written_out
from powercontext_client.call import ANSWER_MAX_BYTES, Call, as_type, json_body, path, url_query
from powercontext_client.identity import Cite, Ref, SourceRef
from powercontext_client.prepared import PreparedContext, check_prepared

CREATED = 201
DEFAULT_MAX_BYTES = 8000  # RFC 1489, request contract
SearchMode = Literal["auto", "fts", "vector", "hybrid"]
CandidateStatus = Literal["pending", "approved", "rejected"]

_scope = as_type(records.ScopeDescriptor)
_scope_page = as_type(records.ScopePage)
_memory_write = as_type(records.MemoryWrite)
_memory_search = as_type(records.MemorySearchResponse)
_entry = as_type(records.Entry)
_entry_list = as_type(records.EntryList)
_memory_changes = as_type(records.MemoryChangesResponse)
_experience_search = as_type(records.ExperienceSearchResponse)
_experience = as_type(records.ExperienceRead)
_candidate = as_type(records.Candidate)
_candidate_list = as_type(records.CandidateList)
_topic_memory_search = as_type(records.TopicMemorySearchResponse)
_topic_memory = as_type(records.TopicMemoryRead)
_artifact = as_type(records.Artifact)
_artifact_page = as_type(records.ArtifactPage)
_capabilities = as_type(records.Capabilities)


def prepare_context(
    scope_id: str,
    query: str,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    assembly: AssemblyInput | UnsetType = UNSET,
    timeout_s: float | None = None,
) -> Call[PreparedContext]:
    """Ask for one text to inject, at most `max_bytes` UTF-8 bytes, already checked.

    Without `assembly` none is sent and the legacy output comes; an assembly is sent with its defaults written out;
    None is sent as null, which the service refuses, and so is anything else that is no mapping.
    """
    request: dict[str, Any] = {"scope_id": scope_id, "query": query, "max_bytes": max_bytes}
    if not isinstance(assembly, UnsetType):
        request["assembly"] = written_out(assembly)
    body = msgspec.json.encode(request)
    return Call(
        "POST",
        "/v1/context/prepare",
        lambda answer: check_prepared(answer, max_bytes),
        timeout_s,
        body,
        # JSON writes no byte with more than six (`\u001f`); the rest is for the other fields.
        max_bytes=min(6 * max_bytes + 1024, ANSWER_MAX_BYTES),
    )


def get_capabilities(*, timeout_s: float | None = None) -> Call[records.Capabilities]:
    """What the service can do now, and whether it knows assembly."""
    return Call("GET", "/v1/capabilities", _capabilities, timeout_s)


def create_scope(
    *,
    title: str,
    summary: str,
    idempotency_key: str,
    scope_id: str | None = None,
    parent_scope_id: str | None = None,
    context_references: Sequence[str] = (),
    external_references: Sequence[records.ExternalReference] = (),
    timeout_s: float | None = None,
) -> Call[records.ScopeDescriptor]:
    """Create a Scope; the same key and parameters give the same Scope again."""
    body = json_body(
        title=title,
        summary=summary,
        idempotency_key=idempotency_key,
        scope_id=scope_id,
        parent_scope_id=parent_scope_id,
        context_references=context_references,
        external_references=external_references,
    )
    return Call("POST", "/v1/scopes", _scope, timeout_s, body, status=CREATED)


def get_scope(scope_id: str, *, timeout_s: float | None = None) -> Call[records.ScopeDescriptor]:
    """Read one Scope."""
    return Call("GET", path("v1", "scopes", scope_id), _scope, timeout_s)


def list_scopes(
    *,
    query: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.ScopePage]:
    """List the readable Scopes in order of scope_id; `query` is a substring of id or title."""
    return Call("GET", "/v1/scopes" + url_query(query=query, limit=limit, cursor=cursor), _scope_page, timeout_s)


def replace_scope(
    scope_id: str,
    *,
    expected_version: int,
    title: str,
    summary: str,
    parent_scope_id: str | None = None,
    context_references: Sequence[str] = (),
    external_references: Sequence[records.ExternalReference] = (),
    timeout_s: float | None = None,
) -> Call[records.ScopeDescriptor]:
    """Replace the whole descriptor at the version that was read; what is left out becomes none."""
    body = json_body(
        expected_version=expected_version,
        title=title,
        summary=summary,
        parent_scope_id=parent_scope_id,
        context_references=context_references,
        external_references=external_references,
    )
    return Call("PUT", path("v1", "scopes", scope_id), _scope, timeout_s, body)


def remember(
    scope_id: str,
    *,
    kind: str,
    text: str,
    reason: str | None = None,
    expected_revision: int | None = None,
    timeout_s: float | None = None,
) -> Call[records.MemoryWrite]:
    """Store one Memory entry. The same kind and text again changes nothing and answers no entry."""
    body = json_body(scope_id=scope_id, kind=kind, text=text, reason=reason, expected_revision=expected_revision)
    return Call("POST", "/v1/memory/remember", _memory_write, timeout_s, body)


def search_memory(
    scope_id: str,
    query: str,
    *,
    limit: int | None = None,
    mode: SearchMode | None = None,
    timeout_s: float | None = None,
) -> Call[records.MemorySearchResponse]:
    """Find live Memory entries of one Scope."""
    body = json_body(scope_id=scope_id, query=query, limit=limit, mode=mode)
    return Call("POST", "/v1/memory/search", _memory_search, timeout_s, body)


def list_memory_entries(
    scope_id: str,
    *,
    include_inactive: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.EntryList]:
    """List entries in order of entry id: all of them, or pages when `limit` or `cursor` is given.

    Answers of more than 64 MiB are refused; a Memory of that size must be read in pages.
    """
    body = json_body(scope_id=scope_id, include_inactive=include_inactive, limit=limit, cursor=cursor)
    return Call("POST", "/v1/memory/entries/list", _entry_list, timeout_s, body)


def get_memory_entry(scope_id: str, citation: Cite, *, timeout_s: float | None = None) -> Call[records.Entry]:
    """Read exactly the cited entry version; its state is today's."""
    return Call("POST", "/v1/memory/entries/get", _entry, timeout_s, json_body(scope_id=scope_id, citation=citation))


def revise_memory_entry(
    scope_id: str,
    citation: Cite,
    *,
    kind: str,
    text: str,
    reason: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.MemoryWrite]:
    """Replace the cited entry version, which must be the one at the head, by a new version."""
    body = json_body(scope_id=scope_id, citation=citation, kind=kind, text=text, reason=reason)
    return Call("POST", "/v1/memory/entries/revise", _memory_write, timeout_s, body)


def retire_memory_entry(
    scope_id: str, citation: Cite, *, reason: str | None = None, timeout_s: float | None = None
) -> Call[records.MemoryWrite]:
    """Take the cited entry out of the live Memory; its versions stay readable."""
    body = json_body(scope_id=scope_id, citation=citation, reason=reason)
    return Call("POST", "/v1/memory/entries/retire", _memory_write, timeout_s, body)


def get_memory_changes(
    scope_id: str, *, since_revision: int | None = None, timeout_s: float | None = None
) -> Call[records.MemoryChangesResponse]:
    """Changes after a revision, oldest first; 0 gives the whole history, None the head revision alone."""
    body = json_body(scope_id=scope_id, since_revision=since_revision)
    return Call("POST", "/v1/memory/changes", _memory_changes, timeout_s, body)


def propose_experience(
    scope_id: str,
    proposal: records.ExperienceContent,
    *,
    source_refs: Sequence[SourceRef] = (),
    artifact_refs: Sequence[Ref] = (),
    memory_citations: Sequence[Cite] = (),
    target: Ref | None = None,
    reason: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.Candidate]:
    """Propose an Experience, or with `target` the next revision of one; nothing is recalled before approval."""
    body = json_body(
        scope_id=scope_id,
        proposal=proposal,
        source_refs=source_refs,
        artifact_refs=artifact_refs,
        memory_citations=memory_citations,
        target=target,
        reason=reason,
    )
    return Call("POST", "/v1/experience/propose", _candidate, timeout_s, body, status=CREATED)


def search_experience(
    scope_id: str, query: str, *, limit: int | None = None, timeout_s: float | None = None
) -> Call[records.ExperienceSearchResponse]:
    """Find approved Experiences of one Scope."""
    body = json_body(scope_id=scope_id, query=query, limit=limit)
    return Call("POST", "/v1/experience/search", _experience_search, timeout_s, body)


def get_experience(scope_id: str, artifact: Ref, *, timeout_s: float | None = None) -> Call[records.ExperienceRead]:
    """Read one exact Experience revision with what it was drawn from."""
    body = json_body(scope_id=scope_id, artifact=artifact)
    return Call("POST", "/v1/experience/get", _experience, timeout_s, body)


def list_candidates(
    scope_id: str,
    *,
    status: CandidateStatus | None = None,
    family: Literal["experience", "profile", "skill"] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.CandidateList]:
    """List Candidates of one status, pending ones unless said otherwise, oldest first."""
    body = json_body(scope_id=scope_id, status=status, family=family, limit=limit, cursor=cursor)
    return Call("POST", "/v1/artifact-candidates/list", _candidate_list, timeout_s, body)


def get_candidate(scope_id: str, candidate_id: str, *, timeout_s: float | None = None) -> Call[records.Candidate]:
    """Read one Candidate."""
    body = json_body(scope_id=scope_id, candidate_id=candidate_id)
    return Call("POST", "/v1/artifact-candidates/get", _candidate, timeout_s, body)


def approve_candidate(
    scope_id: str, candidate_id: str, *, expected_version: int, timeout_s: float | None = None
) -> Call[records.Candidate]:
    """Approve a Candidate at the version that was read; its proposal becomes a revision."""
    body = json_body(scope_id=scope_id, candidate_id=candidate_id, expected_version=expected_version)
    return Call("POST", "/v1/artifact-candidates/approve", _candidate, timeout_s, body)


def reject_candidate(
    scope_id: str, candidate_id: str, *, expected_version: int, reason: str, timeout_s: float | None = None
) -> Call[records.Candidate]:
    """Reject a Candidate at the version that was read."""
    body = json_body(scope_id=scope_id, candidate_id=candidate_id, expected_version=expected_version, reason=reason)
    return Call("POST", "/v1/artifact-candidates/reject", _candidate, timeout_s, body)


def revise_candidate(
    scope_id: str,
    candidate_id: str,
    *,
    expected_version: int,
    proposal: records.ExperienceContent | Mapping[str, Any],
    source_refs: Sequence[SourceRef] = (),
    artifact_refs: Sequence[Ref] = (),
    memory_citations: Sequence[Cite] | None = None,
    target: Ref | None = None,
    reason: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.Candidate]:
    """Replace all of a pending Candidate's content, but `memory_citations=None` keeps those it has."""
    body = json_body(
        scope_id=scope_id,
        candidate_id=candidate_id,
        expected_version=expected_version,
        proposal=proposal,
        source_refs=source_refs,
        artifact_refs=artifact_refs,
        memory_citations=memory_citations,
        target=target,
        reason=reason,
    )
    return Call("POST", "/v1/artifact-candidates/revise", _candidate, timeout_s, body)


def propose_profile(
    scope_id: str, content: str, *, reason: str | None = None, timeout_s: float | None = None
) -> Call[records.Candidate]:
    """Propose the Profile of a Scope as Markdown; until it is approved the head stays as it is."""
    body = json_body(scope_id=scope_id, content=content, reason=reason)
    return Call("POST", "/v1/profile/propose", _candidate, timeout_s, body, status=CREATED)


def search_topic_memory(
    scope_id: str, query: str, *, limit: int | None = None, timeout_s: float | None = None
) -> Call[records.TopicMemorySearchResponse]:
    """Find Topic Memories of one Scope."""
    body = json_body(scope_id=scope_id, query=query, limit=limit)
    return Call("POST", "/v1/topic-memory/search", _topic_memory_search, timeout_s, body)


def get_topic_memory(scope_id: str, artifact: Ref, *, timeout_s: float | None = None) -> Call[records.TopicMemoryRead]:
    """Read one exact Topic Memory revision, its detail included."""
    body = json_body(scope_id=scope_id, artifact=artifact)
    return Call("POST", "/v1/topic-memory/get", _topic_memory, timeout_s, body)


def get_artifact(
    scope_id: str, family: str, artifact_id: str, *, timeout_s: float | None = None
) -> Call[records.Artifact]:
    """Read the head revision of an Artifact."""
    return Call("GET", _artifact_path(scope_id, family, artifact_id), _artifact, timeout_s)


def get_artifact_revision(scope_id: str, artifact: Ref, *, timeout_s: float | None = None) -> Call[records.Artifact]:
    """Read exactly the referenced revision, whatever the head is now."""
    place = _artifact_path(scope_id, artifact.family, artifact.artifact_id, "revisions", artifact.revision)
    return Call("GET", place, _artifact, timeout_s)


def list_artifact_revisions(
    scope_id: str,
    family: str,
    artifact_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    timeout_s: float | None = None,
) -> Call[records.ArtifactPage]:
    """List the revisions of an Artifact, newest first."""
    place = _artifact_path(scope_id, family, artifact_id, "revisions")
    return Call("GET", place + url_query(limit=limit, cursor=cursor), _artifact_page, timeout_s)


def _artifact_path(scope_id: str, family: str, artifact_id: str, *more: str | int) -> str:
    return path("v1", "scopes", scope_id, "artifacts", family, artifact_id, *more)
