"""Figures for Prometheus, in its text format, by HTTP on the loopback interface."""

import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
_REQUEST_S = 5


class Figure(NamedTuple):
    """A figure with its values."""

    name: str
    kind: str
    """``gauge`` or ``counter``."""
    help: str
    values: Mapping[str, float]
    """By labels as Prometheus writes them: ``switch="s0"``; none: an empty text."""


def label(name: str, value: str) -> str:
    """Write a label with its value."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{name}="{escaped}"'


def page(figures: Iterable[Figure]) -> str:
    """Write figures as Prometheus reads them."""
    return "".join(line + "\n" for figure in figures for line in _lines(figure))


def _lines(figure: Figure) -> Iterable[str]:
    yield f"# HELP {figure.name} {figure.help}"
    yield f"# TYPE {figure.name} {figure.kind}"
    for labels, value in figure.values.items():
        yield f"{figure.name}{{{labels}}} {value:g}" if labels else f"{figure.name} {value:g}"


class Exporter:
    """Serves figures on ``http://127.0.0.1:PORT/metrics``.

    Parameters
    ----------
    port
        0: whichever is free.
    figures
        Gives the figures whenever somebody asks.
    """

    def __init__(self, port: int, figures: Callable[[], Iterable[Figure]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = _REQUEST_S

            def do_GET(self) -> None:
                if self.path != "/metrics":
                    self.send_error(404, "expected /metrics")
                    return
                octets = page(figures()).encode()
                self.send_response(200)
                self.send_header("Content-Type", _FORMAT)
                self.send_header("Content-Length", str(len(octets)))
                self.end_headers()
                self.wfile.write(octets)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="metrics", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.server_port

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
