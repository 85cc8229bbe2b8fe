"""Profiles of interconnects beside the survey's Table 1: figures, and a page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from matplotlib.figure import Figure

from etherweave.api.interconnects import Interconnect
from etherweave.measurements.references import Reference, references
from etherweave.report.page import Front, Page
from etherweave.report.section import Section, Table
from etherweave.report.style import SERIES, name_decades
from etherweave.study import load_study
from etherweave.uncertainty.intervals import Distribution

SURVEY = {
    "ethernet-25-tcp": "Ethernet 25-100G",
    "ethernet-100-tcp": "Ethernet 25-100G",
    "ethernet-200-tcp": "Ethernet 200-400G",
    "ethernet-400-tcp": "Ethernet 200-400G",
    "ethernet-100-roce": "RoCE",
    "infiniband-ndr": "InfiniBand",
    "omni-path-100": "Omni-Path",
    "slingshot-11": "Slingshot",
    "aries": "Aries",
    "tofu-d": "TofuD",
    "bxi-2": "BXI",
}
"""Rows of Table 1 of Li et al., TBench 2022, by profile."""


SIMULATED_CONTROL = "simulated_control"
PRODUCT = ("manufacturer", "proprietary", "congestion_control", SIMULATED_CONTROL, "rdma", "year")
"""Columns of Table 1 that are no figures of a simulation, and what of one is simulated."""
IMPACT = {"slingshot-11": "Slingshot-11"}
"""Names of fabrics in published figures of GPCNeT, by profile."""
PREDICTIONS = "interconnect-references"  # Study of figures that profiles predict.


Sampled: TypeAlias = Mapping[str, Mapping[str, Distribution]]
"""Distributions of figures by profile and figure."""
_NONE: Sampled = MappingProxyType({})


@dataclass(frozen=True)
class Published:
    """Value of Table 1: one figure, a bound, or a range."""

    low: float
    high: float
    bound: str  # ``eq``, ``approx``, ``lt`` or ``gt``.

    def ratio(self, value: float) -> float:
        """Return a value over the figure, of a range over its nearer end; 1 within it."""
        return value / min(max(value, self.low), self.high)


def published_latency(interconnect: Interconnect) -> Published | None:
    """Return the latency of Table 1 [us]."""
    return _published(interconnect.name, "latency", 1e6)


def published_rate(interconnect: Interconnect) -> Published | None:
    """Return the bandwidth in one direction of Table 1 [Gb/s]."""
    return _published(interconnect.name, "bandwidth", 8e-9)


def published_impact(interconnect: Interconnect) -> Published | None:
    """Return GPCNeT's impact on the latency of random rings, of the mean."""
    rows = [
        reference.value
        for reference in references()
        if reference.metric == "congestion_impact"
        and (reference.test, reference.statistic) == ("RR Two-sided Lat", "mean")
        and reference.fabric == IMPACT.get(interconnect.name)
    ]
    return Published(min(rows), max(rows), "eq") if rows else None


def support(interconnect: Interconnect) -> str:
    """Say what a profile rests on: figures that it is fitted to or predicts, or declarations."""
    if interconnect.fitted:
        return f"{interconnect.fitted} measured"
    rows = load_study(PREDICTIONS).expected()
    predicted = [row["id"].split(".")[0] for row in rows if row["source"].endswith("prediction")]
    count = predicted.count(interconnect.name)
    return f"{count} predicted" if count else "declared"


def product(interconnect: Interconnect) -> tuple[str, ...]:
    """Write what a buyer asks of an interconnect, of which some is unknown."""
    facts = {**interconnect.product, SIMULATED_CONTROL: interconnect.simulated_control}
    return interconnect.name, *(_word(facts.get(key)) for key in PRODUCT)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _published(name: str, metric: str, scale: float) -> Published | None:
    def wanted(reference: Reference) -> bool:
        is_row = reference.program == "survey" and reference.fabric == SURVEY.get(name)
        return is_row and reference.metric == metric

    rows = [reference for reference in references() if wanted(reference)]
    if not rows:
        return None
    values = [scale * reference.value for reference in rows]
    return Published(min(values), max(values), rows[0].bound)


def text_of(published: Published | None) -> str:
    """Write what Table 1 says."""
    if published is None:
        return ""
    if published.low != published.high:
        return f"{published.low:g}-{published.high:g}"
    return {"lt": "<", "gt": ">", "approx": "~"}.get(published.bound, "") + f"{published.low:g}"


HEAD = ("profile", "support", "Gb/s", "published", "8 B us", "published", "ratio")
"""Columns of :func:`row`, before those of what is only simulated."""
SIMULATED = ("1 MiB Gb/s", "messages/us", "all-to-all", "GPCNeT", "published")


