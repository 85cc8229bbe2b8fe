"""Rules on PFC, priority groups, headroom and pools of lossless priorities, port by port."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

from etherweave import _core
from etherweave.control.lint import classification
from etherweave.control.lint.comparison import Peers, compare
from etherweave.control.lint.config_db import ConfiguredPort, ConfiguredSwitch, reference
from etherweave.control.lint.inputs import Configurations, LintFault, LintPlace, fabric_ports
from etherweave.control.lint.port_settings import PAUSES
from etherweave.control.lint.systems import SONIC
from etherweave.control.qos.devices import GENERIC, headroom_bytes
from etherweave.control.qos.policy import FlowControl

FRAME_BYTES = 1500
"""Largest lossless frames where nothing says more: RoCE's packets are shorter [B]."""
PORTS = Peers("ports", "as on most ports of the switch")
SERVICE_PORTS = 3  # The most slow ports for service that a SKU of SONiC has beside its fast ones.


def each(site: Configurations) -> Iterator[tuple[ConfiguredSwitch, ConfiguredPort]]:
    """Return the ports that have lossless priorities."""
    return ((switch, port) for switch in site.switches for port in switch.ports if port.lossless)


def enabled(site: Configurations) -> Iterator[LintFault]:
    """Find switches without PFC, and ports with other lossless priorities than most.

    Where the scenario is known, :func:`~etherweave.control.lint.agreement.intent` compares with it.
    """
    if site.fabric is not None:
        return
    for switch in site.switches:
        if not any(port.lossless for port in switch.ports):
            if any("pause" in port for port in switch.tables.get("PORT", {}).values()):
                continue  # 802.3x, which another rule checks.
            expected = f"at least one priority in {switch.system.terms['pfc']}"
            yield LintFault(switch.file, switch.name, "PFC is enabled for no priority", expected)
            continue
        apart = _apart(switch)
        inside = (port for port in switch.ports if port.name not in apart)
        yield from compare(ports_of(switch, inside), (classification.PFC,), PORTS)


def classified(site: Configurations) -> Iterator[LintFault]:
    """Find lossless ports that put packets into other classes than most of a switch do."""
    yield from _unlike(site, (classification.DSCP, classification.PCP))


def scheduled(site: Configurations) -> Iterator[LintFault]:
    """Find lossless ports with other weights of queues than most of a switch have."""
    yield from _unlike(site, (classification.SHARES,))


def _unlike(
    site: Configurations, compared: tuple[classification.PortProperty, ...]
) -> Iterator[LintFault]:
    """Compare lossless ports, if there are any, where no scenario is known."""
    for switch in site.switches if site.fabric is None else ():
        ports = [port for port in switch.ports if port.lossless] or switch.ports
        known = (port for port in ports if classification.is_classified(port))
        yield from compare(ports_of(switch, known), compared, PORTS)


def ports_of(
    switch: ConfiguredSwitch, ports: Iterable[ConfiguredPort]
) -> Mapping[LintPlace, ConfiguredPort]:
    """Return ports of a switch by their places."""
    return {LintPlace(switch.file, port.name): port for port in ports}


def paused(site: Configurations) -> Iterator[LintFault]:
    """Find 802.3x pauses beside PFC, and ports without them where others have them."""
    is_global = site.fabric is not None and site.fabric.flow_control is FlowControl.GLOBAL_PAUSE
    for switch in site.switches:
        table = switch.tables.get("PORT", {})
        pauses = {port.name: table.get(port.name, {}).get("pause", "") for port in switch.ports}
        counts = Counter(pauses.values())
        is_usual = is_global or 2 * counts[PAUSES] > len(pauses)
        for port in switch.ports:
            own = pauses[port.name]
            if own and port.lossless:
                expected = "off: it stops all priorities"
                yield LintFault(switch.file, port.name, "802.3x pause is on beside PFC", expected)
            elif own != PAUSES and is_usual and not port.lossless:
                text = f"802.3x pause is {f'on to {own} only' if own else 'off'}"
                expected = "send and receive, as " + ("in the scenario" if is_global else "others")
                yield LintFault(switch.file, port.name, text, expected)


