"""Iterations of Halo3D on every node, under each network option."""

import polars as pl
from matplotlib.figure import Figure

from etherweave.report.figures.run.nodes import scatter
from etherweave.report.figures.sandia import OPTIONS, PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import Section
from etherweave.report.source import Study
from etherweave.report.style import COLOURS, LABELS, line
from etherweave.results import Result

CAPTION = (
    "Each point is an iteration, the dash is a rank's median, dashed is the published mean. On top "
    "Halo3D by itself on the testbed's placement, below beside FFT on the first random placement."
)


def section(study: Study) -> Section:
    """Show iteration times by rank, with and without load."""
    figure = Figure(figsize=(9.6, 5.2))
    panels = figure.subplots(2, len(OPTIONS), sharex=True, sharey="col")
    means = published(PUBLICATION, "5")
    for alone, loaded, option in zip(*panels, OPTIONS, strict=True):
        scatter(alone, _rows(study.result(f"halo3d.{option}")), COLOURS[option])
        scatter(loaded, _rows(study.result(f"qos.{option}.loaded.1")), COLOURS[option])
        name = LABELS[option].removesuffix(" v2")
        alone.set_title(f"{name}, alone")
        loaded.set_title(f"{name}, with FFT")
        line(alone, means[option], "published mean")
        alone.set_xlabel("")
    return Section("halo3d_nodes", "Iterations of Halo3D on every node", CAPTION, figure)


def _rows(result: Result) -> pl.DataFrame:
    return result.to_polars("iterations").filter(pl.col("job") == "halo3d")
