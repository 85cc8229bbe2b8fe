"""What the program does at a port by itself, as the rules of admission say it."""

from dataclasses import dataclass

from etherweave.control.ebpf.match import MatchError
from etherweave.control.rules import (
    IN_PORT,
    KNOWN_TABLE,
    GoTo,
    Meter,
    Output,
    Purpose,
    Rule,
    SetField,
    SwitchPlan,
    UseMeter,
)

ADMISSION = {"in_port", "eth_src", "eth_type"}
"""What rules of admission may test."""


@dataclass(frozen=True, slots=True)
class Duty:
    """What is done with frames that come in by a port, before any rule is looked up."""

    address: int = 0
    """MAC address of the host; 0: of none."""
    answers: bool = False
    """Requests of DMP go back with the host's address."""
    limit: Meter | None = None
    """Of those answers; none: no limit."""
    checks_source: bool = False
    """Only the host's address may send."""
    checks_destination: bool = False
    """Frames must be for an address that somebody has."""


def duty(switch: SwitchPlan, port: int) -> Duty:
    """Read what a port does.

    Raises
    ------
    MatchError
        Rules of admission test what the program does not look at.
    """
    rules = [rule for rule in switch.rules if _value(rule, "in_port") == port]
    admit = [rule for rule in rules if rule.purpose is Purpose.ADMIT]
    for field in (test.field for rule in admit for test in rule.match):
        if field not in ADMISSION:
            raise MatchError(
                f'port {port} admits by {field}; expected control.anti_spoofing "none" or "mac"'
            )
    answer = next((rule for rule in rules if _is_answer(rule)), None)
    sources = {_value(rule, "eth_src") for rule in admit}
    checked = next(iter(sources - {None}), None)
    return Duty(
        address=checked or _address(answer),
        answers=answer is not None,
        limit=_limit(switch, answer),
        checks_source=checked is not None,
        checks_destination=any(GoTo(KNOWN_TABLE) in rule.instructions for rule in admit),
    )


def _is_answer(rule: Rule) -> bool:
    return rule.purpose is Purpose.DMP and Output(IN_PORT) in rule.actions


def _address(answer: Rule | None) -> int:
    steps = answer.actions if answer else ()
    return next((step.value for step in steps if isinstance(step, SetField)), 0)


def _limit(switch: SwitchPlan, answer: Rule | None) -> Meter | None:
    steps = answer.instructions if answer else ()
    numbers = [step.meter for step in steps if isinstance(step, UseMeter)]
    return next((meter for meter in switch.meters if meter.number in numbers), None)


def _value(rule: Rule, field: str) -> int | None:
    return next((test.value for test in rule.match if test.field == field), None)
