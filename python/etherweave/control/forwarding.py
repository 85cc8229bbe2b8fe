"""The last three tables: services, the flow table of the design, and priorities that rules write.

Services are address resolution, and the pause vector for all other packets.

The responder computes the answer to an ARP request in the first switch: the address bits of the
IPv4 address are those of the MAC address. It replies for addresses that the plan gives to hosts,
not for probes, and forwards no request. With a fabric manager, the first switch hands requests to
its controller instead, and forwards none either.

The vector has a bit for every port that conditional rules depend on: one changed rule per pause,
whatever the number of conditional rules; with a vector per class, one rule per 802.1Q priority.
Packets that no pause may divert never get it.

A frame to a group leaves by every port of a tree except the port of entry, so every host receives
it once, whichever group it is for.

A conditional rule is active while its port's bit of the metadata is zero. A packet that may find
all its rules inactive finds the first of them again, behind all others and without its condition:
it waits for its default port, as ``FlowTable::lookup`` of the core decides.

Where rules write the priority of lossless packets (section V-E), they write its place into the
metadata and send later, and the last table changes the tag of those that have another one.
"""

from collections.abc import Iterator

from etherweave.control import rules
from etherweave.control.admission import ARP, GROUP_BIT, arp_meter, tag

BROADCAST = 0xFFFFFFFFFFFF
UNICAST = 0x020000000000  # A MAC address whose address bits are zero.
CLASSES = range(8)  # Priorities of IEEE 802.1Q.
_FIRST = 0xFFFF  # The highest priority of a rule.


def services(site: rules.SwitchDesign) -> Iterator[rules.FlowRule]:
    """Yield the rules of the third table."""
    if site.spec.resolution != "broadcast":
        yield from _resolution(site)
    yield from pauses(site)


def pauses(site: rules.SwitchDesign) -> Iterator[rules.FlowRule]:
    """Yield the rules that write the pause vector, while nothing is paused."""
    if site.spec.pauses == "class" and site.pause_bits:
        yield from (pause_rule(site.pause_bits, frozenset(), priority) for priority in CLASSES)
    yield pause_rule(site.pause_bits, frozenset(), None)


def pause_rule(
    bits: dict[int, int], paused: frozenset[int], priority: int | None
) -> rules.FlowRule:
    """Write the rule that adds the pause vector to packets of a priority.

    ``bits`` has the metadata bit of every port that rules depend on. ``priority`` is of IEEE
    802.1Q; ``None``: packets without a tag, and all packets where classes do not count.
    """
    mask = sum(1 << bit for bit in bits.values())
    value = sum(1 << bits[port] for port in paused if port in bits)
    return rules.FlowRule(
        *(rules.SERVICE_TABLE, 0 if priority is None else 1),
        () if priority is None else tag(priority),
        (),
        (*((rules.WriteMetadata(value, mask),) if mask else ()), rules.GoTo(rules.FORWARD_TABLE)),
        rules.Purpose.PAUSE_VECTOR,
    )


def _resolution(site: rules.SwitchDesign) -> Iterator[rules.FlowRule]:
    request = (rules.MatchField("eth_type", ARP), rules.MatchField("arp_op", 1))
    probe = (*request, rules.MatchField("arp_spa", 0))
    yield rules.FlowRule(rules.SERVICE_TABLE, 300, probe, (), (), rules.Purpose.RESOLVE)
    if site.spec.resolution == "manager":
        meter = rules.UseMeter(arp_meter(site).number)
        answer: tuple[rules.Action, ...] = (rules.Output(rules.CONTROLLER),)
        yield rules.FlowRule(
            rules.SERVICE_TABLE, 290, request, answer, (meter,), rules.Purpose.RESOLVE
        )
    else:
        answer = tuple(_answer(site.address_bits))
        for pattern in site.known:
            match = (*request, _target(site, pattern))
            yield rules.FlowRule(rules.SERVICE_TABLE, 290, match, answer, (), rules.Purpose.RESOLVE)
        yield rules.FlowRule(rules.SERVICE_TABLE, 285, request, (), (), rules.Purpose.RESOLVE)
    lost = (rules.MatchField("eth_dst", BROADCAST), rules.MatchField("eth_type", ARP))
    yield rules.FlowRule(rules.SERVICE_TABLE, 280, lost, (), (), rules.Purpose.RESOLVE)


def _target(site: rules.SwitchDesign, pattern: rules.AddressPattern) -> rules.MatchField:
    """Match the IPv4 addresses of a pattern of MAC addresses."""
    network = site.spec.network
    assert network is not None, "the core rejects a responder without addresses"
    low = (1 << site.address_bits) - 1
    value = int(network.network_address) | pattern.value & low
    mask = pattern.mask & low | (0xFFFFFFFF ^ low)
    return rules.MatchField("arp_tpa", value, mask)


