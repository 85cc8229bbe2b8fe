"""Requests that the server answers, and those that it refuses."""

import asyncio
import socket
from typing import Any

import pytest

from etherweave.explore.guard import HEADERS, Guard
from support import command_line

HOST = "127.0.0.1:8000"


def answered(kind: str, path: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    """Send a request through a guard to an application that answers all."""
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        start = {"websocket": "websocket.accept", "http": "http.response.start"}[kind]
        await send({"type": start, "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "path": path, "headers": raw}
    asyncio.run(Guard(application, 8000, "secret")(scope, receive, send))
    return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/secret/", {"host": HOST}),
        ("/secret/_nicegui/a.js", {"host": HOST}),
        ("/secret/", {"host": "localhost:8000", "origin": "http://localhost:8000"}),
    ],
)
def test_requests_of_the_page_are_answered(kind: str, path: str, headers: dict[str, str]) -> None:
    (message,) = answered(kind, path, headers)
    assert message["type"] in ("http.response.start", "websocket.accept")
    if kind == "http":
        assert {name.decode() for name, _ in message["headers"]} == set(HEADERS)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {"host": HOST}),
        ("/secre/", {"host": HOST}),
        ("/other/secret/", {"host": HOST}),
        ("/sécret/", {"host": HOST}),
        ("/secret/", {}),
        ("/secret/", {"host": "127.0.0.1"}),
        ("/secret/", {"host": "attacker.example:8000"}),
        ("/secret/", {"host": "127.0.0.1:8000.attacker.example"}),
        ("/secret/", {"host": HOST, "origin": "http://attacker.example"}),
        ("/secret/", {"host": HOST, "origin": "null"}),
        ("/secret/", {"host": HOST, "origin": "http://localhost:8000"}),
    ],
)
def test_requests_of_others_are_refused(kind: str, path: str, headers: dict[str, str]) -> None:
    first, *_ = answered(kind, path, headers)
    assert first.get("status", first.get("code")) in (403, 1008)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = command_line.invoke("explore", "--no-browser", "--port", port, code=2)
    assert done.stderr == f"port {port}: Address already in use; expected a free port\n"
