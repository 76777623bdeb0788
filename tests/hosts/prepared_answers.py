"""Answers of prepare, and whether they may be injected: one table for every plugin's own check (case R75)."""

import json
from dataclasses import dataclass
from typing import Any

SCHEMA = "powercontext.prepared-context.v1"
BUDGET = 512
CONTENT = " \n验 👩\u200d🔬 & <b> \\ \u2028 é\n"
CONTENT_BYTES = 33


@dataclass(frozen=True)
class Answer:
    """A body and what a check makes of it: the content, None for nothing to inject, or `refused`."""

    name: str
    body: bytes
    content: str | None = None
    refused: bool = True


def _ready(name: str, **change: Any) -> Answer:
    true = {"schema": SCHEMA, "status": "ready", "content": CONTENT, "content_bytes": CONTENT_BYTES}
    return Answer(name, json.dumps({**true, **change}).encode())


def _empty(name: str, **change: Any) -> Answer:
    true = {"schema": SCHEMA, "status": "empty", "content": None, "content_bytes": 0}
    return Answer(name, json.dumps({**true, **change}).encode())


def _written(name: str, fields: str) -> Answer:
    """A body as it stands, for what no JSON writer would write."""
    return Answer(name, b"{%s}" % fields.encode())


_FRAME = f'"schema":"{SCHEMA}","status":"ready"'
_LOOKALIKE = '"content_bytes": 5.0, {"a":[5e0]} \\\\" \\'

ANSWERS = (
    Answer("ready", _ready("").body, CONTENT, refused=False),
    Answer(
        "ready, raw UTF-8", json.dumps(json.loads(_ready("").body), ensure_ascii=False).encode(), CONTENT, refused=False
    ),
    Answer("as large as the budget", _ready("", content="x" * 512, content_bytes=512).body, "x" * 512, refused=False),
    Answer("empty", _empty("").body, None, refused=False),
    Answer(
        "text that looks like JSON",
        _ready("", content=_LOOKALIKE, content_bytes=len(_LOOKALIKE)).body,
        _LOOKALIKE,
        refused=False,
    ),
    Answer(
        "another order and blanks",
        b'\r\n{ "content_bytes" :\t1 ,\n "content":"x","status" : "ready", "sch\\u0065ma": "%s"\n} ' % SCHEMA.encode(),
        "x",
        refused=False,
    ),
    _ready("one byte over the budget", content="x" * 513, content_bytes=513),
    _ready("one byte too few", content_bytes=CONTENT_BYTES - 1),
    _ready("one byte too many", content_bytes=CONTENT_BYTES + 1),
    _ready("code points, not bytes", content_bytes=len(CONTENT)),
    _ready("bytes as text", content_bytes=str(CONTENT_BYTES)),
    _ready("half a byte", content_bytes=CONTENT_BYTES + 0.5),
    _ready("true for one byte", content="x", content_bytes=True),
    _ready("ready without content", content=None),
    _ready("ready without content or bytes", content=None, content_bytes=0),
    _ready("ready with nothing", content="", content_bytes=0),
    _ready("content as a list", content=[CONTENT]),
    _ready("lone surrogate", content="\ud800", content_bytes=3),
    _ready("unknown status", status="partial"),
    _ready("empty with content", status="empty"),
    _ready("unknown schema", schema="powercontext.prepared-context.v2"),
    _ready("fifth field", items=[]),
    _empty("empty with bytes", content_bytes=1),
    _empty("empty with text", content=""),
    _empty("false for no bytes", content_bytes=False),
    _written("content twice", f'{_FRAME},"content":"y","content":"x","content_bytes":1'),
    _written("content twice and the same", f'{_FRAME},"content":"x","content":"x","content_bytes":1'),
    _written("content twice, once escaped", f'{_FRAME},"c\\u006fntent":"y","content":"x","content_bytes":1'),
    _written("content twice, once as an object", f'{_FRAME},"content":{{}},"content":"x","content_bytes":1'),
    _written("bytes twice", f'{_FRAME},"content":"x","content_bytes":2,"content_bytes":1'),
    _written("status twice", f'{_FRAME},"status":"ready","content":"x","content_bytes":1'),
    _written("empty, status twice", f'{_FRAME},"status":"empty","content":null,"content_bytes":0'),
    _written("bytes with a fraction of nought", f'{_FRAME},"content":"hello","content_bytes":5.0'),
    _written("bytes with an exponent", f'{_FRAME},"content":"hello","content_bytes":5e0'),
    _written("bytes with a capital exponent", f'{_FRAME},"content":"hello","content_bytes":50E-1'),
    _written("bytes with a tiny fraction", f'{_FRAME},"content":"hello","content_bytes":5.0000000000000000001'),
    _written(
        "empty with a fraction of nought", f'"schema":"{SCHEMA}","status":"empty","content":null,"content_bytes":0.0'
    ),
    Answer("three fields", json.dumps({"schema": SCHEMA, "status": "empty", "content": None}).encode()),
    Answer("nothing", b""),
    Answer("null", b"null"),
    Answer("array", b"[]"),
    Answer("html", b"<html></html>"),
    Answer("byte order mark", b"\xef\xbb\xbf" + _empty("").body),
    Answer("not UTF-8", json.dumps(json.loads(_ready("").body), ensure_ascii=False).encode("gb18030", "replace")),
    Answer("trailing words", _empty("").body + b" x"),
)

# Assemblies as configured, in groups that mean the same; None is none. Members of different groups differ.
SAME_ASSEMBLY: tuple[tuple[str | None, ...], ...] = (
    (None,),
    (
        "{}",
        '{"format": "markdown"}',
        '{"show":[],"sections":[{"limit":6,"family":"memory"},{"family":"experience","limit":2}]}',
    ),
    ('{"sections": []}',),
    ('{"sections":[{"family":"experience","limit":2},{"family":"memory","limit":6}]}',),
    ('{"sections":[{"family":"memory","limit":5},{"family":"experience","limit":2}]}',),
    ('{"show":["confidence","recall_rank"]}', '{"show": ["recall_rank", "confidence"]}'),
    ('{"show":["confidence"]}',),
    ('{"show":["confidence","confidence"]}',),
    ('{"sort_by":"score"}',),
    ("null",),
)
