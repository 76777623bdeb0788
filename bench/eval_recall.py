"""Recall quality on public questions: recall@16 and mean reciprocal rank of the first right answer.

    python -m bench.eval_recall DATA_FOLDER [--variants]

DATA_FOLDER holds `locomo-5.json` (conversations of LoCoMo, github.com/snap-research/locomo, CC BY-NC 4.0) and
`cmrc2018-dev-half.json` (paragraphs of CMRC 2018, github.com/ymcui/cmrc2018, CC BY-SA 4.0). They are not part of this
project. Three tasks are made of them:

- facts: the observations of a conversation are one Scope; right are those whose evidence the question names;
- turns: its utterances, each behind its speaker's name, are one Scope; right are those that the question names;
- sentences: the sentences of 20 Chinese paragraphs are one Scope; right is the one that holds the answer.

`--variants` repeats the measurement with one rule of the tokenizer or the ranking switched off at a time.
"""

import json
import re
import sqlite3
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unittest.mock import patch

from adapters import ranking
from adapters.text import Tokens, english, identifiers, index_terms, ngrams, query_terms

LIMIT = 16  # the pool of one Scope
BLOCK_POSTINGS = 128
PARAGRAPHS_IN_SCOPE = 20
ADVERSARIAL = 5  # LoCoMo's category of questions that have no answer
FILES = ("locomo-5.json", "cmrc2018-dev-half.json")


class Question(NamedTuple):
    text: str
    right: frozenset[int]


class Scope(NamedTuple):
    texts: list[str]
    questions: list[Question]


class Retriever(Protocol):
    """Searches the texts it was built from; answers positions in that list, the best first."""

    def search(self, query: str, limit: int) -> list[int]: ...


class Figures(NamedTuple):
    recall: float
    mrr: float
    ms: float


class Postings:
    """The project's own tokenizer and ranking over blocks in memory. A text's slot is its position."""

    def __init__(self, texts: Sequence[str]) -> None:
        tokens: list[Tokens] = [index_terms(text) for text in texts]
        self._n_documents = len(texts)
        self._average_length = sum(each.length for each in tokens) / len(texts)
        postings: dict[int, list[tuple[int, int]]] = {}
        for slot, each in enumerate(tokens):
            for term, frequency in each.frequencies.items():
                code = ranking.posting_code(frequency, each.length)
                postings.setdefault(term, []).append((slot, code))
        self._terms = {
            term: ranking.Term(
                len(found),
                [ranking.encode_block(found[at : at + BLOCK_POSTINGS]) for at in range(0, len(found), BLOCK_POSTINGS)],
            )
            for term, found in postings.items()
        }

    def search(self, query: str, limit: int) -> list[int]:
        asked = query_terms(query)
        frequencies = {
            term: self._terms[term].document_frequency for term in (*asked.terms, *asked.covered) if term in self._terms
        }
        chosen = ranking.choose_terms(frequencies, self._n_documents, asked.covered)
        found = ranking.rank([self._terms[term] for term in chosen], self._n_documents, self._average_length, limit)
        return [slot for slot, _ in found]


