"""Devices that a fabric is exported for: switch profiles, and cables as SONiC's tables have them.

The headroom of a port follows from the cells of its profile (``profiles/switch``, the core's rule),
or from the device's own ``pg_profile_lookup.ini``.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from etherweave.api.fabrics import fabric
from etherweave.control.qos.policy import PolicyError, SwitchPolicy

GENERIC = "spectrum"  # The profile that stands for no device: it has no cells.
BY_RATE = ((100_000, "sn2700"), (200_000, "sn3700"), (400_000, "sn4700"), (800_000, "sn5600"))
EOS_BY_RATE = ((100_000, "tomahawk"), (400_000, "tomahawk3"), (800_000, "tomahawk5"))
"""Devices where the scenario names none: the first whose ports [Mb/s] are fast enough."""
CAPACITIES_GBPS = {
    "spectrum": 3_200,
    "sn2100": 1_600,
    "sn2700": 3_200,
    "sn3700": 6_400,
    "sn4700": 12_800,
    "sn5600": 51_200,
    "tomahawk": 3_200,
    "tomahawk2": 6_400,
    "tomahawk3": 12_800,
    "tomahawk4": 25_600,
    "tomahawk5": 51_200,
    "trident3": 3_200,
    "trident4": 8_000,
}
"""Rates of all ports of a device together: number and rate of its ports by the first lines of its
profile. Line cards of ``jericho2`` are as many as a chassis has."""
CABLES_M = (5, 40, 300)  # Lengths that SONiC's lookup tables have for every rate [m].
XON_BYTES = 19 << 10
"""XON of NVIDIA's tables: the latency of the pipeline in buffer_headroom_mellanox.lua [B]."""
EIGHT_LANES = {"sn4700": 400_000, "sn5600": 800_000}
"""Rates [Mb/s] of ports with eight lanes, whose pipeline takes twice as much."""
AMPLE = "1GiB"  # Memory of a switch whose memory is not the question.


@dataclass(frozen=True, slots=True)
class LookupRow:
    """Sizes of a lossless priority group in a vendor's table [B]."""

    size: int
    xon: int
    xoff: int


LookupTable: TypeAlias = Mapping[tuple[int, int], LookupRow]  # Rows by rate [Mb/s] and length [m].


def device_for(rate_mbps: int, system: str) -> str:
    """Return a device of an operating system with ports that are fast enough."""
    known = EOS_BY_RATE if system == "eos" else BY_RATE
    name = next((name for rate, name in known if rate_mbps <= rate), None)
    if name is None:
        problem = f"ports of {rate_mbps / 1000:g} Gb/s: no known device has such ports"
        raise PolicyError(f"{problem}; expected --switch with the nearest one, as {known[-1][1]}")
    return name


def capacity_notes(device: str, switches: Iterable[SwitchPolicy]) -> Iterator[str]:
    """Name the switch whose ports exceed a device by most, if there is any."""
    rates = {switch.name: sum(port.rate_mbps for port in switch.ports) for switch in switches}
    capacity = CAPACITIES_GBPS.get(device, math.inf)
    if not rates or max(rates.values()) <= 1000 * capacity:
        return
    name = max(rates, key=rates.__getitem__)
    others = sum(rate > 1000 * capacity for rate in rates.values()) - 1
    more = f" and {others} other{'s' * (others > 1)}" if others else ""
    problem = f"{name}{more}: ports of {rates[name] / 1000:,.0f} Gb/s together"
    yield f"{problem}; {device} has {capacity:,} Gb/s: expected fewer ports or another --switch"


def is_nvidia(device: str) -> bool:
    """Whether a group's ``size`` contains its ``xoff``, as in NVIDIA's tables."""
    return device.startswith("sn")


def xon_bytes(device: str, rate_mbps: int) -> int:
    """Return XON of NVIDIA's devices."""
    return XON_BYTES * (2 if rate_mbps >= EIGHT_LANES.get(device, rate_mbps + 1) else 1)


