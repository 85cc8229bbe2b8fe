"""Rules of every switch and addresses of every host of a scenario's fabric.

Nothing is opened and nothing sent: the same scenario gives the same plan. Tables, addresses and
their proofs are the core's; here they become rules, and the rules that deployment needs are added.

>>> from etherweave.control.plan import plan
>>> planned = plan({"topology": {"single_switch": {"hosts": 2}}})
>>> [host.ipv4 for host in planned.plan.hosts] == [0x0A800000, 0x0A800001]
True
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from etherweave import _core
from etherweave.api.fabrics import fabric
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.control.admission import ingress_acl, known_destinations, meters
from etherweave.control.forwarding import forwarding, groups, services
from etherweave.control.numbering import Numbering, NumberingError, numbering
from etherweave.control.openflow10 import single_table
from etherweave.control.rules import (
    CLASS_BIT,
    AddressPattern,
    ControlSettings,
    FabricPlan,
    HostPlan,
    PortPlan,
    Purpose,
    SwitchDesign,
    SwitchPlan,
    TableEntry,
)

if TYPE_CHECKING:
    import polars

_Numbers = TypeVar("_Numbers")
PAUSE_BITS_MAX = 64  # Bits of OpenFlow's metadata.
CARRIED = (Purpose.FORWARD, Purpose.ALTERNATIVE, Purpose.WAIT)
"""Purposes of the rules that the design counts."""


class FabricPlanError(ValueError):
    """A scenario cannot be deployed in its fabric: what, where, and what is expected."""


@dataclass(frozen=True, slots=True)
class PlannedDeployment:
    """A plan, and the tables that it follows from."""

    plan: FabricPlan
    spec: ControlSettings
    deployment: _core.Deployment  # Returns where packets should go, by table and by routing.
    failed: tuple[str, ...]  # Failed cables that the plan avoids: "leaf0 - core0".
    warnings: tuple[str, ...] = ()
    """How pauses can deadlock it, and what failed cables divide, each with its key."""
    numbering: Numbering | None = None
    """Numbers of real switches and ports, where the scenario states them."""

    @property
    def installed(self) -> FabricPlan:
        """The plan with the numbers of real switches and ports."""
        return self.numbering.applied(self.plan) if self.numbering else self.plan


def plan(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    failed: Sequence[str] = (),
    factory: Mapping[str, int] | None = None,
) -> PlannedDeployment:
    """Plan the deployment of a scenario's fabric.

    The tables ``control`` and ``design.tables`` of the scenario count.

    Parameters
    ----------
    failed
        Cables that are down, by their ends ("leaf0 - core0"); parallel ones by the port
        of the first end ("leaf0:13 - core0"), or the first of them by repeating the name.
    factory
        MAC addresses of hosts by name, where ``control.addresses`` is "rewrite"; of the ports of a
        host with several, as ``host0.1``.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, or names do not exist.
    FabricPlanError
        When a host's factory address is missing, or a switch watches too many ports, or one port
        in two priorities.
    """
    import polars

    built = fabric(scenario, overrides)
    numbers = _numbered(lambda: numbering(built.resolved))
    deployment = built.deployment([numbers.planned(name) if numbers else name for name in failed])
    spec = ControlSettings.parse(deployment.spec)
    names = polars.DataFrame(built.tables["switches"])["switch"].to_list()
    hosts = _hosts(deployment, spec, names)
    addresses = _factory(spec, hosts, factory or {})
    sites = _sites(deployment, spec, names, hosts, addresses)
    switches = tuple(map(switch_plan, sites))
    if spec.protocol == "openflow10":
        switches = tuple(_for_openflow10(switches, hosts, deployment.planes))
    made = FabricPlan(built.name, deployment.layout, switches, hosts)
    if numbers:
        _numbered(lambda: numbers.check(made))
    warnings = tuple(deployment.warnings)
    return PlannedDeployment(made, spec, deployment, (*failed,), warnings, numbers)


def _numbered(step: Callable[[], _Numbers]) -> _Numbers:
    """Carry out a step with the numbers of real switches; their mistakes are the scenario's."""
    try:
        return step()
    except NumberingError as error:
        raise FabricPlanError(str(error)) from None


def switch_plan(site: SwitchDesign) -> SwitchPlan:
    """Write all rules of a switch."""
    bits = site.pause_bits
    bits_max = CLASS_BIT if site.is_class_written else PAUSE_BITS_MAX
    if len(bits) > bits_max:
        raise FabricPlanError(
            f"{site.name}: conditional rules watch {len(bits)} ports; "
            f"expected at most {bits_max}, a bit of the metadata each"
        )
    rules = (*ingress_acl(site), *known_destinations(site), *services(site), *forwarding(site))
    own = (site.name, site.datapath_id, site.ports, rules, groups(site), meters(site), bits)
    return SwitchPlan(*own, pause_classes=pause_classes(site))


def pause_classes(site: SwitchDesign) -> dict[int, int]:
    """Return in which priority conditional rules send lossless packets, by port they depend on.

    Raises ``FabricPlanError`` when rules for one port write several: it has one bit of the pause
    vector.
    """
    if site.spec.pauses != "class":
        return {}
    classes: dict[int, int] = {}
    for entry in site.entries:
        if entry.unless_paused and entry.written:
            priority = site.spec.priorities[entry.written - 1]
            if classes.setdefault(entry.unless_paused, priority) != priority:
                raise FabricPlanError(
                    f'control.pauses = "class": rules of {site.name} depend on port '
                    f"{entry.unless_paused} in several of control.priorities; "
                    'expected "port", or control.alternatives = 1'
                )
    return classes


