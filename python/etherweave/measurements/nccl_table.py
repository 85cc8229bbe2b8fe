"""Jobs of ``nccl_tests`` as the programs of nccl-tests print them (``src/common.cu``)."""

from etherweave.api.results import Result
from etherweave.measurements.metrics import BANDWIDTH_BUS, CALL_TIME
from etherweave.measurements.quantities import Quantity, quantities

ELEMENT = 4  # Bytes of a ``float``, the type that the programs take by themselves.
_ROOTED = ("broadcast_perf", "reduce_perf", "gather_perf", "scatter_perf")
_DIVIDED = (
    *("all_gather_perf", "reduce_scatter_perf", "alltoall_perf", "hypercube_perf"),
    *_ROOTED[2:],
)
"""Programs whose count is that of a rank."""
_REDUCING = ("all_reduce_perf", "reduce_scatter_perf", "reduce_perf", "sendrecv_perf")
"""Programs that print an operation, ``sum`` by themselves; one of them makes no use of it."""
_HEADS = (
    f"#{'':57}{'out-of-place':>20}{'in-place':>31}",
    f"#{'size':>12}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}"
    + f"{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>7}" * 2,
    f"#{'(B)':>12}{'(elements)':>14}{'':>26}" + f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}{'':>7}" * 2,
)


def nccl_lines(result: Result) -> list[str]:
    """Write the table of each job; a buffer in place takes the same time, and no data are wrong."""
    if "nccl" not in result.resolved:
        return []
    own = [quantity for quantity in quantities(result) if quantity.program == "nccl_tests"]
    calls = {quantity.job: quantity for quantity in own if quantity.metric == CALL_TIME}
    return [
        line
        for bus in own
        if bus.metric == BANDWIDTH_BUS and (call := calls.get(bus.job))
        for line in (f"# {call.job}: {call.test}", *map(str.rstrip, _HEADS), _row(call, bus))
    ]


def _row(call: Quantity, bus: Quantity) -> str:
    size = call.size_bytes or 0
    count = size // ELEMENT // (call.ranks if call.test in _DIVIDED else 1)
    operation = "sum" if call.test in _REDUCING else "none"
    operation = "" if call.test == "hypercube_perf" else operation
    root = 0 if call.test in _ROOTED else -1
    time, algorithm = call.median * 1e6, size / call.median / 1e9
    if call.test == "hypercube_perf":  # The own block is not counted.
        algorithm = bus.median / 1e9
    times = f"{time:>9.2f}{algorithm:>8.2f}{bus.median / 1e9:>8.2f}{0:>7}"
    return f"{size:>13}{count:>14}{'float':>10}{operation:>8}{root:>8}{times}{times}"
