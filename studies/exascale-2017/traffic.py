"""Measures of the checks of section VI-B, from the curves that they need."""

import math
from functools import partial

import polars as pl

from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import CurveResult

from .experiments import (
    FLOW_CONTROLS,
    FOGSIM_ACCEPTED,
    FOGSIM_LATENCIES,
    FOGSIM_TRANSIT,
    FRAMES,
    FRAMES_NEAR,
    NOTIFIED,
    PATTERNS,
    ROUTINGS,
    SAMPLING_MS,
    TABLES,
    TRIGGERED,
    TRIGGERED_LOADS,
)

LATENCY = "latency_ns_mean"
ACCEPTED = "load_accepted"
(_PAUSES,) = (name for name, control in FLOW_CONTROLS.items() if control == "pauses")


def metrics() -> dict[str, Metric]:
    """Give the metric of every check of traffic by its id, in the order of the publication."""
    tables = {**_table_2(), **_figure_12(), **_exascale()}
    return {
        **tables,
        **_butterfly("butterfly"),
        **_butterfly("butterfly_2d"),
        **_clos(),
        **_fogsim(),
    }


def points(results: Results, name: str) -> pl.DataFrame:
    """Look up a curve's points, by rising load."""
    curve: CurveResult = results[name]
    return curve.points.sort("load")


def saturated(results: Results, name: str) -> float:
    """Return the load that is accepted where most is offered."""
    return float(points(results, name)[ACCEPTED][-1])


def saturation(results: Results, name: str) -> float:
    """Return the most that is accepted at any load."""
    return max(map(float, points(results, name)[ACCEPTED]))


def ratios(results: Results, name: str, reference: str, below: float) -> list[float]:
    """Divide a curve's latencies by another's, at all common loads below a load."""
    both = points(results, name).join(points(results, reference), on="load")
    low = both.filter(pl.col("load") < below)
    return [float(ratio) for ratio in low[LATENCY] / low[f"{LATENCY}_right"]]


def above_minimal(results: Results, fabric: str, routing: str, minimal: str) -> list[float]:
    """Divide latencies under UN by those of minimal routing, at loads that this one can carry."""
    name, reference = f"{fabric}.uniform.{routing}", f"{fabric}.uniform.{minimal}"
    return ratios(results, name, reference, saturation(results, reference))


def _deviation(latency_ratios: list[float]) -> float:
    """Return the largest deviation of a ratio from 1 [%]; not a number without any ratio."""
    return 100 * max((abs(ratio - 1) for ratio in latency_ratios), default=math.nan)


def _table_2() -> dict[str, Metric]:
    def of(name: str, column: str, routing: str, results: Results) -> float:
        return float(points(results, f"table_2.{name}").filter(routing=routing)[column].item())

    def reaction(routing: str, results: Results) -> float:
        """Return how long until it accepts what is offered again [us]."""
        return of("reaction", "reaction_ns", routing, results) / 1e3

    cg = ("minimal", "controller", "conditional", "piggyback")
    return {
        **{f"table_2.reaction.{name}": partial(reaction, name) for name in cg[2:]},
        **{f"table_2.cg.{name}": partial(of, "cg", ACCEPTED, name) for name in cg},
        **{
            f"table_2.cg.sampling_{ms}ms": partial(of, f"sampling_{ms}ms", ACCEPTED, "controller")
            for ms in SAMPLING_MS
        },
        "table_2.steady.controller": partial(of, "steady", ACCEPTED, "controller"),
    }


