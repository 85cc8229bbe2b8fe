"""``.topo`` and connection matrix of htsim (csg-htsim, ``sim/datacenter``).

htsim builds trees of two or three tiers by numbers alone, so that a fabric is written only when it
is such a tree: equal switches in each tier, complete stages within pods. Hosts are numbered leaf by
leaf. Flows are those of a run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave import _core
from etherweave.api.inputs import InputError
from etherweave.api.results import Result
from etherweave.formats.listing import Listing, flows, listing

BYTES_MAX = 2**31 - 1  # Largest flow that ``connection_matrix.cpp`` reads, by ``stoi``.
EXPECTED = "a tree of two or three tiers of equal switches, as htsim builds it"


@dataclass(frozen=True)
class _Stage:
    """Cables between two tiers, or of hosts."""

    rate_gbps: float
    delay_ns: float
    bundle: int  # Parallel cables of a pair.
    down: int  # Cables from below of an upper node.
    up: int  # Cables upwards of a lower node.


def files(fabric: _core.Fabric, result: Result | None) -> Mapping[str, str]:
    """Write the tree and, of a run, the connections."""
    listed = listing(fabric, is_single_homed=True)
    name = listed.name.replace("/", "-")
    tiers = sorted(set(listed.levels.values()))
    if tiers not in ([0, 1], [0, 1, 2]):
        raise InputError(fabric.name, f"{len(tiers)} levels of switches; expected {EXPECTED}")
    pods = _pods(listed) if len(tiers) == 3 else [list(_leaves(listed))]
    stages = [_stage(listed, level) for level in range(-1, len(tiers) - 1)]
    _check_complete(listed, pods, len(tiers))
    hosts = [host for pod in pods for leaf in pod for host in _leaves(listed)[leaf]]
    lines = [f"Nodes {len(hosts)}", f"Tiers {len(tiers)}"]
    lines.append(f"Podsize {len(hosts) // len(pods)}")
    for tier, stage in enumerate(stages):
        lines += [f"Tier {tier}", f"Downlink_speed_Gbps {_whole(fabric, stage.rate_gbps)}"]
        lines.append(f"Radix_Down {stage.down}")
        lines += [f"Radix_Up {stages[tier + 1].up}"] if tier + 1 < len(tiers) else []
        lines += [f"Bundle {stage.bundle}"] if stage.bundle > 1 else []
        lines.append(f"Downlink_Latency_ns {_whole(fabric, stage.delay_ns)}")
    texts = {f"{name}.topo": "\n".join(lines) + "\n"}
    if result:
        numbers = {host: number for number, host in enumerate(hosts)}
        texts[f"{name}.cm"] = _connections(result, numbers)
    return texts


def _leaves(listed: Listing) -> dict[str, list[str]]:
    leaves: dict[str, list[str]] = {}
    for host, switch in listed.hosts.items():
        leaves.setdefault(switch, []).append(host)
    return leaves


def _stage(listed: Listing, low: int) -> _Stage:
    """Describe the cables above a tier, hosts being tier -1; all of them must be equal."""
    level = dict.fromkeys(listed.hosts, -1) | listed.levels
    pairs: Counter[frozenset[str]] = Counter()
    up: Counter[str] = Counter()
    down: Counter[str] = Counter()
    kinds = set()
    for cable in listed.cables:
        lower, upper = sorted((name for name, _ in cable.ends), key=lambda name: level[name])
        if (level[lower], level[upper]) == (low, low + 1):
            pairs[frozenset((lower, upper))] += 1
            up[lower] += 1
            down[upper] += 1
            kinds.add((cable.rate_gbps, cable.delay_ns))
        elif level[upper] != level[lower] + 1:
            raise InputError(listed.name, f"{lower} is joined to {upper}; expected {EXPECTED}")
    sizes = {name: {*counts.values()} for name, counts in (("b", pairs), ("u", up), ("d", down))}
    uppers = sum(at == low + 1 for at in level.values())
    if len(kinds) != 1 or any(len(size) != 1 for size in sizes.values()) or len(down) != uppers:
        reason = f"cables above level {low} are not equal; expected {EXPECTED}"
        raise InputError(listed.name, reason)
    ((rate, delay),) = kinds
    return _Stage(rate, delay, sizes["b"].pop(), sizes["d"].pop(), sizes["u"].pop())


def _neighbours(listed: Listing) -> dict[str, dict[str, None]]:
    """List the switches that each switch is joined to, in the order of cables."""
    joined: dict[str, dict[str, None]] = {name: {} for name in listed.levels}
    for cable in listed.cables:
        first, second = (name for name, _ in cable.ends)
        if first in joined and second in joined:
            joined[first][second] = joined[second][first] = None
    return joined


def _pods(listed: Listing) -> list[list[str]]:
    """Group the leaves that are joined to the same switches."""
    joined = _neighbours(listed)
    pods: dict[frozenset[str], list[str]] = {}
    for leaf in _leaves(listed):
        pods.setdefault(frozenset(joined[leaf]), []).append(leaf)
    return list(pods.values())


def _check_complete(listed: Listing, pods: Sequence[Sequence[str]], tiers: int) -> None:
    """Check that a pod's stage is complete, and that places of all pods share their cores."""
    joined = _neighbours(listed)
    above = [frozenset(joined[pod[0]]) for pod in pods]
    is_tree = sum(map(len, above)) == len(frozenset().union(*above))
    if tiers == 3:
        cores = [
            sorted(
                tuple(sorted(name for name in joined[switch] if listed.levels[name] == 2))
                for switch in pod
            )
            for pod in above
        ]
        is_tree &= all(sets == cores[0] for sets in cores)
        is_tree &= len({name for names in cores[0] for name in names}) == sum(map(len, cores[0]))
    if not is_tree or len({len(pod) for pod in pods}) != 1:
        raise InputError(listed.name, f"pods are not equal; expected {EXPECTED}")


def _connections(result: Result, numbers: Mapping[str, int]) -> str:
    sent = flows(result)
    lines = [f"Nodes {len(numbers)}", f"Connections {len(sent)}"]
    for number, flow in enumerate(sent, 1):
        if flow.bytes > BYTES_MAX:
            reason = f"a flow of {flow.bytes:,} bytes; htsim reads at most {BYTES_MAX:,}"
            raise InputError(result.summary["name"], reason)
        ends = f"{numbers[flow.source]}->{numbers[flow.destination]}"
        lines.append(f"{ends} id {number} start {round(flow.start_ns * 1000)} size {flow.bytes}")
    return "\n".join(lines) + "\n"


def _whole(fabric: _core.Fabric, value: float) -> int:
    """Write a number as htsim reads it: a whole one."""
    if value != round(value):
        reason = f"{value:g}; expected whole Gb/s and ns, as htsim reads them"
        raise InputError(fabric.name, reason)
    return round(value)
