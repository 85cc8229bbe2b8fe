"""Curves against message size in one figure, with all that they can be compared with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from etherweave.report.bounds import Floats, Medium
from etherweave.report.style import ASIDE, DASHES, INK, SERIES, name_decades

LEGEND_MAX = 12  # Curves that a legend names.
_ZERO = 0.5  # Where messages without payload stand on a logarithmic axis [bytes].
_SIZES_MAX = 12  # That are named below an axis.
_PREFIXES = ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


@dataclass(frozen=True)
class SizeCurve:
    """Numbers by size, in base units."""

    name: str  # Name in the legend; curves of one name look alike, and are named once.
    sizes: Floats  # [bytes].
    values: Floats
    low: Floats  # Low end of the interval; not a number without one.
    high: Floats
    is_stable: Sequence[bool] = ()  # Stability of each point; all unless given.
    is_simulated: bool = False


@dataclass(frozen=True)
class PublishedMarks:
    """Published figures by size, in base units."""

    sizes: Floats
    low: Floats
    high: Floats
    ratios: Floats  # Measured over published, of every pair that is compared.


@dataclass(frozen=True)
class SizeBound:
    """A limit by size, in base units."""

    name: str
    sizes: Floats
    values: Floats
    dash: int = 0  # Kind of line: equal ones look alike.


@dataclass(frozen=True)
class SizePanel:
    """Curves of one metric."""

    title: str
    curves: Sequence[SizeCurve]
    bounds: Sequence[SizeBound] = ()
    marks: Sequence[PublishedMarks] = field(default=())


def rate_bounds(medium: Medium, sizes: Floats, times: int) -> Iterator[SizeBound]:
    """Give the rate of a link, which a metric counts so often, and what full frames leave of it."""
    ways = " both ways" * (times == 2)
    rate = f"line rate{ways}, {medium.rate * 8 / 1e9:g} Gb/s"
    yield SizeBound(rate, sizes, np.full_like(sizes, times * medium.rate))
    if medium.wire:
        goodput = f"payload of full frames{ways}\n({medium.note})"
        yield SizeBound(goodput, sizes, np.full_like(sizes, times * medium.goodput), 1)


def message_bounds(
    medium: Medium, sizes: Floats, who: str, alpha: float | None
) -> Iterator[SizeBound]:
    """Give the time of bytes on a link, and, where it is known, that of a message with it [s].

    A message waits ``alpha`` and then passes at the goodput: the linear model of Hockney (Parallel
    Computing 20, 1994), α + n·β.
    """
    name = f"size / line rate, {medium.rate * 8 / 1e9:g} Gb/s"
    yield SizeBound(name, sizes, sizes / medium.rate)
    if alpha is not None:
        note = f"\n({medium.note})" if medium.note else ""
        name = f"{who}: {alpha * 1e6:.3g} us + size / goodput{note}"
        yield SizeBound(name, sizes, alpha + sizes / medium.goodput, 1)


def draw(panels: Sequence[SizePanel], scale: float, label: str) -> Figure:
    """Draw a row for each panel, and beside it what each line is.

    Panels stand from top to bottom; ``scale`` leads from base units to those of the axis, whose
    label is ``label``.
    """
    figure = Figure(figsize=(9, 3.9 * len(panels)))
    rows = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        _panel(axes, panel, scale)
        axes.set_ylabel(label)
    return figure


def _panel(axes: Axes, panel: SizePanel, scale: float) -> None:
    names = list(dict.fromkeys(curve.name for curve in panel.curves))
    named: set[str] = set()
    for curve in panel.curves:
        number = names.index(curve.name)
        is_named = curve.name not in named and (curve.is_simulated or number < LEGEND_MAX)
        _curve(axes, curve, scale, SERIES[number % len(SERIES)], is_named)
        named.add(curve.name)
    for bound in panel.bounds:
        dash = DASHES[bound.dash % len(DASHES)]
        look: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": dash}
        axes.plot(_places(bound.sizes), bound.values * scale, label=bound.name, **look)
    _published(axes, panel.marks, scale)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _near(axes, panel, scale)
    name_decades(axes.yaxis)
    _name_sizes(axes, panel)
    axes.set_title(panel.title)
    axes.legend(**ASIDE)


def _curve(axes: Axes, curve: SizeCurve, scale: float, colour: str, is_named: bool) -> None:
    places, values = _places(curve.sizes), curve.values * scale
    dash = "-." if curve.is_simulated else "-"
    marker = "x" if curve.is_simulated else "o"
    look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
    name = curve.name if is_named else None
    axes.plot(places, values, linewidth=1.2, linestyle=dash, label=name, **look)
    axes.fill_between(
        places, curve.low * scale, curve.high * scale, color=colour, alpha=0.2, linewidth=0
    )
    hollow = ~np.array(curve.is_stable or [True] * len(places), dtype=bool)
    axes.plot(places[hollow], values[hollow], linestyle="", markerfacecolor="white", **look)


def _published(axes: Axes, marks: Sequence[PublishedMarks], scale: float) -> None:
    known = [mark for mark in marks if len(mark.sizes)]
    if not known:
        return
    ratios = np.concatenate([mark.ratios for mark in known])
    label = f"published; measured is {_span(ratios)} of it"
    for entry in known:
        middle = np.sqrt(entry.low * entry.high)
        reach = np.vstack([middle - entry.low, entry.high - middle]) * scale
        look: dict[str, Any] = {"color": INK, "markersize": 5, "capsize": 2, "elinewidth": 1}
        axes.errorbar(_places(entry.sizes), middle * scale, reach, fmt="D", label=label, **look)
        label = "_again"


def _span(ratios: Floats) -> str:
    low, high = f"{ratios.min():.3g}", f"{ratios.max():.3g}"
    return low if low == high else f"{low} to {high}"


def _near(axes: Axes, panel: SizePanel, scale: float) -> None:
    """Show what is there and half a decade around: bounds may lie far away."""
    shown = [curve.values for curve in panel.curves]
    shown += [end for mark in panel.marks for end in (mark.low, mark.high)]
    values = np.concatenate(shown) * scale
    positive = values[np.isfinite(values) & (values > 0)]
    if len(positive):
        axes.set_ylim(positive.min() / 3, positive.max() * 3)


def _name_sizes(axes: Axes, panel: SizePanel) -> None:
    sizes = np.unique(np.concatenate([curve.sizes for curve in panel.curves]))
    step = -(-len(sizes) // _SIZES_MAX)
    shown = sizes[::-step][::-1]  # the largest has a name
    axes.xaxis.set_major_locator(FixedLocator(_places(shown).tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([size_name(round(size)) for size in shown], fontsize=8)
    axes.set_xlabel("message size [bytes]")


def _places(sizes: Floats) -> Floats:
    return np.where(sizes > 0, sizes, _ZERO)


def size_name(size: int) -> str:
    """Write a size [bytes] as powers of two where it is one: 64Ki."""
    for factor, prefix in _PREFIXES:
        if size and size % factor == 0:
            return f"{size // factor}{prefix}"
    return f"{size}"
