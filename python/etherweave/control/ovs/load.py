"""Installs a plan in bridges, and compares a bridge with it.

A rule may name a group or a meter, so that these are added first and removed last. Rules are
replaced in one bundle: all at once, or none. Installing again changes nothing. OpenFlow 1.0 has
neither groups nor meters nor bundles.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias, TypeVar

from etherweave.control import text
from etherweave.control.ovs.bridges import BridgeNames
from etherweave.control.ovs.daemons import Daemons, run
from etherweave.control.rules import FabricPlan, FlowRule, Group, Meter, Protocol, SwitchPlan

LoadProgress: TypeAlias = Callable[[int, int], object]
"""Called with the number of switches done, and of all."""

_TableEntry = TypeVar("_TableEntry", Group, Meter)
_Result = TypeVar("_Result")
_GROUP = re.compile(r"group_id=(\d+),type=select(.*)")
_BUCKET = re.compile(r"actions=output:\"?(\d+)")
_METER = re.compile(r"meter=(\d+) pktps burst bands=\s+type=drop rate=(\d+) burst_size=(\d+)")
_AT_ONCE = 8
"""Number of bridges. The switch daemon processes all bridges for a request to any of them, so that
several requests at once cost little more than one."""
_DIFFERENT = 2  # Exit code of ``diff-flows`` for differences.


def load(
    daemons: Daemons, plan: FabricPlan, wiring: BridgeNames, progress: LoadProgress | None = None
) -> None:
    """Install all switches of a plan, several at a time."""
    at_all(plan, wiring, partial(install, daemons), progress)


def at_all(
    plan: FabricPlan,
    wiring: BridgeNames,
    work: Callable[[str, SwitchPlan], _Result],
    progress: LoadProgress | None = None,
) -> list[_Result]:
    """Apply a function to all bridges, several at a time; the first failure ends it."""
    bridges = [wiring.bridges[switch.name] for switch in plan.switches]
    results = []
    pool = ThreadPoolExecutor(max_workers=_AT_ONCE)
    try:
        for result in pool.map(work, bridges, plan.switches):
            results.append(result)
            if progress:
                progress(len(results), len(bridges))
    finally:
        pool.shutdown(cancel_futures=True)
    return results


def install(daemons: Daemons, bridge: str, switch: SwitchPlan) -> None:
    """Make a bridge equal to the plan of a switch.

    Raises ``OvsError`` if Open vSwitch rejects a meter, a group or a rule; no rule is changed then.
    """
    target = daemons.management(bridge)
    meters, groups = _numbered(target, switch)
    _write(target, switch, meters)
    for number in sorted(groups.keys() - {group.number for group in switch.groups}):
        _ofctl("del-groups", target, f"group_id={number}")
    for number in sorted(meters.keys() - {meter.number for meter in switch.meters}):
        _ofctl("del-meter", target, f"meter={number}")


def fill(daemons: Daemons, bridge: str, switch: SwitchPlan) -> list[str]:
    """Install a plan in a new bridge, and return the differences that remain."""
    target = daemons.management(bridge)
    _write(target, switch, {})
    return _rule_differences(target, switch)


def change(daemons: Daemons, bridge: str, rule: FlowRule) -> None:
    """Change the actions of a rule if it is installed."""
    _ofctl("--strict", "mod-flows", daemons.management(bridge), text.flow(rule))


def differences(daemons: Daemons, bridge: str, switch: SwitchPlan) -> list[str]:
    """Return the rules, groups and meters that a bridge lacks (+) or has in excess (-)."""
    target = daemons.management(bridge)
    there_meters, there_groups = _numbered(target, switch)
    meters = {meter.number: meter for meter in switch.meters}
    groups = {group.number: group for group in switch.groups}
    return [
        *_differences(there_meters, meters, text.meter),
        *_differences(there_groups, groups, text.group),
        *_rule_differences(target, switch),
    ]


def _rule_differences(target: str, switch: SwitchPlan) -> list[str]:
    lines = text.flows(switch.rules, switch.protocol)
    ends = (0, _DIFFERENT)
    words = ("diff-flows", target, "/dev/stdin")
    output = _ofctl(*words, lines=lines, ends=ends, protocol=switch.protocol)
    return [*output.splitlines(), *_shadowed_rules(switch)]


def _shadowed_rules(switch: SwitchPlan) -> Iterator[str]:
    """Yield rules that another with the same match and priority replaces."""
    last = {(rule.table, rule.priority, rule.match): rule for rule in switch.rules}
    for rule in switch.rules:
        if last[rule.table, rule.priority, rule.match] is not rule:
            yield from (f"+{line}" for line in text.flows((rule,), switch.protocol))


def _write(target: str, switch: SwitchPlan, there: Mapping[int, Meter]) -> None:
    """Write meters, groups and rules, in the order in which they refer to each other."""
    _set_meters(target, switch.meters, there)
    if switch.groups:
        lines = (f"add_or_mod {text.group(group)}" for group in switch.groups)
        _ofctl("--bundle", "add-groups", target, "-", lines=lines)
    rules = text.flows(switch.rules, switch.protocol)
    bundle = ("--bundle",) if switch.protocol == "openflow13" else ()
    _ofctl(*bundle, "replace-flows", target, "-", lines=rules, protocol=switch.protocol)


def _differences(
    there: Mapping[int, _TableEntry],
    planned: Mapping[int, _TableEntry],
    write: Callable[[_TableEntry], str],
) -> list[str]:
    surplus = [f"-{write(there[key])}" for key in there if planned.get(key) != there[key]]
    lacking = [f"+{write(entry)}" for key, entry in planned.items() if there.get(key) != entry]
    return surplus + lacking


def _set_meters(target: str, meters: Iterable[Meter], there: Mapping[int, Meter]) -> None:
    """Add or change meters that differ."""
    for meter in meters:
        if there.get(meter.number) != meter:
            verb = "mod-meter" if meter.number in there else "add-meter"
            _ofctl(verb, target, text.meter(meter))


def _numbered(target: str, switch: SwitchPlan) -> tuple[dict[int, Meter], dict[int, Group]]:
    """Read the meters and groups of a bridge; OpenFlow 1.0 has none."""
    if switch.protocol == "openflow10":
        return {}, {}
    return _meters(target), _groups(target)


def _meters(target: str) -> dict[int, Meter]:
    matches = _METER.findall(_ofctl("dump-meters", target))
    return {int(key): Meter(int(key), int(rate), int(burst)) for key, rate, burst in matches}


def _groups(target: str) -> dict[int, Group]:
    matches = _GROUP.findall(_ofctl("dump-groups", target))
    return {
        int(number): Group(int(number), tuple(map(int, _BUCKET.findall(buckets))))
        for number, buckets in matches
    }


_VERSIONS = {
    "openflow13": ("-O", "OpenFlow13"),
    # Without the second option, ovs-ofctl would write masks by an extension of Open vSwitch.
    "openflow10": ("-O", "OpenFlow10", "-F", "openflow10"),
}


def _ofctl(
    *arguments: str,
    lines: Iterable[str] = (),
    ends: Sequence[int] = (0,),
    protocol: Protocol = "openflow13",
) -> str:
    written = "".join(f"{line}\n" for line in lines)
    return run("ovs-ofctl", *_VERSIONS[protocol], *arguments, text=written, ends=ends)
