"""The comparison of topologies for exascale: what each check measures.

Fabrics on paper and deployments stand here, traffic in ``traffic.py``, and what is carried out in
``experiments.py``.
"""

import math
from collections.abc import Iterable
from functools import partial
from statistics import mean
from typing import Any

from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import DesignResult

from . import applications, kernels, traffic
from .experiments import FABRICS, FAMILIES, GROUPINGS, RADICES, RADICES_SHARED, TABLE_1, experiments

__all__ = ["experiments", "metrics"]

CONTROLLER_US = 70_000  # Least time that a controller needs (section V-A) [us].
LEADING = (6, 15, 15, 15)
"""Places of the dimensions of the butterfly of figure 11, in the order of its addresses."""
ENTRIES_MAX, ENTRIES_LARGEST = 4_096, 32_768
"""Entries of commodity switches, least and most: "from 4K to 32K entries", section III-A."""

ORGANISATIONS = {
    "cam_flat": ("cam", "flat", False),
    "flat": ("tcam", "flat", False),
    "per_switch": ("tcam", "per_switch", False),
    "per_group": ("tcam", "per_group", False),
    "compact": ("tcam", None, True),
}
"""Organisations of figure 11: kind of table, address plan, whether it is compacted."""


def metrics() -> dict[str, Metric]:
    """Give the metric of every check by its id."""
    on_paper = {**_tables(), **_table_1(), **_figure_4(), **_figure_6(), **_figure_11()}
    return {**on_paper, **_deployments(), **traffic.metrics(), **_applications()}


def _applications() -> dict[str, Metric]:
    return {**applications.metrics(), **kernels.metrics()}


def largest(results: Results, family: str) -> list[DesignResult]:
    """Pick a family's fabrics of figures 4 and 6, in the order of radices."""
    return [results[f"largest.{family}.{radix}"] for radix in RADICES]


def built(results: Results, family: str) -> list[DesignResult]:
    """Pick those that were built."""
    return [fabric for fabric in largest(results, family) if fabric.design]


def organisation(result: DesignResult, name: str) -> Any:
    """Look up what a fabric draws with one organisation of its tables."""
    table, plan, is_compacted = ORGANISATIONS[name]
    for row in result.design["power"]["organisations"]:
        same = row["table"] == table and row["is_compacted"] == is_compacted
        if same and plan in (None, row["plan"]):
            return row
    raise KeyError(f"no organisation {name} of {result.design['name']}")


def percent_of(results: Results, fabric: str, name: str) -> float:
    """Share of the reference that a fabric draws: flat CAM tables in the folded Clos [%]."""
    reference = organisation(results["figure_11.clos"], "cam_flat")["fabric"]["total_w"]
    drawn = organisation(results[f"figure_11.{fabric}"], name)["fabric"]["total_w"]
    return float(100 * drawn / reference)


def entries(result: DesignResult) -> dict[str, int]:
    """Entries of the largest table of a fabric as built, by address plan."""
    return {plan["plan"]: plan["largest"]["entries"] for plan in result.design["tables"]["plans"]}


def exceptions(verdicts: Iterable[bool]) -> float:
    """Count the exceptions; without any verdict there is no count, and a check of it fails."""
    listed = list(verdicts)
    return float(listed.count(False)) if listed else math.nan


def _tables() -> dict[str, Metric]:
    def tables(entries_each: int, results: Results) -> float:
        """Return what a TCAM of a switch of 72 ports draws, which is as its entries [W]."""
        flat = organisation(results["figure_11.clos"], "flat")
        return float(flat["switch"]["tables_w"]) * entries_each / float(flat["entries"])

    sizes = {"smallest": ENTRIES_MAX, "largest": ENTRIES_LARGEST}
    return {f"tables.{name}": partial(tables, size) for name, size in sizes.items()}