def _figure_12() -> dict[str, Metric]:
    rows: dict[str, Metric] = {}
    for name in FLOW_CONTROLS:
        rows |= {
            f"{name}.uniform.conditional": partial(_resembling, name),
            f"{name}.uniform.piggyback": partial(_above, name),
            f"{name}.uniform.optimal": partial(_optimal, name),
            f"{name}.adversarial.minimal": _saturated(f"{name}.adversarial.minimal"),
            f"{name}.adversarial.valiant": _saturated(f"{name}.adversarial.valiant_group"),
            f"{name}.adversarial.small": partial(_slower_when_small, name),
            f"{name}.adversarial.latency": partial(_competitive_latency, name),
            f"{name}.adversarial.conditional": partial(
                _competitive, f"{name}.adversarial", ("conditional", "piggyback")
            ),
        }
    bound = "figure_12.adversarial.minimal"
    triggered: dict[str, dict[str, Metric]] = {
        name: {f"{name}.adversarial": partial(_triggered, name)} for name in TRIGGERED
    }
    triggered[FRAMES_NEAR][f"{FRAMES_NEAR}.adversarial.full"] = _frames_beside_queues
    triggered[NOTIFIED][f"{NOTIFIED}.uniform"] = _notified_resembling
    for metrics in triggered.values():
        rows |= metrics
    return {f"{bound}.bound": _bound(bound), **rows}


def _exascale() -> dict[str, Metric]:
    return {
        "exascale.uniform.conditional": partial(_resembling, "exascale"),
        "exascale.uniform.piggyback": partial(_above, "exascale"),
        "exascale.adversarial.minimal": _saturated("exascale.adversarial.minimal"),
        "exascale.adversarial.valiant": _saturated("exascale.adversarial.valiant_group"),
        "exascale.adversarial.conditional": partial(
            _competitive, "exascale.adversarial", ("conditional", "piggyback")
        ),
    }


def _butterfly(fabric: str) -> dict[str, Metric]:
    def resembling(results: Results) -> float:
        return _deviation(above_minimal(results, fabric, "conditional_tables", "dimension_order"))

    adversarial = f"{fabric}.adversarial"
    return {
        f"{fabric}.uniform.conditional": resembling,
        f"{adversarial}.minimal.bound": _bound(f"{adversarial}.dimension_order"),
        f"{adversarial}.minimal": _saturated(f"{adversarial}.dimension_order"),
        f"{adversarial}.valiant.bound": _bound(f"{adversarial}.valiant"),
        f"{adversarial}.valiant": _saturated(f"{adversarial}.valiant"),
        f"{adversarial}.conditional": partial(
            _competitive, adversarial, ("conditional_tables", "ugal_local")
        ),
    }


def _clos() -> dict[str, Metric]:
    def under(pattern: str, routing: str, results: Results) -> float:
        return saturated(results, f"clos.{pattern}.{routing}")

    def alike(results: Results) -> float:
        """Divide what is accepted under ADV by what is accepted under UN."""
        adversarial, uniform = (
            under(pattern, "adaptive_up", results) for pattern in ("adversarial", "uniform")
        )
        return adversarial / uniform

    def diverting(results: Results) -> float:
        """Divide what conditional rules accept under UN by what ECMP does."""
        return under("uniform", "conditional_tables", results) / under("uniform", "ecmp", results)

    return {
        "clos.uniform.bound": _bound("clos.uniform.spray"),
        "clos.adversarial.bound": _bound("clos.adversarial.spray"),
        "clos.adversarial.adaptive": alike,
        "clos.uniform.conditional": diverting,
    }


def _resembling(fabric: str, results: Results) -> float:
    return _deviation(above_minimal(results, fabric, "conditional", "minimal"))


def _above(fabric: str, results: Results) -> float:
    return min(above_minimal(results, fabric, "piggyback", "minimal"), default=math.nan)


def _optimal(fabric: str, results: Results) -> float:
    """Divide what conditional rules accept of full load by what the best of the others does."""
    accepted = {routing: saturated(results, f"{fabric}.uniform.{routing}") for routing in ROUTINGS}
    return accepted.pop("conditional") / max(accepted.values())


def _slower_when_small(fabric: str, results: Results) -> float:
    """Return the least ratio of latencies, conditional by VAL, below half of VAL's saturation."""
    valiant = f"{fabric}.adversarial.valiant_group"
    below = saturation(results, valiant) / 2
    small = ratios(results, f"{fabric}.adversarial.conditional", valiant, below)
    return min(small, default=math.nan)


