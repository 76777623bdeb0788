"""Health and capabilities (CONTRACT section 3)."""

from typing import Literal

from msgspec import Struct


class Live(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether requests can be served, and what each check found, in words."""

    status: Literal["ready", "degraded", "not_ready"]
    checks: dict[str, str]


class LimitRange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of a section's limit, both included."""

    min: int
    max: int


class AssemblyCapabilities(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `assembly` may ask for on this server."""

    formats: tuple[str, ...]
    families: dict[str, LimitRange]
    show: tuple[str, ...]
    max_entries: int


class Capabilities(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this server can do now."""

    artifact_families: tuple[str, ...]
    search_modes: tuple[str, ...]
    context_versions: tuple[str, ...]
    context_assembly: AssemblyCapabilities
