"""Decisions of the controller, without a switch: differences, wiring, failures and roles."""

import pytest

from etherweave.control import messages
from etherweave.control.controller import drift, reports, roles, wiring
from etherweave.control.controller.drift import CookieFields, Drift
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.reports import ReportedEntry, ReportedTables, SwitchReportError
from etherweave.control.controller.roles import Beacon, ControllerState, RoleState, RoleTiming
from etherweave.control.controller.session import SwitchSession
from etherweave.control.controller.switch import ManagedSwitch, SwitchProgrammer, SwitchTarget
from etherweave.control.controller.wiring import Cable, ObservedWiring, SwitchPort, check
from etherweave.control.messages import FlowCommand
from etherweave.control.rules import (
    FabricPlan,
    FlowRule,
    GoTo,
    Group,
    Meter,
    Output,
    PortPlan,
    Purpose,
    SwitchPlan,
    WriteMetadata,
)
from etherweave.control.rules import MatchField as Is
from support.controlled import RecordedLog

FORWARD = FlowRule(
    3, 9, (Is("metadata", 0, 1), Is("eth_dst", 0x020000000000, 0xFF0000000000)), (Output(1),)
)
PAUSES = FlowRule(2, 0, (), (), (WriteMetadata(0, 1), GoTo(3)), Purpose.PAUSE_VECTOR)


def switch(
    *rules: FlowRule, groups: tuple[Group, ...] = (), meters: tuple[Meter, ...] = ()
) -> SwitchPlan:
    return SwitchPlan("s", 1, (), rules, groups, meters, {})


def reported(rule: FlowRule, cookie: int = 0, expires: bool = False) -> ReportedEntry:
    """Write an entry as a switch would: fields in the order of their numbers, from the last."""
    tests = sorted(rule.match, key=lambda test: test.field, reverse=True)
    written = messages.match(tests), messages.instructions(rule)
    return ReportedEntry(rule.table, rule.priority, *written, cookie, expires)


class Tables:
    """Readings of a switch, one after the other, and how often it is repaired."""

    def __init__(self, patch: pytest.MonkeyPatch, plan: SwitchPlan) -> None:
        module = "etherweave.control.controller.switch"
        patch.setattr(f"{module}.read_tables", lambda _: ReportedTables(self.readings.pop(0)))
        patch.setattr(f"{module}.install", lambda *_: self.repairs.append(len(self.readings)))
        self.readings: list[tuple[ReportedEntry, ...]] = []
        self.repairs: list[int] = []
        self.log = RecordedLog()
        self.switch = ManagedSwitch("s")
        self._target = SwitchTarget(plan, 1, 1, leave_foreign=False)

    def audit(self, *readings: tuple[ReportedEntry, ...]) -> int:
        """Count the repairs of an audit, which must use all the readings."""
        self.readings, self.repairs = list(readings), []
        session = SwitchSession.__new__(SwitchSession)  # Asked for nothing but the tables.
        SwitchProgrammer(self.switch, session, EventLog(self.log)).apply(self._target, audit=True)
        assert self.readings == []
        return len(self.repairs)


def test_changes_during_a_repair_wait_for_the_next_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(monkeypatch, switch(FORWARD))
    planned = (reported(FORWARD),)
    assert tables.audit((), planned) == 1
    assert tables.audit(planned) == 0
    foreign = (*planned, reported(PAUSES, cookie=7))
    assert tables.audit((), foreign) == 1
    assert tables.audit(foreign, ()) == 1
    assert tables.audit((), planned) == 1
    assert [event["missing"] for event in tables.log.events("drift")] == [1, 0, 1]
    assert tables.log.events("still_different") == []


