"""The output of requests that omit `assembly`: one line of JSON between two markers.

Source: CONTRACT section 5.
"""

from collections.abc import Sequence
from itertools import zip_longest
from json.encoder import encode_basestring
from typing import Final, assert_never

from msgspec import Struct

from contracts.identity import Family, Ref
from contracts.limits import BODY_MAX_BYTES, CUT_BODY_MIN_BYTES, LEGACY_MAX_EXPERIENCES, LEGACY_MAX_ITEMS
from contracts.recalled import ExperienceHit, MemoryHit, Recalled, TopicMemoryHit
from service.assembly.candidates import FIELD_HEAD_CHARS, Candidate, Hit, experience_text
from service.assembly.escape import encode_text
from service.assembly.fit import ELLIPSIS
from service.assembly.origins import (
    ArtifactAddress,
    ArtifactRef,
    MemoryCitation,
    MemoryEntryAddress,
    Origin,
    legacy_origin,
)
from service.assembly.receipt import Assembled, Outcome, ReceiptLine
from service.assembly.render import NOTICE
from service.assembly.select import select_legacy

_FRAME_TOP: Final = (
    f'{NOTICE}\n\nBEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1\n{{"trust":"untrusted_history","items":['.encode()
)
_FRAME_END: Final = b"]}\nEND_POWERCONTEXT_PREPARED_CONTEXT_V1"
# No item is smaller; with less left, nothing needs to be written in order to be refused.
_SMALLEST_ITEM_BYTES: Final = len(
    '{"citation":{"artifact_ref":{"family":"","artifact_id":"","revision":1}},"content":"","truncated":true}'
)
_FAMILIES: Final[tuple[Family, ...]] = ("memory", "topic-memory", "experience")


def assemble_legacy(recalled: Recalled, max_bytes: int) -> Assembled:
    """Return the legacy output of at most `max_bytes` UTF-8 bytes, or no content when nothing fits.

    Memory, Topic Memory and Experience take turns; at most 8 items, of them at most 2 Experiences. Profile is left
    out. Raises UnencodableText for a lone surrogate in an id or in a content.
    """
    selections = [select_legacy(recalled, family) for family in _FAMILIES]
    outcomes: list[list[ReceiptLine]] = [[] for _ in _FAMILIES]
    left = max_bytes - len(_FRAME_TOP) - len(_FRAME_END)
    items: list[bytes] = []
    origins: list[Origin] = []
    experiences = 0
    for recall_rank, family_index, candidate in _interleave([selection.ranked for selection in selections]):
        is_experience = _FAMILIES[family_index] == "experience"
        outcome: Outcome = "over_limit"
        if len(items) < LEGACY_MAX_ITEMS and not (is_experience and experiences == LEGACY_MAX_EXPERIENCES):
            origin = legacy_origin(candidate.address, recalled.current_scope_id)
            comma_bytes = 1 if items else 0
            item = _fit_item(origin, candidate.hit, left - comma_bytes)
            if item is None:
                outcome = "over_budget"
            else:
                outcome = "included_truncated" if item.truncated else "included"
                items.append(item.written)
                left -= len(item.written) + comma_bytes
                origins.append(origin)
                experiences += is_experience
        outcomes[family_index].append(ReceiptLine(candidate.address, outcome, recall_rank))
    receipt = tuple(
        line for lines, selection in zip(outcomes, selections, strict=True) for line in (*lines, *selection.left_out)
    )
    if not items:
        return Assembled(None, 0, (), receipt)
    document = _FRAME_TOP + b",".join(items) + _FRAME_END
    return Assembled(document.decode(), len(document), tuple(origins), receipt)


def _interleave(families: Sequence[Sequence[Candidate]]) -> list[tuple[int, int, Candidate]]:
    """Return (recall rank, index of the family, candidate), the first of each family, then the second of each, …"""
    return [
        (rank, family_index, candidate)
        for rank, row in enumerate(zip_longest(*families), start=1)
        for family_index, candidate in enumerate(row)
        if candidate is not None
    ]


class _Item(Struct, frozen=True):
    written: bytes
    truncated: bool


def _fit_item(origin: Origin, hit: Hit, room_bytes: int) -> _Item | None:
    """Return one JSON item of at most `room_bytes`: whole, else cut as far as necessary, else None."""
    if room_bytes < _SMALLEST_ITEM_BYTES:
        return None
    before = encode_text(f'{{"citation":{_citation_json(origin)},"content":')
    after = _after_content(hit, truncated=False)
    room = room_bytes - len(before) - len(after)
    # One code point more than can be shown, so that a longer text is seen to be longer.
    head = _content_text(hit)[: BODY_MAX_BYTES + 1]
    encoded = encode_text(head)
    if len(encoded) <= min(BODY_MAX_BYTES, room):
        content = _json_string(head)
        if len(content) <= room:
            return _Item(before + content + after, truncated=False)
    after = _after_content(hit, truncated=True)
    cut = _cut_content(encoded, room_bytes - len(before) - len(after))
    return None if cut is None else _Item(before + cut + after, truncated=True)


