"""Lines of import and export (CONTRACT section 3, Bulk). One JSON object a line, LF between lines."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from contracts import limits
from contracts.artifacts import ExperienceContent, ProfileContent, TopicMemoryContent
from contracts.identity import Cite, PrintableId, Ref
from contracts.memory import EntryText, Kind, Reason

ImportedRevision: TypeAlias = Annotated[int, Meta(ge=1, le=limits.IMPORTED_REVISION_MAX)]


class MemoryEntryLine(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="memory-entry"
):
    """One entry version. `revision` is where it entered the Memory, `left_revision` where it left."""

    kind: Kind
    text: EntryText
    entry_id: PrintableId | UnsetType = UNSET
    entry_version_id: PrintableId | UnsetType = UNSET
    revision: ImportedRevision | UnsetType = UNSET
    left_revision: ImportedRevision | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class ExperienceLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="experience"):
    """One Experience revision."""

    content: ExperienceContent
    artifact_id: PrintableId | UnsetType = UNSET
    revision: ImportedRevision | UnsetType = UNSET


class ProfileLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="profile"):
    """One Profile revision."""

    content: ProfileContent
    artifact_id: PrintableId | UnsetType = UNSET
    revision: ImportedRevision | UnsetType = UNSET


class TopicMemoryLine(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="topic-memory"
):
    """One Topic Memory revision."""

    content: TopicMemoryContent
    artifact_id: PrintableId | UnsetType = UNSET
    revision: ImportedRevision | UnsetType = UNSET


ArtifactLine: TypeAlias = ExperienceLine | ProfileLine | TopicMemoryLine
ImportLine: TypeAlias = MemoryEntryLine | ExperienceLine | ProfileLine | TopicMemoryLine


class LineError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a line was refused."""

    code: str
    message: str


class LineReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one line; lines count from 1. What is `stored` is durable when it is reported."""

    line: Annotated[int, Meta(ge=1)]
    status: Literal["stored", "skipped", "refused"]
    citation: Cite | None = None
    artifact: Ref | None = None
    error: LineError | None = None


class ImportTotals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many lines ended how."""

    stored: int = 0
    skipped: int = 0
    refused: int = 0


class ImportSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of an import's answer."""

    totals: ImportTotals
