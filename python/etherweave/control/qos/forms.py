"""Texts of devices that are alike but for names: written once, with marks where names stand.

In a large fabric, most switches have the same ports, rates, cables and headroom. What a system
writes for a switch of such a form is kept, and the names of others of the form are put into it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

from etherweave.control.qos.policy import HostPolicy, PortPolicy, SwitchPolicy

Texts: TypeAlias = Mapping[str, str]  # Texts by the name of the file.

MARK = "\ue000"
"""A character for private use (Unicode, 23.5): no name has it, and no text that is printable."""
OWN = MARK + MARK  # Where the name of the device stands.
FORMS = 64  # Forms that are kept: a fabric without regularity has as many as switches.

_PLACE = re.compile(f"{MARK}([0-9]*){MARK}(?: port 0)?")
_LIKE = (
    "number",
    "is_host",
    "rate_mbps",
    "length_m",
    "cable_m",
    "headroom_bytes",
    "bundle",
    "place",
)
"""Fields of a port that are no names."""


def switch_texts(
    write: Callable[[SwitchPolicy], Texts],
) -> Callable[[SwitchPolicy], Iterator[tuple[str, str]]]:
    """Make a function that gives the texts that ``write`` gives, but writes each form once.

    ``write`` puts the other end of a port as ``PEER port NUMBER``.
    """
    like = attrgetter(*_LIKE)

    @lru_cache(FORMS)
    def pieces(pool_bytes: int, ports: tuple[tuple[Any, ...], ...]) -> dict[str, list[str]]:
        form = tuple(
            PortPolicy(
                peer=f"{MARK}{port[0]}{MARK}", peer_port=0, **dict(zip(_LIKE, port, strict=True))
            )
            for port in ports
        )
        texts = write(SwitchPolicy(OWN, pool_bytes, form))
        return {name: _PLACE.split(text) for name, text in texts.items()}

    def texts(switch: SwitchPolicy) -> Iterator[tuple[str, str]]:
        ends = {str(port.number): f"{port.peer} port {port.peer_port}" for port in switch.ports}
        ends[""] = switch.name
        for name, parts in pieces(switch.pool_bytes, tuple(map(like, switch.ports))).items():
            yield name, _filled(parts, ends)

    return texts


def host_texts(write: Callable[[HostPolicy], str]) -> Callable[[HostPolicy], str]:
    """Make a function that gives the text that ``write`` gives, but writes it once."""
    pieces = lru_cache(1)(
        lambda: _PLACE.split(write(HostPolicy(OWN, switch=f"{MARK}0{MARK}", switch_port=0)))
    )
    return lambda host: _filled(
        pieces(), {"": host.name, "0": f"{host.switch} port {host.switch_port}"}
    )


def _filled(pieces: list[str], names: Mapping[str, str]) -> str:
    """Put names between pieces: every second one is the place of a name."""
    if len(pieces) == 1:
        return pieces[0]
    copy = pieces.copy()
    copy[1::2] = [names[place] for place in pieces[1::2]]
    return "".join(copy)
