"""The benchmarks that Etherweave reads and plans: one file and one line each."""

from etherweave.bench.adapter import Adapter
from etherweave.bench.adapters import (
    iperf3,
    osu,
)

ADAPTERS: dict[str, Adapter] = {
    module.ADAPTER.name: module.ADAPTER
    for module in (
        osu,
        iperf3,
    )
}
"""By name. Of two that know a line, the one that stands first has it."""
