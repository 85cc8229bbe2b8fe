"""Rules on PFC, priority groups, headroom and pools of lossless priorities, port by port."""

from collections.abc import Iterator
from functools import lru_cache

from etherweave import _core
from etherweave.control.lint.config_db import ConfiguredPort, ConfiguredSwitch, reference
from etherweave.control.lint.inputs import Configurations, LintFault
from etherweave.control.qos.nos import PORT_NAMES
from etherweave.control.qos.policy import FlowControl
from etherweave.fabrics import fabric

MTU_BYTES = 9100
"""SONiC's default [B]."""


def each(site: Configurations) -> Iterator[tuple[ConfiguredSwitch, ConfiguredPort]]:
    """Return the ports that have lossless priorities."""
    return ((switch, port) for switch in site.switches for port in switch.ports if port.lossless)


def enabled(site: Configurations) -> Iterator[LintFault]:
    """Find switches without PFC, and ports with other lossless priorities than most."""
    if site.fabric and site.fabric.flow_control is not FlowControl.PFC:
        return
    for switch in site.switches:
        sets = [port.lossless for port in switch.ports]
        usual = max(sets, key=sets.count, default=frozenset())
        if not any(sets):
            expected = "at least one priority in pfc_enable"
            yield LintFault(switch.file, "PORT_QOS_MAP", "PFC is enabled for no priority", expected)
            continue
        for port in switch.ports:
            if port.lossless != usual:
                found = f"PFC is enabled for {_listed(port.lossless)}"
                expected = f"{_listed(usual)}, as on most ports of the switch"
                yield LintFault(switch.file, port.name, found, expected)


def groups(site: Configurations) -> Iterator[LintFault]:
    """Find lossless priorities without a lossless priority group."""
    for switch, port in each(site):
        for priority in sorted(port.lossless):
            group = port.group_of(priority)
            if group is None:
                found = f"priority {priority} has no entry in pfc_to_pg_map"
                yield LintFault(switch.file, port.name, found, f"a priority group for {priority}")
                continue
            place = f"{port.name} priority group {group}"
            if group not in port.groups:
                found = f"no BUFFER_PG for lossless priority {priority}"
                yield LintFault(switch.file, place, found, "a profile with xoff")
                continue
            profile = port.groups[group]
            if profile is not None and profile.xoff_bytes == 0:
                found = f"profile {profile.name} of lossless priority {priority} has no xoff"
                yield LintFault(switch.file, place, found, "a profile with xoff, the headroom")


def headroom(site: Configurations) -> Iterator[LintFault]:
    """Find headroom below what the link can still send after a pause."""
    needs = _needs(site)
    for switch, port in each(site):
        known = needs.get((switch.name, port.name))
        need = known if known is not None else _least(port)
        if need is None:
            continue
        for priority in sorted(port.lossless):
            profile = port.groups.get(port.group_of(priority) or 0)
            if profile is None or profile.xoff_bytes == 0:
                continue
            if profile.xoff_bytes < need:
                found = f"xoff of {profile.name} is {profile.xoff_bytes} B"
                expected = f"at least {need} B at {_link(port)}"
                yield LintFault(switch.file, f"{port.name} priority {priority}", found, expected)


def _needs(site: Configurations) -> dict[tuple[str, str], int]:
    """Return the headroom of the fabric's scenario, by switch and port."""
    if site.fabric is None:
        return {}
    name = PORT_NAMES["sonic"]
    return {
        (switch.name, name(switch, port.number)): port.headroom_bytes
        for switch in site.fabric.switches
        for port in switch.ports
    }


def _least(port: ConfiguredPort) -> int | None:
    if not port.speed_mbps or port.length_m is None:
        return None
    try:
        return headroom_bytes(port.speed_mbps, port.length_m, port.mtu_bytes or MTU_BYTES)
    except (_core.ScenarioError, OverflowError):
        return None


def _link(port: ConfiguredPort) -> str:
    speed = f"{(port.speed_mbps or 0) / 1000:g} Gb/s"
    length = "an unknown length" if port.length_m is None else f"{port.length_m} m"
    return f"{speed}, {length}, MTU {port.mtu_bytes or MTU_BYTES}"


def cables(site: Configurations) -> Iterator[LintFault]:
    """Find lossless ports without a cable length, on which headroom depends."""
    for switch, port in each(site):
        if not port.length_m:
            found = "no cable length" if port.length_m is None else "a cable of 0 m"
            expected = "its length in CABLE_LENGTH, as 5m"
            yield LintFault(switch.file, port.name, found, expected)


def orphans(site: Configurations) -> Iterator[LintFault]:
    """Find headroom of groups whose priorities are not paused."""
    for switch in site.switches:
        for port in switch.ports:
            paused = {port.group_of(priority) for priority in port.lossless}
            for group, profile in port.groups.items():
                if profile is not None and profile.xoff_bytes and group not in paused:
                    found = f"priority group {group} has xoff, but PFC is off for its priority"
                    place = f"{port.name} priority group {group}"
                    yield LintFault(switch.file, place, found, "PFC on, or a profile without xoff")


def pools(site: Configurations) -> Iterator[LintFault]:
    """Find groups in pools of the egress, and queues in pools of the ingress."""
    sides = (("BUFFER_PG", "egress"), ("BUFFER_QUEUE", "ingress"))
    for switch in site.switches:
        kinds = {
            name: one.get("type") for name, one in switch.tables.get("BUFFER_POOL", {}).items()
        }
        profiles = switch.tables.get("BUFFER_PROFILE", {})
        for table, wrong in sides:
            for key, entry in switch.tables.get(table, {}).items():
                name = reference(entry.get("profile", ""))
                pool = reference(profiles.get(name, {}).get("pool", ""))
                if kinds.get(pool) == wrong:
                    found = f"profile {name} uses {pool}, a pool of the {wrong}"
                    right = "ingress" if wrong == "egress" else "egress"
                    yield LintFault(switch.file, f"{table}|{key}", found, f"a pool of the {right}")


def _listed(priorities: frozenset[int]) -> str:
    return ", ".join(str(one) for one in sorted(priorities)) or "no priority"


AMPLE = "1GiB"
"""Memory of a switch whose memory is not the question."""


@lru_cache(maxsize=1024)
def headroom_bytes(rate_mbps: int, length_m: int, mtu_bytes: int) -> int:
    """Return the headroom of a port: what arrives after it has decided to pause its peer.

    Parameters
    ----------
    rate_mbps
        Of the link [Mb/s].
    length_m
        Of the cable [m].
    mtu_bytes
        The largest packet above Ethernet [B].

    Returns
    -------
    int
        Headroom of each lossless priority [B].

    Raises
    ------
    ScenarioError
        When no link has such a rate or length.
    """
    import polars as pl

    link: dict[str, object] = {"hosts": 2, "rate": f"{rate_mbps}Mb/s", "cable": f"{length_m}m"}
    scenario = {
        "topology": {"single_switch": link},
        "switch": {"buffer": AMPLE, "latency": "0ns"},
        "nic": {"transmit_latency": "0ns"},
    }
    return int(pl.DataFrame(fabric(scenario).buffers(mtu_bytes))["headroom_bytes"][0])