@pytest.mark.parametrize("cookies", [(5, 5), (5, 6)])
def test_a_rule_that_a_switch_reports_in_another_form_is_repaired_twice(
    cookies: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(monkeypatch, switch(FORWARD))
    first, second = [(reported(PAUSES, cookie),) for cookie in cookies]
    assert tables.audit((), first, second) == 2
    assert len(tables.log.events("still_different")) == 1
    assert tables.audit(second) == 0
    assert tables.log.events("drift") == []


def test_the_order_of_fields_makes_no_difference() -> None:
    assert not drift.compare(
        switch(FORWARD, PAUSES), ReportedTables((reported(PAUSES), reported(FORWARD)))
    )


def test_a_field_whose_mask_is_empty_or_full_is_none_or_without_a_mask() -> None:
    result = FlowRule(0, 1, (Is("eth_dst", 5, (1 << 48) - 1), Is("metadata", 0, 0)), ())
    meant = FlowRule(0, 1, (Is("eth_dst", 5),), ())
    assert not drift.compare(switch(result), ReportedTables((reported(meant),)))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (reported(FORWARD._replace(actions=(Output(2),))), Drift(changed=(FORWARD,))),
        (reported(FORWARD, expires=True), Drift(changed=(FORWARD,))),
        (
            reported(FORWARD._replace(priority=8)),
            Drift(missing=(FORWARD,), foreign=(reported(FORWARD._replace(priority=8)),)),
        ),
    ],
    ids=["actions", "time-out", "priority"],
)
def test_differences_are_distinguished(entry: ReportedEntry, expected: Drift) -> None:
    assert drift.compare(switch(FORWARD), ReportedTables((entry,))) == expected


def test_the_value_of_the_pause_vector_does_not_count_but_its_mask_does() -> None:
    paused = PAUSES._replace(instructions=(WriteMetadata(1, 1), GoTo(3)))
    other = PAUSES._replace(instructions=(WriteMetadata(0, 3), GoTo(3)))
    assert not drift.compare(switch(PAUSES), ReportedTables((reported(paused),)))
    assert drift.compare(switch(PAUSES), ReportedTables((reported(other),))) == Drift(
        changed=(PAUSES,)
    )


def test_plans_of_a_switch_differ_by_groups_and_meters_too() -> None:
    old = switch(groups=(Group(1, (1, 2)), Group(2, (3,))), meters=(Meter(1, 10, 10),))
    new = switch(groups=(Group(1, (1, 3)), Group(4, (3,))), meters=(Meter(2, 10, 10),))
    assert drift.between(old, new) == Drift(
        groups_missing=(Group(4, (3,)),),
        groups_changed=(Group(1, (1, 3)),),
        groups_foreign=(2,),
        meters_missing=(Meter(2, 10, 10),),
        meters_foreign=(1,),
    )


def test_a_foreign_entry_is_deleted_by_its_own_cookie_only() -> None:
    foreign = reported(FORWARD, cookie=0x1234)
    result = drift.compare(switch(), ReportedTables((foreign,)))
    (step,) = drift.table_changes(result, ReportedTables((foreign,)), CookieFields(1, 1)).bundle
    # ofp_flow_mod: cookie, mask, table, command behind the header of 8 octets.
    assert step.octets[8:16] == (0x1234).to_bytes(8)
    assert step.octets[16:24] == b"\xff" * 8
    assert step.octets[24:26] == bytes([3, FlowCommand.DELETE_STRICT])


def test_a_cookie_has_owner_plan_and_generation() -> None:
    stamp = CookieFields(0xDEADBEEF, 7)
    assert stamp.cookie == 0x4557_DEADBEEF_0007
    assert CookieFields.read(stamp.cookie) == stamp
    assert CookieFields.read(0x0000_DEADBEEF_0007) is None
    entries = [reported(FORWARD, cookie) for cookie in (stamp.cookie, 9, CookieFields(1, 3).cookie)]
    assert drift.generation(entries) == 7


@pytest.mark.parametrize(
    "octets",
    [b"\x00", bytes(2), b"\x00\x07" + bytes(5), b"\x00\x38" + bytes(54), b"\xff\xff" + bytes(60)],
    ids=["half a length", "no length", "short", "without match", "longer than the rest"],
)
def test_a_report_that_cannot_be_read_is_an_error(octets: bytes) -> None:
    with pytest.raises(SwitchReportError):
        list(reports.entries(octets))