def _for_openflow10(
    switches: Sequence[SwitchPlan], hosts: Iterable[HostPlan], planes: int
) -> Iterator[SwitchPlan]:
    addresses: dict[int, list[int]] = defaultdict(list)
    for host in hosts:
        addresses[host.plane].append(host.mac)
    for number, switch in enumerate(switches):
        if switch.groups:
            ports = " ".join(map(str, switch.groups[0].ports))
            raise FabricPlanError(
                f'control.protocol = "openflow10": {switch.name} selects among ports {ports} by '
                "hash, for which OpenFlow 1.0 has no groups; expected "
                'design.tables.share_by = "source", or one path'
            )
        yield single_table(switch, addresses[number * planes // len(switches)])


def counts(switch: SwitchPlan) -> dict[Purpose, int]:
    """Count the rules of a switch by purpose; those that the design counts come first."""
    counted = Counter(rule.purpose for rule in switch.rules)
    return {purpose: counted[purpose] for purpose in Purpose if counted[purpose]}


def as_json(plan: FabricPlan) -> dict[str, Any]:
    """Return a plan as dictionaries and lists."""
    figures: dict[str, Any] = asdict(plan)
    for switch, planned in zip(figures["switches"], plan.switches, strict=True):
        switch["rules"] = [_rule_json(rule) for rule in planned.rules]
    return figures


def _rule_json(rule: Any) -> dict[str, Any]:
    def tagged(step: Any) -> dict[str, Any]:
        later = {"actions": list(map(tagged, step.actions))} if hasattr(step, "actions") else {}
        return {"kind": type(step).__name__, **asdict(step), **later}

    steps = {part: [tagged(step) for step in getattr(rule, part)] for part in _STEPS}
    match = [field._asdict() for field in rule.match]
    return {**rule._asdict(), "match": match, **steps}


_STEPS = ("actions", "instructions")


def _hosts(
    deployment: _core.Deployment, spec: ControlSettings, names: list[str]
) -> tuple[HostPlan, ...]:
    import polars

    low = (1 << deployment.address_bits) - 1
    base = int(spec.network.network_address) if spec.network else None
    rows = polars.DataFrame(deployment.tables["hosts"]).rows()
    return tuple(
        HostPlan(
            *(name, names[switch], port, eth, None if base is None else base | eth & low),
            *(host, number, plane, source),
        )
        for name, host, number, plane, switch, port, eth, source in rows
    )


def _factory(
    spec: ControlSettings, hosts: Iterable[HostPlan], numbers: Mapping[str, int]
) -> dict[str, int]:
    if spec.addresses == "dmp":
        return {}
    missing = [host.name for host in hosts if host.name not in numbers]
    if missing:
        raise FabricPlanError(
            f'control.addresses = "rewrite": no factory address of {missing[0]}'
            f"{f' and {len(missing) - 1} others' if missing[1:] else ''}; expected one per host"
        )
    return dict(numbers)


def _sites(
    deployment: _core.Deployment,
    spec: ControlSettings,
    names: list[str],
    hosts: tuple[HostPlan, ...],
    factory: dict[str, int],
) -> Iterable[SwitchDesign]:
    import polars

    tables = {name: polars.DataFrame(table) for name, table in deployment.tables.items()}
    patterns: dict[int, list[AddressPattern]] = defaultdict(list)
    for plane, *pattern in tables["known"].rows():
        patterns[plane].append(AddressPattern(*pattern))
    ports, marked = _ports(tables["ports"])
    entries = _entries(tables["rules"])
    own: dict[str, list[HostPlan]] = defaultdict(list)
    for host in hosts:
        own[host.switch].append(host)
    for number, name in enumerate(names):
        yield SwitchDesign(
            name,
            number + 1,
            spec,
            tuple(ports[number]),
            tuple(own[name]),
            tuple(marked["is_on_tree"][number]),
            frozenset(marked["raises"][number] if spec.priorities else ()),
            frozenset(marked["diverts"][number]),
            tuple(entries[number]),
            tuple(patterns[number * deployment.planes // len(names)]),
            deployment.address_bits,
            factory,
        )


def _ports(
    table: "polars.DataFrame",
) -> tuple[dict[int, list[PortPlan]], dict[str, dict[int, list[int]]]]:
    """Read the ports of every switch, and those with a mark, by the mark's column."""
    ports: dict[int, list[PortPlan]] = defaultdict(list)
    marks = ("is_on_tree", "raises", "diverts")
    marked: dict[str, dict[int, list[int]]] = {mark: defaultdict(list) for mark in marks}
    columns = ("switch", "port", "node", "node_port", "class", *marks)
    for switch, port, node, node_port, kind, *values in table.select(columns).rows():
        ports[switch].append(PortPlan(port, node, node_port, kind == "host"))
        for mark in (mark for mark, value in zip(marks, values, strict=True) if value):
            marked[mark][switch].append(port)
    return ports, marked


def _entries(table: "polars.DataFrame") -> dict[int, list[TableEntry]]:
    entries: dict[int, list[TableEntry]] = defaultdict(list)
    known: dict[str, tuple[int, ...]] = {}
    for switch, *match, words, is_alternative, waits, written in table.rows():
        if words not in known:
            known[words] = tuple(map(int, words.split()))
        entry = (*match, known[words], bool(is_alternative), bool(waits), written)
        entries[switch].append(TableEntry._make(entry))
    return entries
