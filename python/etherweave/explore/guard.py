"""Access to the server: requests to its own address with the token in their path."""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

HEADERS = {
    # Nothing is loaded from, sent to or framed by another site. Vue compiles templates of widgets.
    "content-security-policy": "default-src 'self' data: 'unsafe-inline' 'unsafe-eval'; "
    "connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers of every answer."""


class Guard:
    """An application behind its token, the first part of every path.

    A page of another site may send requests to this machine: their ``Origin`` is that site, and a
    name of theirs that resolves to this machine is their ``Host``. Neither is answered, nor is a
    path without the token, which other users of the machine do not know.
    """

    def __init__(self, app: App, port: int, token: str) -> None:
        self.app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._token = token

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan" or self._is_allowed(scope):
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": b"expected the address with token\n"})

    def _is_allowed(self, scope: Message) -> bool:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        host, origin = headers.get("host", ""), headers.get("origin")
        token = scope["path"].lstrip("/").partition("/")[0]
        return (
            host in self._hosts
            and origin in (None, f"http://{host}")
            and secrets.compare_digest(token.encode(), self._token.encode())
        )


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message.get("headers", ()), *more]
        await send(message)

    return sent