def policed(site: Configurations) -> Iterator[LintFault]:
    """Find policy maps that drop frames of a lossless priority, or give them another mark."""
    for switch, port in each(site):
        table = switch.tables.get("POLICY")
        if not table:
            continue
        classes = port.maps.get("dscp_to_tc_map", {})
        groups = port.maps.get("tc_to_pg_map", {})
        lossless = {port.group_of(priority) for priority in port.lossless}
        right = {first for first, other in classes.items() if groups.get(other) in lossless}
        for dscp in sorted(right):
            for what, value in table.get(f"{port.name}|{dscp}", {}).items():
                if what == "police":
                    text = f"a policy polices lossless DSCP {dscp}: {value}"
                    yield LintFault(switch.file, port.name, text, "no police for lossless frames")
                elif int(value) not in right:
                    text = f"a policy sets lossless DSCP {dscp} to {value}, which is lossy"
                    yield LintFault(switch.file, port.name, text, "the DSCP as it is")


def _apart(switch: ConfiguredSwitch) -> set[str]:
    """Return ports within the device, and the few slower ones for service without settings."""
    bound = {name for key in switch.tables.get("PORT_QOS_MAP", {}) for name in key.split(",")}
    slowest = min(port.speed_mbps or 0 for port in switch.ports if port.lossless)
    inner = {port.name for port in switch.ports if not _is_external(switch, port)}
    slow = {
        port.name
        for port in switch.ports
        if bound and port.name not in bound and (port.speed_mbps or slowest) < slowest
    }
    return inner | (slow if len(slow) <= SERVICE_PORTS else set())


def _is_external(switch: ConfiguredSwitch, port: ConfiguredPort) -> bool:
    return bool(switch.tables.get("PORT", {}).get(port.name, {}).get("role", "Ext") == "Ext")


def groups(site: Configurations) -> Iterator[LintFault]:
    """Find lossless priorities without a lossless priority group."""
    written = {node.file for node in site.switches if any(map(_has_lossless_group, node.ports))}
    for switch, port in each(site):
        terms = switch.system.terms
        for priority in sorted(port.lossless):
            group = port.group_of(priority)
            if group is None:
                text = f"priority {priority} has no entry in pfc_to_pg_map"
                yield LintFault(switch.file, port.name, text, f"a priority group for {priority}")
                continue
            place = f"{port.name} priority group {group}"
            if group not in port.groups:
                if switch.file not in written and port.length_m:
                    continue  # buffermgrd makes it from PORT_QOS_MAP, CABLE_LENGTH and its table.
                text = f"no {terms['group']} for lossless priority {priority}"
                yield LintFault(switch.file, place, text, terms["lossless"])
                continue
            profile = port.groups[group]
            if profile is not None and profile.xoff_bytes == 0:
                text = f"lossless priority {priority} has no headroom in {profile.name}"
                yield LintFault(switch.file, place, text, terms["lossless"])


def unbuffered(site: Configurations) -> Iterator[LintFault]:
    """Find marks that lead to a priority group without a buffer; lossless groups are others'."""
    written = {
        node.file: set().union(*(port.groups for port in node.ports)) for node in site.switches
    }
    for switch, port in each(site):
        known = written[switch.file]
        if not known or not classification.is_classified(port):
            continue
        served = {*port.groups, *(port.group_of(priority) for priority in port.lossless)}
        served |= {0} - known  # SKUs without a buffer for any group 0 leave it to the chip.
        lost: dict[int, list[str]] = {}
        for kind, classes in (
            ("DSCP", classification.dscp_classes(port)),
            ("802.1p", classification.pcp_classes(port)),
        ):
            by_group: dict[int, list[int]] = {}
            for mark, (group, _) in classification.places(port, classes).items():
                if group is not None and group not in served:
                    by_group.setdefault(group, []).append(mark)
            for group, marks in by_group.items():
                lost.setdefault(group, []).append(f"{kind} {classification.span_of(marks)}")
        for group, named in sorted(lost.items()):
            holder = switch.system.terms["group"]
            text = f"{named[0]} is in priority group {group}, which has no {holder}"
            place = f"{port.name} priority group {group}"
            yield LintFault(
                switch.file, place, text, f"a {holder} with a profile, or another group"
            )


def _has_lossless_group(port: ConfiguredPort) -> bool:
    return any(profile is None or profile.xoff_bytes for profile in port.groups.values())