class Unicode61:
    """SQLite's own full text index with its default tokenizer: what one gets without any of this."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE entry USING fts5(text, tokenize = 'unicode61')")
        self._db.executemany("INSERT INTO entry (rowid, text) VALUES (?, ?)", enumerate(texts))

    def search(self, query: str, limit: int) -> list[int]:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        if not match:
            return []
        rows = self._db.execute("SELECT rowid FROM entry WHERE entry MATCH ? ORDER BY rank LIMIT ?", (match, limit))
        return [row[0] for row in rows]


def locomo_facts(conversations: list[dict[str, Any]]) -> Iterator[Scope]:
    for conversation in conversations:
        facts: list[str] = []
        evidence: list[set[str]] = []
        for by_speaker in conversation["observation"].values():
            for observations in by_speaker.values():
                for fact, source in observations:
                    facts.append(fact)
                    evidence.append(set(source if isinstance(source, list) else [source]))
        yield Scope(facts, _questions(conversation, evidence))


def locomo_turns(conversations: list[dict[str, Any]]) -> Iterator[Scope]:
    for conversation in conversations:
        sessions = conversation["conversation"]
        turns = [turn for name in sessions if re.fullmatch(r"session_\d+", name) for turn in sessions[name]]
        texts = [f"{turn['speaker']}: {turn['text']}" for turn in turns]
        yield Scope(texts, _questions(conversation, [{turn["dia_id"]} for turn in turns]))


def _questions(conversation: dict[str, Any], evidence: list[set[str]]) -> list[Question]:
    questions: list[Question] = []
    for asked in conversation["qa"]:
        named = set(asked.get("evidence") or ())
        right = frozenset(position for position, sources in enumerate(evidence) if named & sources)
        if right and asked["category"] != ADVERSARIAL:
            questions.append(Question(asked["question"], right))
    return questions


def cmrc_sentences(articles: list[dict[str, Any]]) -> Iterator[Scope]:
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    for at in range(0, len(paragraphs), PARAGRAPHS_IN_SCOPE):
        scope = Scope([], [])
        for paragraph in paragraphs[at : at + PARAGRAPHS_IN_SCOPE]:
            context = paragraph["context"]
            first = len(scope.texts)
            sentences = list(re.finditer(r"[^。！？；\n]+[。！？；\n]*|[。！？；\n]+", context))
            scope.texts.extend(sentence[0] for sentence in sentences)
            for asked in paragraph["qas"]:
                starts = {answer["answer_start"] for answer in asked["answers"]}
                right = frozenset(
                    first + position
                    for position, sentence in enumerate(sentences)
                    if any(sentence.start() <= start < sentence.end() for start in starts)
                )
                scope.questions.append(Question(asked["question"], right))
        yield scope


def evaluate(build: Callable[[Sequence[str]], Retriever], scopes: Sequence[Scope]) -> Figures:
    """Mean over all questions: the share of right texts among the first 16, and 1 / rank of the first right one."""
    recall = reciprocal = seconds = 0.0
    n_questions = 0
    for scope in scopes:
        retriever = build(scope.texts)
        for question in scope.questions:
            begin = time.perf_counter()
            found = retriever.search(question.text, LIMIT)
            seconds += time.perf_counter() - begin
            n_questions += 1
            recall += len(question.right.intersection(found)) / max(len(question.right), 1)
            reciprocal += next((1 / rank for rank, at in enumerate(found, 1) if at in question.right), 0.0)
    return Figures(recall / n_questions, reciprocal / n_questions, seconds / n_questions * 1000)


def _without_pairs(runs: list[str], *, drop_function: bool) -> ngrams.NGrams:
    found = ngrams.ngram_terms(runs, drop_function=drop_function)
    return ngrams.NGrams([], found.singles, found.singles)


def _whole_only(chunk: str, terms: list[str]) -> None:
    # What a tokenizer without identifier rules sees: the letters and digits between punctuation, in lower case.
    terms.extend(english.stem(word.lower()) for word in re.findall(r"\w+", chunk))


# What each variant replaces: (module or class, attribute, replacement).
VARIANTS: dict[str, list[tuple[object, str, object]]] = {
    "no English stems": [(identifiers, "stem", lambda word: word)],
    "no irregular forms": [(english, "_BASE_FORM", {})],
    "no stop words": [
        (identifiers, "_DROPPED", dict.fromkeys(identifiers.Keep, frozenset[str]())),
        (ngrams, "_GAP_AND_FUNCTION", frozenset({ord(" ")})),
    ],
    "no identifier parts": [(identifiers, "_add_chunk", _whole_only)],
    "no pairs of characters": [(sys.modules["adapters.text"], "ngram_terms", _without_pairs)],
    "no Traditional table": [(ngrams, "_simplified", dict)],
    "no postings budget": [(ranking, "postings_budget", lambda n_documents: n_documents * 10_000)],
    "budget of 500": [(ranking, "postings_budget", lambda n_documents: 500)],
}


def _measure(name: str, build: Callable[[Sequence[str]], Retriever], tasks: dict[str, list[Scope]]) -> None:
    cells = [
        f"{figures.recall:.3f} / {figures.mrr:.3f} / {figures.ms:.2f}"
        for figures in (evaluate(build, scopes) for scopes in tasks.values())
    ]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table; exit code 2 when the data is not there."""
    parser = ArgumentParser(description="Recall quality on public questions.")
    parser.add_argument("data", type=Path, help="folder that holds " + " and ".join(FILES))
    parser.add_argument("--variants", action="store_true", help="also measure with single rules switched off")
    options = parser.parse_args(arguments)
    if missing := [name for name in FILES if not (options.data / name).is_file()]:
        print(f"eval_recall: {options.data} has no {' and no '.join(missing)}", file=sys.stderr)
        return 2

    locomo, cmrc = (json.loads((options.data / name).read_text(encoding="utf-8")) for name in FILES)
    tasks = {
        "LoCoMo facts": list(locomo_facts(locomo)),
        "LoCoMo turns": list(locomo_turns(locomo)),
        "CMRC sentences": list(cmrc_sentences(cmrc)),
    }
    heads = [f"{name} ({sum(len(scope.questions) for scope in scopes)} q)" for name, scopes in tasks.items()]
    print(f"| recall@{LIMIT} / MRR / ms a query | " + " | ".join(heads) + " |")
    print("| --- |" + " --- |" * len(tasks))
    _measure("unicode61 of SQLite", Unicode61, tasks)
    _measure("this project", Postings, tasks)
    if options.variants:
        for name, replacements in VARIANTS.items():
            with ExitStack() as stack:
                for target, attribute, replacement in replacements:
                    stack.enter_context(patch.object(target, attribute, replacement))
                identifiers.clear_cache()
                _measure(name, Postings, tasks)
        identifiers.clear_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
