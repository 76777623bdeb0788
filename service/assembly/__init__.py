"""The pure core of prepare: candidates and options in, one text with exact citations and a receipt out.

No async, clock, environment, I/O or logging, so that `assemble` can run in any thread and be tested as a function.
"""

from msgspec import UnsetType

from contracts.prepare import Assembly
from contracts.recalled import Recalled
from service.assembly.escape import UnencodableText
from service.assembly.legacy import assemble_legacy
from service.assembly.markdown import assemble_markdown
from service.assembly.merge import pool_shares, round_robin
from service.assembly.origins import (
    Address,
    ArtifactAddress,
    ArtifactRef,
    MemoryCitation,
    MemoryEntryAddress,
    Origin,
)
from service.assembly.receipt import Assembled, Outcome, ReceiptLine

__all__ = [
    "Address",
    "ArtifactAddress",
    "ArtifactRef",
    "Assembled",
    "MemoryCitation",
    "MemoryEntryAddress",
    "Origin",
    "Outcome",
    "ReceiptLine",
    "UnencodableText",
    "assemble",
    "pool_shares",
    "round_robin",
]


def assemble(recalled: Recalled, assembly: Assembly | UnsetType, max_bytes: int) -> Assembled:
    """Return the text for what was recalled, at most `max_bytes` UTF-8 bytes long, with its origins and receipt.

    assembly: UNSET gives the legacy output. Its families are taken to be unique; the sum of its limits is not checked.
    Raises UnencodableText when a text to be written holds a lone surrogate. In the standard text ids may hold one,
    because metadata is ASCII. Raises ValueError for Memory hits without the artifact id of their Memory.
    Source: RFC 1489, selection algorithm and budget; CONTRACT sections 4 and 5.
    """
    if isinstance(assembly, UnsetType):
        return assemble_legacy(recalled, max_bytes)
    return assemble_markdown(recalled, assembly, max_bytes)