def row(interconnect: Interconnect) -> tuple[str, ...]:
    """Write all figures of a profile."""
    latency, rate = published_latency(interconnect), published_rate(interconnect)
    ratio = f"{latency.ratio(interconnect.latency_us):.2f}" if latency else ""
    table = (
        f"{interconnect.rate_gbps:g}",
        text_of(rate),
        f"{interconnect.latency_us:.2f}",
        text_of(latency),
        ratio,
    )
    rates = (interconnect.bandwidth_gbps, interconnect.messages_per_us)
    simulated = (*rates, interconnect.all_to_all_us, interconnect.yielded_impact)
    texts = ("" if value is None else f"{value:.1f}" for value in simulated)
    impact = text_of(published_impact(interconnect))
    return interconnect.name, support(interconnect), *table, *texts, impact


def facts(interconnect: Interconnect) -> dict[str, object]:
    """Collect every figure by a name with its unit, and the profile's figures with sources."""
    latency, rate = published_latency(interconnect), published_rate(interconnect)
    return {
        "profile": interconnect.name,
        "support": support(interconnect),
        "rate_gbps": interconnect.rate_gbps,
        "rate_ratio": rate and rate.ratio(interconnect.rate_gbps),
        "latency_us": interconnect.latency_us,
        "latency_ratio": latency and latency.ratio(interconnect.latency_us),
        "bandwidth_gbps": interconnect.bandwidth_gbps,
        "messages_per_us": interconnect.messages_per_us,
        "all_to_all_us": interconnect.all_to_all_us,
        "congestion_impact": interconnect.yielded_impact,
        "product": interconnect.product,
        "simulated_congestion_control": interconnect.simulated_control,
        "figures": interconnect.sources,
    }


def write_interconnects(
    interconnects: Sequence[Interconnect], out: Path, sampled: Sampled = _NONE
) -> Path:
    """Write the page of several profiles into a directory; returns the page's path.

    Intervals of 90 % of ``sampled``, figures of samples by profile, are drawn, and those with the
    error of the model.
    """
    page = Page(out)
    page.show(
        [partial(overview, sampled), *(_sources(row) for row in interconnects)], interconnects
    )
    declared = sum(support(interconnect) == "declared" for interconnect in interconnects)
    lead = f"{len(interconnects)} profiles, of which {declared} rest on declarations only."
    return page.write(Front("Interconnects", lead), [])


def overview(sampled: Sampled, interconnects: Sequence[Interconnect]) -> Section:
    """Draw latencies and bandwidths of profiles, with the intervals of samples, and list all."""
    figure = Figure(figsize=(9, 0.8 + 0.3 * len(interconnects)))
    left, right = figure.subplots(1, 2)
    places = list(range(len(interconnects)))
    point = {"linestyle": "", "marker": "o", "color": SERIES[0]}
    left.plot([interconnect.latency_us for interconnect in interconnects], places, **point)
    right.plot([interconnect.bandwidth_gbps for interconnect in interconnects], places, **point)
    for place, interconnect in enumerate(interconnects):
        if published := published_latency(interconnect):
            left.plot([published.low, published.high], [place, place], color="black", marker="|")
    for axes, key in ((left, "latency_us"), (right, "bandwidth_gbps")):
        for place, interconnect in enumerate(interconnects):
            if interconnect.name in sampled:
                drawn = sampled[interconnect.name][key]
                axes.hlines(place, *drawn.most, color=SERIES[0], linewidth=7, alpha=0.25)
                if drawn.together:
                    axes.hlines(place, *drawn.together, color=SERIES[0], linewidth=1)
    for axes, titles in (
        (left, [interconnect.name for interconnect in interconnects]),
        (right, [""] * len(interconnects)),
    ):
        axes.set_yticks(places, titles)
        axes.set_ylim(len(places) - 0.5, -0.5)
    for axes, label in ((left, "latency of 8 B [us]"), (right, "one pair at 1 MiB [Gb/s]")):
        axes.set_xscale("log")
        name_decades(axes.xaxis)
        axes.set_xlabel(label)
    caption = (
        "Simulated between two hosts at one switch; the all-to-all of 1 KiB on the profile's "
        "fabric of 64 hosts [us], and there the factor of latency in GPCNeT's random ring beside "
        "its congestors. Black: Table 1 of Li et al., TBench 2022."
        + (
            " Bands: intervals of 90 % of samples; lines: with the model's error."
            if sampled
            else ""
        )
    )
    table = Table((*HEAD, *SIMULATED), [row(interconnect) for interconnect in interconnects])
    asked = Table(("profile", *product_titles()), [product(profile) for profile in interconnects])
    return Section("overview", "What each profile yields", caption, figure, [table, asked])


def product_titles() -> tuple[str, ...]:
    """List the titles of the columns of :data:`PRODUCT`."""
    return tuple(key.replace("_", " ").replace("rdma", "RDMA") for key in PRODUCT)


def _sources(profile: Interconnect) -> Callable[[Sequence[Interconnect]], Section]:
    rows = [(row["key"], str(row["value"]), row["basis"], row["source"]) for row in profile.sources]
    table = Table(("key", "value", "basis", "source"), rows, is_folded=True)
    return lambda _: Section(profile.name, profile.name, tables=[table])
