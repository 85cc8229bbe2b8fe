"""What transports had to do again."""

import polars as pl

from etherweave.report.exhibit import Exhibit, Sheet
from etherweave.results import Result


def exhibit(result: Result) -> Exhibit | None:
    """Sum payload, packets, retransmissions and timeouts by transport."""
    rows = result.to_polars("flows")
    if rows.is_empty():
        return None
    counts = ("bytes", "packets", "retransmissions", "timeouts")
    sums = rows.group_by("transport", maintain_order=True).agg(pl.len(), pl.col(counts).sum())
    cells = [[name, *(f"{count:,}" for count in values)] for name, *values in sums.rows()]
    head = ("transport", "flows", "payload [B]", "packets", "retransmissions", "timeouts")
    return Exhibit("flows", "Transports", "", None, [Sheet(head, cells)])
