"""What the program does at a port before the lookup, as the rules of admission define it."""

from dataclasses import dataclass

from etherweave.control.ebpf.match import MatchError
from etherweave.control.rules import (
    IN_PORT,
    UNKNOWN_DESTINATION_TABLE,
    FlowRule,
    GoTo,
    Meter,
    Output,
    Purpose,
    SetField,
    SwitchPlan,
    UseMeter,
)

PRIORITIES = tuple(range(8))
"""Each unchanged."""
_ADMISSION = {"in_port", "eth_src", "vlan_vid", "vlan_pcp"}
"""Fields that rules of admission may match."""


@dataclass(frozen=True, slots=True)
class PortBehaviour:
    """What is done with frames that arrive at a port, before the lookup."""

    address: int = 0
    """MAC address of the host; 0: there is none."""
    answers: bool = False
    """Whether requests of DMP are returned with the host's address."""
    limit: Meter | None = None
    """Limit of those replies; None: no limit."""
    checks_source: bool = False
    """Whether only the host's address may send."""
    checks_destination: bool = False
    """Whether frames must be for an address that some host has."""
    priorities: tuple[int, ...] = PRIORITIES
    """New priority of tagged frames, by the one with which they arrive."""


def port_behaviour(switch: SwitchPlan, port: int) -> PortBehaviour:
    """Read the behaviour of a port.

    Raises
    ------
    MatchError
        Rules of admission match fields that the program does not examine.
    """
    rules = [rule for rule in switch.rules if _value(rule, "in_port") == port]
    admit = [rule for rule in rules if rule.purpose is Purpose.INGRESS_ACL]
    raised = [rule for rule in rules if rule.purpose is Purpose.PRIORITY]
    for field in (field.field for rule in admit + raised for field in rule.match):
        if field not in _ADMISSION:
            raise MatchError(
                f'port {port} admits by {field}; expected control.anti_spoofing "none" or "mac"'
            )
    answer = next((rule for rule in rules if _is_dmp_answer(rule)), None)
    sources = {_value(rule, "eth_src") for rule in admit}
    checked = next(iter(sources - {None}), None)
    return PortBehaviour(
        address=checked or (_written_value(answer, "eth_src") if answer else 0),
        answers=answer is not None,
        limit=_limit(switch, answer),
        checks_source=checked is not None,
        checks_destination=any(
            GoTo(UNKNOWN_DESTINATION_TABLE) in rule.instructions for rule in admit
        ),
        priorities=_priorities(raised),
    )


def _priorities(rules: list[FlowRule]) -> tuple[int, ...]:
    after = {_value(rule, "vlan_pcp"): _written_value(rule, "vlan_pcp") for rule in rules}
    return tuple(after.get(before, before) for before in PRIORITIES)


def _is_dmp_answer(rule: FlowRule) -> bool:
    return rule.purpose is Purpose.DMP and Output(IN_PORT) in rule.actions


def _written_value(rule: FlowRule, field: str) -> int:
    steps = (step for step in rule.actions if isinstance(step, SetField))
    return next((step.value for step in steps if step.field == field), 0)


def _limit(switch: SwitchPlan, answer: FlowRule | None) -> Meter | None:
    steps = answer.instructions if answer else ()
    numbers = [step.meter for step in steps if isinstance(step, UseMeter)]
    return next((meter for meter in switch.meters if meter.number in numbers), None)


def _value(rule: FlowRule, name: str) -> int | None:
    return next((field.value for field in rule.match if field.field == name), None)