def fabric() -> FabricPlan:
    """Two switches with a host each and two cables between them."""

    def one(number: int) -> SwitchPlan:
        other = 3 - number
        ports = (
            PortPlan(1, f"h{number}", 1, True),
            PortPlan(2, f"s{other}", 2, False),
            PortPlan(3, f"s{other}", 3, False),
        )
        return SwitchPlan(f"s{number}", number, ports, (), (), (), {})

    return FabricPlan("f", "", (one(1), one(2)), ())


UP = {1: True, 2: True, 3: True}
BOTH = {"s1": UP, "s2": UP}
SETTLED = frozenset(BOTH)
AS_PLANNED = {
    SwitchPort("s1", 2): SwitchPort("s2", 2),
    SwitchPort("s2", 2): SwitchPort("s1", 2),
    SwitchPort("s1", 3): SwitchPort("s2", 3),
    SwitchPort("s2", 3): SwitchPort("s1", 3),
}


def sentences(seen: ObservedWiring) -> list[str]:
    return [f"{finding.fault}: {finding}" for finding in check(fabric(), seen)]


def test_a_fabric_as_planned_has_no_findings() -> None:
    seen = ObservedWiring(AS_PLANNED, BOTH, {}, SETTLED)
    assert sentences(seen) == []
    assert wiring.failed_cables(fabric(), seen) == frozenset()


def test_every_port_of_crossed_cables_is_named_with_what_should_be_there() -> None:
    crossed = {SwitchPort("s1", 2): SwitchPort("s2", 3), SwitchPort("s2", 2): SwitchPort("s1", 3)}
    seen = ObservedWiring(crossed, BOTH, {}, SETTLED)
    assert sentences(seen) == [
        "miswired: s1 port 2 leads to s2 port 3; expected s2 port 2",
        "miswired: s1 port 3 leads to s2 port 2; expected s2 port 3",
        "miswired: s2 port 2 leads to s1 port 3; expected s1 port 2",
        "miswired: s2 port 3 leads to s1 port 2; expected s1 port 3",
    ]
    assert wiring.names(fabric(), wiring.failed_cables(fabric(), seen)) == [
        "s1:2 - s2",
        "s1:3 - s2",
    ]


def test_cables_without_frames_links_or_ports_and_cables_too_many_are_named() -> None:
    ports = {"s1": {1: True, 2: True, 3: False, 9: True}, "s2": {1: True, 2: True, 9: True}}
    seen = ObservedWiring({SwitchPort("s1", 9): SwitchPort("s2", 9)}, ports, {}, SETTLED)
    assert sentences(seen) == [
        "missing: s1 port 2 leads to nothing seen; expected s2 port 2",
        "down: s1 port 3 leads to nothing (no link); expected s2 port 3",
        "surplus: s1 port 9 leads to s2 port 9; expected nothing",
        "missing: s2 port 2 leads to nothing seen; expected s1 port 2",
        "absent: s2 port 3 leads to nothing (the switch has no such port); expected s1 port 3",
        "surplus: s2 port 9 leads to s1 port 9; expected nothing",
    ]


def test_hosts_are_identified_by_the_names_in_their_lldp() -> None:
    names = {SwitchPort("s1", 1): "h2"}
    loop = AS_PLANNED | {SwitchPort("s2", 1): SwitchPort("s2", 1)}
    assert sentences(ObservedWiring(loop, BOTH, names, SETTLED)) == [
        "miswired: s1 port 1 leads to host h2; expected host h1",
        "miswired: s2 port 1 leads to s2 port 1; expected host h2",
    ]
    seen = ObservedWiring(AS_PLANNED, BOTH, {SwitchPort("s1", 1): "h1"}, SETTLED)
    assert check(fabric(), seen) == ()


