"""Whole sidecars over public HTTP on each engine: one text for the same ids, and four processes on one database."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engines.servers import DatabaseServer
from tests.http_contract.api import Api, Json
from tests.http_contract.sidecar import Sidecar

EXAMPLE = (Path(__file__).parents[1] / "http_contract" / "rfc_1489_example.txt").read_text(encoding="utf-8")
PROCESSES = 4

# The ids of RFC 1489's example, and beside them one Artifact of each other family.
LINES: list[Json] = [
    {
        "type": "experience",
        "artifact_id": "experience-1",
        "revision": 1,
        "content": {
            "situation": "修改了 HTTP API 契约。",
            "action": "运行 make api-generate 和 make contract-test。",
            "outcome": "生成代码与契约一致，测试通过。",
            "lesson": "契约修改后先重新生成，再验证。",
        },
    },
    {
        "type": "memory-entry",
        "kind": "rule",
        "text": "修改 OpenAPI 后，需要重新生成客户端并运行契约测试。",
        "entry_id": "entry-1",
        "entry_version_id": "entry-1-v2",
        "revision": 3,
    },
    {"type": "profile", "revision": 2, "content": {"content": "# Demo\n\nAPI 团队 👩\u200d💻\n"}},
    {
        "type": "topic-memory",
        "artifact_id": "topic-1",
        "revision": 4,
        "content": {"title": "契约", "summary": "客户端与契约", "detail": "HTTP API 契约修改后，先重新生成客户端。"},
    },
]
QUERY = "修改 HTTP API 后，如何排查客户端与契约不一致？"
RFC_ASSEMBLY: Json = {
    "sections": [{"family": "experience", "limit": 2}, {"family": "memory", "limit": 5}],
    "show": ["confidence", "recall_rank"],
}
ALL_FAMILIES: Json = {
    "sections": [{"family": family, "limit": 2} for family in ("profile", "topic-memory", "memory", "experience")]
}

# What every engine printed for ALL_FAMILIES; the first one is checked by itself, the others against it.
printed_by: dict[str, str] = {}


@pytest.fixture
def sidecars(empty_database: Callable[[], str], tmp_path: Path) -> Iterator[list[Sidecar]]:
    """Four processes that started at the same moment on one database without tables."""
    url = empty_database()
    processes = [
        Sidecar(tmp_path, tmp_path / "unused", f"s{number}", DATABASE_URL=url, LOG_LEVEL="error")
        for number in range(PROCESSES)
    ]
    try:
        with ThreadPoolExecutor(PROCESSES) as starting:
            list(starting.map(Sidecar.start, processes))
        yield processes
    finally:
        for process in processes:
            process.close()


def test_the_same_ids_give_the_same_text_and_every_citation_reads_back(engine: str, sidecars: list[Sidecar]) -> None:
    writer, reader = sidecars[0].api(), sidecars[1].api()
    writer.new_scope("project:demo")
    assert {report["status"] for report in writer.import_lines("project:demo", *LINES)} == {"stored"}
    assert reader.prepare("project:demo", QUERY, assembly=RFC_ASSEMBLY)["content"] == EXAMPLE
    text = reader.prepare("project:demo", QUERY, assembly=ALL_FAMILIES)["content"]
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Profile",
        "## Topic Memory",
        "## Memory",
        "## Experience",
    ]
    assert set(printed_by.values()) <= {text}
    printed_by[engine] = text
    for family, artifact_id, revision, line in (
        ("experience", "experience-1", 1, LINES[0]),
        ("topic-memory", "topic-1", 4, LINES[3]),
    ):
        path = f"/v1/scopes/project%3Ademo/artifacts/{family}/{artifact_id}/revisions/{revision}"
        assert reader.get(path).json()["content"] == line["content"]
    profile = reader.get("/v1/scopes/project%3Ademo/artifacts/profile/profile/revisions/2").json()
    assert profile["content"]["content"] == LINES[2]["content"]["content"]
    memory_ref = {"family": "memory", "artifact_id": "memory", "revision": 3}
    citation = {"memory_ref": memory_ref, "entry_id": "entry-1", "entry_version_id": "entry-1-v2"}
    entry = reader.call("/v1/memory/entries/get", scope_id="project:demo", citation=citation)
    assert entry["text"] == LINES[1]["text"]


def test_writers_through_four_processes_lose_nothing_and_are_seen_by_the_next_prepare_of_another(
    sidecars: list[Sidecar],
) -> None:
    scope = sidecars[0].api().new_scope()

    def write(number: int) -> None:
        own, other = sidecars[number].api(), sidecars[(number + 1) % PROCESSES].api()
        for turn in range(5):
            word = f"needle{number}x{turn}"
            _until_stored(own, scope, word)
            assert word in str(other.prepare(scope, word, assembly={})["content"])

    with ThreadPoolExecutor(PROCESSES) as writers:
        list(writers.map(write, range(PROCESSES)))
    reader = sidecars[0].api()
    entries = reader.call("/v1/memory/entries/list", scope_id=scope)
    assert len(entries["entries"]) == PROCESSES * 5
    assert entries["memory"]["revision"] == PROCESSES * 5
    revisions = reader.call("/v1/memory/changes", scope_id=scope, since_revision=0)["revisions"]
    assert [each["memory_ref"]["revision"] for each in revisions] == list(range(1, PROCESSES * 5 + 1))


def _until_stored(api: Api, scope: str, text: str) -> None:
    """A remember, sent again where another writer was in the way for too long; it never fails otherwise."""
    for _ in range(20):
        answer = api.post("/v1/memory/remember", scope_id=scope, kind="fact", text=text)
        if answer.status_code == 200:
            return
        assert answer.status_code == 503, answer.text
    raise AssertionError("the storage stayed busy")


@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgres", "oceanbase")],
    indirect=True,
)
def test_while_its_database_is_away_a_sidecar_answers_503_and_soon_after_its_return_serves_again(
    server: DatabaseServer, sidecars: list[Sidecar]
) -> None:
    api = sidecars[0].api()
    scope = api.new_scope()
    _until_stored(api, scope, "needle")
    server.kill()
    try:
        for answer in (
            api.post("/v1/context/prepare", scope_id=scope, query="needle", assembly={}),
            api.post("/v1/memory/remember", scope_id=scope, kind="fact", text="lost"),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "runtime_not_ready")
        ready = api.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
    finally:
        server.start()
    returned = time.monotonic()
    while api.post("/v1/context/prepare", scope_id=scope, query="needle", assembly={}).status_code != 200:
        assert time.monotonic() - returned < 5
        time.sleep(0.1)
    assert api.get("/health/ready").json()["status"] in ("ready", "degraded")  # degraded until the next write
    _until_stored(api, scope, "after")
    assert api.get("/health/ready").json()["status"] == "ready"
