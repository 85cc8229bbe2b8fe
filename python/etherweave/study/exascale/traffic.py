"""Section VI-B: which fabrics carry which traffic, by which routings, at which loads."""

from collections.abc import Iterator
from dataclasses import dataclass

from etherweave.study.curved import Curved

PATTERNS = ("uniform", "adversarial")
"""UN and ADV: any host, any host of the next group; without groups, of the next switch."""

ROUTINGS = ("valiant_group", "piggyback", "conditional", "minimal")
"""Of figure 12, those that take longest first."""

LONGEST = "200us"
"""The end of a run at the latest, the same for every point: warm-up and length are detected."""

FEW_LOADS = {"uniform": (0.2, 0.5, 0.8, 1.0), "adversarial": (0.05, 0.2, 0.4, 1.0)}
"""Of figure 12, unless all is wanted."""


@dataclass(frozen=True)
class Loaded:
    """A fabric under traffic."""

    scenario: str
    """Stem of its file."""
    routings: tuple[str, ...]
    """What is run on it."""
    loads: tuple[float, ...] = ()
    """At which loads; without any, at those of the file."""


OTHERS = {
    # As in figure 11: the fabric of some 300,000 hosts.
    "exascale": Loaded("dragonfly", ROUTINGS, (0.5, 0.9)),
    "butterfly": Loaded(
        "traffic_butterfly",
        ("valiant", "dimension_adaptive", "ugal_local", "conditional_tables", "dimension_order"),
    ),
    "clos": Loaded("traffic_clos", ("conditional_tables", "adaptive_up", "spray", "ecmp")),
}
"""What the paper does not show: under traffic only when all is wanted."""

REACTIONS = {
    "cg": "cg_controller",
    "steady": "steady_controller",
    "reaction": "reaction",
}
"""Traffic that changes: as often as CG does, seldom, and once."""

FOGSIM = "../../scenarios/open_loop/fogsim_1056"
"""The network that the paper's simulator was measured on."""

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


def curves(full: bool) -> list[Curved]:
    """List a curve for each fabric, pattern and routing, the longest first."""
    return [*(_others() if full else ()), *_table_2(), *_figure_12(full), *_fogsim()]


def _table_2() -> Iterator[Curved]:
    for name, scenario in REACTIONS.items():
        yield Curved(f"table_2.{name}", f"../../scenarios/open_loop/{scenario}")


def _figure_12(full: bool) -> Iterator[Curved]:
    for pattern in PATTERNS:
        for routing in ROUTINGS:
            loads = () if full else FEW_LOADS[pattern]
            yield _curve("figure_12", "figure_12", pattern, routing, loads)


def _others() -> Iterator[Curved]:
    for name, fabric in OTHERS.items():
        for pattern in PATTERNS:
            for routing in fabric.routings:
                yield _curve(name, fabric.scenario, pattern, routing, fabric.loads)


def _fogsim() -> Iterator[Curved]:
    for (routing, pattern), loads in FOGSIM_ACCEPTED.items():
        low = FOGSIM_LATENCIES.get((routing, pattern), ())
        yield _curve("fogsim", FOGSIM, pattern, routing, (*low, *loads))
        if routing == "conditional":
            yield _curve("fogsim", FOGSIM, pattern, "conditional_tables", (*low, *loads))


def _curve(
    name: str, scenario: str, pattern: str, routing: str, loads: tuple[float, ...]
) -> Curved:
    overrides: dict[str, object] = {
        "open_loop.routings": [routing],
        "open_loop.patterns": [pattern],
        "open_loop.longest": LONGEST,
    }
    if loads:
        overrides["open_loop.loads"] = list(loads)
    return Curved(f"{name}.{pattern}.{routing}", scenario, overrides)