def test_a_switch_that_does_not_answer_has_not_failed() -> None:
    seen = ObservedWiring({}, {"s1": UP}, {}, frozenset({"s1"}))
    assert wiring.failed_cables(fabric(), seen) == frozenset()
    assert sentences(seen) == []


def test_silence_says_nothing_before_frames_could_have_come() -> None:
    assert wiring.failed_cables(fabric(), ObservedWiring({}, BOTH)) == frozenset()


def test_a_cable_with_a_link_at_one_end_only_has_failed() -> None:
    ports = {"s1": UP | {2: False}}
    failed = wiring.failed_cables(fabric(), ObservedWiring({}, ports))
    assert failed == {Cable(SwitchPort("s1", 2), SwitchPort("s2", 2))}
    assert wiring.names(fabric(), failed) == ["s1:2 - s2"]


def test_one_of_parallel_cables_is_named_by_its_port() -> None:
    second = {Cable(SwitchPort("s1", 3), SwitchPort("s2", 3))}
    assert wiring.names(fabric(), second) == ["s1:3 - s2"]


PACE = RoleTiming(0.5, 1.5, 3.0)
MINE, LESS, MORE = 50, 10, 90


def master() -> RoleState:
    return roles.tick(RoleState(MINE), PACE.listen_s, PACE)


def test_a_controller_claims_without_beacons_of_others() -> None:
    standing = RoleState(MINE)
    assert roles.tick(standing, 1.4, PACE).state is ControllerState.LISTENING
    claimed = roles.tick(roles.with_generation(standing, 41), 1.5, PACE)
    assert (claimed.state, claimed.generation) == (ControllerState.MASTER, 42)


def test_a_switch_without_claims_reports_no_generation() -> None:
    assert roles.with_generation(RoleState(MINE), roles.UNSET).generation == 0


def test_a_controller_stands_by_while_beacons_of_a_master_arrive() -> None:
    standing = roles.receive_beacon(RoleState(MINE), Beacon(LESS, ControllerState.MASTER, 7), 0.2)
    assert (standing.state, standing.master) == (ControllerState.STANDBY, LESS)
    assert roles.tick(standing, 3.1, PACE).state is ControllerState.STANDBY
    lost = roles.tick(standing, 3.2, PACE)
    assert lost.state is ControllerState.LISTENING
    assert roles.tick(lost, 4.7, PACE).generation == 8


@pytest.mark.parametrize(
    ("rival", "state"), [(LESS, ControllerState.MASTER), (MORE, ControllerState.LISTENING)]
)
def test_of_two_at_once_the_greater_identity_is_first(rival: int, state: ControllerState) -> None:
    standing = roles.receive_beacon(
        RoleState(MINE), Beacon(rival, ControllerState.LISTENING, 0), 1.0
    )
    assert roles.tick(standing, 1.5, PACE).state is state


@pytest.mark.parametrize(
    ("beacon", "state"),
    [
        (Beacon(LESS, ControllerState.MASTER, 2), ControllerState.STANDBY),
        (Beacon(MORE, ControllerState.MASTER, 1), ControllerState.STANDBY),
        (Beacon(LESS, ControllerState.MASTER, 1), ControllerState.MASTER),
        (Beacon(MORE, ControllerState.MASTER, 0), ControllerState.MASTER),
        (Beacon(MORE, ControllerState.LISTENING, 9), ControllerState.MASTER),
        (Beacon(MINE, ControllerState.MASTER, 9), ControllerState.MASTER),
    ],
)
def test_generation_then_identity_decide_of_masters(beacon: Beacon, state: ControllerState) -> None:
    assert roles.receive_beacon(master(), beacon, 2.0).state is state


def test_a_master_claims_again_where_a_switch_knows_a_greater_generation() -> None:
    assert roles.claim_above(master(), 5, 2.0).generation == 6
    assert roles.claim_above(master(), roles.UNSET, 2.0).generation == 1


def test_a_master_that_a_switch_demotes_stands_by() -> None:
    assert roles.demoted(master(), 9, 2.0).state is ControllerState.STANDBY
