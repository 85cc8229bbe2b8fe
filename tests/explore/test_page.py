"""The page in a browser, and its server as others meet it."""

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from support.browser import Browser, chromium
from support.command_line import COMMAND
from support.documents import ROOT
from support.needs import require

HOSTILE = "<img src=x onerror=window.isHostile=1>"
SCENARIO = f"""\
name = {json.dumps(HOSTILE)}
[topology.fat_tree]
leaves = 2
hosts_per_leaf = 3
links_per_core = 1
[[job]]
name = {json.dumps(HOSTILE)}
workload.osu_latency = {{ iterations = 4 }}
placement.hosts = [0, 3]
"""
PICTURES = "[...document.images].filter(image => image.offsetWidth > 200).length >= 3"
"""Fabric, limits and queues are drawn."""
RUN_S = 120  # Longest time until the server answers or ends [s].


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("explore")
    (home / "mine.toml").write_text(SCENARIO)
    return home


@pytest.fixture(scope="module")
def address(directory: Path) -> Iterator[str]:
    """Address of a server, which Ctrl-C ends."""
    words = [*COMMAND, "explore", "mine.toml", "--no-browser"]
    # A shell of a test may ignore SIGINT; what a user starts does not.
    process = subprocess.Popen(
        words,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=RUN_S)
    assert (process.returncode, errors) == (0, "")


@pytest.fixture(scope="module")
def browser(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    require("chromium")
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        started.open(address, width=1280)
        yield started


def has_no_overflow(browser: Browser) -> bool:
    """Whether nothing is wider than the window."""
    return bool(browser.value("document.documentElement.scrollWidth <= document.body.clientWidth"))


@pytest.mark.needs("chromium")
def test_a_scenario_is_edited_run_changed_and_compared(browser: Browser, directory: Path) -> None:
    browser.wait_for_text("1 uplinks of a leaf, taper 3:1")
    browser.click("Run")
    browser.wait_for_text("limited by")
    browser.wait_for_text("Busiest links")
    browser.wait_for("document.querySelectorAll('tbody tr').length > 5")
    browser.wait_for(PICTURES)
    # One step of the slider doubles the rates.
    browser.value("document.querySelector('[role=slider] [tabindex]').focus()")
    browser.press("ArrowRight", 39)
    browser.wait_for_text("×2: 200Gb/s")
    browser.click("Run")
    browser.wait_for_text("Last run: as written")
    browser.wait_for("/-\\d+\\.\\d%/.test(document.querySelector('tbody').innerText)")
    assert has_no_overflow(browser)
    assert sorted(path.name for path in directory.iterdir()) == ["mine.toml"]


@pytest.mark.needs("chromium")
def test_long_lines_are_wrapped_in_the_editor(browser: Browser) -> None:
    """No part of a line lies outside the editor, where only scrolling would show it."""
    browser.value("document.querySelector('.cm-content').focus()")
    browser.press("End", 35, modifiers=2)
    browser.send("Input.insertText", text="# " + "word " * 100)
    browser.wait_for("document.querySelector('.cm-content').innerText.includes('word word')")
    browser.wait_for("document.querySelector('.cm-content.cm-lineWrapping')")
    editor = "document.querySelector('.cm-scroller')"
    assert browser.value(f"{editor}.scrollWidth <= {editor}.clientWidth")
    browser.press("z", 90, modifiers=2)
    browser.wait_for("!document.querySelector('.cm-content').innerText.includes('word word')")


@pytest.mark.needs("chromium")
def test_texts_of_a_scenario_are_no_markup(browser: Browser) -> None:
    browser.wait_for_text(HOSTILE)
    assert browser.value("window.isHostile") is None
    assert browser.value("document.querySelector('img[src=x]')") is None


@pytest.mark.needs("chromium")
def test_keys_are_completed_and_a_mistake_stands_at_its_line(browser: Browser) -> None:
    browser.value("document.querySelector('.cm-content').focus()")
    browser.press("End", 35, modifiers=2)
    browser.type("[switch]\nbuf")
    browser.wait_for(
        "document.querySelector('.cm-tooltip-autocomplete')?.innerText.includes('buffer')"
    )
    time.sleep(0.1)  # CodeMirror takes no key for a choice within 75 ms of showing it.
    browser.press("Enter", 13)
    browser.type(" = 3")
    line = "document.querySelector('.cm-line.mistake-line')?.innerText"
    browser.wait_for(f"{line}?.includes('buffer = 3switch.buffer: 3; expected a size')")
    browser.wait_for_text("line 11: switch.buffer: ")


@pytest.mark.needs("chromium")
def test_a_narrow_screen_shows_all_below_each_other(browser: Browser, address: str) -> None:
    browser.open(address, width=390)
    browser.wait_for_text("line 11: switch.buffer: ")
    browser.wait_for_text("Last run: as written")
    assert has_no_overflow(browser)
    shown = "[...document.images].filter(image => image.offsetWidth > 200)"
    browser.wait_for(f"{shown}.length == 2")  # The fabric of a mistake is not drawn.
    fits = f"{shown}.every(image => image.offsetWidth <= image.parentElement.clientWidth)"
    assert browser.value(fits), "pictures and their legends are in view"
    hints = "[...document.querySelectorAll('.hint')].filter(hint => hint.offsetHeight).length"
    assert browser.value(hints) == 2
    parts = "[...document.querySelectorAll('.part')].map(part => part.getBoundingClientRect().x)"
    assert len(set(browser.value(parts))) == 1


@pytest.mark.needs("chromium")
def test_opened_files_draw_busiest_links(browser: Browser, address: str, directory: Path) -> None:
    """`ETHERWEAVE_BLESS=1` keeps what the page shows for the guide."""
    shutil.copy(ROOT / "scenarios/fft_tcp.toml", directory)
    browser.open(address, width=1280)
    browser.wait_for_text("Last run: as written")
    browser.wait_for("!document.querySelector('[inert]')")
    browser.value("document.querySelector('input[aria-label=File]').select()")
    browser.value("document.querySelector('input[aria-label=File]').focus()")
    browser.send("Input.insertText", text="fft_tcp.toml")
    browser.click("Open")
    browser.wait_for_text("FFT (subcom3d-a2a)")
    browser.click("Run")
    browser.wait_for_text("fft: limited by the host")
    browser.wait_for_text("Busiest links")
    browser.wait_for(PICTURES)
    if os.environ.get("ETHERWEAVE_BLESS"):
        browser.screenshot(ROOT / "docs/guide/explore.png")


def status(address: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_only_its_own_page_with_the_token_is_answered(address: str) -> None:
    root = address.rsplit("/", 2)[0]
    assert root.startswith("http://127.0.0.1:")
    assert status(address) == 200
    assert status(f"{root}/") == 403
    assert status(f"{root}/docs") == 403
    assert status(address, Host="attacker.example") == 403
    assert status(address, Origin="http://attacker.example") == 403
    socket = address.replace("http", "ws", 1) + "_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with pytest.raises(InvalidStatus), connect(socket, origin=Origin("http://attacker.example")):
        pass
    with suppress(EOFError), connect(socket):
        pass


def test_nothing_of_the_page_is_fetched_from_elsewhere(address: str) -> None:
    with urllib.request.urlopen(address) as answer:
        text = answer.read().decode()
    assert "http://" not in text.replace(address.rsplit("/", 2)[0], "").replace(
        "http://www.w3.org", ""
    )
    assert "https://" not in text
