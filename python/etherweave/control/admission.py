"""The first two tables: which frames hosts may send, and to which destinations.

::

    ingress ACL  LLDP           -> controller, metered
                 reserved       -> dropped: they concern one link only, as PAUSE and PFC
                 DMP            -> back to the host, source rewritten, metered per port
                 host's port    -> next table, if the source is the host's address
                 fabric's port  -> forwarding; services first where pauses may divert its frames
                 lossless       -> the same, in another priority where the routing needs it
    destination  addresses of hosts, groups -> services

What matches nothing is dropped: it never enters the fabric, so that no frame to an unknown address
can be flooded or circulate.
"""

from collections.abc import Iterator
from itertools import pairwise

from etherweave.control.rules import (
    CONTROLLER,
    FORWARD_TABLE,
    IN_PORT,
    INGRESS_ACL_TABLE,
    SERVICE_TABLE,
    UNKNOWN_DESTINATION_TABLE,
    AddressPattern,
    FlowRule,
    GoTo,
    HostPlan,
    MatchField,
    Meter,
    Output,
    Purpose,
    SetField,
    SwitchDesign,
    UseMeter,
)

DMP, LLDP, MAC_CONTROL, ARP = 0x88B5, 0x88CC, 0x8808, 0x0806
"""EtherTypes: IEEE 802, local experimental 1; 802.1AB; 802.3 clause 31; RFC 826."""
GROUP_BIT = 0x010000000000  # The bit of group addresses: multicast and broadcast.
RESERVED = AddressPattern(0x0180C2000000, 0xFFFFFFFFFFF0)
"""Groups whose frames stay on their link (IEEE 802.1Q-2018, table 8-1)."""
VLAN_PRESENT = 0x1000
"""The bit of ``vlan_vid`` that is set if there is a tag (OpenFlow 1.3, ``OFPVID_PRESENT``)."""


def ingress_acl(site: SwitchDesign) -> Iterator[FlowRule]:
    """Yield the rules of the first table."""
    yield FlowRule(
        *(INGRESS_ACL_TABLE, 400),
        (MatchField("eth_type", LLDP),),
        (Output(CONTROLLER),),
        (UseMeter(lldp_meter(site).number),),
        Purpose.CONTROL,
    )
    for stays in (MatchField("eth_type", MAC_CONTROL), MatchField("eth_dst", *RESERVED)):
        yield FlowRule(INGRESS_ACL_TABLE, 390, (stays,), (), (), Purpose.CONTROL)
    if site.spec.addresses == "dmp":
        yield from (_answer(host) for host in site.hosts)
    yield FlowRule(INGRESS_ACL_TABLE, 290, (MatchField("eth_type", DMP),), (), (), Purpose.DMP)
    for host in site.hosts:
        yield from _admit(site, host)
    for port in site.ports:
        if not port.is_host:
            arriving = (MatchField("in_port", port.number),)
            # Frames that no pause diverts need no pause vector, and the first switch answers ARP.
            table = SERVICE_TABLE if port.number in site.diverting_ports else FORWARD_TABLE
            yield FlowRule(
                INGRESS_ACL_TABLE, 200, arriving, (), (GoTo(table),), Purpose.INGRESS_ACL
            )
            if port.number in site.raising_ports:
                yield from _raised(site, arriving, table)


def known_destinations(site: SwitchDesign) -> Iterator[FlowRule]:
    """Yield the rules of the second table."""
    onward = (GoTo(SERVICE_TABLE),)
    for pattern in site.known:
        match = (MatchField("eth_dst", pattern.value, pattern.mask),)
        yield FlowRule(UNKNOWN_DESTINATION_TABLE, 20, match, (), onward, Purpose.KNOWN_DESTINATION)
    several = (MatchField("eth_dst", GROUP_BIT, GROUP_BIT),)
    yield FlowRule(UNKNOWN_DESTINATION_TABLE, 10, several, (), onward, Purpose.KNOWN_DESTINATION)


def meters(site: SwitchDesign) -> tuple[Meter, ...]:
    """Return meters for DMP, one per port so that one host's flood affects no other, LLDP, ARP."""
    rate = site.spec.dmp_rate
    asked = site.hosts if site.spec.addresses == "dmp" else ()
    arp = (arp_meter(site),) if site.spec.resolution == "manager" else ()
    return (*(Meter(host.port, rate, rate) for host in asked), lldp_meter(site), *arp)


def lldp_meter(site: SwitchDesign) -> Meter:
    """Return the meter for frames to the controller."""
    number = max(port.number for port in site.ports) + 1
    return Meter(number, site.spec.lldp_rate, site.spec.lldp_rate)


