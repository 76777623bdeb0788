"""The example of RFC 1489, stored through import with the ids that it prints, comes out of prepare byte for byte."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_contract.api import Api, Json
from tests.http_contract.sidecar import Sidecar

# `rfc_1489_example.txt` is the text that the RFC shows; nothing follows its end marker.
EXAMPLE = (Path(__file__).parent / "rfc_1489_example.txt").read_text(encoding="utf-8")
EXPERIENCE = {
    "situation": "修改了 HTTP API 契约。",
    "action": "运行 make api-generate 和 make contract-test。",
    "outcome": "生成代码与契约一致，测试通过。",
    "lesson": "契约修改后先重新生成，再验证。",
}
REQUEST: Json = {
    "scope_id": "project:demo",
    "query": "修改 HTTP API 后，如何排查客户端与契约不一致？",
    "max_bytes": 8000,
    "assembly": {
        "format": "markdown",
        "sections": [{"family": "experience", "limit": 2}, {"family": "memory", "limit": 5}],
        "show": ["confidence", "recall_rank"],
    },
}


@pytest.fixture
def demo(folder: Path) -> Iterator[Api]:
    """A server of its own, so that the Scope can be called as the RFC calls it."""
    sidecar = Sidecar(folder, folder / "demo.db").start()
    api = sidecar.api()
    api.new_scope("project:demo")
    yield api
    sidecar.close()


def test_the_example_of_the_rfc_comes_out_byte_for_byte(demo: Api) -> None:
    reports = demo.import_lines(
        "project:demo",
        {"type": "experience", "content": EXPERIENCE, "artifact_id": "experience-1", "revision": 1},
        {
            "type": "memory-entry",
            "kind": "rule",
            "text": "修改 OpenAPI 后，需要重新生成客户端并运行契约测试。",
            "entry_id": "entry-1",
            "entry_version_id": "entry-1-v2",
            "revision": 3,
        },
    )
    assert [report["status"] for report in reports] == ["stored", "stored"]
    answer = demo.post("/v1/context/prepare", **REQUEST)
    assert answer.json()["content"] == EXAMPLE
    assert list(answer.json()) == ["schema", "status", "content", "content_bytes"]
    assert answer.json()["content_bytes"] == len(EXAMPLE.encode())


def test_the_other_requests_of_the_rfc_answer_as_it_says(demo: Api) -> None:
    demo.remember("project:demo", "验证要求：运行契约测试。")
    only_memory = {"sections": [{"family": "memory", "limit": 8}]}
    text = demo.prepare("project:demo", "这个项目修改 API 的验证要求是什么？", assembly=only_memory)["content"]
    assert "## Memory" in text
    assert "Confidence" not in text
    assert "Recall rank" not in text
    empty = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}
    assert demo.prepare("project:demo", "验证要求", assembly={"sections": []}) == empty
