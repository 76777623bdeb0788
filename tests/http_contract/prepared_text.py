"""Reads a prepared text back into its items, as far as the tests need it."""

import json
import re
from typing import NamedTuple

from tests.http_contract.api import Api, Json

_ITEM = re.compile(
    r"### (?P<title>[A-Z][A-Za-z ]+) (?P<number>\d+)\n\n(?P<metadata>(?:    .*\n)+)\n(?P<body>(?:>     .*(?:\n|\Z))+)"
)
_SCOPE = re.compile(r"    Scope: (.+)")
_ARTIFACT = re.compile(r"    Artifact: family=(.+), id=(.+), revision=(\d+)")
_ENTRY = re.compile(r"    Entry: id=(.+), version=(.+)")


class Item(NamedTuple):
    """One cited item; `body` is what stands behind the quote prefix."""

    title: str
    scope: str
    ref: Json
    entry: tuple[str, str] | None
    body: str

    def stored(self, api: Api) -> str:
        """The text that an exact read of the citation gives, in the form in which items show it."""
        if self.entry is not None:
            entry_id, version_id = self.entry
            citation = {"memory_ref": self.ref, "entry_id": entry_id, "entry_version_id": version_id}
            return str(api.entry(self.scope, citation)["text"])
        content = api.read(self.scope, self.ref)["content"]
        if self.ref["family"] == "profile":
            return str(content["content"])
        if self.ref["family"] == "experience":
            return "\n".join(
                f"{name.title()}: {content[name]}" for name in ("situation", "action", "outcome", "lesson")
            )
        return f"Title: {content['title']}\n\nSummary: {content['summary']}"


def items_of(text: str) -> list[Item]:
    """The items of a prepared text in order; every one of its headings must be one."""
    found = []
    for match in _ITEM.finditer(text):
        metadata = match["metadata"]
        (scope,), (artifact,), entries = _SCOPE.findall(metadata), _ARTIFACT.findall(metadata), _ENTRY.findall(metadata)
        family, artifact_id, revision = (json.loads(part) for part in artifact)
        entry = tuple(json.loads(part) for part in entries[0]) if entries else None
        body = "\n".join(line[6:] for line in match["body"].rstrip("\n").split("\n"))
        ref = {"family": family, "artifact_id": artifact_id, "revision": revision}
        found.append(Item(match["title"], json.loads(scope), ref, entry, body))
    assert len(found) == sum(line.startswith("### ") for line in text.split("\n"))
    return found
