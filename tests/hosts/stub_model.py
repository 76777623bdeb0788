"""A model that answers every question alike and records what it was asked.

It may ask for a tool first; the host reports what came of it and asks again, within the same turn.
Speaks chat completions and responses (Codex), each as JSON and as server-sent events.
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "STUB-ANSWER-OK"
NO_TOOL = "no_such_tool"
USAGE = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
RESPONSES_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 13,
}


@dataclass
class StubModel:
    """Where the model is, and the JSON body of every question in order of arrival.

    tool_calls: how many of the next questions are answered by a call of `tool`, by default one that no host has.
    """

    url: str
    tool_calls: int = 0
    tool: str = NO_TOOL
    asked: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class ToolCall:
    """A call of the tool `name` without arguments."""

    name: str
    number: int


@contextlib.contextmanager
def stub_model() -> Iterator[StubModel]:
    """Serve on a free port of 127.0.0.1."""
    model = StubModel("")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _spoken(call: ToolCall | None) -> tuple[dict[str, Any], str]:
    """The assistant's message and why it ended; without a call it is the answer itself."""
    if call is None:
        return {"role": "assistant", "content": ANSWER}, "stop"
    function = {"name": call.name, "arguments": "{}"}
    asked = {"index": 0, "id": f"call_{call.number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [asked]}, "tool_calls"


def chat_events(name: str, call: ToolCall | None) -> list[dict[str, Any]]:
    """A streamed chat completion."""
    frame = {"id": "c1", "object": "chat.completion.chunk", "created": int(time.time()), "model": name}
    spoken, reason = _spoken(call)
    return [
        {**frame, "choices": [{"index": 0, "delta": spoken, "finish_reason": None}]},
        {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**frame, "choices": [], "usage": USAGE},
    ]


def chat_answer(name: str, call: ToolCall | None) -> dict[str, Any]:
    """A chat completion in one piece."""
    message, reason = _spoken(call)
    choice = {"index": 0, "finish_reason": reason, "message": message}
    frame = {"id": "c1", "object": "chat.completion", "created": int(time.time()), "model": name}
    return {**frame, "usage": USAGE, "choices": [choice]}


def response_answer(name: str, call: ToolCall | None) -> dict[str, Any]:
    """An answer of the responses interface in one piece."""
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "id": "m1", "status": "completed", "role": "assistant", "content": [text]}
    if call is not None:
        asked = {"name": call.name, "arguments": "{}", "call_id": f"call_{call.number}"}
        item = {"type": "function_call", "id": f"f{call.number}", "status": "completed", **asked}
    frame = {"id": "r1", "object": "response", "created_at": int(time.time()), "status": "completed", "model": name}
    return {**frame, "output": [item], "usage": RESPONSES_USAGE}


def response_events(name: str, call: ToolCall | None) -> list[dict[str, Any]]:
    """A streamed answer of the responses interface."""
    whole = response_answer(name, call)
    item = whole["output"][0]
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]


def _handler(model: StubModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            offered = {
                "id": "stub-model",
                "object": "model",
                "created": 1,
                "owned_by": "stub",
                "context_length": 262144,
            }
            found = self.path.partition("?")[0].rstrip("/").endswith("/models")
            self._json({"object": "list", "models": [], "data": [offered]} if found else {}, 200 if found else 404)

        def do_POST(self) -> None:
            asked = json.loads(self._body())
            model.asked.append(asked)
            name, streamed = asked.get("model", "stub-model"), bool(asked.get("stream"))
            call = ToolCall(model.tool, model.tool_calls) if model.tool_calls else None
            model.tool_calls = max(0, model.tool_calls - 1)
            if self.path.partition("?")[0].endswith("/chat/completions"):
                self._events(chat_events(name, call), "[DONE]") if streamed else self._json(chat_answer(name, call))
            elif self.path.partition("?")[0].endswith("/responses"):
                self._events(response_events(name, call)) if streamed else self._json(response_answer(name, call))
            else:
                self._json({"error": {"message": "not found", "type": "not_found"}}, 404)

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _json(self, answer: Any, status: int = 200) -> None:
            self._send("application/json", json.dumps(answer).encode(), status)

        def _events(self, events: list[dict[str, Any]], *last: str) -> None:
            names = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
            lines = [f"{name}data: {json.dumps(event)}" for name, event in zip(names, events, strict=True)]
            lines += [f"data: {line}" for line in last]
            self._send("text/event-stream", "".join(f"{line}\n\n" for line in lines).encode())

        def _send(self, content_type: str, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

    return Handler
