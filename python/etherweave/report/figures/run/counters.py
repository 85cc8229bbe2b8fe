"""The ports' counters, summed by switch, and port by port where something happened."""

from collections.abc import Sequence

import polars as pl

from etherweave.report.section import Section, Table
from etherweave.results import Result

COLUMNS = {
    "tx_packets": "sent",
    "rx_packets": "received",
    "tx_pause_packets": "pauses sent",
    "rx_pause_packets": "pauses received",
    "tx_pause_duration_ns": "stopping [us]",
    "rx_pause_duration_ns": "stopped [us]",
    "drops_packets": "drops",
    "fcs_errors": "FCS errors",
    "ecn_marked_packets": "ECN marks",
    "occupancy_bytes_max": "peak queue [B]",
}
ROWS_MAX = 200
"""Of ports that are listed one by one."""


def section(result: Result) -> Section | None:
    """List the counters by switch and priority, and the ports where something happened."""
    ports = result.to_polars("ports")
    if ports.is_empty():
        return None
    return Section("counters", "Port counters", "", None, [_by_node(ports), *_eventful(ports)])


def _by_node(ports: pl.DataFrame) -> Table:
    is_host = pl.col("node").str.starts_with("host")
    node = pl.when(is_host).then(pl.lit("all hosts")).otherwise(pl.col("node")).alias("node")
    peak = "occupancy_bytes_max"
    sums = (
        ports.with_columns(node)
        .group_by("node", "priority", maintain_order=True)
        .agg(pl.col([name for name in COLUMNS if name != peak]).sum(), pl.col(peak).max())
        .select("node", "priority", *COLUMNS)
    )
    caption = "Sums over ports, and the largest peak. Packets unless a unit is given."
    return _table(("node", "priority"), sums, caption, len(sums) > 24)


def _eventful(ports: pl.DataFrame) -> list[Table]:
    events = [
        "tx_pause_packets",
        "rx_pause_packets",
        "drops_packets",
        "fcs_errors",
        "ecn_marked_packets",
    ]
    keys = ("node", "port", "peer", "priority")
    rows = ports.filter(pl.sum_horizontal(events) > 0).select(*keys, *COLUMNS)
    if rows.is_empty():
        return []
    caption = f"Ports with pauses, drops, FCS errors or ECN marks: {len(rows):,}"
    if len(rows) > ROWS_MAX:
        caption += f", of which the first {ROWS_MAX} are listed; ports.parquet has all"
    return [_table(keys, rows.head(ROWS_MAX), f"{caption}.", True)]


def _table(keys: Sequence[str], rows: pl.DataFrame, caption: str, is_folded: bool) -> Table:
    us = pl.col("tx_pause_duration_ns", "rx_pause_duration_ns") / 1e3
    cells = [[_cell(value) for value in row] for row in rows.with_columns(us).rows()]
    return Table([*keys, *COLUMNS.values()], cells, caption, is_folded)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
