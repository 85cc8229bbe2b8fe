"""Front panels of switches: which cage, and which part of it, each port has.

A panel is its cages from the left, as ``48x100G-2,8x400G``: how many, their rate, and after a
hyphen their lanes where a cage of that rate usually has others. A port takes the first cage of its
rate that is left; where none is, faster cages are broken out, the slowest of them first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TypeAlias

from etherweave.control.qos.policy import CagePort, PolicyError, SwitchPolicy

LANES = {1: 1, 10: 1, 25: 1, 40: 4, 50: 1, 100: 4, 200: 4, 400: 8, 800: 8}
"""Lanes of a cage by its rate [Gb/s]: SFP28 and SFP56, QSFP28 and QSFP56, QSFP-DD and OSFP."""
BREAKOUTS = (1, 2, 4, 8)  # Numbers of ports of a cage.
CAGES_MAX = 512  # Cages of a switch.
_PART = re.compile(r"(\d{1,3})x(\d{1,3})G(?:-([1248]))?")


@dataclass(frozen=True, slots=True)
class Cage:
    """A cage of a front panel."""

    number: int  # Number on the front, from 1.
    rate_mbps: int
    lanes: int
    first_lane: int  # First of its lanes on the switch, from 0.


Panel: TypeAlias = tuple[Cage, ...]
Panels: TypeAlias = Mapping[str, Panel]  # Panels by the pattern of their switches' names.


def panels(texts: Iterable[str]) -> Panels:
    """Read ``[SWITCHES=]PANEL``, as ``leaf*=48x100G-2,8x400G``; without switches it is all's.

    Raises ``PolicyError`` when a text has another form.
    """
    every: dict[str, Panel] = {}
    for text in texts:
        pattern, _, cages = text.rpartition("=")
        if (pattern or "*") in every:
            raise PolicyError(f"{text}: a second panel of {pattern or '*'}; expected one each")
        every[pattern or "*"] = panel(cages)
    return every


def panel(text: str) -> Panel:
    """Read the cages of a panel.

    Raises ``PolicyError`` when it has another form.
    """
    cages: list[Cage] = []
    lane = 0
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None or int(match[2]) not in LANES:
            rates = ", ".join(map(str, LANES))
            expected = f"cages as 48x100G-2,8x400G, of {rates} Gb/s"
            raise PolicyError(f"--front-panel {part!r}: expected {expected}")
        lanes = int(match[3] or LANES[int(match[2])])
        for _ in range(int(match[1])):
            cages.append(Cage(len(cages) + 1, int(match[2]) * 1000, lanes, lane))
            lane += lanes
    if not 0 < len(cages) <= CAGES_MAX:
        raise PolicyError(f"--front-panel {text}: expected 1 to {CAGES_MAX} cages")
    return tuple(cages)


def placed(switches: Iterable[SwitchPolicy], panels: Panels) -> tuple[SwitchPolicy, ...]:
    """Give the ports of switches that have a panel their cages.

    Raises ``PolicyError`` when a panel has too few cages, or no switch has a panel's name.
    """
    places = lru_cache(64)(_places)
    rows = []
    used = set()
    for switch in switches:
        pattern = next((key for key in panels if fnmatchcase(switch.name, key)), None)
        if pattern is None:
            rows.append(switch)
            continue
        used.add(pattern)
        own = places(panels[pattern], tuple(port.rate_mbps for port in switch.ports))
        if isinstance(own, str):
            raise PolicyError(f"--front-panel: {switch.name} has {own}")
        ports = (replace(port, place=place) for port, place in zip(switch.ports, own, strict=True))
        rows.append(replace(switch, ports=tuple(ports)))
    if idle := [key for key in panels if key not in used]:
        last = f"; expected names as {rows[0].name}" if rows else ""
        raise PolicyError(f"--front-panel {idle[0]}: no other switch has such a name{last}")
    return tuple(rows)


def _places(panel: Panel, rates_mbps: tuple[int, ...]) -> list[CagePort] | str:
    """Return the places of ports, or what is too much; the fastest ports choose first."""
    free = list(panel)
    places: dict[int, CagePort] = {}
    for rate in sorted(set(rates_mbps), reverse=True):
        own = [at for at, other in enumerate(rates_mbps) if other == rate]
        taken = dict(zip(own, _parts(free, rate), strict=False))
        if len(taken) < len(own):
            return f"{len(own)} ports of {rate / 1000:g} Gb/s; expected at most {len(taken)}"
        places |= taken
    return [places[at] for at in range(len(rates_mbps))]


def _parts(free: list[Cage], rate_mbps: int) -> Iterator[CagePort]:
    """Return places of a rate, and take their cages."""
    able = [cage for cage in free if _breakout(cage, rate_mbps) in BREAKOUTS]
    for cage in sorted(able, key=lambda cage: cage.rate_mbps):
        free.remove(cage)
        legs = cage.rate_mbps // rate_mbps
        for leg in range(legs):
            yield CagePort(cage.number, cage.first_lane, cage.lanes, legs, leg)


def _breakout(cage: Cage, rate_mbps: int) -> int:
    """Return how many ports of a rate a cage has; 0: none."""
    legs, rest = divmod(cage.rate_mbps, rate_mbps)
    return 0 if rest or not legs or cage.lanes % legs else legs


def breakout_notes(switches: Iterable[SwitchPolicy]) -> Iterator[str]:
    """Name the breakouts of SONiC's switches, which are made before a configuration is loaded."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for switch in switches:
        modes = dict.fromkeys(
            f"Ethernet{port.place.first_lane} {port.place.legs}x{port.rate_mbps // 1000}G"
            for port in switch.ports
            if port.place and port.place.legs > 1
        )
        if modes:
            alike.setdefault(tuple(modes), []).append(switch.name)
    for cages, names in alike.items():
        others = f" and {len(names) - 1} others" if len(names) > 1 else ""
        commands = ", ".join(cages)
        yield f"{names[0]}{others}: `config interface breakout` first: {commands}"
