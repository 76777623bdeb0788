"""Prepare with real conversations, through HTTP: every answer keeps its budget and every citation reads back.

    python -m bench.locomo_prepare LOCOMO_FILE [--base-url URL] [--max-bytes N ...]

LOCOMO_FILE holds conversations of LoCoMo (github.com/snap-research/locomo, CC BY-NC 4.0), which are not part of this
project. Each conversation becomes one Scope, each of its observations a Memory entry, and each question is prepared as
standard text and as legacy text within every budget. The sidecar is one of its own on a temporary database, unless a
URL names a running one.

The exit code is 0 when nothing is wrong, 1 when any check failed, 2 when the data is not there.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.field_cases.prepared_text import Item, read_legacy, read_text, shows

PROGRAM = [sys.executable, "-c", "from service.cli import main; main()"]
ROOT = Path(__file__).parents[1]
BUDGETS = (8000, 1500)
START_SECONDS = 30
SHOWN_VIOLATIONS = 20
FIELDS = ["schema", "status", "content", "content_bytes"]
OUTPUTS: dict[str, dict[str, Any]] = {"standard": {"assembly": {}}, "legacy": {}}
EMPTY = ["powercontext.prepared-context.v1", "empty", None, 0]


class Conversation(NamedTuple):
    """What becomes one Scope, and what is asked of it."""

    name: str
    facts: list[str]
    questions: list[str]


class Report:
    """What was seen, and what was wrong."""

    def __init__(self) -> None:
        self.n_entries = self.n_questions = self.n_empty = self.n_items = self.n_cut = 0
        self.seconds: list[float] = []
        self.citations: dict[tuple[object, ...], str | None] = {}
        self.violations: list[str] = []

    def summary(self) -> str:
        """One line of figures."""
        milliseconds = sorted(1000 * each for each in self.seconds) or [0.0]
        return (
            f"{self.n_entries} entries, {self.n_questions} questions, {len(self.seconds)} prepared texts"
            f" ({self.n_empty} empty) with {self.n_items} items ({self.n_cut} cut),"
            f" {len(self.citations)} citations read back; median {statistics.median(milliseconds):.1f} ms,"
            f" 99% within {milliseconds[len(milliseconds) * 99 // 100]:.1f} ms;"
            f" {len(self.violations)} violations"
        )


def load(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file. Raises OSError, ValueError for a file of another form."""
    try:
        return [
            Conversation(
                str(each["sample_id"]),
                [fact for session in each["observation"].values() for facts in session.values() for fact, _ in facts],
                [asked["question"] for asked in each["qa"]],
            )
            for each in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a LoCoMo file") from error


def fill(client: httpx.Client, conversation: Conversation) -> str:
    """Import the facts; the Scope's id. Doing it again changes nothing. Raises RuntimeError when a line is refused."""
    scope_id = f"locomo:{conversation.name}"
    body = {"scope_id": scope_id, "title": conversation.name, "summary": "LoCoMo", "idempotency_key": scope_id}
    client.post("/v1/scopes", json=body).raise_for_status()
    lines = [{"type": "memory-entry", "kind": "observation", "text": fact} for fact in conversation.facts]
    report = client.post(
        f"/v1/scopes/{scope_id}/import",
        content="\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode(),
        headers={"Content-Type": "application/x-ndjson"},
    ).raise_for_status()
    totals = json.loads(report.content.splitlines()[-1])["totals"]
    if totals["refused"] or totals["stored"] + totals["skipped"] != len(lines):
        raise RuntimeError(f"the import of {conversation.name} ended with {totals}")
    return scope_id


def check_prepared(
    answer: dict[str, Any], max_bytes: int, scope_id: str, *, legacy: bool, read_back: Callable[[Item], str | None]
) -> tuple[list[Item], list[str]]:
    """The items of one answer, and a sentence for each thing that is wrong with it.

    read_back: the text that an item's citation names, None where it names nothing.
    """
    if list(answer) != FIELDS:
        return [], ["the answer has other fields"]
    content, said_bytes = answer["content"], answer["content_bytes"]
    if content is None:
        return [], [] if list(answer.values()) == EMPTY else ["the empty answer is not the empty answer"]
    wrong = []
    n_bytes = len(content.encode())
    if said_bytes != n_bytes:
        wrong.append(f"content_bytes is {said_bytes}, and the content has {n_bytes}")
    if n_bytes > max_bytes:
        wrong.append(f"the content has {n_bytes} bytes, and the budget is {max_bytes}")
    if (answer["schema"], answer["status"]) != (EMPTY[0], "ready"):
        wrong.append("schema or status is wrong")
    try:
        items = read_legacy(content, scope_id) if legacy else read_text(content)
    except (ValueError, KeyError, TypeError) as error:
        return [], [*wrong, f"the text cannot be read: {error}"]
    for number, item in enumerate(items, 1):
        stored = read_back(item) if item.entry is not None else None
        if item.entry is None or item.scope_id != scope_id:
            wrong.append(f"item {number} is no Memory entry of this Scope")
        elif stored is None:
            wrong.append(f"the citation of item {number} reads nothing back")
        elif not shows(item, stored, escaped=not legacy):
            wrong.append(f"item {number} shows another text than its citation reads back")
    return items, wrong


def ask(client: httpx.Client, scope_id: str, questions: Sequence[str], budgets: Sequence[int], report: Report) -> None:
    """Prepare every question in both outputs and every budget, and note what is wrong."""

    def read_back(item: Item) -> str | None:
        key = (item.scope_id, item.artifact["revision"], item.entry)
        if key not in report.citations:
            body = {"scope_id": item.scope_id, "citation": item.citation}
            answer = client.post("/v1/memory/entries/get", json=body)
            report.citations[key] = answer.json()["text"] if answer.status_code == httpx.codes.OK else None
        return report.citations[key]

    for number, question in enumerate(questions, 1):
        report.n_questions += 1
        for max_bytes in budgets:
            for output, options in OUTPUTS.items():
                body = {"scope_id": scope_id, "query": question, "max_bytes": max_bytes, **options}
                asked = f"{scope_id}, question {number}, {output}, {max_bytes} bytes"
                begin = time.perf_counter()
                answer = client.post("/v1/context/prepare", json=body)
                report.seconds.append(time.perf_counter() - begin)
                if answer.status_code != httpx.codes.OK:
                    report.violations.append(f"{asked}: the status is {answer.status_code}")
                    continue
                legacy = output == "legacy"
                items, wrong = check_prepared(answer.json(), max_bytes, scope_id, legacy=legacy, read_back=read_back)
                report.n_empty += not items
                report.n_items += len(items)
                report.n_cut += sum(item.truncated for item in items)
                report.violations += [f"{asked}: {each}" for each in wrong]


@contextmanager
def own_sidecar() -> Iterator[httpx.Client]:
    """A client of a sidecar on a temporary database. Raises RuntimeError when it does not start."""
    with tempfile.TemporaryDirectory(prefix="locomo-prepare-") as folder:
        listens_at = Path(folder) / "socket"
        settings = {"DATABASE_URL": f"sqlite:///{folder}/context.db", "HTTP_UDS": str(listens_at), "LOG_LEVEL": "error"}
        environment = os.environ | {f"POWERCONTEXT_SERVER_{name}": value for name, value in settings.items()}
        subprocess.run([*PROGRAM, "migrate"], env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        with subprocess.Popen([*PROGRAM, "serve"], env=environment, cwd=ROOT) as process:
            try:
                _wait_until_it_listens(listens_at, process)
                transport = httpx.HTTPTransport(uds=str(listens_at))
                with httpx.Client(transport=transport, base_url="http://sidecar", timeout=60) as client:
                    yield client
            finally:
                process.terminate()


def _wait_until_it_listens(path: Path, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the sidecar did not start")


def check(client: httpx.Client, conversations: Sequence[Conversation], budgets: Sequence[int]) -> Report:
    """All conversations on one sidecar."""
    report = Report()
    for conversation in conversations:
        scope_id = fill(client, conversation)
        report.n_entries += len(conversation.facts)
        ask(client, scope_id, conversation.questions, budgets, report)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line of figures; violations, the first of them, go to stderr."""
    parser = ArgumentParser(description="Prepare with real conversations, and check every answer.")
    parser.add_argument("data", type=Path, help="a LoCoMo file, for example locomo-5.json")
    parser.add_argument("--base-url", help="a running sidecar; by default one of its own is started")
    parser.add_argument("--max-bytes", type=int, nargs="+", default=BUDGETS, help="budgets of the prepared texts")
    options = parser.parse_args(arguments)
    try:
        conversations = load(options.data)
    except OSError as error:
        print(f"locomo_prepare: {options.data}: {error.strerror}", file=sys.stderr)
        return 2
    except ValueError:
        print(f"locomo_prepare: {options.data}: not a LoCoMo file", file=sys.stderr)
        return 2
    if options.base_url:
        with httpx.Client(base_url=options.base_url, timeout=60) as client:
            report = check(client, conversations, options.max_bytes)
    else:
        with own_sidecar() as client:
            report = check(client, conversations, options.max_bytes)
    for violation in report.violations[:SHOWN_VIOLATIONS]:
        print(f"violation: {violation}", file=sys.stderr)
    print(report.summary())
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
