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
from etherweave.report.style import SERIES
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


Sampled: TypeAlias = Mapping[str, Mapping[str, Distribution]]
"""Distributions of figures by profile and figure."""
_NONE: Sampled = MappingProxyType({})


@dataclass(frozen=True)
class Published:
    """What Table 1 says: one figure, a bound, or a range."""

    low: float
    high: float
    bound: str
    """``eq``, ``approx``, ``lt`` or ``gt``."""

    def ratio(self, value: float) -> float:
        """Return a value over the figure, of a range over its nearer end; 1 within it."""
        return value / min(max(value, self.low), self.high)


def published_latency(one: Interconnect) -> Published | None:
    """Return the latency of Table 1 [us]."""
    return _published(one.name, "latency", 1e6)


def published_rate(one: Interconnect) -> Published | None:
    """Return the bandwidth in one direction of Table 1 [Gb/s]."""
    return _published(one.name, "bandwidth", 8e-9)


def _published(name: str, metric: str, scale: float) -> Published | None:
    def wanted(one: Reference) -> bool:
        is_row = one.program == "survey" and one.fabric == SURVEY.get(name)
        return is_row and one.metric == metric

    rows = [one for one in references() if wanted(one)]
    if not rows:
        return None
    values = [scale * one.value for one in rows]
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
SIMULATED = ("1 MiB Gb/s", "messages/us", "all-to-all", "GPCNeT")


def row(one: Interconnect) -> tuple[str, ...]:
    """Write all figures of a profile."""
    latency, rate = published_latency(one), published_rate(one)
    ratio = f"{latency.ratio(one.latency_us):.2f}" if latency else ""
    table = (f"{one.rate_gbps:g}", text_of(rate), f"{one.latency_us:.2f}", text_of(latency), ratio)
    rates = (one.bandwidth_gbps, one.messages_per_us)
    simulated = (*rates, one.all_to_all_us, one.congestion_impact)
    return one.name, one.support, *table, *(f"{value:.1f}" for value in simulated)


def facts(one: Interconnect) -> dict[str, object]:
    """Collect every figure by a name with its unit, and the profile's figures with sources."""
    latency, rate = published_latency(one), published_rate(one)
    return {
        "profile": one.name,
        "support": one.support,
        "rate_gbps": one.rate_gbps,
        "rate_ratio": rate and rate.ratio(one.rate_gbps),
        "latency_us": one.latency_us,
        "latency_ratio": latency and latency.ratio(one.latency_us),
        "bandwidth_gbps": one.bandwidth_gbps,
        "messages_per_us": one.messages_per_us,
        "all_to_all_us": one.all_to_all_us,
        "congestion_impact": one.congestion_impact,
        "figures": one.sources,
    }


def write_interconnects(found: Sequence[Interconnect], out: Path, sampled: Sampled = _NONE) -> Path:
    """Write the page of several profiles into a directory; returns the page's path.

    Parameters
    ----------
    found
        The profiles.
    out
        Directory.
    sampled
        Figures of samples by profile, whose intervals of 90 % are drawn.
    """
    page = Page(out)
    page.show([partial(overview, sampled), *(_sources(one) for one in found)], found)
    declared = sum(one.support == "declared" for one in found)
    lead = f"{len(found)} profiles, of which {declared} rest on declarations only."
    return page.write(Front("Interconnects", lead), [])


def overview(sampled: Sampled, found: Sequence[Interconnect]) -> Section:
    """Draw latencies and bandwidths of profiles, with the intervals of samples, and list all."""
    figure = Figure(figsize=(9, 0.8 + 0.3 * len(found)))
    left, right = figure.subplots(1, 2)
    places = list(range(len(found)))
    point = {"linestyle": "", "marker": "o", "color": SERIES[0]}
    left.plot([one.latency_us for one in found], places, **point)
    right.plot([one.bandwidth_gbps for one in found], places, **point)
    for place, one in enumerate(found):
        if published := published_latency(one):
            left.plot([published.low, published.high], [place, place], color="black", marker="|")
    for axes, key in ((left, "latency_us"), (right, "bandwidth_gbps")):
        for place, one in enumerate(found):
            if one.name in sampled:
                ends = sampled[one.name][key].most
                axes.hlines(place, *ends, color=SERIES[0], linewidth=7, alpha=0.25)
    for axes, titles in ((left, [one.name for one in found]), (right, [""] * len(found))):
        axes.set_yticks(places, titles)
        axes.invert_yaxis()
    for axes, label in ((left, "latency of 8 B [us]"), (right, "one pair at 1 MiB [Gb/s]")):
        axes.set_xscale("log")
        axes.set_xlabel(label)
    caption = (
        "Simulated between two hosts at one switch; the all-to-all of 1 KiB on the profile's "
        "fabric of 64 hosts [us], and there the factor of latency in GPCNeT's random ring beside "
        "its congestors. Black: Table 1 of Li et al., TBench 2022."
        + (" Bands: intervals of 90 % of samples." if sampled else "")
    )
    table = Table((*HEAD, *SIMULATED), [row(one) for one in found])
    return Section("overview", "What each profile yields", caption, figure, [table])


def _sources(one: Interconnect) -> Callable[[Sequence[Interconnect]], Section]:
    rows = [
        (each["key"], str(each["value"]), each["basis"], each["source"]) for each in one.sources
    ]
    table = Table(("key", "value", "basis", "source"), rows, is_folded=True)
    return lambda _: Section(one.name, one.name, tables=[table])
