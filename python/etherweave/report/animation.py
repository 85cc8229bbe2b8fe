"""Utilisation between any two groups as an animation: one HTML page, nothing fetched."""

import base64
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt

from etherweave.api.observations import Observation
from etherweave.api.outputs import write_text
from etherweave.report.heat import ABSENT, COLOURS, EDGED_MAX, areas, title
from etherweave.report.page import templates
from etherweave.report.style import SERIES

BYTES_MAX = 4_000_000
"""Bytes of all steps: one for each pair of groups in each. Of more, neighbours are averaged."""
LEVELS = 255  # Steps of utilisation from 0 to 1 that a byte holds.


def write_animation(observation: Observation, path: Path) -> Path:
    """Write a page that plays the utilisation between any two groups, beside loads and latency.

    The page is about as large as its steps in base64, 5.3 MB at most, and the series. Raises
    ``TooLargeError`` when there are more groups than a map can show.
    """
    animation = animation_content(observation)
    page = templates().get_template("animation.html.jinja")
    write_text(path, page.render(animation=animation, colours=SERIES))
    return path


def animation_content(observation: Observation, bytes_max: int = BYTES_MAX) -> dict[str, Any]:
    """Put together what the page shows.

    ``bytes_max`` is the largest size of all steps. ``pairs`` are 32 bit numbers ``from · count +
    to``, ``steps`` a byte for each pair in each step, ``colours`` three bytes for each level, all
    in base64; the rest is as it is.
    """
    count = areas(observation)
    times = np.unique(observation.steps["time_ns"].to_numpy())
    cells = observation.steps["utilisation"].to_numpy().reshape(len(times), -1)
    merged = max(1, -(-cells.size // bytes_max))
    starts = np.arange(0, len(times), merged)
    steps = np.stack([cells[start : start + merged].mean(axis=0) for start in starts])
    first = observation.steps.slice(0, cells.shape[1])
    ends = [first[side].to_numpy() for side in ("group_from", "group_to")]
    batch_ns = int(observation.series["duration_ns"][0].as_py())
    edges = [*times[starts], times[-1] + batch_ns]
    return {
        "title": title(observation),
        "area": observation.area,
        "count": count,
        "pairs": _coded((ends[0] * count + ends[1]).astype("<u4")),
        "steps": _coded(np.rint(steps * LEVELS).astype(np.uint8)),
        "edges_us": [float(edge) / 1e3 for edge in edges],
        "merged": merged,
        "batch_us": batch_ns / 1e3,
        "patterns": [
            {"start_us": row["start_ns"] / 1e3, "name": row["pattern"]}
            for row in observation.patterns.to_pylist()
        ],
        "series": _series(observation),
        "colours": _coded(_colours()),
        "absent": ABSENT,
        "edged": count <= EDGED_MAX,
    }


def _series(observation: Observation) -> dict[str, list[float | None]]:
    rows = observation.series.to_pylist()

    def rounded(column: str, unit: float) -> list[float | None]:
        # A latency is not a number where nothing arrived; JSON has no such thing.
        values = (row[column] / unit for row in rows)
        return [None if np.isnan(value) else round(value, 4) for value in values]

    return {
        "time_us": rounded("time_ns", 1e3),
        "offered": rounded("load_offered", 1),
        "accepted": rounded("load_accepted", 1),
        "latency_us": rounded("latency_ns_mean", 1e3),
    }


def _colours() -> npt.NDArray[np.uint8]:
    shades = np.asarray(matplotlib.colormaps[COLOURS](np.linspace(0, 1, LEVELS + 1)))
    colours: npt.NDArray[np.uint8] = np.rint(shades[:, :3] * 255).astype(np.uint8)
    return colours


def _coded(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode()
