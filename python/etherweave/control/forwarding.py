"""The last two tables: the flow table of the design, and what waits.

A conditional rule is in force while its port's bit of the metadata is zero. A packet that finds
every rule that matches out of force goes on to the last table, where the first of those rules
stands without its condition: it waits for its default port, as by ``FlowTable::lookup`` in the
core.
"""

from collections.abc import Iterator

from etherweave.control.rules import (
    FORWARD_TABLE,
    WAIT_TABLE,
    Action,
    GoTo,
    Group,
    Output,
    Purpose,
    Rule,
    SetField,
    Test,
    ToGroup,
)
from etherweave.control.site import Entry, Site


def groups(site: Site) -> tuple[Group, ...]:
    """Give every set of several ports a group."""
    sets = dict.fromkeys(entry.ports for entry in site.entries if len(entry.ports) > 1)
    return tuple(Group(number, ports) for number, ports in enumerate(sets, start=1))


def forwarding(site: Site) -> Iterator[Rule]:
    """Yield the rules of the last two tables."""
    numbers = {group.ports: group.number for group in groups(site)}
    bits = site.pause_bits
    factory = {host.port: site.factory[host.name] for host in site.hosts if site.factory}
    for entry in site.entries:
        actions = _actions(entry.ports, numbers, factory)
        purpose = Purpose.ALTERNATIVE if entry.is_alternative else Purpose.FORWARD
        match = (*_condition(entry, bits), *_addresses(entry))
        # Behind them all stands the way to the last table.
        yield Rule(FORWARD_TABLE, entry.priority + 1, match, actions, (), purpose)
        if entry.waits:
            yield Rule(WAIT_TABLE, entry.priority, _addresses(entry), actions, (), Purpose.WAIT)
    if any(entry.waits for entry in site.entries):
        yield Rule(FORWARD_TABLE, 0, (), (), (GoTo(WAIT_TABLE),), Purpose.WAIT)


def _condition(entry: Entry, bits: dict[int, int]) -> tuple[Test, ...]:
    if not entry.unless_paused:
        return ()
    return (Test("metadata", 0, 1 << bits[entry.unless_paused]),)


def _addresses(entry: Entry) -> tuple[Test, ...]:
    tests = []
    if entry.in_port:
        tests.append(Test("in_port", entry.in_port))
    if entry.eth_dst_mask:
        tests.append(Test("eth_dst", entry.eth_dst, entry.eth_dst_mask))
    if entry.eth_src_mask:
        tests.append(Test("eth_src", entry.eth_src, entry.eth_src_mask))
    return tuple(tests)


def _actions(
    ports: tuple[int, ...], numbers: dict[tuple[int, ...], int], factory: dict[int, int]
) -> tuple[Action, ...]:
    if len(ports) > 1:
        return (ToGroup(numbers[ports]),)
    outputs = tuple(Output(port) for port in ports)
    return tuple(SetField("eth_dst", factory[port]) for port in ports if port in factory) + outputs
