"""Reports that guests write to their console, and what perftest prints."""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

MARK = "ETHERWEAVE "  # Begins the line of a report; all others are the kernel's.
OPTION = "etherweave="
"""Option of the kernel's command line: the guest's orders, as base64 of JSON."""


class ProgramOutputError(ValueError):
    """The output of a program has no table of results."""


class Latency(NamedTuple):
    """Figures of ``ib_send_lat``."""

    octets: int
    iterations: int
    typical_us: float


class Bandwidth(NamedTuple):
    """Figures of ``ib_write_bw``."""

    octets: int
    iterations: int
    mean_gbps: float


def write(step: str, **figures: Any) -> str:
    """Write a report."""
    return MARK + json.dumps({"step": step, **figures})


def read(console: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Read the reports of a console; damaged lines are ignored."""
    for line in console:
        _, mark, text = line.partition(MARK)
        try:
            report = json.loads(text) if mark else None
        except ValueError:
            continue
        if isinstance(report, dict) and "step" in report:
            yield report


def option(order: dict[str, Any]) -> str:
    """Write an order for the kernel's command line."""
    return OPTION + base64.urlsafe_b64encode(json.dumps(order).encode()).decode()


def order(command_line: str) -> dict[str, Any]:
    """Read the order from the kernel's command line."""
    (word,) = (word for word in command_line.split() if word.startswith(OPTION))
    fields: dict[str, Any] = json.loads(base64.urlsafe_b64decode(word.removeprefix(OPTION)))
    return fields


def latency(printed: str) -> Latency:
    """Read the table of ``ib_send_lat``: size, iterations, shortest, longest, typical."""
    words = _row(printed, "t_typical[usec]", 5)
    return Latency(int(words[0]), int(words[1]), float(words[4]))


def bandwidth(printed: str) -> Bandwidth:
    """Read the table of ``ib_write_bw --report_gbits``: size, iterations, peak, mean."""
    words = _row(printed, "BW average[Gb/sec]", 4)
    return Bandwidth(int(words[0]), int(words[1]), float(words[3]))


def _row(printed: str, title: str, columns: int) -> list[str]:
    lines = printed.splitlines()
    for number, line in enumerate(lines[:-1]):
        words = lines[number + 1].split()
        if title in line and len(words) >= columns:
            return words
    raise ProgramOutputError(f"{printed[-200:]!r}: expected a row below {title!r}")
