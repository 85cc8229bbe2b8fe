"""A network as a scenario: the questions that its file leaves open, and the text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from etherweave import _core
from etherweave.api import toml
from etherweave.api.inputs import InputError
from etherweave.api.units import counted
from etherweave.formats.family import read
from etherweave.formats.network import Link, Network, Node, in_port_order, listed_names, subject
from etherweave.formats.parts import leave_out_ends, leave_out_unused
from etherweave.formats.texts import source

TEXTS = {".csv": "links", ".tsv": "links", ".graphml": "graphml", ".xml": "graphml"}
TEXTS |= {".json": "json"}
"""Keys of ``topology.custom`` for the texts that the core reads, by the end of a file's name."""
NUMBERED = "h and a number are hosts, s and a number switches (--hosts)"
"""Assumption about lists whose nodes have numbers."""
ATTACHED_MAX = 1024  # Most hosts that are attached to a switch.


@dataclass(frozen=True)
class Answers:
    """Answers of users to what a file does not say."""

    hosts: str | None = None  # Pattern of names of hosts, as of a shell: ``gpu*``.
    attach: int = 0  # Number of hosts that every switch gets, for files of switches alone.
    rate: str | None = None  # Rate of cables without one.
    length: str | None = None  # Length of cables without one.


@dataclass(frozen=True)
class ImportedScenario:
    """A scenario of a file, and what it says of itself."""

    files: Mapping[str, str]  # Texts by name: the scenario, and the list of links that it names.
    fabric: _core.Fabric  # The fabric, built.
    assumed: Sequence[str]  # Assumptions where the file does not say it, a sentence each.
    notes: Sequence[str]  # Omissions and oddities, a sentence each.


def as_it_is(path: Path, name: str, answers: Answers) -> ImportedScenario | None:
    """Take a file that ``topology.custom`` reads by itself; None when the core does not.

    The scenario has the list under its own name, so that levels, coordinates and ports stay.
    """
    key = TEXTS.get(path.suffix.lower())
    if key is None:
        return None
    file = source(path)
    custom: dict[str, object] = {"rate": answers.rate, "cable": answers.length}
    custom = {name: value for name, value in custom.items() if value}
    text = toml.document({"name": name, "topology": {"custom": custom | {key: file.text}}})
    try:
        fabric = _core.Fabric.parse(text, str(path), [])
    except _core.ScenarioError:
        return None
    copy = f"{name}{path.suffix.lower()}"
    assumed, notes = ([], []) if key == "graphml" else _said_of(path, answers)
    if key == "links":
        # The core reads columns that the reader does not.
        assumed, notes = [NUMBERED, *assumed], []
    scenario = _scenario(name, path.name, custom | {"file": copy}, assumed)
    return ImportedScenario({f"{name}.toml": scenario, copy: file.text}, fabric, assumed, notes)


def _said_of(path: Path, answers: Answers) -> tuple[list[str], list[str]]:
    """List what a file leaves open, and what is left out, as a reader reads what the core does."""
    assumed: list[str] = []
    try:
        network = read([path])
    except InputError:
        return [], []
    _defaults(network, answers, assumed)
    return assumed, network.notes


def scenario_of(network: Network, name: str, answers: Answers) -> ImportedScenario:
    """Make a scenario of a network.

    Raises `InputError` where a cable is wrong, and where no node is known to be a host.
    """
    assumed = list(network.assumed)
    leave_out_unused(network)
    _settle_kinds(network, answers, assumed)
    leave_out_ends(network)
    custom = _defaults(network, answers, assumed)
    listed = f"{name}.json"
    _check_ports(network)
    links = in_port_order(network.links)
    texts = {listed: _node_link(network, links)}
    scenario = {"name": name, "topology": {"custom": {**custom, "json": texts[listed]}}}
    try:
        fabric = _core.Fabric.parse(toml.document(scenario), network.path, [])
    except _core.ScenarioError as error:
        raise _mistake(network, links, error.mistakes[0]) from None
    assumed += _local_cables(network, fabric)
    text = _scenario(name, Path(network.path).name, {**custom, "file": listed}, assumed)
    texts = {f"{name}.toml": text, **texts}
    return ImportedScenario(texts, fabric, assumed, network.notes)


def _check_ports(network: Network) -> None:
    """Refuse two cables at a port, with the other end of both."""
    taken: dict[tuple[str, str], str] = {}
    for link in network.links:
        ends = tuple(zip(link.ends, link.ports, strict=True))
        for end, other in (ends, ends[::-1]):
            far = " ".join(filter(None, other))
            if end[1] and end in taken:
                network.file = link.file
                cables = f"two cables, to {taken[end]} and to {far}"
                reason = f"port {end[1]} of {end[0]} has {cables}; expected one cable per port"
                raise network.mistake(link.where, reason)
            taken[end] = far