def _cut_content(encoded: bytes, room_bytes: int) -> bytes | None:
    """Return the longest cut of a content, as a JSON string of at most `room_bytes`, or None.

    encoded: the content in UTF-8, at least its first 2001 bytes. A cut ends at a code point and has an ellipsis; with
    it the content has at most 2000 bytes and fewer than before it was cut, but 64 at least.
    """
    # What is written is never shorter than the content with its quotes.
    limit = min(BODY_MAX_BYTES, len(encoded) - 1, room_bytes - len(b'""'))
    if limit < CUT_BODY_MIN_BYTES:
        return None
    prefix = encoded[: limit - len(ELLIPSIS)].decode(errors="ignore")  # backs off to a code point
    room = room_bytes - len(ELLIPSIS)
    if len(_json_string(prefix)) > room:
        prefix = prefix[: _longest_that_fits(prefix, room)]
    if len(prefix.encode()) + len(ELLIPSIS) < CUT_BODY_MIN_BYTES:
        return None
    return _json_string(prefix)[:-1] + ELLIPSIS + b'"'


def _longest_that_fits(text: str, room_bytes: int) -> int:
    """Return how many code points of `text` give a JSON string of at most `room_bytes`; the length only grows."""
    fits, fits_not = 0, len(text)
    while fits_not - fits > 1:
        middle = (fits + fits_not) // 2
        if len(_json_string(text[:middle])) <= room_bytes:
            fits = middle
        else:
            fits_not = middle
    return fits


def _content_text(hit: Hit) -> str:
    """Return the content of one item, long fields only as far as they can be shown."""
    match hit:
        case MemoryHit():
            return hit.text
        case ExperienceHit():
            return experience_text(hit)
        case TopicMemoryHit():
            return _topic_memory_json(hit)
        case _:
            raise AssertionError("the legacy output never takes a Profile")


def _topic_memory_json(hit: TopicMemoryHit) -> str:
    """Return the compact JSON that stands as text in a Topic Memory item, without a snippet that is null."""
    title, summary = hit.title[:FIELD_HEAD_CHARS], hit.summary[:FIELD_HEAD_CHARS]
    text = f'{{"title":{encode_basestring(title)},"summary":{encode_basestring(summary)}'
    if hit.snippet is not None:
        text += f',"snippet":{encode_basestring(hit.snippet[:FIELD_HEAD_CHARS])}'
    return text + "}"


def _after_content(hit: Hit, *, truncated: bool) -> bytes:
    kind = ""
    if isinstance(hit, ExperienceHit):
        kind = ',"kind":"experience"'
    elif isinstance(hit, TopicMemoryHit):
        kind = ',"kind":"topic-memory"'
    return f',"truncated":{"true" if truncated else "false"}{kind}}}'.encode()


def _citation_json(origin: Origin) -> str:
    match origin:
        case MemoryCitation():
            return f'{{"memory_ref":{_ref_json(origin.artifact)},{_entry_members(origin)}}}'
        case MemoryEntryAddress():
            return f'{{"memory":{_scoped_ref_json(origin)},{_entry_members(origin)}}}'
        case ArtifactRef():
            return f'{{"artifact_ref":{_ref_json(origin.artifact)}}}'
        case ArtifactAddress():
            return f'{{"artifact":{_scoped_ref_json(origin)}}}'
        case _:
            assert_never(origin)


def _scoped_ref_json(address: MemoryEntryAddress | ArtifactAddress) -> str:
    return f'{{"scope_id":{_literal(address.scope_id)},"artifact":{_ref_json(address.artifact)}}}'


def _ref_json(ref: Ref) -> str:
    return f'{{"family":{_literal(ref.family)},"artifact_id":{_literal(ref.artifact_id)},"revision":{ref.revision}}}'


def _entry_members(citation: MemoryCitation | MemoryEntryAddress) -> str:
    return f'"entry_id":{_literal(citation.entry_id)},"entry_version_id":{_literal(citation.entry_version_id)}'


def _json_string(text: str) -> bytes:
    return encode_text(_literal(text))


def _literal(text: str) -> str:
    """Return a JSON string literal, non-ASCII raw but for the three characters that some readers take as line ends."""
    literal = encode_basestring(text)
    if literal.isascii():
        return literal
    return literal.replace("\u0085", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
