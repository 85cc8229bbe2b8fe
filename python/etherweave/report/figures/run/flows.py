"""What transports had to do again."""

import polars as pl

from etherweave.report.section import Section, Table
from etherweave.results import Result


def section(result: Result) -> Section | None:
    """Sum payload, packets, retransmissions and timeouts by transport."""
    rows = result.to_polars("flows")
    if rows.is_empty():
        return None
    counts = ("bytes", "packets", "retransmissions", "timeouts")
    sums = rows.group_by("transport", maintain_order=True).agg(pl.len(), pl.col(counts).sum())
    cells = [[name, *(f"{count:,}" for count in values)] for name, *values in sums.rows()]
    head = ("transport", "flows", "payload [B]", "packets", "retransmissions", "timeouts")
    return Section("flows", "Transports", "", None, [Table(head, cells)])
