"""The standard text: sections in the order asked for, each filled until it is full or has no candidates left.

Source: RFC 1489, selection algorithm, steps 7 and 8.
"""

from typing import assert_never

from contracts.identity import Family
from contracts.prepare import (
    Assembly,
    ExperienceSection,
    MemorySection,
    ProfileSection,
    Section,
    TopicMemorySection,
)
from contracts.recalled import Recalled
from service.assembly.candidates import body_text
from service.assembly.fit import AROUND_BODY_BYTES, FRAME_BYTES, fit_body
from service.assembly.origins import Origin
from service.assembly.receipt import Assembled, Outcome, ReceiptLine
from service.assembly.render import (
    FRAME_END,
    FRAME_TOP,
    SMALLEST_ITEM_BYTES,
    item_head,
    item_tail,
    section_heading,
)
from service.assembly.select import select


def assemble_markdown(recalled: Recalled, assembly: Assembly, max_bytes: int) -> Assembled:
    """Return the standard text of at most `max_bytes` UTF-8 bytes, or no content when nothing fits.

    Earlier sections spend the budget first. Raises UnencodableText for a lone surrogate in a body.
    """
    document = _Document(assembly, max_bytes)
    for section in assembly.sections:
        document.fill(recalled, section)
    return document.finish()


class _Document:
    """A text that grows item by item, and the bytes it may still spend."""

    def __init__(self, assembly: Assembly, max_bytes: int) -> None:
        self._confidence = "confidence" in assembly.show
        self._recall_rank = "recall_rank" in assembly.show
        self._left = max_bytes - FRAME_BYTES
        self._parts: list[bytes] = [FRAME_TOP]
        self._origins: list[Origin] = []
        self._receipt: list[ReceiptLine] = []

    def fill(self, recalled: Recalled, section: Section) -> None:
        """Try the candidates of one section in rank order until it holds `limit` items."""
        family = _family(section)
        selection = select(recalled, family)
        heading = section_heading(family)
        included = 0
        for recall_rank, candidate in enumerate(selection.ranked, start=1):
            address = candidate.address
            if included == section.limit:
                self._receipt.append(ReceiptLine(address, "over_limit", recall_rank))
                continue
            if self._left < SMALLEST_ITEM_BYTES:
                self._receipt.append(ReceiptLine(address, "over_budget", recall_rank))
                continue
            head = item_head(
                family,
                included + 1,
                address,
                recall_rank if self._recall_rank else None,
                confidence=self._confidence,
            )
            if included == 0:
                head = heading + head
            body = fit_body(body_text(candidate.hit), self._left - len(head) - AROUND_BODY_BYTES)
            if body is None:
                self._receipt.append(ReceiptLine(address, "over_budget", recall_rank))
                continue
            item = head + item_tail(body.printed, truncated=body.truncated)
            self._parts.append(item)
            self._left -= len(item)
            included += 1
            self._origins.append(address)
            outcome: Outcome = "included_truncated" if body.truncated else "included"
            self._receipt.append(ReceiptLine(address, outcome, recall_rank))
        self._receipt += selection.left_out

    def finish(self) -> Assembled:
        """Return the text, none when it has no item."""
        receipt = tuple(self._receipt)
        if not self._origins:
            return Assembled(None, 0, (), receipt)
        document = b"".join([*self._parts, FRAME_END])
        return Assembled(document.decode(), len(document), tuple(self._origins), receipt)


def _family(section: Section) -> Family:
    match section:
        case MemorySection():
            return "memory"
        case ExperienceSection():
            return "experience"
        case ProfileSection():
            return "profile"
        case TopicMemorySection():
            return "topic-memory"
        case _:
            assert_never(section)