def _mistake(network: Network, links: Sequence[Link], mistake: _core.Mistake) -> InputError:
    """Make the error of a mistake of the core, at the place in the file or at the option."""
    of, _, number = mistake.key.rpartition(".")
    if of.endswith("links") and int(number) < len(links):
        network.file = links[int(number)].file
        return network.mistake(links[int(number)].where, mistake.reason)
    hosts = [name for name, node in network.nodes.items() if node.kind == "host"]
    if not hosts:
        expected = "--hosts PATTERN of their names, or --attach N hosts to every switch"
        return network.mistake("", f"no node is known to be a host; expected {expected}")
    if network.is_joined() and not network.is_joined(without=hosts):
        reason = f"{mistake.reason}; planes are host_ports.planes of the fabric of one of them"
        return network.mistake("", reason)
    return network.mistake({"rate": "--rate", "cable": "--length"}.get(number, ""), mistake.reason)


def _scenario(name: str, origin: str, custom: Mapping[str, object], assumed: Sequence[str]) -> str:
    """Write the scenario, with what is assumed as comments."""
    comments = [f"Imported from {origin}.", *(f"Assumed: {sentence}" for sentence in assumed)]
    lines = ["# " + " ".join(comment.split()) for comment in comments]
    head = toml.document({"name": name})
    return "\n".join([*lines, head, "[topology.custom]", toml.document(custom)])


def _local_cables(network: Network, fabric: _core.Fabric) -> list[str]:
    """Say that cables which may be global are local, where no cable has a class.

    Those are cables between switches of one level, as between groups of a dragonfly, or above the
    lowest level, as between pods.
    """
    if any(link.link_class in ("local", "global") for link in network.links):
        return []
    switches, links = (fabric.tables[name] for name in ("switches", "links"))
    levels = dict(zip(switches.values("switch"), switches.values("level"), strict=True))
    ends = zip(links.values("from"), links.values("to"), strict=True)
    joined = ([levels[end] for end in pair if end in levels] for pair in ends)
    apart = sum(len(pair) == 2 and (min(pair) > 0 or pair[0] == pair[1]) for pair in joined)
    if not apart:
        return []
    cables = subject(apart, "cable", "that may join groups or pods")
    return [f"{cables} local, as none has a class (class global in the list of links)"]


def _settle_kinds(network: Network, answers: Answers, assumed: list[str]) -> None:
    """Decide which nodes are hosts."""
    if answers.hosts is not None:
        _match_hosts(network, answers.hosts)
    is_said = any(node.kind == "host" for node in network.nodes.values())
    if answers.attach:
        _attach(network, answers.attach, assumed)
    if not any(node.kind == "host" for node in network.nodes.values()):
        ends = _single_ends(network)
        for node in ends:
            node.kind = "host"
        if ends:
            names = listed_names([node.name for node in ends])
            what = subject(len(ends), "node", "with a single cable")
            of = "a host" if len(ends) == 1 else "hosts"
            assumed.append(f"{what} {of}: {names} (--hosts)")
            assumed += _alike(network, ends)
    unknown = [node.name for node in network.nodes.values() if not node.kind]
    # Of a file without kinds, and after --hosts, all others are switches.
    if is_said and answers.hosts is None and unknown:
        what = subject(len(unknown), "node", "without a kind")
        of = "a switch" if len(unknown) == 1 else "switches"
        assumed.append(f"{what} {of}: {listed_names(unknown)} (--hosts)")
    for node in network.nodes.values():
        node.kind = node.kind or "switch"


def _match_hosts(network: Network, pattern: str) -> None:
    """Decide by a pattern of names what the file does not say; raises where it matches none."""
    matching = {name for name in network.nodes if fnmatchcase(name, pattern)}
    if not matching:
        names = listed_names(_likely_hosts(network))
        raise network.mistake("", f"--hosts {pattern!r} matches no node; expected some of {names}")
    said = [node for node in network.nodes.values() if node.kind and not node.is_assumed]
    for node in network.nodes.values():
        if node.kind is None or node.is_assumed:
            node.kind = "host" if node.name in matching else "switch"
    stated = {
        kind: [node.name for node in said if node.kind == kind] for kind in ("host", "switch")
    }
    others = [name for name in stated["host"] if name not in matching]
    switches = [name for name in stated["switch"] if name in matching]
    if others:
        note = f"the file has {counted(len(others), 'host')} that --hosts does not match"
        network.notes.append(f"{note}: {listed_names(others)}")
    if switches:
        note = f"the file has {counted(len(switches), 'switch')} that --hosts matches"
        network.notes.append(f"{note}: {listed_names(switches)}")


