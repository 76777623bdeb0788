"""The assembler alone: 16 Memory and 8 Experience candidates, bodies of several sizes and kinds of text."""

import time
from collections.abc import Callable, Sequence

from msgspec import UNSET, UnsetType

from bench.figures import median, percentile
from bench.modes import MAX_BYTES
from bench.results import AssemblerCell
from contracts.limits import EXPERIENCE_POOL, MEMORY_POOL
from contracts.prepare import Assembly
from contracts.recalled import ExperienceGroup, ExperienceHit, MemoryGroup, MemoryHit, Recalled
from service.assembly import assemble

SIZES = (100, 2_000, 8_000, 20_000, 200_000)
TEXTS = {
    "ASCII": "The client is generated anew whenever the contract file changes, see the notes. ",
    "Chinese": "契约文件变更之后必须重新生成客户端，验证命令写在项目说明里。",
    # Each unit is something that must be escaped, or that ends a line: CRLF, controls, a joined emoji, direction marks.
    "hostile": "a\r\n\x00\x1b[31m👩\u200d💻\u202e\u2028```\r\n\x7f\ufeff",
}
OUTPUTS: dict[str, Assembly | UnsetType] = {"{}": Assembly(), "legacy": UNSET}
VARIANTS = 4
"""Sets of candidates that take turns, so that a text is not asked for while the processor still holds it."""


def measure_assembler(
    rounds: int, calls: int, *, sizes: Sequence[int] = SIZES, told: Callable[[str], None] = lambda line: None
) -> list[AssemblerCell]:
    """All outputs, kinds of text and sizes; each round goes once over all of them with `calls` calls."""
    cases = {
        (output, text, size): [candidates(text, size, variant) for variant in range(VARIANTS)]
        for output in OUTPUTS
        for text in TEXTS
        for size in sizes
    }
    seconds: dict[tuple[str, str, int], list[list[float]]] = {case: [] for case in cases}
    for number in range(rounds):
        told(f"assembler, round {number + 1} of {rounds}")
        for case, variants in cases.items():
            seconds[case].append(sorted(_timed(variants[call % VARIANTS], OUTPUTS[case[0]]) for call in range(calls)))
    return [
        AssemblerCell(
            output=output,
            text=text,
            body_bytes=size,
            p50_ms=median([percentile(each, 0.5) for each in found]) * 1000,
            p95_ms=median([percentile(each, 0.95) for each in found]) * 1000,
            best_ms=min(each[0] for each in found) * 1000,
        )
        for (output, text, size), found in seconds.items()
    ]


def candidates(text: str, size: int, variant: int) -> Recalled:
    """Candidates whose bodies have `size` UTF-8 bytes, up to 3 less where one would be cut; no two are equal."""
    return Recalled(
        current_scope_id="s",
        memory=(
            MemoryGroup(
                scope_id="s",
                artifact_id="memory",
                revision=7,
                hits=tuple(
                    MemoryHit(f"mem_ent_{at:032x}", f"mem_ver_{at:032x}", _body(text, size, f"{variant} {at} "))
                    for at in range(MEMORY_POOL)
                ),
            ),
        ),
        experience=(
            ExperienceGroup(
                scope_id="s",
                hits=tuple(
                    ExperienceHit(
                        f"exp_{at:032x}", 1, *(_body(text, size // 4, f"{variant} {at} {field} ") for field in range(4))
                    )
                    for at in range(EXPERIENCE_POOL)
                ),
            ),
        ),
    )


def _body(text: str, size: int, head: str) -> str:
    unit = TEXTS[text]
    whole = head + unit * (size // len(unit.encode()) + 1)
    return whole.encode()[:size].decode(errors="ignore")


def _timed(recalled: Recalled, assembly: Assembly | UnsetType) -> float:
    started = time.perf_counter()
    assemble(recalled, assembly, MAX_BYTES)
    return time.perf_counter() - started
