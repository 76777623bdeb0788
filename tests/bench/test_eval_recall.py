"""The measurement of recall quality: what it asks, what it counts, and that it goes through the real store."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adapters import open_storage
from bench import eval_recall
from bench.eval_recall import Figures, figures_of, main
from bench.recall_tasks import Question, Scope, cmrc_sentences, locomo_facts
from bench.retrieval import VARIANTS

# Right at the second place: of two sentences with the word that is asked for, the shorter comes first.
FACTS = {
    "Ann": [
        ["Ann has a puppy named Biscuit.", "D1:1"],
        ["Ann practised the violin in the old concert hall every evening.", ["D1:3"]],
    ],
    "Bob": [["Bob owns a violin.", "D1:2"]],
}
TURNS = [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "My puppy is named Biscuit."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "I like mountains."},
    {"speaker": "Ann", "dia_id": "D1:3", "text": "I practised the violin in the old concert hall."},
]
QUESTIONS = [
    {"question": "What is the puppy named?", "evidence": ["D1:1"], "category": 1},
    {"question": "Violin?", "evidence": ["D1:3"], "category": 2},
    {"question": "Zebras?", "evidence": ["D1:1"], "category": 1},
    {"question": "Without evidence?", "evidence": [], "category": 1},
    {"question": "Without an answer?", "evidence": ["D1:1"], "category": 5},
]
CONVERSATION: dict[str, Any] = {
    "observation": {"session_1_observation": FACTS},
    "conversation": {"speaker_a": "Ann", "session_1_date_time": "today", "session_1": TURNS},
    "qa": QUESTIONS,
}
PARAGRAPH: dict[str, Any] = {
    "context": "上海是最大的城市。北京是中国的首都。",
    "qas": [
        {"question": "中国的首都是哪里？", "answers": [{"answer_start": 9}, {"answer_start": -1}]},
        {"question": "哪里？", "answers": [{"answer_start": -1}]},
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder in the form of the public data."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "locomo-5.json").write_text(json.dumps([CONVERSATION]), encoding="utf-8")
    (folder / "cmrc2018-dev-half.json").write_text(json.dumps([{"paragraphs": [PARAGRAPH]}]), encoding="utf-8")
    return folder


def rows(printed: str) -> dict[str, list[str]]:
    cells = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in printed.splitlines() if "|" in line]
    return {name: rest for name, *rest in cells}


def test_one_run_measures_all_tasks_through_the_store_beside_unicode61(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(data)]) == 0
    printed = capsys.readouterr()
    table = rows(printed.out)
    assert table["recall@16 / MRR"] == [
        "LoCoMo facts, 3 questions",
        "LoCoMo turns, 3 questions",
        "CMRC sentences, 1 questions",
    ]
    # Facts: ranks 1, 2 and none; turns: ranks 1, 1 and none; the Chinese sentence: rank 1.
    own = ["0.667 / 0.500", "0.667 / 0.667", "1.000 / 1.000"]
    assert table["this project, through the store (SQLite)"] == own
    assert table["this project, in memory"] == own
    # unicode61 takes a Chinese question for one word, which no sentence holds.
    assert table["SQLite FTS5, unicode61"] == [*own[:2], "0.000 / 0.000"]
    assert table["target met"] == ["no / no", "yes / yes", "yes / yes"]
    assert {f"in memory, {name}" for name in VARIANTS} <= table.keys()
    assert printed.err == ""  # no progress where nobody watches


def test_a_database_that_is_named_is_used_and_keeps_no_scope_of_it(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "named.db"

    async def scopes() -> int:
        storage = await open_storage(f"sqlite:///{path}")
        await storage.check()
        listed, _ = await storage.scopes.list(visible=None, query="", limit=10, cursor=None)
        await storage.close()
        return len(listed)

    for _ in range(2):  # a new database, and one that exists
        assert main([str(data), "--engine-url", f"sqlite:///{path}"]) == 0
        assert asyncio.run(scopes()) == 0


def test_a_store_that_finds_something_else_is_a_failure(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eval_recall, "in_memory", lambda scope: [[] for _ in scope.questions])
    assert main([str(data)]) == 1
    # Of the seven questions the two about zebras find nothing in the store either.
    assert "different texts for 5 questions" in capsys.readouterr().out


@pytest.mark.parametrize("absent", ["locomo-5.json", "cmrc2018-dev-half.json"])
def test_an_absent_file_is_named(data: Path, absent: str, capsys: pytest.CaptureFixture[str]) -> None:
    (data / absent).unlink()
    assert main([str(data)]) == 2
    assert capsys.readouterr().err == f"eval_recall: {data} has no {absent}\n"


def test_an_absent_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err == f"eval_recall: there is no folder {tmp_path / 'nowhere'}\n"


@pytest.mark.parametrize("content", ["not JSON", '{"a": 1}', "[]", '[{"qa": []}]'])
def test_a_file_of_another_form_is_named(data: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "locomo-5.json").write_text(content, encoding="utf-8")
    assert main([str(data)]) == 2
    assert capsys.readouterr().err.startswith("eval_recall: locomo-5.json ")


def test_a_url_that_names_no_database_is_refused_without_its_password(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(data), "--engine-url", "mysql://user:secret@host/name"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("eval_recall: the URL ")
    assert "secret" not in said


def test_figures_are_means_over_questions_not_over_scopes() -> None:
    one = Scope(["a", "b"], [Question("q", frozenset({0, 1}))])
    three = Scope(["a", "b"], [Question("q", frozenset({1}))] * 3)
    # Recall: 1/2, 1, 0, 0. Reciprocal rank: 1, 1/2, 0, 0.
    assert figures_of([one, three], [[[1]], [[0, 1], [0], []]]) == Figures(0.375, 0.375)


def test_identical_texts_are_one_entry_that_stands_for_the_evidence_of_all() -> None:
    twice = {"Ann": [["The same.", "D1:1"], [" The same.", "D1:2"]]}
    asked = [{"question": "q", "evidence": ["D1:2"], "category": 1}]
    assert list(locomo_facts([{"observation": {"session_1": twice}, "qa": asked}])) == [
        Scope(["The same."], [Question("q", frozenset({0}))])
    ]


def test_twenty_paragraphs_are_one_scope() -> None:
    paragraphs = [{"context": f"第{number}句。", "qas": []} for number in range(21)]
    assert [len(scope.texts) for scope in cmrc_sentences([{"paragraphs": paragraphs}])] == [20, 1]
