"""Storage, key-value, web and learning benchmarks: numbers read off texts, units in view."""

from support.captured_texts import captured

SPDK = captured("handmade/spdk_perf.txt")
PARAM = captured("handmade/param.txt")
RPC_PERF = captured("handmade/rpc_perf.txt")