def headroom(site: Configurations) -> Iterator[LintFault]:
    """Find headroom below what the link can still send after a pause."""
    planned = fabric_ports(site)
    for switch, port in each(site):
        plan = planned.get((switch.name, port.name))
        known = plan.headroom_bytes if plan else None
        frame = _frame_bytes(switch)
        need = known if known is not None else _least(port, frame)
        if need is None:
            continue
        for priority in sorted(port.lossless):
            profile = port.groups.get(port.group_of(priority) or 0)
            if profile is None or profile.xoff_bytes == 0:
                continue
            if profile.xoff_bytes < need:
                named = switch.system.terms.get("xoff", "headroom")
                text = f"{named} of {profile.name} is {profile.xoff_bytes} B"
                expected = f"at least {need} B at {_link(port, known is None, frame)}"
                yield LintFault(switch.file, f"{port.name} priority {priority}", text, expected)


def _frame_bytes(switch: ConfiguredSwitch) -> int:
    """Return the largest lossless frame that the switch computes with [B]."""
    patterns = switch.tables.get("LOSSLESS_TRAFFIC_PATTERN", {}).values()
    sizes = (str(pattern.get("mtu", "")) for pattern in patterns)
    said = (int(size) for size in sizes if size.isascii() and size.isdecimal() and len(size) <= 5)
    return min(max(said, default=FRAME_BYTES), 9216)


def _least(port: ConfiguredPort, frame_bytes: int) -> int | None:
    if not port.speed_mbps or port.length_m is None:
        return None
    return _headroom_bytes(port.speed_mbps, port.length_m, max(frame_bytes, FRAME_BYTES))


@lru_cache(maxsize=1024)
def _headroom_bytes(rate_mbps: int, length_m: int, frame_bytes: int) -> int | None:
    """Return what no switch can do without; nothing if no link has such a rate or length."""
    try:
        return headroom_bytes(rate_mbps, length_m, {"profile": GENERIC}, frame_bytes)
    except (_core.ScenarioError, OverflowError):
        return None


def _link(port: ConfiguredPort, is_least: bool, frame_bytes: int) -> str:
    speed = f"{port.speed_mbps / 1000:g} Gb/s" if port.speed_mbps else "the scenario's rate"
    length = "an unknown length" if port.length_m is None else f"{port.length_m} m"
    return f"{speed}, {length}" + (f", lossless frames of {frame_bytes} B" if is_least else "")


def cables(site: Configurations) -> Iterator[LintFault]:
    """Find lossless ports without a cable length, on which headroom depends."""
    planned = fabric_ports(site)
    lengths = {
        node.file for node in site.switches if any(port.length_m is not None for port in node.ports)
    }
    for switch, port in each(site):
        if "cable" not in switch.system.terms:
            continue
        if not port.length_m:
            if not _is_external(switch, port):
                continue  # Cable within a host, as to a DPU.
            if port.length_m is None and switch.file not in lengths and _has_lossless_group(port):
                continue  # Groups are written out, and nothing follows from the cable.
            text = "no cable length" if port.length_m is None else "a cable of 0 m"
            yield LintFault(switch.file, port.name, text, switch.system.terms["cable"])
            continue
        plan = planned.get((switch.name, port.name))
        if plan is not None and port.length_m < plan.length_m:
            text = f"a cable of {port.length_m} m"
            expected = f"{plan.length_m:g} m, as in the scenario"
            yield LintFault(switch.file, port.name, text, expected)


def asymmetric(site: Configurations) -> Iterator[LintFault]:
    """Find lossless ports with asymmetric PFC, which answer pauses of all priorities."""
    for switch, port in each(site):
        if switch.tables.get("PORT", {}).get(port.name, {}).get("pfc_asym", "off") != "off":
            term = switch.system.terms.get("asymmetric", "asymmetric PFC")
            yield LintFault(switch.file, port.name, term, "pauses both ways, as at the peer")


def orphans(site: Configurations) -> Iterator[LintFault]:
    """Find headroom of groups whose priorities are not paused."""
    for switch in site.switches:
        for port in switch.ports:
            paused = {port.group_of(priority) for priority in port.lossless}
            for group, profile in port.groups.items():
                if profile is not None and profile.xoff_bytes and group not in paused:
                    text = f"priority group {group} has xoff, but PFC is off for its priority"
                    place = f"{port.name} priority group {group}"
                    yield LintFault(switch.file, place, text, "PFC on, or a profile without xoff")


