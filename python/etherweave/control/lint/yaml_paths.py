"""Paths to the values of a YAML document, as ``nv set`` names them.

The document is read event by event: its depth is bounded, every scalar is a text, and aliases,
which let a small file stand for a huge one, are rejected.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from etherweave.control.lint.config_db import ConfigError

DEPTH_MAX = 64
ROOT = "set"


def read(text: str) -> list[tuple[str, list[str]]]:
    """Return the place of each value below ``set``, and its path with the value at its end.

    Raises ``ConfigError`` when the file is not YAML, too deep, or has aliases.
    """
    try:
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        paths = list(_paths(yaml.parse(text, Loader=loader)))
    except (yaml.YAMLError, RecursionError) as error:
        known = (getattr(error, name, None) for name in ("problem", "reason"))
        reason = next(filter(None, known), "cannot be read")
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        raise ConfigError(f"{place}{reason}; expected YAML of NVUE") from None
    return [(place, words[1:]) for place, words in paths if words[0] == ROOT and words[1:]]


class _Node:
    """A mapping or a list that is being read."""

    def __init__(self, is_mapping: bool) -> None:
        self.is_mapping = is_mapping
        self.key: str | None = None
        self.is_empty = True


def _paths(events: Iterator[Any]) -> Iterator[tuple[str, list[str]]]:
    nodes: list[_Node] = []
    for event in events:
        place = f"line {event.start_mark.line + 1}"
        match event:
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                _begin(place, nodes)
                nodes.append(_Node(isinstance(event, yaml.MappingStartEvent)))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                if nodes.pop().is_empty and (words := _words(nodes)):
                    yield place, words
                _end(nodes)
            case yaml.ScalarEvent():
                holder = nodes[-1] if nodes else None
                if holder is None:
                    continue
                holder.is_empty = False
                if holder.is_mapping and holder.key is None:
                    holder.key = event.value
                    continue
                value = [event.value] if event.value not in ("", "null", "~") else []
                if words := _words(nodes) + value:
                    yield place, words
                _end(nodes)
            case yaml.AliasEvent():
                raise ConfigError(f"{place}: an alias; expected YAML of NVUE")


def _begin(place: str, nodes: list[_Node]) -> None:
    if len(nodes) >= DEPTH_MAX:
        raise ConfigError(f"{place}: nested more than {DEPTH_MAX} times; expected YAML")
    if nodes:
        if nodes[-1].is_mapping and nodes[-1].key is None:
            raise ConfigError(f"{place}: expected a name before the colon")
        nodes[-1].is_empty = False


def _end(nodes: list[_Node]) -> None:
    if nodes:
        nodes[-1].key = None


def _words(nodes: list[_Node]) -> list[str]:
    return [node.key for node in nodes if node.key is not None]
