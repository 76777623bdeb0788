"""Experience, Profile and Topic Memory by name."""

from contracts.artifacts import (
    ExperienceRead,
    ExperienceSearchRequest,
    ExperienceSearchResponse,
    GetArtifactRequest,
    TopicMemoryRead,
    TopicMemorySearchRequest,
    TopicMemorySearchResponse,
)
from contracts.review import Candidate, ProposeExperienceRequest, ProposeProfileRequest
from service.http.operation import Call, operation


@operation(
    "POST",
    "/v1/experience/propose",
    role="contributor",
    tag="experience",
    status=201,
    body=ProposeExperienceRequest,
    answer=Candidate,
    errors=(404, 410),
)
async def propose_experience(call: Call) -> Candidate:
    """Propose an Experience, or with `target` the next revision of one."""
    return await call.operations.experience.propose(call.body)


@operation(
    "POST",
    "/v1/experience/search",
    role="viewer",
    tag="experience",
    body=ExperienceSearchRequest,
    answer=ExperienceSearchResponse,
    errors=(404,),
)
async def search_experience(call: Call) -> ExperienceSearchResponse:
    """Find approved Experiences of one Scope."""
    return await call.operations.experience.search(call.body)


@operation(
    "POST",
    "/v1/experience/get",
    role="viewer",
    tag="experience",
    body=GetArtifactRequest,
    answer=ExperienceRead,
    errors=(404, 410),
)
async def get_experience(call: Call) -> ExperienceRead:
    """Read one exact Experience revision."""
    return await call.operations.experience.get(call.body)


@operation(
    "POST",
    "/v1/profile/propose",
    role="contributor",
    tag="profile",
    status=201,
    body=ProposeProfileRequest,
    answer=Candidate,
    errors=(404, 410),
)
async def propose_profile(call: Call) -> Candidate:
    """Propose the Profile of a Scope; until it is approved the head stays as it is."""
    return await call.operations.profile.propose(call.body)


@operation(
    "POST",
    "/v1/topic-memory/search",
    role="viewer",
    tag="topic-memory",
    body=TopicMemorySearchRequest,
    answer=TopicMemorySearchResponse,
    errors=(404,),
)
async def search_topic_memory(call: Call) -> TopicMemorySearchResponse:
    """Find Topic Memories of one Scope."""
    return await call.operations.topic_memory.search(call.body)


@operation(
    "POST",
    "/v1/topic-memory/get",
    role="viewer",
    tag="topic-memory",
    body=GetArtifactRequest,
    answer=TopicMemoryRead,
    errors=(404, 410),
)
async def get_topic_memory(call: Call) -> TopicMemoryRead:
    """Read one exact Topic Memory revision with its detail."""
    return await call.operations.topic_memory.get(call.body)


ROUTES = (
    propose_experience,
    search_experience,
    get_experience,
    propose_profile,
    search_topic_memory,
    get_topic_memory,
)