def tabulated(length_m: float, known: tuple[int, ...]) -> int:
    """Round a length up to one that a table has; a longer one to whole metres."""
    metres = -int(-length_m // 1)
    return next((size for size in sorted(known) if size >= metres), metres)


def read_lookup(name: str, text: str) -> LookupTable:
    """Read a ``pg_profile_lookup.ini``: speed, cable, size, xon, xoff, and more.

    Raises ``PolicyError`` when a line has another form, or there is none.
    """
    table = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        match = re.fullmatch(
            r"(\d{1,7}) (\d{1,6})m (\d{1,9}) (\d{1,9}) (\d{1,9})( .*)?", " ".join(words)
        )
        if match is None:
            expected = "speed, cable, size, xon, xoff, as 100000 40m 58368 19456 38912 0"
            raise PolicyError(f"{name}:{number}: {line.strip()[:40]!r}; expected {expected}")
        speed, length, size, xon, xoff = (int(group) for group in match.groups()[:5])
        table[speed, length] = LookupRow(size, xon, xoff)
    if not table:
        raise PolicyError(f"{name}: no row; expected a pg_profile_lookup.ini of SONiC")
    return table


def headroom_bytes(
    rate_mbps: int, length_m: int, switch: Mapping[str, object], mtu_bytes: int = 1500
) -> int:
    """Return the headroom of a port: what fills its memory after it has decided to pause its peer.

    ``rate_mbps`` is that of the link [Mb/s], ``length_m`` that of the cable [m]. ``switch`` is the
    scenario's table: a ``profile``, or ``cells``; without cells it is the sum of the simulation for
    idle switches and NICs without latency, and ``mtu_bytes`` the largest packet above Ethernet [B].
    Returns the headroom of each lossless priority [B]. Raises ``ScenarioError`` when no link has
    such a rate or length, or no profile this name.
    """
    import polars as pl

    link: dict[str, object] = {"hosts": 2, "rate": f"{rate_mbps}Mb/s", "cable": f"{length_m}m"}
    scenario = {
        "topology": {"single_switch": link},
        "switch": {**switch, "buffer": AMPLE, "latency": "0ns"},
        "nic": {"transmit_latency": "0ns"},
        "transport": {"roce": {"path_mtu": "1KiB"}},
    }
    return int(pl.DataFrame(fabric(scenario).buffers(mtu_bytes))["headroom_bytes"][0])


class Cables:
    """Lengths and headroom of cables, and the differences from the scenario.

    ``switch`` is the resolved table of the scenario: its cells, or its own headroom. ``lookup`` is
    the device's table, if it is known.
    """

    def __init__(self, switch: Mapping[str, Any], lookup: LookupTable | None) -> None:
        self._cells = {"cells": switch["cells"]}
        self._lookup = lookup or {}
        self._lengths: dict[tuple[int, float], int] = {}
        self._headroom: dict[tuple[int, int], int] = {}
        self._missing: set[tuple[int, int]] = set()

    def length_m(self, rate_mbps: int, length_m: float) -> int:
        """Round a length up to one that the device's table, or every table, has for the rate."""
        place = (rate_mbps, length_m)
        if place in self._lengths:
            return self._lengths[place]
        of_rate = tuple(length for rate, length in self._lookup if rate == rate_mbps)
        rounded = self._lengths[place] = tabulated(length_m, of_rate or CABLES_M)
        if rounded not in (of_rate or CABLES_M) or (self._lookup and not of_rate):
            self._missing.add((rate_mbps, rounded))
        return rounded

    def headroom_bytes(self, rate_mbps: int, cable_m: int) -> int:
        """Return the table's headroom, otherwise the rule's."""
        place = (rate_mbps, cable_m)
        if place not in self._headroom:
            row = self._lookup.get(place)
            self._headroom[place] = row.xoff if row else headroom_bytes(*place, self._cells)
        return self._headroom[place]

    def notes(self, system: str) -> Iterator[str]:
        """Return what differs from the scenario in the files of a system; EOS names no cable."""
        if system == "eos":
            return
        tables = "SONiC's tables" if system == "sonic" else "vendors' tables of headroom"
        rounded = {(key, two) for (_, key), two in self._lengths.items() if key != two}
        changed = [f"{metres:g} m as {two} m" for metres, two in sorted(rounded)]
        if changed:
            yield f"cables: {', '.join(changed)}: {tables} know lengths of 5, 40 and 300 m"
        for rate, length in sorted(self._missing) if system == "sonic" else ():
            text = f"{length} m at {rate / 1000:g} Gb/s"
            yield f"cables: {text}: no table has it; expected a row in pg_profile_lookup.ini"
