"""Rules on consistency between switches, and with the scenario."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from etherweave.control.lint.classification import (
    DSCP,
    ECN,
    LOSSLESS,
    SHARES,
    PortProperty,
    differences,
    priorities,
)
from etherweave.control.lint.comparison import Peers, compare, majority
from etherweave.control.lint.config_db import ConfiguredPort, ConfiguredQueue, ConfiguredSwitch
from etherweave.control.lint.inputs import Configurations, LintFault, LintPlace, fabric_ports
from etherweave.control.lint.queues import limit_of, size_of
from etherweave.control.qos.policy import Policy

SWITCHES = Peers("switches", "as in most switches")


def switches(site: Configurations) -> Iterator[LintFault]:
    """Find switches whose maps of code points, or pauses, differ from most others'.

    Where the scenario is known, :func:`intent` compares with it.
    """
    yield from _between(site, (LOSSLESS, DSCP, SHARES))


def marked(site: Configurations) -> Iterator[LintFault]:
    """Find switches that mark nothing where others do."""
    yield from _between(site, (ECN,))


def _between(site: Configurations, compared: Sequence[PortProperty]) -> Iterator[LintFault]:
    """Compare the usual lossless port of each switch, where no scenario is known."""
    if site.fabric is not None:
        return
    ports = {id(switch.tables): _usual_port(switch.ports) for switch in site.switches}
    places, kinds = {}, {}
    for switch in site.switches:
        port = ports[id(switch.tables)]
        if port is not None:
            places[LintPlace(switch.file, switch.name)] = port
            kinds[switch.file] = port.name
    for fault in compare(places, compared, SWITCHES):
        yield fault._replace(place=kinds[fault.file])


def _usual_port(ports: Sequence[ConfiguredPort]) -> ConfiguredPort | None:
    """Return a port as most lossless ones of a switch are."""
    lossless = [port for port in ports if port.lossless]
    forms = _signatures(lossless)
    usual = Counter(forms).most_common(1)[0][0] if forms else None
    alike = (port for port, form in zip(lossless, forms, strict=True) if form == usual)
    return next(alike, None)


def _signatures(ports: Sequence[ConfiguredPort]) -> list[Hashable]:
    """Return what is compared of each port; those that are read alike share their maps."""
    keys = [(id(port.maps), id(port.queues), port.lossless) for port in ports]
    values = {
        key: tuple(setting.value(port) for setting in (LOSSLESS, DSCP, SHARES))
        for key, port in dict(zip(keys, ports, strict=True)).items()
    }
    return [values[key] for key in keys]


def expected_port(site: Configurations) -> tuple[ConfiguredPort, str] | None:
    """Return a port as all should be, and whose it is: the scenario's, or that of most switches."""
    if site.fabric is not None:
        return (_intended(site.fabric), "in the scenario") if site.fabric.is_pfc else None
    lossless = {
        id(node.tables): [port for port in node.ports if port.lossless] for node in site.switches
    }
    forms = {key: _signatures(ports) for key, ports in lossless.items()}
    usual = majority([form for switch in site.switches for form in forms[id(switch.tables)]])
    alike = (
        port
        for key, ports in lossless.items()
        for port, form in zip(ports, forms[key], strict=True)
        if form == usual
    )
    port = next(alike, None)
    return None if port is None else (port, "on most ports")


def _intended(fabric: Policy) -> ConfiguredPort:
    own = {priority.number: priority.number for priority in fabric.priorities}
    queue = {priority.number: priority.traffic_class for priority in fabric.priorities}
    groups = fabric.group_of_priority()
    lossless = frozenset(priority.number for priority in fabric.lossless)
    weights = {tc.number: tc.weight for tc in fabric.classes if tc.weight}
    return ConfiguredPort(
        name="",
        is_up=True,
        speed_mbps=None,
        mtu_bytes=fabric.mtu_bytes,
        length_m=None,
        channel=None,
        lossless=lossless,
        watched=lossless,
        has_watchdog=fabric.watchdog is not None,
        maps={
            "dscp_to_tc_map": fabric.priority_of_dscp(),
            "dot1p_to_tc_map": own,
            "tc_to_pg_map": groups,
            "tc_to_queue_map": queue,
            "pfc_to_pg_map": groups,
            "pfc_to_queue_map": queue,
        },
        groups={},
        queues={key: ConfiguredQueue("DWRR", weight, "") for key, weight in weights.items()},
    )


