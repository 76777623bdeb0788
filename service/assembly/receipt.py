"""What assembly hands back: the text, its origins, and what happened to every candidate."""

from typing import Literal, TypeAlias

from msgspec import Struct

from service.assembly.origins import Address, Origin

Outcome: TypeAlias = Literal[
    "included",
    "included_truncated",
    "over_budget",  # tried, and neither the full body nor a permitted prefix fitted
    "over_limit",  # not tried: its section, or the legacy output, already had all the items it may have
    "blank",
    "duplicate",
    "beyond_pool",
    "erased",
]


class ReceiptLine(Struct, frozen=True):
    """What became of one candidate.

    candidate: its exact identity, the Scope included even where the text leaves that out.
    recall_rank: from 1 within its family, or None when it was left out before ranking.
    """

    candidate: Address
    outcome: Outcome
    recall_rank: int | None = None


class Assembled(Struct, frozen=True):
    """One prepared text, or none.

    content: None when no item could be included.
    content_bytes: the UTF-8 length of `content`, 0 when there is none; never above the budget.
    origins: exactly the items of `content`, in their order.
    receipt: one line for every candidate of the families that took part. Families in the order of the text (legacy:
    memory, topic-memory, experience); within a family first the ranked ones by rank, then the others.
    """

    content: str | None
    content_bytes: int
    origins: tuple[Origin, ...]
    receipt: tuple[ReceiptLine, ...]
