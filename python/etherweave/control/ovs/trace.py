"""Reads what ``ofproto/trace`` of Open vSwitch prints: the path of a frame through all bridges.

::

    bridge("s0")                                    a visit
    ------------
     0. in_port=1, priority 1000                    a hit: the rule of table 0 that decided
        goto_table:2
     2. dl_dst=02:00:00:00:01:00/ff:…, priority 5
        output:3                                    its output, by a patch port to the next visit

    bridge("s1")
    ⋮
    Datapath actions: set(eth(dst=…)),4             frames that leave, with what was written

Lines that are deeper than their bridge belong to it; a frame for several ports makes a tree.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from etherweave.control.rules import CONTROLLER, IN_PORT

FieldChanges: TypeAlias = dict[str, str]  # Values written, by field: ``eth.dst``.

_BRIDGE = re.compile(r'bridge\("(.*)"\)')
_HIT = re.compile(r"(\d+)\. (?:(.*), )?priority (\d+)(?:, cookie .*)?")
_MISS = re.compile(r"(\d+)\. No match.*")
_OUTPUT = re.compile(r"output:(\d+)")
_NO_RULE = re.compile(r"reg0=0x[123]")
"""A miss at bridges after the first, which is a hidden rule of Open vSwitch itself."""
_FRAMES = "Datapath actions: "
_BACK = ">> skipping output to input port"
_ACTION_SET = "-> action set is: "
_EXECUTED = "--. Executing action set:"
_SLOWLY = re.compile(r"This flow is handled by the userspace slow path.*|  - .*")
"""Something else than the datapath rewrites the frame, with the reason; the result is the same."""
_CALL = re.compile(r"(\w+)\((.*)\)")
_HARMLESS = {"drop", "meter"}
"""Actions of the datapath that neither write nor send; a meter's rate is for real traffic."""


class Hit(NamedTuple):
    """A table that a frame passed, and the rule that decided there."""

    table: int
    match: str  # Match as Open vSwitch writes it; empty: any frame.
    priority: int | None  # None: no rule matched, and the frame ended.


class SentFrame(NamedTuple):
    """A frame on its way out of a bridge."""

    port: int  # ``IN_PORT``: back by the port of entry.
    hit: Hit  # The rule with this output.


@dataclass(frozen=True, slots=True)
class BridgeVisit:
    """Rules and outputs of a frame in a bridge."""

    bridge: str
    came_from: tuple[int, int] | None
    """Number of the visit before, from 0, and the port by which the frame left it."""
    hits: list[Hit] = field(default_factory=list)  # Rules in order.
    sent: list[SentFrame] = field(default_factory=list)  # Frames in order.
    suppressed: list[SentFrame] = field(default_factory=list)
    """Outputs to the port of entry, which OpenFlow suppresses unless they are ``IN_PORT``."""


class EmittedFrame(NamedTuple):
    """A frame that leaves the fabric."""

    port: int  # Number in the datapath, which all bridges share.
    changes: FieldChanges


class Trace(NamedTuple):
    """The path of a frame."""

    visits: tuple[BridgeVisit, ...]
    frames: tuple[EmittedFrame, ...]
    remarks: tuple[str, ...]  # Notes of Open vSwitch on actions that it did not execute.


def parse(text: str) -> Trace:
    """Read the answer to ``ofproto/trace``."""
    walk = _TraceReader()
    rest = iter(text.splitlines())
    for line in rest:
        if line.startswith(_FRAMES):
            # The list of frames is one line, the last but for remarks.
            frames = tuple(_frames(line.removeprefix(_FRAMES), {}, walk.remarks))
            walk.remarks.extend(text for text in rest if text and not _SLOWLY.fullmatch(text))
            return Trace(tuple(walk.visits), frames, tuple(walk.remarks))
        walk.read(line)
    raise ValueError(f"{text[:60]!r}: expected a trace that ends with {_FRAMES!r}")