def _answer(bits: int) -> Iterator[rules.Move | rules.SetField | rules.Output]:
    """Turn a request into its reply (RFC 826, "packet reception")."""
    yield rules.Move("eth_src", 0, "eth_dst", 0, 48)
    yield rules.SetField("eth_src", UNICAST)
    yield rules.Move("arp_tpa", 0, "eth_src", 0, bits)
    yield rules.SetField("arp_op", 2)
    yield rules.Move("arp_sha", 0, "arp_tha", 0, 48)
    yield rules.SetField("arp_sha", UNICAST)
    yield rules.Move("arp_tpa", 0, "arp_sha", 0, bits)
    yield rules.Move("arp_tpa", 0, "reg0", 0, 32)
    yield rules.Move("arp_spa", 0, "arp_tpa", 0, 32)
    yield rules.Move("reg0", 0, "arp_spa", 0, 32)
    yield rules.Output(rules.IN_PORT)


def groups(site: rules.SwitchDesign) -> tuple[rules.Group, ...]:
    """Return a group for every set of several ports."""
    sets = dict.fromkeys(entry.ports for entry in site.entries if len(entry.ports) > 1)
    return tuple(rules.Group(number, ports) for number, ports in enumerate(sets, start=1))


def forwarding(site: rules.SwitchDesign) -> Iterator[rules.FlowRule]:
    """Yield the rules of the last two tables."""
    several = rules.MatchField("eth_dst", GROUP_BIT, GROUP_BIT)
    outputs = tuple(rules.Output(port) for port in site.tree_ports)
    yield rules.FlowRule(
        rules.FORWARD_TABLE, _FIRST, (several,), outputs, (), rules.Purpose.BROADCAST
    )
    numbers = {group.ports: group.number for group in groups(site)}
    bits = site.pause_bits
    factory = {host.port: site.factory[host.name] for host in site.hosts if site.factory}
    above = 1 + max((entry.priority for entry in site.entries if entry.waits), default=0)
    for entry in site.entries:
        actions, onward = _sent(entry, _actions(entry.ports, numbers, factory))
        purpose = rules.Purpose.ALTERNATIVE if entry.is_alternative else rules.Purpose.FORWARD
        match, place = _addresses(entry), above + entry.priority
        condition = _condition(entry, bits)
        yield rules.FlowRule(
            rules.FORWARD_TABLE, place, (*condition, *match), actions, onward, purpose
        )
        if entry.waits:
            yield rules.FlowRule(
                rules.FORWARD_TABLE, entry.priority, match, actions, onward, rules.Purpose.WAIT
            )
    if site.is_class_written:
        yield from _classes(site.spec.priorities)


def _sent(
    entry: rules.TableEntry, actions: tuple[rules.Action, ...]
) -> tuple[tuple[rules.Action, ...], tuple[rules.Instruction, ...]]:
    """Send at once, or after the last table if the rule writes the priority of lossless packets."""
    if not entry.written:
        return actions, ()
    place = (entry.written - 1) << rules.CLASS_BIT
    written = (rules.WriteMetadata(place, rules.CLASS_MASK),) if place else ()
    return (), (rules.WriteActions(actions), *written, rules.GoTo(rules.CLASS_TABLE))


def _classes(priorities: tuple[int, ...]) -> Iterator[rules.FlowRule]:
    """Change the tag of lossless packets that have another priority than their rule wrote."""
    for place, after in enumerate(priorities):
        written = rules.MatchField("metadata", place << rules.CLASS_BIT, rules.CLASS_MASK)
        for before in (priority for priority in priorities if priority != after):
            match, step = (written, *tag(before)), rules.SetField("vlan_pcp", after)
            yield rules.FlowRule(rules.CLASS_TABLE, 1, match, (step,), (), rules.Purpose.PRIORITY)
    # All others stay as they are; without a rule they would be dropped.
    kept = rules.WriteMetadata(0, rules.CLASS_MASK)
    yield rules.FlowRule(rules.CLASS_TABLE, 0, (), (), (kept,), rules.Purpose.PRIORITY)


def _condition(entry: rules.TableEntry, bits: dict[int, int]) -> tuple[rules.MatchField, ...]:
    if not entry.unless_paused:
        return ()
    return (rules.MatchField("metadata", 0, 1 << bits[entry.unless_paused]),)


def _addresses(entry: rules.TableEntry) -> tuple[rules.MatchField, ...]:
    fields = []
    if entry.in_port:
        fields.append(rules.MatchField("in_port", entry.in_port))
    if entry.eth_dst_mask:
        fields.append(rules.MatchField("eth_dst", entry.eth_dst, entry.eth_dst_mask))
    if entry.eth_src_mask:
        fields.append(rules.MatchField("eth_src", entry.eth_src, entry.eth_src_mask))
    return tuple(fields)


def _actions(
    ports: tuple[int, ...], numbers: dict[tuple[int, ...], int], factory: dict[int, int]
) -> tuple[rules.Action, ...]:
    if len(ports) > 1:
        return (rules.ToGroup(numbers[ports]),)
    outputs = tuple(rules.Output(port) for port in ports)
    return (
        tuple(rules.SetField("eth_dst", factory[port]) for port in ports if port in factory)
        + outputs
    )
