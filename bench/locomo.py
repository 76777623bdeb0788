"""Conversations of LoCoMo (github.com/snap-research/locomo, CC BY-NC 4.0), which are not part of this project."""

import json
from pathlib import Path
from typing import NamedTuple

FILE = "locomo-5.json"


class Conversation(NamedTuple):
    """Its observations, each one sentence, and the questions about it."""

    sentences: list[str]
    questions: list[str]


def read_conversations(folder: Path) -> list[Conversation]:
    """All conversations of `FILE` in `folder`. Raises OSError without the file."""
    conversations = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return [
        Conversation(
            [
                sentence
                for by_speaker in conversation["observation"].values()
                for observations in by_speaker.values()
                for sentence, _ in observations
            ],
            [asked["question"] for asked in conversation["qa"]],
        )
        for conversation in conversations
    ]
