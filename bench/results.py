"""What one run of the benchmark measured: the JSON file, and what tables, plots and targets are made from."""

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where and with what it was measured."""

    date: str
    command: str
    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    versions: dict[str, str]
    revision: str


class PrepareCell(msgspec.Struct, frozen=True, kw_only=True):
    """One server, mode and number of connections: medians over the rounds.

    Ratios are medians of each round's ratio to the floor, above 1 where the floor is faster, of CPU time over all
    rounds together; None for the floor itself. `best_p50_ms` is that of the fastest round.
    """

    server: str
    mode: str
    connections: int
    p50_ms: float
    best_p50_ms: float
    p95_ms: float
    p99_ms: float
    requests_per_s: float
    cpu_ms: float
    answer_bytes: float
    requests: int
    p50_to_floor: float | None = None
    floor_to_requests: float | None = None
    cpu_to_floor: float | None = None


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """Start and memory of one server."""

    server: str
    ready_s: float
    ready_rss_mib: float
    loaded_rss_mib: float | None = None


class RememberCell(msgspec.Struct, frozen=True, kw_only=True):
    """Writing one entry through HTTP into a Scope that holds `entries`."""

    server: str
    entries: int
    p50_ms: float
    p95_ms: float


class AssemblerCell(msgspec.Struct, frozen=True, kw_only=True):
    """The assembler alone on 24 candidates whose bodies have `body_bytes`. `best_ms` is the fastest call."""

    output: str
    text: str
    body_bytes: int
    p50_ms: float
    p95_ms: float
    best_ms: float


class RecallCell(msgspec.Struct, frozen=True, kw_only=True):
    """Memory recall alone, in process. `prompt` is `question` or `8192 Chinese characters`."""

    entries: int
    scopes: int
    prompt: str
    p50_ms: float
    p95_ms: float
    best_ms: float


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Everything; `prepare` is over synthetic data, `prepare_locomo` over LoCoMo conversations."""

    machine: Machine
    quick: bool = False
    started: list[Started] = []
    prepare: list[PrepareCell] = []
    remember: list[RememberCell] = []
    assembler: list[AssemblerCell] = []
    recall: list[RecallCell] = []
    prepare_locomo: list[PrepareCell] = []
    refusals: dict[str, str] = {}
