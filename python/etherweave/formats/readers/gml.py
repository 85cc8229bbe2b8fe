"""GML (Himsolt, 1997), such as Topology Zoo's: ``graph [ node [ id 0 ] edge [ source 0 … ] ]``.

networkx stops at parallel edges in files without ``multigraph 1``, which Topology Zoo has.
"""

import html
import re
from collections.abc import Sequence
from typing import TypeAlias

from etherweave.formats.network import Network
from etherweave.formats.readers.zoo import zoo_network
from etherweave.formats.texts import Source, only

DEPTH_MAX = 64
Entry: TypeAlias = "tuple[str, Value, str]"  # Key, value and place.
Value: TypeAlias = "str | list[Entry]"
_TOKEN = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:\"([^\"]*)\"|([^\s\[\]\"]+)|([\[\]]))")


def recognises(file: Source) -> bool:
    """Return whether a graph in brackets begins."""
    return bool(re.search(r"^\s*graph\s*\[", file.head, re.MULTILINE))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read nodes and edges."""
    file = only(files)
    graph = next((value for key, value, _ in _entries(file) if key == "graph"), [])
    members = graph if isinstance(graph, list) else []
    nodes = [(where, _texts(value)) for key, value, where in members if key == "node"]
    edges = [(where, _texts(value)) for key, value, where in members if key == "edge"]
    return zoo_network(file, nodes, edges)


def _texts(value: Value) -> dict[str, str]:
    entries = value if isinstance(value, list) else []
    return {key: text for key, text, _ in entries if isinstance(text, str)}


def _entries(file: Source) -> list[Entry]:
    """Read all entries, those in brackets as lists."""
    root: list[Entry] = []
    path, key, at, line = [root], "", 0, 1
    text = file.text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        line += text.count("\n", at, match.end() if match else at)
        where = f"line {line}"
        if not match:
            raise file.mistake(where, f"{text[at : at + 20].strip()!r}; expected GML")
        at = match.end()
        quoted, word, bracket = match.groups()
        if bracket == "]":
            if len(path) == 1 or key:
                raise file.mistake(where, "']'; expected a value" if key else "']' without '['")
            path.pop()
        elif not key:
            if word is None:
                raise file.mistake(where, f"{match[0].strip()[:20]!r}; expected a key")
            key = word
        elif bracket:
            if len(path) > DEPTH_MAX:
                raise file.mistake(where, f"more than {DEPTH_MAX} levels; expected fewer")
            inner: list[Entry] = []
            path[-1].append((key, inner, where))
            path.append(inner)
            key = ""
        else:
            path[-1].append((key, html.unescape(quoted) if quoted is not None else word, where))
            key = ""
    if len(path) > 1:
        raise file.mistake(f"line {line}", "the end; expected ']'")
    return root