def present(site: Configurations) -> Iterator[LintFault]:
    """Find switches, their ports and hosts of the fabric without a configuration."""
    if site.fabric is None:
        return
    switches_known = {switch.name for switch in site.switches}
    hosts_known = {host.name for host in site.hosts}
    for kind, wanted, known in (
        ("switch", [switch.name for switch in site.fabric.switches], switches_known),
        ("host", [host.name for host in site.fabric.hosts], hosts_known),
    ):
        for name in wanted:
            if name not in known:
                text = f"no configuration of the {kind}"
                yield LintFault(site.fabric_file, name, text, f"a file of its own for each {kind}")
    ports = {(switch.name, port.name) for switch in site.switches for port in switch.ports}
    files = {switch.name: switch.file for switch in site.switches}
    for switch, port in fabric_ports(site):
        if (switch, port) not in ports:
            text = "no configuration of the port, or it is shut down"
            yield LintFault(files[switch], port, text, "a port that is up, as in the scenario")


def intent(site: Configurations) -> Iterator[LintFault]:
    """Find differences from the scenario of the configurations."""
    if site.fabric is None:
        return
    lossless = frozenset(level.number for level in site.fabric.lossless if site.fabric.is_pfc)
    wanted = replace(_intended(site.fabric), lossless=lossless)
    for switch in site.switches:
        for port in switch.ports:
            if not site.fabric.is_pfc:  # Without PFC, groups are the switch's own matter.
                groups = {"tc_to_pg_map": port.maps.get("tc_to_pg_map", {})}
                wanted = replace(wanted, maps={**wanted.maps, **groups})
            for what, first, other in differences(port, wanted):
                yield _unlike(switch.file, port.name, f"{what} {first}", other)
            for what, right in _queues(site.fabric, switch, port):
                yield _unlike(switch.file, port.name, what, right)
    yield from _rates(site)
    for host in site.hosts:
        if host.mtu_bytes not in (None, site.fabric.mtu_bytes):
            text, right = f"MTU {host.mtu_bytes}", f"{site.fabric.mtu_bytes}"
            yield _unlike(host.file, host.name, text, right)


STRICT = ("STRICT", "FIXED")
ROUNDED_BYTES = 1000  # Commands of switches take thresholds in kilobytes [B].


def _queues(
    fabric: Policy, switch: ConfiguredSwitch, port: ConfiguredPort
) -> Iterator[tuple[str, str]]:
    """Return queues that should have strict priority, and thresholds of ECN that differ."""
    for tc in fabric.classes if port.queues else ():
        queue = port.queues.get(tc.number)
        if tc.kind == "strict" and (queue is None or queue.kind not in STRICT):
            kind = queue.kind if queue else ""
            yield f"queue {tc.number} is {kind or 'without a scheduler'}", "strict priority"
    marking = fabric.marking
    if marking is None:
        return
    right = (("min", marking.minimum_bytes), ("max", marking.maximum_bytes))
    stopped = {port.queue_of(priority) for priority in port.lossless}
    for number in sorted(number for number in stopped if number is not None):
        queue = port.queues.get(number)
        profile = switch.tables.get("WRED_PROFILE", {}).get(queue.wred, {}) if queue else {}
        for side, expected in right:
            limit = limit_of(profile, "green", side)
            if limit and abs(limit - expected) >= ROUNDED_BYTES:
                yield f"ECN {side}imum of queue {number} is {limit} B", f"{expected} B"
        share = size_of(profile.get("green_drop_probability"))
        if share and share != marking.percent:
            yield f"ECN probability of queue {number} is {share} %", f"{marking.percent} %"


def _rates(site: Configurations) -> Iterator[LintFault]:
    """Find ports to hosts with another speed; :func:`~.consistency.ends` compares the others."""
    planned = fabric_ports(site)
    for switch in site.switches:
        for port in switch.ports:
            plan = planned.get((switch.name, port.name))
            if plan and plan.is_host and port.speed_mbps not in (None, plan.rate_mbps):
                text, right = f"speed {port.speed_mbps} Mb/s", f"{plan.rate_mbps} Mb/s"
                yield _unlike(switch.file, port.name, text, right)


def _unlike(file: str, place: str, text: str, expected: str) -> LintFault:
    return LintFault(file, place, text, f"{expected}, as in the scenario")


def deadlock(site: Configurations) -> Iterator[LintFault]:
    """Find ports with fewer groups and queues than the routing's deadlock proof needs."""
    fabric = site.fabric
    if fabric is None or not fabric.is_pfc or fabric.routing_priorities <= 1:
        return
    for switch in site.switches:
        for port in switch.ports:
            yield from _distinct(fabric, switch, port)


def _distinct(fabric: Policy, node: ConfiguredSwitch, port: ConfiguredPort) -> Iterator[LintFault]:
    needed = fabric.routing_priorities
    counted = frozenset(fabric.raised) or port.lossless
    for what, places in (
        ("priority groups", {port.group_of(priority) for priority in counted & port.lossless}),
        ("queues", {port.queue_of(priority) for priority in counted & port.lossless}),
    ):
        apart = len(places - {None})
        if apart < needed:
            own = priorities(counted & port.lossless)
            text = f"lossless priorities {own} have {apart} {what} of their own"
            expected = f"{needed}, which {fabric.routing} needs"
            yield LintFault(node.file, port.name, text, expected)
