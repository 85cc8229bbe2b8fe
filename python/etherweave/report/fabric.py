"""Heat maps of the fabric: how busy ports were, and how long they were paused."""

import polars as pl
from matplotlib.figure import Figure

from etherweave.results import Result


def heat_maps(result: Result) -> Figure:
    """Draw utilisation and pause time of every switch port, a row for each switch."""
    end = result.summary["end_ns"]
    ports = result.to_polars("ports").filter(~pl.col("node").str.starts_with("host"))
    ports = ports.group_by("node", "port", maintain_order=True).agg(
        used=(pl.col("tx_bytes") * 8).sum() / pl.col("rate_gbps").first() / end,
        paused=pl.col("rx_pause_duration_ns").max() / end,
    )
    figure = Figure(figsize=(9, 4.6))
    panels = figure.subplots(2, 1)
    titles = (("used", "share of the line rate sent"), ("paused", "share of time paused"))
    for axes, (column, title) in zip(panels, titles, strict=True):
        grid = ports.pivot(on="port", index="node", values=column, sort_columns=False)
        names = sorted(grid.columns[1:], key=int)
        values = grid.select(names).fill_null(0.0).to_numpy()
        image = axes.imshow(values, aspect="auto", cmap="viridis", vmin=0)
        axes.set_yticks(range(len(grid)), grid["node"].to_list())
        axes.set_xlabel("port")
        axes.set_title(title)
        axes.grid(visible=False)
        figure.colorbar(image, ax=axes)
    return figure
