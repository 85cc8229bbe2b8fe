"""The fabric under test: what its file says, and what tests need to know of it."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from etherweave import _core
from etherweave.api import toml
from etherweave.api.fabrics import fabric
from etherweave.api.inputs import InputError
from etherweave.api.result_schema import core_table
from etherweave.api.scenario import read

OF_TESTS = ("job", "run", "observe", "faults", "sweep", "open_loop", "design", "control")
"""Tables of a scenario that the tests write, or that describe other experiments."""


@dataclass(frozen=True)
class BenchFabric:
    """A fabric: topology, switches, flow control, transport and hosts of a file."""

    origin: str  # Path of the file.
    text: str  # Scenario without jobs.
    core: "_core.Fabric"  # The fabric as built.

    @property
    def name(self) -> str:
        """Name of the fabric: that of the file."""
        return Path(self.origin).stem

    @cached_property
    def written(self) -> Mapping[str, Any]:
        """Keys of the file, without defaults."""
        return tomllib.loads(self.text)

    def transport_keys(self, transport: str) -> Mapping[str, Any]:
        """Return what the file says of a transport; nothing where it has another."""
        return dict(self.written.get("transport", {}).get(transport, {}))

    @cached_property
    def resolved(self) -> Mapping[str, Any]:
        """The file with every default."""
        return tomllib.loads(self.core.resolved)

    @cached_property
    def _hosts(self) -> Mapping[str, str]:
        """Switch of the first port of each host, by name, in the order of numbers."""
        rows = self.rows("hosts", "host", "switch")
        switches: dict[str, str] = {}
        for host, switch in rows:
            switches.setdefault(host, switch)
        return switches

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return len(self._hosts)

    @cached_property
    def host_names(self) -> Sequence[str]:
        """Names of hosts by number."""
        return list(self._hosts)

    @cached_property
    def leaves(self) -> Mapping[str, Sequence[int]]:
        """Numbers of the hosts of each switch that has any by their first port."""
        by_switch: dict[str, list[int]] = {}
        for number, switch in enumerate(self._hosts.values()):
            by_switch.setdefault(switch, []).append(number)
        return by_switch

    @cached_property
    def _host_rates(self) -> Mapping[str, Sequence[float]]:
        """Line rates of the NICs of each host [Gb/s]."""
        rates: dict[str, list[float]] = {host: [] for host in self._hosts}
        for start, end, kind, rate in self.rows("links", "from", "to", "class", "rate_gbps"):
            if kind == "host":
                rates[start if start in rates else end].append(rate)
        return rates

    @property
    def rate_gbps(self) -> float:
        """Sum of the line rates of a host's own NICs, the least of all hosts [Gb/s]."""
        return min(map(sum, self._host_rates.values()))

    @property
    def nic_gbps(self) -> float:
        """Line rate of a NIC, the least of all [Gb/s]."""
        return min(map(min, self._host_rates.values()))

    @cached_property
    def _leaves_of_all_ports(self) -> set[str]:
        """Switches that have hosts, of all planes."""
        return {switch for (switch,) in self.rows("hosts", "switch")}

    @cached_property
    def uplinks(self) -> Mapping[tuple[str, int], float]:
        """Rates of the ports of leaves to other switches, by switch and port [Gb/s]."""
        rates: dict[tuple[str, int], float] = {}
        columns = ("from", "from_port", "to", "to_port", "class", "rate_gbps")
        for start, port, end, end_port, kind, rate in self.rows("links", *columns):
            ends = ((start, port), (end, end_port))
            own = self._leaves_of_all_ports
            rates |= {at: rate for at in ends if kind != "host" and at[0] in own}
        return rates

    @cached_property
    def uplink_names(self) -> Sequence[str]:
        """Links of leaves to other switches, as faults name them, once each."""
        rows = self.rows("links", "from", "to", "class")
        own = self._leaves_of_all_ports
        links = (
            f"{start} - {end}"
            for start, end, kind in rows
            if kind != "host" and (start in own or end in own)
        )
        return list(dict.fromkeys(links))

    @property
    def transport(self) -> str:
        """Name of the transport."""
        return str(next(iter(self.resolved["transport"])))

    @property
    def flow_control(self) -> str:
        """Name of the flow control."""
        return str(next(iter(self.resolved["flow_control"])))

    @property
    def routing(self) -> str:
        """Name of the routing."""
        routing = self.resolved.get("routing", "up_down")
        return routing if isinstance(routing, str) else str(next(iter(routing)))

    def pairs(self) -> Sequence[tuple[int, int]]:
        """Pair each host of the first half of the leaves with one of the second half."""
        ordered = [host for hosts in self.leaves.values() for host in hosts]
        half = len(ordered) // 2
        return list(zip(ordered[:half], ordered[half : 2 * half], strict=True))

    def link_to(self, host: int) -> str:
        """Name the link from a leaf to a host."""
        leaf = next(leaf for leaf, hosts in self.leaves.items() if host in hosts)
        return f"{leaf} - {self.host_names[host]}"

    def senders_to(self, sink: int) -> Sequence[int]:
        """List the other hosts, those of other leaves first, a leaf after the other in turn."""
        own = next(hosts for hosts in self.leaves.values() if sink in hosts)
        others = [hosts for hosts in self.leaves.values() if hosts is not own]
        depth = max(map(len, others), default=0)
        spread = [hosts[at] for at in range(depth) for hosts in others if at < len(hosts)]
        return [*spread, *(host for host in own if host != sink)]

    def rows(self, table: str, *columns: str) -> Sequence[tuple[Any, ...]]:
        """Read columns of the tables ``switches``, ``hosts`` or ``links``."""
        values = core_table(self.core.tables[table]).to_pydict()
        return list(zip(*(values[name] for name in columns), strict=True))


def load_fabric(file: Path) -> BenchFabric:
    """Read the fabric of a scenario file, whose jobs are left out.

    Raises ``ScenarioError`` for a mistake of the file, ``InputError`` for fewer than four hosts or
    no topology, or ``OSError``.
    """
    fabric(file)
    text, origin = read(file)
    kept = {key: value for key, value in tomllib.loads(text).items() if key not in OF_TESTS}
    if not kept.keys() & {"topology", "interconnect"}:
        raise InputError(
            file, "no [topology] or [interconnect]; expected the topology of the fabric under test"
        )
    without_jobs = toml.document(kept)
    bench = BenchFabric(origin, without_jobs, _core.Fabric.parse(without_jobs, origin, ()))
    if bench.hosts < 4:
        raise InputError(
            file, f"{bench.hosts} hosts; expected 4 or more, to send beside each other"
        )
    return bench
