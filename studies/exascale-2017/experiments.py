"""The comparison of topologies for exascale: on paper, on switches, under synthetic traffic.

M. Benito, E. Vallejo, R. Beivide: *On the Use of Commodity Ethernet Technology in Exascale HPC
Systems*, HiPC 2015. Section VI-B asks which fabrics carry which traffic, by which routings, at
which loads.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from etherweave.control.experiments import (
    AnnouncementExperiment,
    FloodingExperiment,
    LabExperiment,
    LearningExperiment,
    ReactionExperiment,
    RulesExperiment,
)
from etherweave.study.experiments import (
    BalancedFabricExperiment,
    CurveExperiment,
    DesignExperiment,
    StudyExperiment,
    by_formula,
)

from . import applications, kernels

FABRICS = ("clos", "butterfly", "dragonfly")  # Fabrics of figure 11.

TABLE_1 = ("clos_3", "butterfly_2d", "butterfly_3d", "dragonfly", "butterfly_4d")
"""Families of table I and figure 4, in the order of the table."""

FAMILIES = (*TABLE_1, "butterfly_5d")
"""Those, and the other dimension that the text speaks of: "a FB of any dimension"."""

RADICES = (8, 16, 24, 48, 96)  # Ports of the switches in figures 4 and 6.

GROUPINGS = (1, 2, 3)
"""Leading coordinates of the butterfly of figure 11 that the switches of a group share."""

RADICES_SHARED = (8, 16, 24)
"""Ports of folded Clos networks whose uplinks have shares of the destinations."""

HOSTS_BUILT = 1_400_000  # Larger fabrics are known by formula only.

PLANES = ("ebpf", "ovs")  # Data planes whose reaction to pauses is measured.

PATTERNS = ("uniform", "adversarial")
"""UN and ADV: any host, any host of the next group; without groups, of the next switch."""

ROUTINGS = ("valiant_group", "piggyback", "conditional", "minimal")
"""Routings of figure 12, those that take longest first."""

TABLES = "conditional_tables"  # Conditional rules as the tables of switches hold them.

LONGEST = "200us"
"""The end of a run at the latest, the same for every point: warm-up and length are detected."""

FLOW_CONTROLS = {"figure_12": "credits", "figure_12_pauses": "pauses"}
"""Figure 12 as the publication's simulator has it, and as Ethernet does."""

SWITCHES: dict[str, dict[str, object]] = {
    "credits": {},
    "pauses": {"flow_control": {"pfc": {}}, "switch.xon_offset": "2kB"},
}
"""Keys of each flow control."""

XON_NEAR: dict[str, object] = {"switch.xon_offset": "1kB"}  # XON a packet below XOFF.

FEW_LOADS = {"uniform": (0.2, 0.5, 0.8, 1.0), "adversarial": (0.05, 0.2, 0.3, 0.4, 1.0)}
"""Loads of figure 12, unless all are wanted."""

FRAMES = "figure_12_frames"  # Conditional rules that pause frames alone deactivate, under ADV.

FRAMES_NEAR = "figure_12_frames_near"
"""The same with XON a packet below XOFF: a pause lasts while the queue is full."""

NOTIFIED = "figure_12_notified"
"""Conditional rules that switches deactivate when they snoop congestion notifications."""

TRIGGER = "open_loop.tables.conditional.trigger"

NOTIFICATION: dict[str, object] = {
    # Half of an output queue of Table III; the standard's 26 kB are more than it holds.
    "set_point": "5kB",
    # In which a congestion point at the standard's 150 kB a sample reaches all 16 switches of a
    # group at 40 Gb/s.
    "hold": "480us",
}
"""Parameters of congestion points that are not those of IEEE 802.1Q."""

TRIGGERED: dict[str, dict[str, object]] = {
    FRAMES: {**SWITCHES["pauses"], TRIGGER: "pause"},
    FRAMES_NEAR: {**SWITCHES["pauses"], **XON_NEAR, TRIGGER: "pause"},
    NOTIFIED: {**SWITCHES["pauses"], TRIGGER: {"notification": NOTIFICATION}},
}
"""Keys of conditional rules with another trigger than a full queue."""

TRIGGERED_LOADS = {
    (FRAMES, "adversarial"): (0.3,),
    (FRAMES_NEAR, "adversarial"): (0.3, 0.4),
    (NOTIFIED, "adversarial"): (0.3,),
    (NOTIFIED, "uniform"): (0.5, 0.8),
}
"""Hosts of a switch want 8 · 0.3 = 2.4 times the rate of the port of their default rules."""

