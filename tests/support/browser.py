"""A headless Chromium that a test drives by its DevTools protocol: loads, types, clicks, looks."""

import base64
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    *("--remote-debugging-port=0", "--force-device-scale-factor=1"),
    "--hide-scrollbars",  # A capture of the whole height has none, and is wider than the page.
)
WAIT_S = 120  # Longest wait for what a page should show [s].


class Browser:
    """One page of a browser, by the connection to it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Carry out a command of the protocol, and return its answer."""
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(call))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(timeout=WAIT_S))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def open(self, address: str, width: int, height: int = 1000) -> None:
        """Load a page in a window of this size [px]."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)
        self.value("window.isLeft = true")
        self.send("Page.navigate", url=address)
        self.wait_for("!window.isLeft && document.readyState === 'complete'")

    def value(self, script: str) -> Any:
        """Evaluate JavaScript in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until a script gives something true."""
        end = time.monotonic() + WAIT_S
        while not self.value(f"Boolean({script})"):
            shown = self.value("document.body?.innerText")
            assert time.monotonic() < end, f"{script}; the page shows: {shown}"
            time.sleep(0.05)

    def wait_for_text(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.wait_for(f"document.body?.innerText.includes({json.dumps(text)})")

    def click(self, text: str) -> None:
        names = f"b.innerText.trim().toLowerCase() === {json.dumps(text.lower())}"
        is_ready = f"{names} && !b.disabled && !b.closest('[inert]')"
        self.wait_for(f"[...document.querySelectorAll('button')].some(b => {is_ready})")
        self.value(f"[...document.querySelectorAll('button')].find(b => {names}).click()")

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        for letter in text:
            if letter == "\n":
                self.press("Enter", 13)
            else:
                self.send("Input.dispatchKeyEvent", type="char", text=letter)

    def press(self, key: str, code: int, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            facts = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            self.send("Input.dispatchKeyEvent", type=kind, **facts)

    def screenshot(self, path: Path) -> None:
        """Write what the page shows, in its whole height, as PNG."""
        image = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(image["data"]))


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it."""
    words = ["chromium", *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_address(profile), max_size=None) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        process.wait(timeout=WAIT_S)


def _address(profile: Path) -> str:
    """Wait for the first page of a browser, and return the address of its socket."""
    port, end = profile / "DevToolsActivePort", time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if port.exists() and (text := port.read_text()):
            with urllib.request.urlopen(f"http://127.0.0.1:{text.split()[0]}/json") as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise TimeoutError("Chromium opened no page")
