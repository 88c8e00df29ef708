"""A scripted server that speaks Chat Completions, in a thread: each request gets the next reply it was given.

Law: a reply that waits, waits for the test (an event), never for a clock.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs


@attrs.frozen
class Reply:
    """What the server sends: a status, headers, parts of a body, and how it ends."""

    status: int = 200
    parts: tuple[bytes, ...] = ()
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    reset: bool = False
    hold: threading.Event | None = None


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One server-sent chunk of a completion."""
    choices = [] if delta is None and finish is None else [
        {"index": 0, "delta": delta or {}, "finish_reason": finish}
    ]  # fmt: skip
    fixed = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    body = {**fixed, "choices": choices, **more}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


USAGE = chunk(usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})
DONE = b"data: [DONE]\n\n"


def says(*texts: str, finish: str = "stop", **how: Any) -> Reply:
    """A whole completion of `texts`."""
    said = tuple(chunk({"content": text}) for text in texts)
    return Reply(parts=(chunk({"role": "assistant"}), *said, chunk(finish=finish), USAGE, DONE), **how)


def refuses(status: int, kind: str = "some_error", **headers: str) -> Reply:
    """An error answer as such servers give it."""
    body = json.dumps({"error": {"message": f"no: {kind}", "type": kind, "code": status}}).encode()
    names = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(status, (body,), "application/json", names)


class FakeOpenAI:
    """The server; a context manager. `requests` holds what was asked, `base_url` says where."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = deque(replies)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> FakeOpenAI:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                fake.requests.append(json.loads(body))
                fake.keys.append(self.headers.get("authorization", ""))
                fake.send(self, fake.replies.popleft())

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler

    def send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        """Send `reply` and close the connection."""
        handler.send_response(reply.status)
        handler.send_header("content-type", reply.content_type)
        handler.send_header("connection", "close")
        for name, value in reply.headers:
            handler.send_header(name, value)
        handler.end_headers()
        for number, part in enumerate(reply.parts):
            if reply.hold is not None and number == 2:
                reply.hold.wait(20)
            handler.wfile.write(part)
            handler.wfile.flush()
        if reply.reset:
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