def arp_meter(site: SwitchDesign) -> Meter:
    """Return the meter for ARP requests to the controller."""
    return Meter(lldp_meter(site).number + 1, site.spec.arp_rate, site.spec.arp_rate)


def _answer(host: HostPlan) -> FlowRule:
    """Send a request back with the hierarchical address as its source (section IV)."""
    match = (MatchField("in_port", host.port), MatchField("eth_type", DMP))
    actions = (SetField("eth_src", host.mac), Output(IN_PORT))
    return FlowRule(INGRESS_ACL_TABLE, 300, match, actions, (UseMeter(host.port),), Purpose.DMP)


def _admit(site: SwitchDesign, host: HostPlan) -> Iterator[FlowRule]:
    port, onward = MatchField("in_port", host.port), (GoTo(UNKNOWN_DESTINATION_TABLE),)
    if site.spec.addresses == "rewrite":
        yield from _rewritten(site, host)
        return
    if site.spec.anti_spoofing == "none":
        yield FlowRule(INGRESS_ACL_TABLE, 200, (port,), (), onward, Purpose.INGRESS_ACL)
        yield from _lowered(site, (port,))
        return
    own = (port, MatchField("eth_src", host.mac))
    if site.spec.anti_spoofing == "arp":
        arp = (MatchField("eth_type", ARP), MatchField("arp_sha", host.mac))
        # A probe asks whether an address is free, before it is used (RFC 5227, 2.1.1).
        for sender in (host.ipv4 or 0, 0):
            match = (*own, *arp, MatchField("arp_spa", sender))
            yield FlowRule(INGRESS_ACL_TABLE, 230, match, (), onward, Purpose.INGRESS_ACL)
        yield FlowRule(
            INGRESS_ACL_TABLE, 220, (port, MatchField("eth_type", ARP)), (), (), Purpose.INGRESS_ACL
        )
    yield FlowRule(INGRESS_ACL_TABLE, 200, own, (), onward, Purpose.INGRESS_ACL)
    yield from _lowered(site, own)


def _raised(site: SwitchDesign, arriving: tuple[MatchField, ...], table: int) -> Iterator[FlowRule]:
    """Raise the priority of a frame that arrives from another switch (section V-E)."""
    for before, after in pairwise(site.spec.priorities):
        yield _prioritised((*arriving, *tag(before)), (SetField("vlan_pcp", after),), table)


def _lowered(
    site: SwitchDesign, own: tuple[MatchField, ...], *others: SetField
) -> Iterator[FlowRule]:
    """Lower a host's frames to the first priority; the others are for frames within the fabric.

    Where rules write the priority, they do so whatever it was.
    """
    for later in () if site.is_class_written else site.spec.priorities[1:]:
        written = (*others, SetField("vlan_pcp", site.spec.priorities[0]))
        yield _prioritised((*own, *tag(later)), written, UNKNOWN_DESTINATION_TABLE)


def _prioritised(
    match: tuple[MatchField, ...], written: tuple[SetField, ...], table: int
) -> FlowRule:
    return FlowRule(INGRESS_ACL_TABLE, 210, match, written, (GoTo(table),), Purpose.PRIORITY)


def tag(priority: int) -> tuple[MatchField, MatchField]:
    """Match frames with an IEEE 802.1Q tag of a priority."""
    return MatchField("vlan_vid", VLAN_PRESENT, VLAN_PRESENT), MatchField("vlan_pcp", priority)


def _rewritten(site: SwitchDesign, host: HostPlan) -> Iterator[FlowRule]:
    """Replace the factory address by the hierarchical one, in ARP's payload as well."""
    own = (MatchField("in_port", host.port), MatchField("eth_src", site.factory[host.name]))
    source, onward = SetField("eth_src", host.mac), (GoTo(UNKNOWN_DESTINATION_TABLE),)
    arp = (*own, MatchField("eth_type", ARP))
    if site.spec.protocol == "openflow10":
        # Which cannot write ARP's payload; hosts have no IPv4 addresses then.
        yield FlowRule(INGRESS_ACL_TABLE, 200, own, (source,), onward, Purpose.REWRITE)
        return
    if site.spec.resolution != "broadcast":
        # The reply goes to the address that the host has.
        asking = (*arp, MatchField("arp_op", 1))
        yield FlowRule(INGRESS_ACL_TABLE, 240, asking, (), onward, Purpose.REWRITE)
    inside = (source, SetField("arp_sha", host.mac))
    yield FlowRule(INGRESS_ACL_TABLE, 230, arp, inside, onward, Purpose.REWRITE)
    yield FlowRule(INGRESS_ACL_TABLE, 200, own, (source,), onward, Purpose.REWRITE)
    yield from _lowered(site, own, source)