class _TraceReader:
    """Reads a trace line by line."""

    def __init__(self) -> None:
        self.visits: list[BridgeVisit] = []
        self.remarks: list[str] = []
        self._last: tuple[int, int] | None = None
        """Visit and port of the output that was read last."""
        self._open: list[tuple[int, int]] = []
        """Indentation and number of the visits that may go on, outermost first."""
        self._written: dict[int, Hit] = {}
        """The rule that wrote the action set of each visit last."""
        self._executed: set[int] = set()
        """Visits whose action set is applied, because no table follows."""

    def read(self, line: str) -> None:
        text = line.lstrip(" ")
        depth = len(line) - len(text)
        if bridge := _BRIDGE.fullmatch(text):
            self._close(depth)
            self._open.append((depth, len(self.visits)))
            self.visits.append(BridgeVisit(bridge[1], self._last))
        elif self._open and text == _EXECUTED:
            # At the depth of its bridge, which goes on.
            self._close(depth + 1)
            self._executed.add(self._open[-1][1])
        elif self._open and text and not text.startswith("---"):
            self._close(depth)
            self._last = self._read_line(self._open[-1][1], text)

    def _close(self, depth: int) -> None:
        """End the visits that a line of this depth does not belong to, except the first."""
        while len(self._open) > 1 and self._open[-1][0] >= depth:
            self._open.pop()

    def _read_line(self, number: int, text: str) -> tuple[int, int] | None:
        """Read the next line of a visit, and return its number and port if it is an output."""
        visit = self.visits[number]
        if hit := _hit(text):
            visit.hits.append(hit)
        elif text.startswith(_ACTION_SET):
            self._written[number] = visit.hits[-1]
        elif text.startswith(">>"):
            self._take_back(text)
        elif (port := _port(text)) is not None:
            if not visit.hits:
                raise ValueError(f"{text!r} in {visit.bridge}: expected a table's rule before")
            hit = self._written[number] if number in self._executed else visit.hits[-1]
            visit.sent.append(SentFrame(port, hit))
            return number, port
        return None

    def _take_back(self, why: str) -> None:
        """Remove an output that Open vSwitch did not execute, and keep the reason."""
        if self._last:
            visit = self.visits[self._last[0]]
            sent = visit.sent.pop()
            if why == _BACK:
                visit.suppressed.append(sent)
        if why != _BACK:
            self.remarks.append(why)


def _hit(text: str) -> Hit | None:
    if miss := _MISS.fullmatch(text):
        return Hit(int(miss[1]), "", None)
    if hit := _HIT.fullmatch(text):
        table, match, priority = int(hit[1]), hit[2] or "", int(hit[3])
        is_miss = priority == 0 and _NO_RULE.fullmatch(match)
        return Hit(table, "", None) if is_miss else Hit(table, match, priority)
    return None


def _port(text: str) -> int | None:
    """Return the port of an output action, or None for other actions."""
    if output := _OUTPUT.fullmatch(text):
        return int(output[1])
    if text == "IN_PORT":
        return IN_PORT
    return CONTROLLER if text.startswith("CONTROLLER") else None


def _frames(actions: str, changes: FieldChanges, remarks: list[str]) -> Iterator[EmittedFrame]:
    """Follow a frame through actions of the datapath; ``changes`` has those of all before."""
    for action in _split(actions):
        call = _CALL.fullmatch(action)
        name, inner = (call[1], call[2]) if call else (action, "")
        if action.isdigit():
            yield EmittedFrame(int(action), dict(changes))
        elif name == "set":
            changes |= _written(inner)
        elif name == "clone":
            yield from _frames(inner, dict(changes), remarks)
        elif name in ("push_vlan", "pop_vlan"):
            changes["vlan"] = inner
        elif name == "userspace":
            yield EmittedFrame(CONTROLLER, dict(changes))
        elif name not in _HARMLESS:
            remarks.append(action)


def _written(inner: str) -> FieldChanges:
    """Read ``eth(src=…,dst=…)``."""
    header = _CALL.fullmatch(inner)
    if header is None:
        return {inner: ""}
    pairs = (part.partition("=") for part in _split(header[2]))
    return {f"{header[1]}.{name}": value for name, _, value in pairs}


def _split(text: str) -> list[str]:
    """Split at commas that no parenthesis encloses."""
    if "(" not in text:
        return text.split(",")
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
