"""NVUE's YAML of the commands that set it: ``nv config patch`` and ``nv config replace`` take it.

A command names the path to a value; lists of names (``swp1-4``, ``3,4``) are keys of their own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

Tree: TypeAlias = dict[str, "Tree | str"]

COLLECTIONS = ("member", "switch-priority", "traffic-class", "dscp", "pcp", "interface", "vlan")
"""Nodes below which names stand: what follows is a key, with a value or without one."""
SCALARS = ("qos mapping", "qos egress-queue-mapping")
"""Below these, a name is a value at the end of a command: ``dscp 26 switch-priority 3``."""
TEXTS = ("hostname",)  # Nodes with texts, whatever they look like.


def document(comment: str, commands: str) -> str:
    """Write the commands of a script as YAML, below a comment."""
    tree: Tree = {}
    for line in commands.splitlines():
        if line.startswith("nv set "):
            _insert(tree, line.split()[2:])
    return f"# {comment}\n- set:\n" + "".join(_lines(tree, 2))


def _insert(tree: Tree, words: list[str]) -> None:
    is_value = " ".join(words).startswith(SCALARS) or words[-2] not in COLLECTIONS
    places = [tree]
    for at, word in enumerate(words[: -1 if is_value else None]):
        split = names(word) if at and words[at - 1] in COLLECTIONS else [word]
        places = [_child(place, name) for place in places for name in split]
    if is_value:
        for place in places:
            place[""] = words[-1]


def _child(place: Tree, name: str) -> Tree:
    child = place.setdefault(name, {})
    assert isinstance(child, dict), "a command never ends where another goes on"
    return child


def names(word: str, most: int = 1 << 20) -> Iterator[str]:
    """Split ``swp1-3,swp7,swp8s0-3`` into names.

    Raises ``ValueError`` when a range is longer than ``most``, or ends before it begins.
    """
    for part in word.split(","):
        span = re.fullmatch(r"(\D+|\D+\d+s|)(\d{1,7})-(?:\1)?(\d{1,7})", part)
        if span is None:
            yield part
            continue
        first, last = int(span[2]), int(span[3])
        if not first <= last < first + most:
            raise ValueError(part)
        yield from (f"{span[1]}{number}" for number in range(first, last + 1))


def _lines(tree: Mapping[str, Tree | str], depth: int) -> Iterable[str]:
    for name, below in tree.items():
        assert isinstance(below, dict), "a value stands below its name"
        key = f"{'  ' * depth}{_scalar(name)}:"
        if "" in below:
            value = str(below[""])
            yield f"{key} {_quoted(value) if name in TEXTS else _scalar(value)}\n"
        elif below:
            yield f"{key}\n"
            yield from _lines(below, depth + 1)
        else:
            yield f"{key} {{}}\n"


def _scalar(text: str) -> str:
    """Quote what YAML reads as something else than a text: numbers are numbers, ``on`` is not."""
    return _quoted(text) if text in ("on", "off", "yes", "no", "true", "false") else text


def _quoted(text: str) -> str:
    return f"'{text}'"
