"""The benchmarks that Etherweave parses and plans, in the order in which they claim a line."""

from etherweave.bench.adapter import Adapter
from etherweave.bench.adapters import (
    collectives,
    gpcnet,
    hpcc,
    hpl,
    imb,
    iperf2,
    iperf3,
    mpigraph,
    nccl_tests,
    netperf,
    npb,
    openfoam,
    osu,
    patterns,
    perftest,
    qperf,
    services,
    storage,
    transports,
)

ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (
        osu.ADAPTER,
        imb.ADAPTER,
        perftest.ADAPTER,
        iperf3.ADAPTER,
        iperf2.ADAPTER,
        netperf.ADAPTER,
        qperf.ADAPTER,
        gpcnet.ADAPTER,
        hpcc.ADAPTER,
        hpl.ADAPTER,
        npb.ADAPTER,
        patterns.EMBER,
        patterns.CHATTERBUG,
        mpigraph.ADAPTER,
        transports.UCX_PERFTEST,
        transports.FI_PINGPONG,
        transports.SOCKPERF,
        transports.NUTTCP,
        transports.NETPIPE,
        nccl_tests.ADAPTER,
        collectives.GLOO,
        openfoam.ADAPTER,
        storage.FIO,
        storage.IOZONE,
        storage.SPDK_PERF,
        services.YCSB,
        services.REDIS_BENCHMARK,
        services.WRK,
        services.RPC_PERF,
        collectives.PARAM,
    )
}
"""By name. Of two that recognise a line, the first one has it."""
