"""Files below a root directory, and tools: a failure leaves a gap, not an error."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from etherweave.bench.environment.snapshot import Gap

LIMIT_S = 5.0  # No tool takes longer [s].
_MAX = 1 << 20  # No file of interest is larger [bytes].


class ToolResult(NamedTuple):
    """How a tool ended."""

    code: int
    output: str
    errors: str


Tools = Callable[[Sequence[str]], ToolResult]
"""Starts a tool. Raises ``OSError`` if there is none, ``TimeoutError`` if it takes too long."""


def run_tool(words: Sequence[str]) -> ToolResult:
    """Start a tool of this machine; raises ``OSError`` when it is not there, or takes too long."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=LIMIT_S,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"took longer than {LIMIT_S:g} s") from None
    return ToolResult(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


class HostFiles:
    """Files and tools of a host.

    ``root`` holds ``proc`` and ``sys``; ``tools`` starts a tool, and is ``None`` where there are
    none.
    """

    def __init__(self, root: Path, tools: Tools | None) -> None:
        self._root = root
        self._tools = tools
        self.gaps: list[Gap] = []

    def text(self, topic: str, path: str) -> str | None:
        """Read a file; ``None`` if it cannot be, and a gap if a privilege is missing."""
        try:
            with (self._root / path).open("rb") as file:
                return file.read(_MAX).decode(errors="replace").strip()
        except PermissionError:
            self.miss(topic, f"/{path}", "no permission")
        except (OSError, ValueError):
            pass  # Linux has no such file, or the driver no answer.
        return None

    def number(self, topic: str, path: str) -> int | None:
        """Read a file that holds a whole number."""
        return whole(self.text(topic, path))

    def numbers(self, topic: str, directory: str) -> dict[str, int]:
        """Read all whole numbers of a directory, by file."""
        names = {name: self.number(topic, f"{directory}/{name}") for name in self.names(directory)}
        return {name: value for name, value in names.items() if value is not None}

    def names(self, directory: str) -> list[str]:
        """List a directory; nothing if it is not there."""
        try:
            return sorted(path.name for path in (self._root / directory).iterdir())
        except OSError:
            return []

    def link(self, path: str) -> str:
        """Name what a symbolic link ends in; empty if there is none."""
        try:
            return (self._root / path).resolve(strict=True).name
        except (OSError, RuntimeError):
            return ""

    def tool(self, topic: str, *words: str) -> str | None:
        """Start a tool; ``None``, and a gap, if it fails."""
        if self._tools is None:
            self.miss(topic, " ".join(words), "no tool is started")
            return None
        try:
            answer = self._tools(words)
        except FileNotFoundError:
            self.miss(topic, " ".join(words), f"{words[0]} is not installed")
        except OSError as error:
            self.miss(topic, " ".join(words), str(error))
        else:
            if answer.code == 0:
                return answer.output
            said = (answer.errors or answer.output).strip().splitlines()
            self.miss(topic, " ".join(words), said[-1][:200] if said else f"ended {answer.code}")
        return None

    def miss(self, topic: str, source: str, reason: str) -> None:
        """Take note of a gap."""
        if topic:
            self.gaps.append(Gap(topic, source, reason))


def whole(text: str | None) -> int | None:
    """Read a whole number; ``None`` if the text is none."""
    stripped = (text or "").strip()
    digits = stripped.removeprefix("-")
    return int(stripped) if digits.isascii() and digits.isdigit() and len(digits) < 25 else None


def pairs(text: str | None) -> Iterator[tuple[str, str]]:
    """Split lines of the kind ``name: value``."""
    for line in (text or "").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()
