"""A fabric as rows, for writers: names, and every cable with its ports."""

from dataclasses import dataclass

from etherweave import _core
from etherweave.api.inputs import InputError
from etherweave.api.results import Result

NS_PER_M = 5  # Propagation in the simulator [ns/m].
DELAYS = f"delays are cables of {NS_PER_M} ns a metre"  # Assumption of readers of delays.


@dataclass(frozen=True)
class Cable:
    """A cable between two ports."""

    ends: tuple[tuple[str, int], tuple[str, int]]
    """Names of its nodes, with the numbers of the ports."""
    rate_gbps: float
    length_m: float
    medium: str
    link_class: str  # One of ``host``, ``local`` and ``global``.

    @property
    def delay_ns(self) -> float:
        """Propagation [ns]."""
        return self.length_m * NS_PER_M


@dataclass(frozen=True)
class Flow:
    """A message of a run."""

    source: str
    destination: str
    bytes: int
    start_ns: float


@dataclass(frozen=True)
class Listing:
    """Nodes and cables of a fabric."""

    name: str
    hosts: dict[str, str]  # Hosts, and the switch of each.
    levels: dict[str, int]  # Switches, and the level of each.
    cables: list[Cable]

    def ports(self) -> dict[str, int]:
        """Count the ports of every node."""
        counts = dict.fromkeys([*self.hosts, *self.levels], 0)
        for name, _ in (end for cable in self.cables for end in cable.ends):
            counts[name] += 1
        return counts


def listing(fabric: _core.Fabric, is_single_homed: bool = False) -> Listing:
    """List a fabric, for a format that may have no hosts with several ports.

    Raises ``InputError`` when a host has several then.
    """
    hosts, switches, links = (fabric.tables[name] for name in ("hosts", "switches", "links"))
    names = hosts.values("host")
    if is_single_homed and len(set(names)) < len(names):
        raise InputError(fabric.name, "hosts with several ports; expected hosts with a single one")
    ends = ("from", "from_port", "to", "to_port")
    columns = (*ends, "rate_gbps", "length_m", "medium", "class")
    rows = zip(*(links.values(name) for name in columns), strict=True)
    return Listing(
        fabric.name,
        dict(zip(names, hosts.values("switch"), strict=True)),
        dict(zip(switches.values("switch"), switches.values("level"), strict=True)),
        [Cable(((row[0], row[1]), (row[2], row[3])), *row[4:]) for row in rows],
    )


def flows(result: Result) -> list[Flow]:
    """List the flows of a run by start, the first at 0; raises `InputError` where it has none."""
    if "flow_times" not in result.tables:
        expected = "a result of workload.flows, such as scenarios/flows.toml"
        raise InputError(result.summary["name"], f"has no table flow_times; expected {expected}")
    streams = result.to_polars("streams").select("job", "stream", "source_host", "destination_host")
    table = result.to_polars("flow_times").join(streams, on=["job", "stream"], how="left")
    columns = ("source_host", "destination_host", "bytes", "start_ns")
    rows = table.sort("start_ns", maintain_order=True).select(columns).rows()
    first = rows[0][3] if rows else 0
    return [Flow(row[0], row[1], row[2], row[3] - first) for row in rows]


def check_fabric(fabric: _core.Fabric, result: Result, origin: str) -> None:
    """Refuse a result of another fabric, by its hosts and cables."""
    own = _core.Fabric.parse(result.resolved, origin, [])
    for name, column in (("hosts", "host"), ("switches", "switch"), ("links", "from")):
        columns = [side.tables[name].values(column) for side in (fabric, own)]
        if columns[0] != columns[1]:
            counts = [len(values) for values in columns]
            what = f"{counts[1]:,} {name}, and this fabric has {counts[0]:,}"
            if counts[0] == counts[1]:
                what = f"other {name}"
            raise InputError(origin, f"a run on another fabric ({what}); expected one on this")


def number_text(value: float) -> str:
    """Write a number without an exponent or zeros at its end."""
    return f"{value:.9f}".rstrip("0").rstrip(".")
