"""The benchmarks that Etherweave reads and plans: one file and one line each."""

from etherweave.bench.adapter import Adapter
from etherweave.bench.adapters import (
    gpcnet,
    hpcc,
    hpl,
    imb,
    iperf2,
    iperf3,
    netperf,
    osu,
    perftest,
    qperf,
)

ADAPTERS: dict[str, Adapter] = {
    module.ADAPTER.name: module.ADAPTER
    for module in (
        osu,
        imb,
        perftest,
        iperf3,
        iperf2,
        netperf,
        qperf,
        gpcnet,
        hpcc,
        hpl,
    )
}
"""By name. Of two that know a line, the one that stands first has it."""
