"""A web server on this machine that behaves as badly as a test wants."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest


class Server(BaseHTTPRequestHandler):
    """Serves `content`; its class attributes say how badly."""

    content: ClassVar[dict[str, bytes]] = {}
    etag: str | None = '"one"'
    breaks_after: int | None = None  # bytes of a first answer; the next one is whole
    always_breaks = False
    understands_ranges = True
    says_length = True
    seen: ClassVar[list[str | None]] = []

    def do_GET(self):
        kind = type(self)
        kind.seen.append(self.headers.get("Range"))
        body = kind.content.get(self.path.lstrip("/"))
        if body is None:
            self.send_error(404)
            return
        start = self._start(body)
        if start > len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if kind.etag:
            self.send_header("ETag", kind.etag)
        if kind.says_length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = kind.breaks_after
        kind.breaks_after = kind.breaks_after if kind.always_breaks else None
        self.wfile.write(body[start:] if cut is None else body[start : start + cut])

    def _start(self, body):
        asked = self.headers.get("Range")
        fresh = self.headers.get("If-Range") == type(self).etag
        return int(asked[6:-1]) if asked and fresh and type(self).understands_ranges else 0

    def log_message(self, *arguments):
        pass


@contextmanager
def served(content, **behaviour):
    handler = type("Handler", (Server,), {"content": content, "seen": [], **behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


@pytest.fixture
def serving(monkeypatch):
    """Name -> bytes, and how the server behaves -> its address and its class, inside `with`."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return served