def _competitive_latency(fabric: str, results: Results) -> float:
    """Return the largest ratio of latencies, conditional by PB, from half of what VAL accepts on.

    Loads that VAL does not carry are left out: it is the reference for ADV.
    """
    conditional, piggyback = (
        points(results, f"{fabric}.adversarial.{routing}")
        for routing in ("conditional", "piggyback")
    )
    most = saturation(results, f"{fabric}.adversarial.valiant_group")
    load = pl.col("load")
    both = conditional.join(piggyback, on="load").filter(load >= most / 2, load < most)
    return max(map(float, both[LATENCY] / both[f"{LATENCY}_right"]), default=math.nan)


def _triggered(name: str, results: Results) -> float:
    """Divide what rules with another trigger accept at a load by what PB does."""
    (load,) = TRIGGERED_LOADS[FRAMES, "adversarial"]
    frames = _at(f"{name}.adversarial.{TABLES}", load, ACCEPTED, results)
    return frames / _at(f"{_PAUSES}.adversarial.piggyback", load, ACCEPTED, results)


def _frames_beside_queues(results: Results) -> float:
    """Divide it by what they accept where full queues deactivate them as well; the least."""
    frames = points(results, f"{FRAMES_NEAR}.adversarial.{TABLES}")
    both = frames.join(points(results, f"{_PAUSES}.adversarial.conditional"), on="load")
    return min(map(float, both[ACCEPTED] / both[f"{ACCEPTED}_right"]), default=math.nan)


def _notified_resembling(results: Results) -> float:
    """Return the largest deviation from latencies of minimal routing under UN [%]."""
    name, minimal = f"{NOTIFIED}.uniform.{TABLES}", f"{_PAUSES}.uniform.minimal"
    return _deviation(ratios(results, name, minimal, saturation(results, minimal)))


def _competitive(name: str, routings: tuple[str, str], results: Results) -> float:
    """Divide what conditional rules accept at full load by what a custom routing does."""
    conditional, custom = (saturated(results, f"{name}.{routing}") for routing in routings)
    return conditional / custom


def _saturated(name: str) -> Metric:
    return lambda results: saturated(results, name)


def _bound(name: str) -> Metric:
    """Return what the core computes from the loads of all channels."""
    return lambda results: float(points(results, name)["load_bound"][0])


def _fogsim() -> dict[str, Metric]:
    """Latencies below saturation, what is accepted at it, and that nothing is lost below."""
    rows: dict[str, Metric] = {}
    for (routing, pattern), loads in FOGSIM_ACCEPTED.items():
        name = f"fogsim.{pattern}.{routing}"
        for load in FOGSIM_LATENCIES.get((routing, pattern), ()):
            rows[f"{name}.{load:g}.latency"] = partial(_at, name, load, LATENCY)
        for load in loads:
            rows[f"{name}.{load:g}.accepted"] = partial(_at, name, load, ACCEPTED)
    for (routing, pattern), loads in FOGSIM_TRANSIT.items():
        name = f"fogsim_transit.{pattern}.{routing}"
        for load in loads:
            rows[f"{name}.{load:g}.accepted"] = partial(_at, name, load, ACCEPTED)
    return {**rows, "fogsim.delivered": _undelivered, "fogsim.tables": _differing}


def _at(name: str, load: float, column: str, results: Results) -> float:
    return float(points(results, name).filter(load=load)[column].item())


def _undelivered(results: Results) -> float:
    """Return the largest difference of accepted from offered load where latencies count."""
    return max(
        abs(_at(f"fogsim.{pattern}.{routing}", load, ACCEPTED, results) - load)
        for (routing, pattern), loads in FOGSIM_LATENCIES.items()
        for load in loads
    )


def _differing(results: Results) -> float:
    """Count the points at which conditional rules by tables are not those by the algorithm."""

    def compared(pattern: str, routing: str) -> pl.DataFrame:
        columns = ("load", ACCEPTED, LATENCY, "fingerprint")
        return points(results, f"fogsim.{pattern}.{routing}").select(columns)

    pairs = [
        zip(
            compared(pattern, "conditional").rows(),
            compared(pattern, "conditional_tables").rows(),
            strict=True,
        )
        for pattern in PATTERNS
    ]
    return float(sum(first != other for rows in pairs for first, other in rows))
