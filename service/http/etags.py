"""Entity tags of Artifact heads: `"revision:N"` (RFC 9110, sections 8.8.3 and 13.1). Pure."""

import re

from contracts.errors import InvalidRequest
from contracts.limits import INTEGER_MAX

_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7E]*)"')
_REVISION = re.compile(r'"revision:([1-9][0-9]{0,18})"')


def etag_of(revision: int) -> str:
    """The tag of one revision."""
    return f'"revision:{revision}"'


def matches(if_none_match: str | None, revision: int) -> bool:
    """Whether If-None-Match names the current revision: `*`, or one of its tags, weak or strong."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or f"revision:{revision}" in _TAG.findall(if_none_match)


def expected_revision(if_match: str | None) -> int | None:
    """The one revision that If-Match names; None where the header is missing, 0 for a tag that no revision has.

    A write replaces what its caller read, so `*` and lists of tags are refused. Raises InvalidRequest.
    """
    if if_match is None:
        return None
    found = _REVISION.fullmatch(if_match.strip())
    if found is not None and int(found[1]) <= INTEGER_MAX:
        return int(found[1])
    if _TAG.fullmatch(if_match.strip()):
        return 0
    raise InvalidRequest.at("header", "If-Match", msg='must be one entity tag such as "revision:3", quotes included')
