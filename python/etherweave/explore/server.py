"""The server of the page: loopback only, a token in its address, one process."""

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from fastapi import FastAPI, Request
from nicegui import app as pages
from nicegui import ui

from etherweave.explore.completion import completion
from etherweave.explore.guard import Guard
from etherweave.explore.page import Page
from etherweave.explore.session import Session

TEXT_MAX = 4 << 20  # Size of a scenario whose keys are completed [B].
GRACE_S = 1  # Time that open connections have when the server ends [s].
RECONNECT_S = 60  # Time after which a page that lost its connection is loaded again [s].


def serve(session: Session, port: int, ready: Callable[[str], None]) -> None:
    """Answer a browser on this machine until Ctrl-C.

    Port 0 of the loopback interface takes a free one; ``ready`` takes the address, with its token,
    when connections are accepted. Raises ``OSError`` when the port is taken.
    """
    with _listener(port) as listener:
        token = secrets.token_urlsafe(24)
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            Guard(_application(session, token), port, token),
            log_level="critical",  # A browser that leaves in the middle of an answer is no error.
            timeout_graceful_shutdown=GRACE_S,
        )
        ready(f"http://127.0.0.1:{port}/{token}/")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        reason = f"{os.strerror(error.errno or 0)}; expected a free port"
        raise OSError(error.errno, reason, f"port {port}") from None


def _application(session: Session, token: str) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.post(f"/{token}/complete")
    async def complete(request: Request) -> dict[str, object]:
        text = (await request.body())[:TEXT_MAX].decode(errors="replace")
        completed = completion(text)
        return {"typed": completed.typed, "options": [row.words() for row in completed.options]}

    pages.on_shutdown(session.stop)  # The server waits for threads.
    ui.run_with(
        app,
        root=lambda: Page(session).build(),
        mount_path=f"/{token}",
        title="Etherweave",
        tailwind=False,
        show_welcome_message=False,
        # A machine that draws or simulates may be slow to answer.
        reconnect_timeout=RECONNECT_S,
        cache_control_directives="private, max-age=3600",
    )
    return app
