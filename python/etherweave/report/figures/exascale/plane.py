"""The plane of figures 4 and 6: hosts across, entries up, both logarithmic."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from etherweave.report.style import INK
from etherweave.study.exascale.experiments import RADICES
from etherweave.study.exascale.figures_of_merit import ENTRIES_MAX

HOSTS_WANTED = 300_000
"""Of an exascale system: the publication's estimate."""
RADICES_NAMED = ", ".join(map(str, RADICES[:-1])) + f" and {RADICES[-1]}"
"""For captions."""


def prepare(axes: Axes, hosts: tuple[float, float], entries: tuple[float, float]) -> None:
    """Give the axes their scales, their limits and what an exascale system asks for.

    Parameters
    ----------
    axes
        To draw into.
    hosts, entries
        Limits of the axes.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*hosts)
    axes.set_ylim(*entries)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, place: short(value)))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("hosts")
    axes.fill_between(
        [HOSTS_WANTED, hosts[1]], entries[0], ENTRIES_MAX, color="#009e73", alpha=0.09, linewidth=0
    )
    look = {"color": INK, "linewidth": 1.1, "linestyle": (0, (5, 2)), "zorder": 2}
    axes.axhline(ENTRIES_MAX, **look)  # type: ignore[arg-type]
    axes.axvline(HOSTS_WANTED, **look)  # type: ignore[arg-type]
    words = {"textcoords": "offset points", "fontsize": 7.5, "color": INK}
    axes.annotate("4K entries", (hosts[0], ENTRIES_MAX), (4, 3), **words)  # type: ignore[arg-type]
    axes.annotate(
        "300,000 hosts",
        (HOSTS_WANTED, entries[0]),
        (-3, 4),
        rotation=90,
        ha="right",
        va="bottom",
        **words,  # type: ignore[arg-type]
    )


def short(value: float) -> str:
    """Write a power of ten as readers of such plots do."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
