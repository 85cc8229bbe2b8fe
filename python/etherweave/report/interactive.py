"""Figures that one can hover, zoom and filter: what a drawn figure shows, as values for a script.

:func:`figure_values` reads lines, points, bars and maps from a figure of matplotlib, so that a
section is drawn once. A figure with anything else, such as an image, stays a picture. The script
of the page draws the values with plotly.js, which the page carries.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.colors import to_hex, to_rgba
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FuncFormatter

from etherweave.report.style import WholeNumbers

Values: TypeAlias = dict[str, Any]

BYTES_MAX = 9_500_000  # Size of a page; figures beyond it stay pictures.
POINTS_MAX = 4_000  # Points of a line; of more, the extremes of equal shares are kept.
PIXELS = 96 / 72  # Pixels of CSS in a point.
_DASHES = {"--": "dash", ":": "dot", "-.": "dashdot"}
"""Styles of lines of matplotlib, as plotly names them."""
_DRAWN = (LineCollection, PathCollection, PolyCollection, QuadMesh)


@dataclass(frozen=True)
class Script:
    """A script of the page, and its hash for the page's policy."""

    text: str  # Script as it stands in the page.

    @property
    def source(self) -> str:
        """Name it for a Content-Security-Policy."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def scripts() -> list[Script]:
    """Load plotly.js and the script that draws with it."""
    import plotly.offline

    own = Path(__file__).parent / "templates" / "interactive.js"
    return [Script(plotly.offline.get_plotlyjs()), Script(own.read_text(encoding="utf-8"))]


def licence() -> str:
    """Give the licence of plotly.js, which is that of its package."""
    files = metadata.distribution("plotly").files or []
    (file,) = (file for file in files if file.name == "LICENSE.txt")
    return str(file.read_text())


def figure_values(figure: Figure) -> Values | None:
    """Read what a figure shows; None when some of it is neither line, point, bar nor map."""
    visible = [axes for axes in figure.axes if axes.get_visible()]
    shown = [axes for axes in visible if axes.get_label() != "<colorbar>"]
    if not shown or not all(map(_is_known, shown)):
        return None
    panels = [_panel(axes, figure.get_figheight()) for axes in shown]
    if not any(panel["series"] for panel in panels):
        return None
    return {"panels": panels, **_legend_title(shown)}


def _legend_title(shown: Iterable[Axes]) -> Values:
    """Return the first title of a legend, which says what its names are values of."""
    legends = [legend for axes in shown if (legend := axes.get_legend())]
    titles = [text for legend in legends if (text := legend.get_title().get_text())]
    return {"legend": _plain_text(titles[0])} if titles else {}


def _is_known(axes: Axes) -> bool:
    bars = {id(patch) for bar in _bars(axes) for patch in bar.patches}
    return (
        not axes.images
        and axes.get_subplotspec() is not None
        and all(isinstance(collection, _DRAWN) for collection in axes.collections)
        and all(id(patch) in bars for patch in axes.patches)
    )


def _bars(axes: Axes) -> list[BarContainer]:
    return [container for container in axes.containers if isinstance(container, BarContainer)]


def _panel(axes: Axes, figheight: float) -> Values:
    place = axes.get_subplotspec()
    assert place is not None, "only panels of a grid are known"
    return {
        "row": place.rowspan.start,
        "column": place.colspan.start,
        "height": round(axes.get_position().height * figheight * 100),
        "title": axes.get_title(loc="left") or axes.get_title(),
        "x": _axis(axes.xaxis),
        "y": _axis(axes.yaxis),
        "series": list(_series(axes)),
    }


def _axis(axis: Axis) -> Values:
    low, high = axis.get_view_interval()
    values: Values = {
        "label": axis.get_label_text(),
        "log": axis.get_scale() == "log",
        "range": _plain([low, high]),
        "whole": isinstance(axis.get_major_locator(), WholeNumbers),
    }
    if isinstance(axis.get_major_formatter(), (FixedFormatter, FuncFormatter)):
        names = [label.get_text() for label in axis.get_ticklabels()]
        values["ticks"] = [_plain(axis.get_majorticklocs()), [_plain_text(name) for name in names]]
    return values


def _series(axes: Axes) -> Iterator[Values]:
    for bar in _bars(axes):
        yield from _bar(bar)
    for line in axes.lines:
        yield _line(axes, line)
    for collection in axes.collections:
        if isinstance(collection, QuadMesh):
            yield _map(axes, collection)
        elif isinstance(collection, PathCollection):
            points = _filled(collection.get_offsets())
            yield _points(collection, points[:, 0], points[:, 1]) | {"mode": "markers"}
        elif isinstance(collection, LineCollection | PolyCollection):
            yield from _shape(collection)


def _bar(bar: BarContainer) -> Iterator[Values]:
    if not bar.patches:
        return
    is_upright = bar.orientation != "horizontal"
    sides = [
        (patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height())
        for patch in bar.patches
    ]
    left, foot, width, height = (np.array(column, float) for column in zip(*sides, strict=True))
    yield {
        "kind": "bar",
        "name": _name(bar.get_label()),
        "colour": _hex(bar.patches[0].get_facecolor()),
        "colours": [_hex(patch.get_facecolor()) for patch in bar.patches],
        "upright": is_upright,
        "at": _plain(left + width / 2 if is_upright else foot + height / 2),
        "base": _plain(foot if is_upright else left),
        "length": _plain(height if is_upright else width),
        "width": _plain(np.abs(width if is_upright else height)),
    }


def _line(axes: Axes, line: Line2D) -> Values:
    x, y = (np.atleast_1d(np.asarray(values, float)) for values in line.get_data())
    dash = {"dash": _DASHES.get(str(line.get_linestyle()), "solid")}
    if line.get_transform() != axes.transData:  # Across the panel, at one value.
        is_upright = bool(x[0] == x[-1])
        at = {"kind": "rule", "upright": is_upright, "at": _plain([x[0] if is_upright else y[0]])}
        return at | {"name": _name(line.get_label()), "colour": _hex(line.get_color())} | dash
    mode = "lines" if line.get_linestyle() not in ("None", "", " ") else "markers"
    if mode == "lines" and line.get_marker() not in ("None", "", None):
        mode = "lines+markers"
    drawn = _points(line, *_thinned(x, y))
    is_step = line.get_drawstyle().startswith("steps")
    return drawn | {"mode": mode, "colour": _hex(line.get_color()), "step": is_step} | dash


def _points(line2_d: Line2D | PathCollection, x: Any, y: Any) -> Values:
    colour = "#000000" if isinstance(line2_d, Line2D) else _hex(line2_d.get_facecolor()[0])
    name = _name(line2_d.get_label())
    return {"kind": "line", "name": name, "colour": colour, "x": _plain(x), "y": _plain(y)}


def _thinned(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """Keep the lowest and the highest of equal shares of many points."""
    if len(x) <= POINTS_MAX:
        return x, y
    kept: list[int] = []
    for share in np.array_split(np.arange(len(x)), POINTS_MAX // 2):
        values = np.where(np.isnan(y[share]), 0, y[share])
        kept += sorted({int(share[values.argmin()]), int(share[values.argmax()])})
    return x[kept], y[kept]


def _map(axes: Axes, mesh: QuadMesh) -> Values:
    corners = np.asarray(mesh.get_coordinates(), float)
    grid = _filled(mesh.get_array()).reshape(corners.shape[0] - 1, corners.shape[1] - 1)
    across, down = corners[0, :, 0], corners[:, 0, 1]
    low, high = mesh.get_clim()
    return {
        "kind": "map",
        "name": "",
        "x": _plain((across[1:] + across[:-1]) / 2),
        "y": _plain((down[1:] + down[:-1]) / 2),
        "names": _names(axes.yaxis, (down[1:] + down[:-1]) / 2),
        "columns": _names(axes.xaxis, (across[1:] + across[:-1]) / 2),
        "z": [_plain(row) for row in grid],
        "scale": _plain_text(mesh.colorbar.ax.get_ylabel()) if mesh.colorbar else "",
        "range": _plain([low or 0, high or 0]),
    }


def _names(axis: Axis, places: npt.NDArray[np.float64]) -> list[str]:
    formatter = axis.get_major_formatter()
    named = formatter if isinstance(formatter, FuncFormatter) else lambda place, _: f"{place:g}"
    return [_plain_text(named(place, None)) for place in places]


def _shape(collection: LineCollection | PolyCollection) -> Iterator[Values]:
    """Join all lines of a collection, or outlines of its areas, into one with gaps."""
    parts = [
        np.vstack([np.asarray(path.vertices, float), [[np.nan, np.nan]]])
        for path in collection.get_paths()
    ]
    if not parts:
        return
    points = np.vstack(parts)
    is_area = isinstance(collection, PolyCollection)
    colours = collection.get_facecolor() if is_area else collection.get_colors()  # type: ignore[union-attr]
    colour: Any = colours[0] if len(colours) else "#888888"
    yield {
        "kind": "line",
        "mode": "lines",
        "name": _name(collection.get_label()),
        "colour": _hex(colour),
        "area": is_area,
        "opacity": round(to_rgba(colour)[3], 3),
        "width": 0 if is_area else round(PIXELS * float(np.max(collection.get_linewidth())), 3),
        "x": _plain(points[:, 0]),
        "y": _plain(points[:, 1]),
    }


def _name(label: object) -> str:
    text = str(label)
    return "" if text.startswith("_") else _plain_text(text)


def _plain_text(text: str) -> str:
    return text.replace(r"\$", "$")


def _filled(values: Any) -> npt.NDArray[np.float64]:
    """Turn what is masked into what is not a number."""
    return np.asarray(np.ma.filled(np.ma.asarray(values, float), np.nan))


def _hex(colour: Any) -> str:
    return to_hex(colour)


def _plain(values: Iterable[Any]) -> list[float | None]:
    """Round to what a reader can see; what is not a number becomes None."""
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]