def _table_1() -> dict[str, Metric]:
    def deviation(family: str, column: str, results: Results) -> float:
        """Return the largest deviation of a column from what was published, over all radices."""
        rows = [fabric.formula for fabric in largest(results, family)]
        return max(float(abs(row[column] - row["published"][column])) for row in rows)

    def within(family: str, results: Results) -> float:
        """Count the radices at which hosts are those published, but for rounding."""
        rows = [fabric.formula for fabric in largest(results, family)]
        bounds = [(row["published"]["hosts_low"], row["published"]["hosts_high"]) for row in rows]
        pairs = zip(rows, bounds, strict=True)
        return float(sum(low <= row["hosts"] <= high for row, (low, high) in pairs))

    checks: dict[str, Metric] = {}
    for family in TABLE_1:
        checks[f"table_1.{family}.access"] = partial(deviation, family, "hosts_per_access_switch")
        checks[f"table_1.{family}.network"] = partial(deviation, family, "hosts_per_switch")
        checks[f"table_1.{family}.scalability"] = partial(within, family)
    return checks


def _figure_4() -> dict[str, Metric]:
    def differing(results: Results) -> float:
        """Count the fabrics whose tables, made and counted, are not those of the formulas."""
        fabric = [part for family in FAMILIES for part in built(results, family)]
        plans = ("flat", "per_switch", "per_group")
        return exceptions(
            entries(part) == {plan: part.formula[f"entries_{plan}"] for plan in plans}
            for part in fabric
        )

    def most(families: Iterable[str], plan: str, results: Results) -> float:
        """Return the most hosts with fewer entries than the smallest switches have."""
        rows = [fabric.formula for family in families for fabric in largest(results, family)]
        few = [row["hosts"] for row in rows if row[f"entries_{plan}"] < ENTRIES_MAX]
        return float(max(few, default=0))

    checks: dict[str, Metric] = {
        f"figure_4.{family}.per_group": partial(most, [family], "per_group")
        for family in ("butterfly_3d", "dragonfly", "butterfly_2d", "clos_3")
    }
    for plan in ("per_switch", "flat"):
        checks[f"figure_4.{plan}"] = partial(most, TABLE_1, plan)

    def groupings(results: Results) -> list[tuple[float, int]]:
        """List how unlike groups and their switches are in number, and entries, by grouping."""
        listed = []
        for count in GROUPINGS:
            result = results[f"figure_4.groups.{count}"]
            sizes = result.design["fabric"]["switches"]
            groups = math.prod(LEADING[:count])
            per_group = sizes / groups
            listed.append((abs(math.log(groups / per_group)), entries(result)["per_group"]))
        return listed

    def unlike(results: Results) -> float:
        """Count the groupings with the fewest entries that are not those with G nearest to S."""
        listed = groupings(results)
        return float(min(listed)[1] != min(count for _, count in listed))

    return {
        "figure_4.formula": differing,
        **checks,
        "figure_4.groups": unlike,
        "figure_4.groups.entries": lambda results: float(min(e for _, e in groupings(results))),
    }


def _figure_6() -> dict[str, Metric]:
    def beside_ports(family: str, results: Results) -> float:
        """Count the fabrics with a table of more or fewer rules than ports."""
        return exceptions(
            (rules["rules_min"], rules["largest"]["entries"]) == (fabric.formula["ports"],) * 2
            for fabric in built(results, family)
            for rules in [fabric.design["tables"]["compacted"]]
        )

    def destinations(results: Results) -> float:
        """Count the fabrics whose shares of destinations are more or fewer rules than ports."""
        listed = [results[f"figure_6.destination.{radix}"] for radix in RADICES_SHARED]
        fabrics = [fabric for fabric in listed if fabric.design]
        return exceptions(
            (rules["rules_min"], rules["largest"]["entries"]) == (fabric.formula["ports"],) * 2
            for fabric in fabrics
            for rules in [fabric.design["tables"]["compacted"]]
        )

    def outside(results: Results) -> float:
        """Count the dragonflies with a table outside of the bounds."""
        return exceptions(
            rules["rules_min"] >= fabric.formula["rules_least"]
            and rules["largest"]["entries"] <= fabric.formula["rules_most"]
            for fabric in built(results, "dragonfly")
            for rules in [fabric.design["tables"]["compacted"]]
        )

    return {
        "figure_6.clos_3": partial(beside_ports, "clos_3"),
        "figure_6.clos_3.destination": destinations,
        **{
            f"figure_6.{family}": partial(beside_ports, family)
            for family in FAMILIES
            if family not in ("clos_3", "dragonfly")
        },
        "figure_6.dragonfly": outside,
    }


