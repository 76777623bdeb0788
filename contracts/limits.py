"""Every numeric limit of the service, each bound once, with its source beside it.

Lengths named `_CHARS` count Unicode code points, `_BYTES` count UTF-8 bytes.
"""

from typing import Final

# Prepare (RFC 1489, request contract).
QUERY_MAX_CHARS: Final = 8192
MAX_BYTES_MIN: Final = 512
MAX_BYTES_MAX: Final = 32768
MAX_BYTES_DEFAULT: Final = 8000
SECTIONS_MAX: Final = 4
MEMORY_LIMIT_MAX: Final = 8
EXPERIENCE_LIMIT_MAX: Final = 2
PROFILE_LIMIT_MAX: Final = 8
TOPIC_MEMORY_LIMIT_MAX: Final = 8
DEFAULT_MEMORY_LIMIT: Final = 6
DEFAULT_EXPERIENCE_LIMIT: Final = 2
ASSEMBLY_MAX_ENTRIES_DEFAULT: Final = 8

# Candidate pools, per Scope and again after the merge (RFC 1489, algorithm steps 3 and 4).
MEMORY_POOL: Final = 16
EXPERIENCE_POOL: Final = 8
TOPIC_MEMORY_POOL: Final = 8

# Candidates of one Scope that a reranker sees: listwise models lose the thread in longer lists.
RERANK_CANDIDATES: Final = 30

# Bodies (RFC 1489, budget): escaped bytes of one body, and the least a cut body may keep, ellipsis included.
BODY_MAX_BYTES: Final = 2000
CUT_BODY_MIN_BYTES: Final = 64

# Legacy output (CONTRACT section 5).
LEGACY_MAX_ITEMS: Final = 8
LEGACY_MAX_EXPERIENCES: Final = 2

# Identity (CONTRACT section 2).
SCOPE_ID_MAX_CHARS: Final = 256
ARTIFACT_ID_MAX_CHARS: Final = 128
SOURCE_ID_MAX_CHARS: Final = 256
SOURCES_MAX: Final = 32

# Scopes (CONTRACT section 3).
TITLE_MAX_CHARS: Final = 256
SUMMARY_MAX_CHARS: Final = 2000
IDEMPOTENCY_KEY_MAX_CHARS: Final = 256
CONTEXT_REFERENCES_MAX: Final = 32
EXTERNAL_KIND_MAX_CHARS: Final = 128
EXTERNAL_VALUE_MAX_CHARS: Final = 2000
SCOPE_QUERY_MAX_CHARS: Final = 256

# Memory.
KIND_MAX_CHARS: Final = 128
ENTRY_TEXT_MAX_BYTES: Final = 8192
REASON_MAX_CHARS: Final = 512
SEARCH_LIMIT_MAX: Final = 50
SEARCH_LIMIT_DEFAULT: Final = 10
ENTRY_PAGE_MAX: Final = 1000

# Experience, Profile, Topic Memory, Candidates.
EXPERIENCE_FIELD_MAX_CHARS: Final = 8000
PROFILE_MAX_BYTES: Final = 256 * 1024
TOPIC_TITLE_MAX_CHARS: Final = 512
TOPIC_SUMMARY_MAX_CHARS: Final = 8000
TOPIC_DETAIL_MAX_CHARS: Final = 125_000
TOPIC_SEARCH_LIMIT_MAX: Final = 20
SNIPPET_MAX_CHARS: Final = 480
REVIEW_REASON_MAX_CHARS: Final = 2000

# Listings.
PAGE_MAX: Final = 100
PAGE_DEFAULT: Final = 50
CURSOR_MAX_CHARS: Final = 128

# Revisions and versions are bound because SQL integers end at 63 bits.
INTEGER_MAX: Final = 2**63 - 1

# Of an imported revision. Every later write counts on from it, and must never meet the end of the integers.
IMPORTED_REVISION_MAX: Final = 2**53
