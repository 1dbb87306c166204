"""The live report: a server on this machine only, which renders when a browser asks and logs have grown."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from facetmt.errors import UserError
from facetmt.report.page.render import RELOAD, render
from facetmt.runlog import FACETS, METRICS, OUTCOMES, PROBS, PULLS, SCORES, TRANSFER, VALIDATION, Run

LOOPBACK = "127.0.0.1"
HOSTS = ("127.0.0.1", "localhost")
PATIENCE = 10.0  # seconds between two renderings, however many browsers ask
KINDNESS = 10  # added to the process's niceness: training goes first


class LivePage:
    """The page as of the last request; costs nothing while no browser asks."""

    def __init__(self, runs: Sequence[Path], patience: float = PATIENCE) -> None:
        self._runs = [Path(run) for run in runs]
        self._patience = patience
        self._lock = threading.Lock()
        self._page, self._tag, self._at = b"", "", float("-inf")
        self.renderings = 0
        for run in self._runs:
            Run(run)  # reports a wrong path now, not in the browser

    def get(self) -> tuple[bytes, str]:
        """(page, its tag), rendered again if the logs have grown and the last rendering is old enough."""
        with self._lock:
            if time.monotonic() - self._at >= self._patience:
                tag = self._stamp()
                if tag != self._tag:
                    page = render([Run(run) for run in self._runs], reload=RELOAD, tag=tag)
                    self._page, self._tag = page.encode("utf-8"), tag
                    self.renderings += 1
                self._at = time.monotonic()
            return self._page, self._tag

    def _stamp(self) -> str:
        """Version of the logs: their sizes and times of change."""
        names = (PULLS, PROBS, METRICS, VALIDATION, SCORES, FACETS, TRANSFER)
        paths = [run / name for run in self._runs for name in names]
        paths += [path for run in self._runs for path in sorted(run.glob(f"{OUTCOMES}/*/{SCORES}"))]
        facts = [
            (stat.st_size, stat.st_mtime_ns) for path in paths if path.is_file() for stat in [path.stat()]
        ]
        return '"' + hashlib.sha256(repr((os.getpid(), facts)).encode()).hexdigest()[:20] + '"'


def make_server(runs: Sequence[Path], port: int, patience: float = PATIENCE) -> ThreadingHTTPServer:
    """Bound to loopback, not serving yet; port 0 takes a free port."""
    page = LivePage(runs, patience)

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "facetmt", ""

        def do_GET(self) -> None:
            # DNS rebinding: a foreign page whose name points to this machine sends that name as Host
            host = self.headers.get("Host", "").rsplit(":", 1)[0]
            if self.path != "/" or host not in HOSTS:
                self.send_error(404)
                return
            try:
                content, tag = page.get()
            except UserError as error:
                self._answer(503, f"{error}\n".encode(), "text/plain; charset=utf-8", "")
                return
            if self.headers.get("If-None-Match") == tag:
                self._answer(304, b"", "", tag)
            else:
                self._answer(200, content, "text/html; charset=utf-8", tag)

        def _answer(self, status: int, content: bytes, kind: str, tag: str) -> None:
            self.send_response(status)
            if kind:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
            if tag:
                self.send_header("ETag", tag)
            self.send_header("Cache-Control", "no-cache")
            self.end_headers()
            with suppress(ConnectionError):  # a browser that has read the new tag may hang up
                self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Requests of the user's own browser are not logged."""

    try:
        return ThreadingHTTPServer((LOOPBACK, port), Handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port}: cannot be opened ({error}); choose another with --port") from error


def watch(runs: Sequence[Path], port: int = 8765) -> None:
    """Serve the live report on this machine until interrupted."""
    server = make_server(runs, port)
    if hasattr(os, "nice"):
        os.nice(KINDNESS)
    print(f"Live report at http://{LOOPBACK}:{server.server_address[1]}/ (press Ctrl-C to stop)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
