"""Style of figures: one palette, and one mark for published values."""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.patheffects as effects
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from etherweave.api.outputs import write_bytes
from etherweave.report.bounds import Medium
from etherweave.study import PublishedValue

RC: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "path",
    # Ids of shapes come from what they are: equal figures are equal bytes.
    "svg.hashsalt": "etherweave",
}
"""Style of every figure of a report."""

COLOURS = {
    "roce_v1": "#56b4e9",
    "roce_v2": "#0072b2",
    "tcp": "#d55e00",
    "tcp_pfc": "#e69f00",
    "ets": "#009e73",
}
"""Colours of the palette by Okabe and Ito, whose colours colour-blind readers can distinguish."""

SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
"""Colours for series without one of their own; of the same palette."""

LABELS = {"roce_v1": "RoCE v1", "roce_v2": "RoCE v2", "tcp": "TCP", "tcp_pfc": "TCP-PFC"}
"""Labels of the network options, as published."""

SVG_DPI = 96  # Pixels of an inch of SVG.
LEGEND_ROW_IN = 0.18  # Height of a name of a legend [in].
NARROW_SCALE = 1.15  # Figures of a narrow screen are drawn a little larger than it.

POINTS_MAX = 3_000  # Points that a figure keeps as shapes; more become an image in it.

INK = "#111111"

ASIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
"""Puts a legend to the right of its axes, where it hides nothing."""

DASHES = ["--", ":", "-."]
"""Dashes of lines that nobody measured: the line rate, what frames leave of it, others."""

_FEW = 1000  # A narrower range of values has ticks at 2 and 5, too.
_HALO = [effects.withStroke(linewidth=3.5, foreground="white")]


class WholeNumbers(MaxNLocator):
    """Places the ticks of what is counted, such as ranks."""

    def __init__(self) -> None:
        super().__init__(integer=True)


_UNDATED: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
"""Metadata by format: equal figures are equal bytes."""


@contextmanager
def house() -> Iterator[None]:
    """Draw in the style of every figure, whatever a user's own style is."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style would change the bytes
        for name, value in RC.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]
        yield


def image_of(make: Callable[[], Figure], form: str = "svg") -> bytes:
    """Make a figure in the style of every figure, as SVG or another format, without a date."""
    text = io.BytesIO()
    with house():
        make().savefig(text, format=form, metadata=_UNDATED[form])
    return text.getvalue()


def narrow(figure: Figure, width_px: int) -> None:
    """Make a figure as narrow as a screen, with its legends as one below it, a name a line."""
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    names: dict[str, Any] = {}
    for legend in filter(None, legends):
        texts = (text.get_text() for text in legend.get_texts())
        names |= dict(zip(texts, legend.legend_handles, strict=True))
        legend.remove()
    height = figure.get_figheight() + LEGEND_ROW_IN * len(names)
    figure.set_size_inches(width_px * NARROW_SCALE / SVG_DPI, height)
    if names:
        figure.legend(list(names.values()), list(names), loc="outside lower center", ncols=1)


def write_figure(make: Callable[[], Figure], path: Path) -> Path:
    """Write a figure in the format that the path's suffix names; returns the path."""
    write_bytes(path, image_of(make, path.suffix.lower().lstrip(".")))
    return path


def mark(axes: Axes, place: float, value: PublishedValue, width: float = 0.8) -> None:
    """Mark a published value at a bar: a line across it, and which way it is open."""
    span = (place - width / 2, place + width / 2)
    bounds = [bound for bound in (value.low, value.high) if bound is not None]
    for bound in bounds:
        axes.hlines(bound, *span, color=INK, linewidth=1.8, path_effects=_HALO, zorder=4)
    middle = sum(bounds) / len(bounds)
    axes.plot(place, middle, _symbol(value), color=INK, markersize=6.5, mec="white", zorder=5)


def line(axes: Axes, value: PublishedValue, label: str, **words: Any) -> None:
    """Draw a published value as a line across the axes, with a label at its right end."""
    bound = value.low if value.low is not None else value.high
    assert bound is not None, "a published value has a bound"
    low, high = axes.get_ylim()
    if bound > high:
        axes.set_ylim(low, bound * 1.08)
    axes.axhline(bound, color=INK, linewidth=1.3, linestyle="--", zorder=3)
    place = {"xy": (1, bound), "xycoords": ("axes fraction", "data")}
    offset = {"xytext": (-3, 3), "textcoords": "offset points", "ha": "right", "va": "bottom"}
    axes.annotate(
        label, **{**place, **offset, **words}, fontsize=7.5, color=INK, path_effects=_HALO, zorder=6
    )


def _symbol(value: PublishedValue) -> str:
    if value.high is None:
        return "^"
    return "v" if value.low is None else "D"


def key(values: Sequence[PublishedValue]) -> list[Line2D]:
    """Explain the marks that are drawn, for a legend."""
    names = {"D": "published", "^": "published: above", "v": "published: below"}
    symbols = sorted({_symbol(value) for value in values})
    look: dict[str, Any] = {"color": INK, "linewidth": 1.8, "markersize": 6.5, "mec": "white"}
    return [Line2D([], [], marker=symbol, label=names[symbol], **look) for symbol in symbols]


def name_decades(axis: Axis) -> None:
    """Write plain numbers at a logarithmic axis; between powers of ten too where these are few."""
    low, high = axis.get_view_interval()
    if high / low < _FEW:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:,.6g}")
    axis.set_minor_formatter(NullFormatter())


def literal(text: str) -> str:
    """Give a text that may come from anywhere as it is drawn: a dollar begins no formula."""
    return text.replace("$", r"\$")


def write_values(axes: Axes, bars: BarContainer, size: float = 8) -> None:
    """Write each bar's value at its foot, where no mark is; nothing where there is no value."""
    for bar in bars:
        if not math.isfinite(bar.get_height()):
            continue
        middle = bar.get_x() + bar.get_width() / 2
        place = {"xy": (middle, 0), "xycoords": ("data", "axes fraction")}
        axes.annotate(
            short_number(bar.get_height()),
            **place,  # type: ignore[arg-type]
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=size,
            color=INK,
            path_effects=_HALO,
            zorder=6,
        )


def short_number(value: float) -> str:
    """Write three digits of a number, with ``k``, ``M`` and so on from a thousand on.

    >>> short_number(0.4567), short_number(241_264), short_number(6_929_284)
    ('0.457', '241k', '6.93M')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:g}" if abs(rounded) < 1_000 else EngFormatter(sep="")(rounded)


GIGABITS = 8e-9  # Gigabits per second in a byte per second.


def mark_link(axes: Axes, place: float, medium: Medium) -> None:
    """Draw across a row the rate of a link, and what full frames leave of it."""
    levels = {f"line rate, {medium.rate * GIGABITS:g} Gb/s": medium.rate}
    if medium.wire:
        levels[f"full frames\n({medium.note})"] = medium.goodput
    for (name, rate), dash in zip(levels.items(), DASHES, strict=False):
        ends = ([rate * GIGABITS] * 2, [place - 0.5, place + 0.5])
        axes.plot(*ends, color=INK, linewidth=1, linestyle=dash, label=name)


def finish_rows(axes: Axes, names: list[str], label: str) -> None:
    """Name the rows from top to bottom, and what is drawn, each thing once."""
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    axes.legend(list(known.values()), list(known), **ASIDE)