def _likely_hosts(network: Network) -> list[str]:
    """List nodes, the hosts of the file first, then those of a single cable."""
    degrees = network.degrees()
    nodes = sorted(
        network.nodes.values(), key=lambda node: (node.kind != "host", degrees[node.name] > 1)
    )
    return [node.name for node in nodes]


def _alike(network: Network, hosts: Sequence[Node]) -> list[str]:
    """Name nodes of several cables that are taken for switches, though hosts have such names."""
    stems = {_stem(host.name) for host in hosts}
    alike = [node for node in network.nodes.values() if not node.kind and _stem(node.name) in stems]
    if not alike:
        return []
    names = listed_names([node.name for node in alike])
    what = "nodes of several cables are switches" if len(alike) > 1 else "node is a switch"
    return [f"{len(alike)} {what}, though hosts have such names: {names} (--hosts)"]


def _stem(name: str) -> str:
    """Return a name without its numbers.

    >>> _stem("gpu12-eth0")
    'gpu-eth'
    """
    return "".join(sign for sign in name if not sign.isdigit())


def _single_ends(network: Network) -> list[Node]:
    """List the nodes with a single cable, but for those that only join each other."""
    degrees = network.degrees()
    peers = {
        end: link.ends[at]
        for link in network.links
        for at, end in ((1, link.ends[0]), (0, link.ends[1]))
    }
    return [
        node
        for node in network.nodes.values()
        if not node.kind and degrees[node.name] == 1 and degrees[peers[node.name]] > 1
    ]


def _attach(network: Network, count: int, assumed: list[str]) -> None:
    switches = [node.name for node in network.nodes.values() if node.kind != "host"]
    for switch in switches:
        network.nodes[switch].kind = "switch"
        for number in range(count):
            host = f"{switch}-host{number}"
            network.new_node(host, "host")
            network.join(host, switch)
    assumed.append(f"every switch has {counted(count, 'host')} (--attach)")


def _defaults(network: Network, answers: Answers, assumed: list[str]) -> dict[str, object]:
    """Fill in rates and lengths by keys of the scenario, and list them as assumed."""
    custom: dict[str, object] = {}
    questions = (
        ("rate", answers.rate, "rate", "100Gb/s"),
        ("length", answers.length, "cable", "3m"),
    )
    for field, answer, key, usual in questions:
        missing = sum(not getattr(link, field) for link in network.links)
        if not missing:
            if answer:
                _check_answer(network, key, answer, f"--{field}")
                network.notes.append(f"--{field} is left out: every cable has one")
            continue
        custom[key] = answer or usual
        of = "all" if missing == len(network.links) else f"{missing:,} of {len(network.links):,}"
        assumed.append(f"{field} {custom[key]} of {of} cables (--{field})")
    return custom


def _check_answer(network: Network, key: str, answer: str, option: str) -> None:
    """Refuse an answer that no cable needs where it is none, too."""
    custom = {"hosts": 2, "links": "h0,s0\nh1,s0\n", key: answer}
    try:
        _core.Fabric.parse(toml.document({"name": "a", "topology": {"custom": custom}}), "a", [])
    except _core.ScenarioError as error:
        raise network.mistake(option, error.mistakes[0].reason) from None


def _node_link(network: Network, listed: Sequence[Link]) -> str:
    """Write JSON that ``topology.custom`` reads, a node or a cable a line."""
    nodes = [{"id": node.name, "kind": node.kind} for node in network.nodes.values()]
    links = []
    for number, link in enumerate(listed):
        ports = [port or f"cable {number}" for port in link.ports]
        entry = {"source": link.ends[0], "target": link.ends[1]}
        entry |= {"sourceport": ports[0], "targetport": ports[1]}
        of = {"rate": link.rate, "length": link.length, "medium": link.medium}
        entry |= {key: value for key, value in of.items() if value}
        entry |= {"class": link.link_class} if link.link_class in ("local", "global") else {}
        links.append(entry)
    lines = [
        f'"{key}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in entries) + "\n]"
        for key, entries in (("nodes", nodes), ("links", links))
    ]
    return "{" + ",\n".join(lines) + "}\n"
