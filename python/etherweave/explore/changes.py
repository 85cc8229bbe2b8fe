"""Changes of a scenario that a slider or a choice makes, as overrides of its keys."""

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etherweave.api.scenario import Overrides
from etherweave.api.scenario_schema import keys_of, kinds_of, names_of, schema_root, table_schema
from etherweave.api.units import rate_of
from etherweave.api.what_if import scale_rates

AS_WRITTEN = "as written"  # Choice that changes nothing.
GBPS = 8e-9  # Factor from bytes per second [Gb/s].
RATES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # Factors of the rates of links.
UPLINKS = {
    "fat_tree": ("links_per_core", "cores", "hosts_per_leaf"),
    "rail_optimised": ("links_per_spine", "spines", "servers_per_pod"),
}
"""Keys of families that are tapered by a number of links: links to each switch above, switches
above, and hosts below."""


@dataclass(frozen=True)
class Uplinks:
    """Links from a leaf to the switches above."""

    key: str  # Dotted key of their number to each.
    number: int  # Number to each, as written.
    above: int  # Switches above.
    below_gbps: float  # Rate of the hosts of a leaf [Gb/s].
    each_gbps: float  # Rate of one [Gb/s].

    @property
    def number_max(self) -> int:
        """Number to each from which on there is no taper, or that which is written."""
        full = -(-self.below_gbps // (self.above * self.each_gbps))
        return max(int(full), self.number)

    def words(self, number: int) -> str:
        """Say how many there are, and the taper."""
        taper = self.below_gbps / (number * self.above * self.each_gbps)
        return f"{number * self.above} uplinks of a leaf, taper {taper:.3g}:1"


@dataclass(frozen=True)
class Controls:
    """Parts of a scenario that can be changed."""

    resolved: Mapping[str, Any]  # The scenario with its defaults.

    @classmethod
    def of(cls, resolved: str) -> "Controls":
        """Read a resolved scenario."""
        return cls(tomllib.loads(resolved))

    @property
    def transports(self) -> list[str]:
        """Names of transports."""
        return _kinds("transport")

    @property
    def flow_controls(self) -> list[str]:
        """Names of flow controls."""
        return _kinds("flow_control")

    @property
    def routings(self) -> list[str]:
        """Names of routings."""
        return names_of(table_schema(keys_of(schema_root())["routing"]))

    @property
    def family(self) -> str:
        """Name of the topology."""
        return str(next(iter(self.resolved["topology"])))

    @property
    def uplinks(self) -> Uplinks | None:
        """Links from a leaf upward; None where the family has no number of them."""
        if self.family not in UPLINKS:
            return None
        links, above, below = UPLINKS[self.family]
        table = self.resolved["topology"][self.family]
        host_rate, rate = (rate_of(table[key]) * GBPS for key in ("host_rate", "uplink_rate"))
        key = f"topology.{self.family}.{links}"
        return Uplinks(key, table[links], table[above], table[below] * host_rate, rate)

    def rate_words(self, factor: float) -> str:
        """Name the rates of links by which they are multiplied."""
        changed = self._scaled(factor)["topology"][self.family]
        rates = dict.fromkeys(v for k, v in changed.items() if k.endswith("rate"))
        return f"×{factor:g}: {', '.join(map(str, rates))}" if rates else f"×{factor:g}"

    def _scaled(self, factor: float) -> dict[str, Any]:
        scaled = copy.deepcopy(dict(self.resolved))
        if factor != 1:
            scale_rates(scaled, factor)
        return scaled

    def overrides(self, changes: "Changes") -> dict[str, object]:
        """Write changes as overrides; none where they leave everything as it is written."""
        overrides: dict[str, object] = {}
        if changes.rate != 1:
            overrides |= self._rate_overrides(changes.rate)
        if self.uplinks and changes.uplinks not in (None, self.uplinks.number):
            overrides[self.uplinks.key] = changes.uplinks
        for key, kind in (("transport", changes.transport), ("flow_control", changes.flow_control)):
            if kind not in (AS_WRITTEN, *self.resolved.get(key, {})):
                overrides[key] = {kind: {}}
        if changes.routing not in (AS_WRITTEN, self.resolved.get("routing")):
            overrides["routing"] = changes.routing
        return overrides

    def _rate_overrides(self, factor: float) -> dict[str, object]:
        scaled = self._scaled(factor)
        tables = {f"topology.{self.family}": ("topology", self.family), "nic": ("nic",)}
        return {
            f"{name}.{key}": value
            for name, path in tables.items()
            for key, value in _at(scaled, path).items()
            if value != _at(self.resolved, path).get(key)
        }


@dataclass(frozen=True)
class Changes:
    """Positions of sliders and choices."""

    rate: float = 1.0  # Factor of the rates of links, of :data:`RATES`.
    uplinks: int | None = None  # Links to each switch above; None as written.
    transport: str = AS_WRITTEN  # Name of a transport.
    flow_control: str = AS_WRITTEN  # Name of a flow control.
    routing: str = AS_WRITTEN  # Name of a routing.


def changed_text(text: str, overrides: Overrides) -> str:
    """Write a scenario with overrides, by dotted key, as one document; comments are left out."""
    from etherweave.api.toml import document

    scenario = tomllib.loads(text)
    for key, value in overrides.items():
        *path, last = key.split(".")
        table = scenario
        for part in path:
            table = table.setdefault(part, {})
        table[last] = value
    return document(scenario)


def _kinds(key: str) -> list[str]:
    return list(kinds_of(table_schema(keys_of(schema_root())[key])))


def _at(scenario: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    for key in path:
        scenario = scenario.get(key, {})
    return scenario
