"""Questions with known answers, made of public data: what `bench.eval_recall` asks.

The data folder holds `locomo-5.json` (conversations of LoCoMo, github.com/snap-research/locomo, CC BY-NC 4.0) and
`cmrc2018-dev-half.json` (paragraphs of CMRC 2018, github.com/ymcui/cmrc2018, CC BY-SA 4.0). They are not part of this
project. Three tasks are made of them:

- facts: the observations of a conversation are one Scope; right are those whose evidence the question names;
- turns: its utterances, each behind its speaker's name, are one Scope; right are those that the question names;
- sentences: the sentences of 20 Chinese paragraphs are one Scope; right is the one that holds the answer.

Texts are as the service stores them: normalised, and identical ones of a Scope are one entry.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from service.normalize import entry_text

LOCOMO = "locomo-5.json"
CMRC = "cmrc2018-dev-half.json"
FILES = (LOCOMO, CMRC)

PARAGRAPHS_IN_SCOPE = 20
ADVERSARIAL = 5  # LoCoMo's category of questions that have no answer

_SENTENCE = re.compile(r"[^。！？；\n]+[。！？；\n]*|[。！？；\n]+")


class Question(NamedTuple):
    """`right` are the positions, in the texts of its Scope, of those that answer it; at least one."""

    text: str
    right: frozenset[int]


class Scope(NamedTuple):
    """Entries that are searched together, all different, and the questions to them."""

    texts: list[str]
    questions: list[Question]


class DataError(Exception):
    """The data cannot be used; the message says which file and why."""


def read_tasks(folder: Path) -> dict[str, list[Scope]]:
    """The Scopes of each task by its name. Raises DataError where a file is absent or of another form."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}")
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise DataError(f"{folder} has no {' and no '.join(missing)}")
    locomo, cmrc = (_read(folder / name) for name in FILES)
    tasks: dict[str, list[Scope]] = {}
    for name, make, data, file in (
        ("LoCoMo facts", locomo_facts, locomo, LOCOMO),
        ("LoCoMo turns", locomo_turns, locomo, LOCOMO),
        ("CMRC sentences", cmrc_sentences, cmrc, CMRC),
    ):
        try:
            tasks[name] = list(make(data))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise DataError(f"{file} is not of the expected form: {error!r}") from error
        if not any(scope.questions for scope in tasks[name]):
            raise DataError(f"{file} holds no question that has an answer")
    return tasks


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as JSON: {error}") from error


def locomo_facts(conversations: list[dict[str, Any]]) -> Iterator[Scope]:
    """One Scope a conversation, of its observations."""
    for conversation in conversations:
        yield _conversation_scope(
            conversation,
            (
                (fact, set(source if isinstance(source, list) else [source]))
                for by_speaker in conversation["observation"].values()
                for observations in by_speaker.values()
                for fact, source in observations
            ),
        )


def locomo_turns(conversations: list[dict[str, Any]]) -> Iterator[Scope]:
    """One Scope a conversation, of its utterances."""
    for conversation in conversations:
        days = conversation["conversation"]
        turns = [turn for name in days if re.fullmatch(r"session_\d+", name) for turn in days[name]]
        yield _conversation_scope(
            conversation, ((f"{turn['speaker']}: {turn['text']}", {turn["dia_id"]}) for turn in turns)
        )


def _conversation_scope(conversation: dict[str, Any], entries: Iterable[tuple[str, set[str]]]) -> Scope:
    """`entries`: each text with the ids of evidence it stands for. Identical texts stand for the ids of all."""
    evidence: dict[str, set[str]] = {}
    for text, ids in entries:
        evidence.setdefault(entry_text(text), set()).update(ids)
    scope = Scope(list(evidence), [])
    for asked in conversation["qa"]:
        named = set(asked.get("evidence") or ())
        right = frozenset(position for position, ids in enumerate(evidence.values()) if named & ids)
        if right and asked["category"] != ADVERSARIAL:
            scope.questions.append(Question(asked["question"], right))
    return scope


def cmrc_sentences(articles: list[dict[str, Any]]) -> Iterator[Scope]:
    """One Scope for 20 paragraphs, in the order of the file."""
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    for at in range(0, len(paragraphs), PARAGRAPHS_IN_SCOPE):
        positions: dict[str, int] = {}
        questions: list[Question] = []
        for paragraph in paragraphs[at : at + PARAGRAPHS_IN_SCOPE]:
            sentences = [
                (found.start(), found.end(), positions.setdefault(entry_text(found[0]), len(positions)))
                for found in _SENTENCE.finditer(paragraph["context"])
            ]
            for asked in paragraph["qas"]:
                # -1 stands for an answer that is not in the paragraph word for word; it is in no sentence.
                starts = {answer["answer_start"] for answer in asked["answers"]}
                right = frozenset(
                    position for begin, end, position in sentences if any(begin <= start < end for start in starts)
                )
                if right:
                    questions.append(Question(asked["question"], right))
        yield Scope(list(positions), questions)