def _figure_11() -> dict[str, Metric]:
    def tables(fabric: str, name: str, scope: str, results: Results) -> float:
        return float(organisation(results[f"figure_11.{fabric}"], name)[scope]["tables_w"])

    def megawatts(fabric: str, name: str, results: Results) -> float:
        return tables(fabric, name, "fabric", results) / 1e6

    def per_switch(results: Results) -> float:
        return mean(megawatts(fabric, "per_switch", results) for fabric in FABRICS)

    def above(reference: str, name: str, fabric: str, results: Results) -> float:
        """Return how much more a fabric draws with one organisation than with another [%]."""
        drawn, other = (percent_of(results, fabric, each) for each in (name, reference))
        return 100 * (drawn / other - 1)

    checks: dict[str, Metric] = {}
    for fabric in FABRICS:
        checks[f"figure_11.{fabric}.flat_each"] = partial(tables, fabric, "flat", "switch")
        checks[f"figure_11.{fabric}.flat"] = partial(megawatts, fabric, "flat")
        checks[f"figure_11.{fabric}.per_switch"] = partial(megawatts, fabric, "per_switch")
        checks[f"figure_11.{fabric}.cam"] = partial(above, "cam_flat", "per_switch", fabric)
        checks[f"figure_11.{fabric}.per_group"] = partial(above, "compact", "per_group", fabric)
    return {**checks, "figure_11.per_switch": per_switch, **_savings()}


def _savings() -> dict[str, Metric]:
    def clos(results: Results) -> float:
        return percent_of(results, "clos", "compact")

    def dragonfly(results: Results) -> float:
        return percent_of(results, "dragonfly", "compact")

    def best(results: Results) -> float:
        others = min(percent_of(results, fabric, "compact") for fabric in FABRICS[:2])
        return dragonfly(results) / others

    return {
        "figure_11.saving.compaction": lambda results: 100 - clos(results),
        "figure_11.saving.topology": lambda results: clos(results) - dragonfly(results),
        "figure_11.saving.both": lambda results: 100 - dragonfly(results),
        "figure_11.best": best,
    }


def _deployments() -> dict[str, Metric]:
    def of(experiment: str, keys: tuple[str, ...], results: Results) -> float:
        value: Any = results[f"deployed.{experiment}"].figures
        for key in keys:
            value = value[key]
        return float(value)

    def without_address(results: Results) -> float:
        """Count the hosts of the lab without the address of the plan."""
        hosts = of("lab", ("addresses", "hosts"), results)
        return hosts - of("lab", ("addresses", "addressed"), results)

    def faster(results: Results) -> float:
        """Divide the time of a controller by that of a pause."""
        return CONTROLLER_US / of("reaction_ovs", ("pause_us",), results)

    def as_designed(results: Results) -> float:
        """Divide the flooded share of frames by what the design counts."""
        flooded = of("flooding", ("overflowing_flooded_share",), results)
        return flooded / of("flooding", ("designed_share",), results)

    def outcomes(experiment: str, results: Results) -> tuple[float, float, float]:
        """Count pairs by payload and by header under rewriting, and by payload under DMP."""
        reached = ("rewrite", "payload"), ("rewrite", "header"), ("dmp", "payload")
        pairs = of(experiment, ("pairs",), results)
        lost = [of(experiment, (*key, "Open-MX"), results) for key in reached]
        return lost[0], pairs - lost[1], pairs - lost[2]

    def announced(place: int, results: Results) -> float:
        return outcomes("announcement", results)[place]

    def differing_with_10(results: Results) -> float:
        return sum(outcomes("announcement_10", results))

    return {
        "deployed.dmp.without": without_address,
        "deployed.announcement.rewriting.payload": partial(announced, 0),
        "deployed.announcement.rewriting.header": partial(announced, 1),
        "deployed.announcement.dmp.payload": partial(announced, 2),
        "deployed.announcement.openflow_10": differing_with_10,
        "deployed.flooding.designed": as_designed,
        "deployed.reaction.controllers": faster,
    }
