"""The normal forms in which texts are stored, and the limits in bytes that no schema can say. Pure."""

import unicodedata

from contracts import limits
from contracts.artifacts import ArtifactContent, ProfileContent
from contracts.errors import InvalidRequest


def entry_text(text: str, *loc: str) -> str:
    """A Memory entry's text as stored: NFC, without surrounding white space. Raises InvalidRequest over 8192 bytes."""
    stored = unicodedata.normalize("NFC", text).strip()
    if len(stored.encode()) > limits.ENTRY_TEXT_MAX_BYTES:
        raise InvalidRequest.at(
            *(loc or ("body", "text")),
            type="string_too_long",
            msg=f"must be at most {limits.ENTRY_TEXT_MAX_BYTES} UTF-8 bytes after NFC and strip",
        )
    return stored


def profile_text(text: str, *loc: str) -> str:
    """A Profile's text as stored: no leading BOM, NFC, LF line ends, exactly one LF at the end.

    Raises InvalidRequest over 256 KiB, or when nothing is left.
    """
    unified = unicodedata.normalize("NFC", text.removeprefix("\ufeff")).replace("\r\n", "\n").replace("\r", "\n")
    body = unified.rstrip("\n")
    if not body.strip():
        raise InvalidRequest.at(*loc, type="string_too_short", msg="must not be empty")
    stored = body + "\n"
    if len(stored.encode()) > limits.PROFILE_MAX_BYTES:
        raise InvalidRequest.at(
            *loc, type="string_too_long", msg=f"must be at most {limits.PROFILE_MAX_BYTES} UTF-8 bytes"
        )
    return stored


def stored_content(content: ArtifactContent, *loc: str) -> ArtifactContent:
    """Content as stored: a Profile in its normal form, the other families as given. `loc` is where it stood."""
    if isinstance(content, ProfileContent):
        return ProfileContent(content=profile_text(content.content, *loc, "content"))
    return content
