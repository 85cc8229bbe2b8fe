"""DOT of Graphviz (graphviz.org/doc/info/lang.html): nodes, chains of edges, subgraphs, defaults.

Attributes ``kind``, ``rate``, ``length`` and ``links`` are those of Etherweave's export; of other
files ``bandwidth``, ``speed`` and labels that are rates. pydot parses the grammar as well, without
expanding chains, subgraphs and defaults, and without lines in its errors.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from etherweave.formats.network import Network
from etherweave.formats.readers.node_link import RATES, kind_of, over
from etherweave.formats.texts import Source, number, only

DEPTH_MAX = 64  # Most subgraphs in each other.
PAIRS_MAX = 2**20  # Most edges of a statement such as ``{a b} -- {c d}``.
RATE = re.compile(r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?\s*[MGTg](?:[bB]\w*(?:/s)?)?)")
"""A label that is a rate, or a number of links of a rate."""
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\f]+)|(?P<line>\n)|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<edge>--|->)|(?P<sign>[{}\[\];,=:+])"
    r"|(?P<word>-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.])|[\w\x80-\U0010ffff]+)|(?P<html><)",
    re.DOTALL,
)


def recognises(file: Source) -> bool:
    """Return whether it begins with a graph."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/|^#[^\n]*", "", file.head, flags=re.DOTALL | re.MULTILINE)
    name = r"(\"(?:[^\"\\]|\\.)*\"|[\w.-]+)?"
    start = rf"\s*(strict\s+)?(di)?graph\b\s*{name}\s*\{{"
    return bool(re.match(start, plain, re.IGNORECASE))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read nodes and edges."""
    file = only(files)
    network = Network(str(file.path))
    _Parser(file, network).graph()
    return network


@dataclass
class _Scope:
    """Defaults of a graph or subgraph, and the nodes that stand in it."""

    node: dict[str, str] = field(default_factory=dict)
    edge: dict[str, str] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)


def _tokens(file: Source) -> Iterator[tuple[str, str, int]]:
    """Give kind, text and line of every token."""
    text, at, line = file.text, 0, 1
    while at < len(text):
        if text[at] == "#" and (at == 0 or text[at - 1] == "\n"):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
            continue
        match = _TOKEN.match(text, at)
        if not match:
            raise file.mistake(f"line {line}", f"{text[at]!r}; expected DOT")
        kind, word = str(match.lastgroup), match[0]
        if kind == "html":
            word = _html(file, text, at, line)
        if kind not in ("space", "line", "comment"):
            yield kind, word, line
        line += word.count("\n")
        at += len(word)
    yield "end", "", line


def _html(file: Source, text: str, at: int, line: int) -> str:
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "<") - (text[end] == ">")
        if depth == 0:
            return text[at : end + 1]
    raise file.mistake(f"line {line}", "an HTML label without its end")


class _Parser:
    """A graph, token by token."""

    def __init__(self, file: Source, network: Network) -> None:
        self._file, self._network = file, network
        self._tokens = _tokens(file)
        self._next = next(self._tokens)
        self._is_strict = False
        self._pairs: set[frozenset[str]] = set()
        self._defaulted: set[str] = set()  # Nodes whose kind is a default.

    def graph(self) -> None:
        if self._is_word("strict"):
            self._is_strict = True
            self._take()
        self._take()
        if self._next[1] != "{":
            self._id()
        self._body(_Scope(), 1)
        if self._is_strict:
            note = "a strict graph: parallel edges are one cable"
            self._network.notes.append(note)

    def _where(self) -> str:
        return f"line {self._next[2]}"

    def _take(self) -> str:
        text = self._next[1]
        self._next = next(self._tokens, ("end", "", self._next[2]))
        return text

    def _expect(self, sign: str) -> None:
        if self._next[1] != sign or self._next[0] == "quoted":
            reason = f"{self._next[1][:20] or 'the end'!r}; expected {sign!r}"
            raise self._file.mistake(self._where(), reason)
        self._take()

    def _is_word(self, word: str) -> bool:
        return self._next[0] == "word" and self._next[1].lower() == word

    def _is_sign(self, *signs: str) -> bool:
        return self._next[0] in ("sign", "edge") and self._next[1] in signs

    def _id(self) -> str:
        kind, text, _ = self._next
        if kind not in ("word", "quoted", "html"):
            reason = f"{text[:20] or 'the end'!r}; expected a name"
            raise self._file.mistake(self._where(), reason)
        self._take()
        text = _unquoted(text) if kind == "quoted" else text
        while kind == "quoted" and self._is_sign("+"):
            self._take()
            text += _unquoted(self._take())
        return text

    def _body(self, scope: _Scope, depth: int) -> None:
        if depth > DEPTH_MAX:
            reason = f"more than {DEPTH_MAX} subgraphs in each other; expected fewer"
            raise self._file.mistake(self._where(), reason)
        self._expect("{")
        while not self._is_sign("}"):
            if self._is_sign(";", ","):
                self._take()
            else:
                self._statement(scope, depth)
        self._take()

    def _statement(self, scope: _Scope, depth: int) -> None:
        for word in ("graph", "node", "edge"):
            if self._is_word(word):
                self._take()
                attributes = self._attributes()
                if word == "node":
                    scope.node |= attributes
                elif word == "edge":
                    scope.edge = over(scope.edge, attributes)
                return
        where = self._where()
        ends = [self._operand(scope, depth)]
        if self._is_sign("="):  # An attribute of the graph.
            self._take()
            self._id()
            return
        while self._is_sign("--", "->"):
            self._take()
            ends.append(self._operand(scope, depth))
        attributes = self._attributes()
        for end in ends:
            self._add(scope, end, attributes if len(ends) == 1 else {}, where)
        for first, second in pairwise(ends):
            self._join(first, second, over(scope.edge, attributes), where)

    def _operand(self, scope: _Scope, depth: int) -> list[tuple[str, str]]:
        """Read a node with its port, or a subgraph, as nodes."""
        if self._is_word("subgraph") or self._is_sign("{"):
            if self._is_word("subgraph"):
                self._take()
                if not self._is_sign("{"):
                    self._id()
            inner = _Scope(dict(scope.node), dict(scope.edge))
            self._body(inner, depth + 1)
            scope.members |= inner.members
            return [(name, "") for name in inner.members]
        name, port = self._id(), ""
        if self._is_sign(":"):
            self._take()
            port = self._id()
            if self._is_sign(":"):  # A point of the compass.
                self._take()
                self._id()
        return [(name, port)]

    def _attributes(self) -> dict[str, str]:
        attributes = {}
        while self._is_sign("["):
            self._take()
            while not self._is_sign("]"):
                key = self._id()
                if self._is_sign("="):
                    self._take()
                    attributes[key.lower()] = self._id()
                if self._is_sign(";", ","):
                    self._take()
            self._take()
        if label := RATE.fullmatch(attributes.get("label", "").strip()):
            attributes["links of label"] = label[1] or "1"
            if not any(attributes.get(key) for key in RATES):
                attributes["capacity"] = label[2]
        return attributes

    def _add(
        self, scope: _Scope, end: list[tuple[str, str]], of: dict[str, str], where: str
    ) -> None:
        for name, _ in end:
            scope.members.setdefault(name)
            own, default = kind_of(of.get("kind")), kind_of(scope.node.get("kind"))
            if name not in self._network.nodes and default and not own:
                self._defaulted.add(name)
                own = default
            elif own and name in self._defaulted:
                self._defaulted.remove(name)
                self._network.nodes[name].kind = own
            self._network.node(name, own, where)

    def _join(
        self,
        first: list[tuple[str, str]],
        second: list[tuple[str, str]],
        of: dict[str, str],
        where: str,
    ) -> None:
        if len(first) * len(second) > PAIRS_MAX:
            raise self._file.mistake(where, f"more than {PAIRS_MAX:,} edges; expected fewer")
        for near, far in ((near, far) for near in first for far in second):
            pair = frozenset((near[0], far[0]))
            if self._is_strict and pair in self._pairs:
                continue
            self._pairs.add(pair)
            self._network.pass_over_latency(of)
            rate = next((of[key] for key in RATES if of.get(key)), "")
            links = number(self._file, of.get("links") or of.get("links of label", 1), where, 1)
            medium = "optical" if of.get("style") == "dashed" and "rate" in of else ""
            named = {"first_port": near[1], "second_port": far[1], "medium": medium}
            named |= {"rate": rate, "length": of.get("length", "")}
            named |= {"link_class": of.get("class", "")}
            self._network.join(near[0], far[0], named, links=links, where=where)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda sign: {"n": "\n", "r": "\r"}.get(sign[1], sign[1]), text[1:-1])