def pools(site: Configurations) -> Iterator[LintFault]:
    """Find pools and profiles without what they need, and those in pools of the other side."""
    for switch in site.switches:
        yield from _incomplete(switch)
        yield from _incomplete_profiles(switch)
    yield from _sides(site)


MODES = ("static", "dynamic")
SIDES = ("ingress", "egress", "both")  # Values of BUFFER_POOL; ``both`` is Innovium's.


def _incomplete(switch: ConfiguredSwitch) -> Iterator[LintFault]:
    """Find pools that the switch cannot make; of Onyx, the command has all that a pool needs."""
    is_dynamic = "DEFAULT_LOSSLESS_BUFFER_PARAMETER" in switch.tables
    for name, pool in switch.tables.get("BUFFER_POOL", {}).items():
        place = switch.system.place("BUFFER_POOL", name)
        for field, known in (("mode", MODES), ("type", SIDES)):
            value = str(pool.get(field, ""))[:20]
            if switch.system is SONIC and value not in known:
                text = f"{field} is {value}" if value else f"no {field}"
                yield LintFault(switch.file, place, text, f"one of {', '.join(known)}")
        size = str(pool.get("size", ""))
        if not (size.isascii() and size.isdecimal() and size.strip("0")) and not is_dynamic:
            text = f"size is {size[:20]}" if size else "no size"
            yield LintFault(switch.file, place, text, "a size in bytes")


EXPONENT_MAX = 8
"""A dynamic threshold is 2^n of the free pool, n from -8 to 8 (mmuconfig of SONiC)."""


def _incomplete_profiles(switch: ConfiguredSwitch) -> Iterator[LintFault]:
    """Find profiles without size or threshold, unless the switch computes their headroom."""
    for name, profile in switch.tables.get("BUFFER_PROFILE", {}).items():
        if switch.system is not SONIC or profile.get("headroom_type") == "dynamic":
            continue
        place = switch.system.place("BUFFER_PROFILE", name)
        if not str(profile.get("size", "")):
            yield LintFault(switch.file, place, "no size", "its reserve in bytes, or 0")
        if not any(str(profile.get(key, "")) for key in ("dynamic_th", "static_th")):
            expected = "dynamic_th or static_th, its part of the pool"
            yield LintFault(switch.file, place, "no threshold", expected)
        exponent = str(profile.get("dynamic_th", ""))
        if exponent and not _is_exponent(exponent):
            expected = f"a whole number from -{EXPONENT_MAX} to {EXPONENT_MAX}"
            yield LintFault(switch.file, place, f"dynamic_th is {exponent[:20]}", expected)


def _is_exponent(text: str) -> bool:
    return text.isascii() and text.removeprefix("-") in map(str, range(EXPONENT_MAX + 1))


def _sides(site: Configurations) -> Iterator[LintFault]:
    """Find groups in pools of the egress, and queues in pools of the ingress.

    Where both are found, the chip has one memory for both, as Marvell's and Innovium's in SONiC.
    """
    sides = (("BUFFER_PG", "egress"), ("BUFFER_QUEUE", "ingress"))
    for switch in site.switches:
        kinds = {
            name: pool.get("type") for name, pool in switch.tables.get("BUFFER_POOL", {}).items()
        }
        profiles = switch.tables.get("BUFFER_PROFILE", {})
        faults: dict[str, list[LintFault]] = {table: [] for table, _ in sides}
        for table, wrong in sides:
            right = "ingress" if wrong == "egress" else "egress"
            for key, entry in switch.tables.get(table, {}).items():
                name = reference(entry.get("profile", ""))
                pool = reference(profiles.get(name, {}).get("pool", ""))
                if kinds.get(pool) == wrong:
                    text = f"profile {name} uses {pool}, a pool of the {wrong}"
                    place = f"{table}|{key}"
                    faults[table].append(
                        LintFault(switch.file, place, text, f"a pool of the {right}")
                    )
        if not all(faults.values()):
            yield from chain.from_iterable(faults.values())