NOTIFIED_LONGEST = "1ms"  # A hold is longer than a run of the others.


@dataclass(frozen=True)
class TrafficFabric:
    """A fabric under traffic."""

    scenario: str  # Stem of its file.
    routings: tuple[str, ...]  # Routings that are run on it.
    loads: tuple[float, ...] = ()  # Loads of the runs; without any, those of the file.
    is_small: bool = False  # Whether it runs whatever is wanted.


OTHERS = {
    # As in figure 11: the fabric of some 300,000 hosts.
    "exascale": TrafficFabric("dragonfly", ROUTINGS, (0.5, 0.9)),
    "butterfly": TrafficFabric(
        "traffic_butterfly",
        ("valiant", "dimension_adaptive", "ugal_local", "conditional_tables", "dimension_order"),
    ),
    "butterfly_2d": TrafficFabric(
        "traffic_butterfly_2d",
        ("dimension_order", "valiant", "ugal_local", "conditional_tables"),
        is_small=True,
    ),
    "clos": TrafficFabric("traffic_clos", ("conditional_tables", "adaptive_up", "spray", "ecmp")),
}
"""Fabrics that the publication does not show under traffic: large ones only when all is wanted."""

REACTIONS = {"cg": "cg_controller", "steady": "steady_controller", "reaction": "reaction"}
"""Traffic that changes: as often as CG does, seldom, and once."""

SAMPLING_MS = (2, 3)  # Reactions of a controller that samples packets [ms].

FOGSIM = "../../scenarios/open_loop/fogsim_1056"
"""A network on which FOGSim, public version 5, was run; the publication shows none of it."""

FOGSIM_LATENCIES = {
    ("minimal", "uniform"): (0.2, 0.5, 0.8),
    ("valiant_group", "uniform"): (0.2, 0.4),
    ("valiant_group", "adversarial"): (0.3,),
    ("conditional", "uniform"): (0.5,),
    ("conditional", "adversarial"): (0.3,),
    ("piggyback", "uniform"): (0.5,),
    ("piggyback", "adversarial"): (0.3,),
}
"""Loads below saturation at which its latency is known, by routing and pattern."""

FOGSIM_ACCEPTED = {
    ("minimal", "uniform"): (1.0,),
    ("minimal", "adversarial"): (1.0,),
    ("valiant_group", "uniform"): (1.0,),
    ("valiant_group", "adversarial"): (1.0,),
    ("conditional", "uniform"): (1.0,),
    ("conditional", "adversarial"): (0.45, 1.0),
    ("piggyback", "uniform"): (1.0,),
    ("piggyback", "adversarial"): (1.0,),
}
"""Loads near saturation and above at which what it accepts is known."""

FOGSIM_TRANSIT = {
    ("conditional", "uniform"): (1.0,),
    ("conditional", "adversarial"): (0.3, 0.4, 1.0),
    ("piggyback", "uniform"): (1.0,),
    ("piggyback", "adversarial"): (0.4, 1.0),
}
"""Loads of the same network with outputs that serve transit before injection, its default."""


def experiments(full: bool) -> list[StudyExperiment]:
    """List curves, deployments, fabrics; curves are fewer unless all is wanted."""
    of_figure_11 = [DesignExperiment(f"figure_11.{name}", name) for name in FABRICS]
    groups = [
        DesignExperiment(
            f"figure_4.groups.{count}",
            "butterfly",
            {"design.routings": [], "design.tables.group_coordinates": count},
        )
        for count in GROUPINGS
    ]
    destinations = [
        BalancedFabricExperiment(
            f"figure_6.destination.{radix}",
            "clos_3",
            radix,
            True,
            {"design.routings": [], "design.tables.share_by": "destination"},
        )
        for radix in RADICES_SHARED
    ]
    runs = [*applications.experiments(), *kernels.experiments()]
    on_paper: list[StudyExperiment] = [*of_figure_11, *groups, *destinations, *_largest()]
    return [*curves(full), *runs, *deployments(), *on_paper]


def _largest() -> Iterator[BalancedFabricExperiment]:
    for radix in reversed(RADICES):
        for family, formula in by_formula(radix).items():
            overrides: dict[str, object] = {"design.routings": []}
            if family == "dragonfly":
                # As in section III-B: only rules of one output port are merged.
                overrides["design.tables.compaction"] = "prefixes"
            is_built = formula["hosts"] <= HOSTS_BUILT
            yield BalancedFabricExperiment(
                f"largest.{family}.{radix}", family, radix, is_built, overrides
            )


def deployments() -> list[StudyExperiment]:
    """List the experiments on switches, what takes long first."""
    reactions = [ReactionExperiment(f"deployed.reaction_{plane}", plane) for plane in PLANES]
    lab, rules = LabExperiment("deployed.lab", "lab"), RulesExperiment("deployed.rules", "deployed")
    openflow_10: dict[str, object] = {"control.protocol": "openflow10"}
    without_ipv4 = openflow_10 | {"control.ipv4": ""}
    return [
        lab,
        rules,
        RulesExperiment("deployed.rules_10", "deployed", openflow_10),
        RulesExperiment("deployed.manager", "deployed", {"control.resolution": "manager"}),
        AnnouncementExperiment("deployed.announcement", "announcements"),
        AnnouncementExperiment("deployed.announcement_10", "announcements", without_ipv4),
        LearningExperiment("deployed.learned", "deployed"),
        FloodingExperiment("deployed.flooding", "flooding"),
        *reactions,
    ]


def curves(full: bool) -> list[CurveExperiment]:
    """List a curve for each fabric, pattern and routing, the longest first."""
    return [*_other_curves(full), *_table_2_curves(), *_figure_12_curves(full), *_fogsim_curves()]


def _table_2_curves() -> Iterator[CurveExperiment]:
    for name, scenario in REACTIONS.items():
        yield CurveExperiment(f"table_2.{name}", f"../../scenarios/open_loop/{scenario}")
    for reaction_ms in SAMPLING_MS:
        overrides: dict[str, object] = {
            "open_loop.routings": ["controller"],
            "open_loop.controller.reaction": f"{reaction_ms}ms",
            # Whole turns, longer than the reaction.
            "open_loop.warm_up": "9720us",
        }
        name, scenario = f"table_2.sampling_{reaction_ms}ms", REACTIONS["cg"]
        yield CurveExperiment(name, f"../../scenarios/open_loop/{scenario}", overrides)


def _figure_12_curves(full: bool) -> Iterator[CurveExperiment]:
    # Pauses take longer than credits.
    for name, flow_control in reversed(FLOW_CONTROLS.items()):
        for pattern in PATTERNS:
            for routing in ROUTINGS:
                loads = () if full else FEW_LOADS[pattern]
                curve = _curve(name, "figure_12", pattern, routing, loads)
                yield _with(curve, SWITCHES[flow_control])
    for (name, pattern), loads in TRIGGERED_LOADS.items():
        curve = _with(_curve(name, "figure_12", pattern, TABLES, loads), TRIGGERED[name])
        yield _with(curve, {"open_loop.longest": NOTIFIED_LONGEST}) if name == NOTIFIED else curve


def _other_curves(full: bool) -> Iterator[CurveExperiment]:
    wanted = {name: fabric for name, fabric in OTHERS.items() if full or fabric.is_small}
    for name, fabric in wanted.items():
        for pattern in PATTERNS:
            for routing in fabric.routings:
                yield _curve(name, fabric.scenario, pattern, routing, fabric.loads)


def _fogsim_curves() -> Iterator[CurveExperiment]:
    for (routing, pattern), loads in FOGSIM_ACCEPTED.items():
        low = FOGSIM_LATENCIES.get((routing, pattern), ())
        yield _curve("fogsim", FOGSIM, pattern, routing, (*low, *loads))
        if routing == "conditional":
            yield _curve("fogsim", FOGSIM, pattern, "conditional_tables", (*low, *loads))
    for (routing, pattern), loads in FOGSIM_TRANSIT.items():
        curve = _curve("fogsim_transit", FOGSIM, pattern, routing, loads)
        yield _with(curve, {"open_loop.transit_first": True})


def _with(curve: CurveExperiment, overrides: dict[str, object]) -> CurveExperiment:
    return CurveExperiment(curve.name, curve.scenario, {**curve.overrides, **overrides})


def _curve(
    name: str, scenario: str, pattern: str, routing: str, loads: tuple[float, ...]
) -> CurveExperiment:
    overrides: dict[str, object] = {
        "open_loop.routings": [routing],
        "open_loop.patterns": [pattern],
        "open_loop.longest": LONGEST,
    }
    if loads:
        overrides["open_loop.loads"] = list(loads)
    return CurveExperiment(f"{name}.{pattern}.{routing}", scenario, overrides)
