"""Plans of runs of OSU Micro-Benchmarks, with the defaults of version 7.4."""

from math import ceil, log2, prod
from typing import NamedTuple

from etherweave.bench.programs import plans
from etherweave.bench.programs.program_options import options

_BUFFERS = ("D", "H", "M", "MD", "MH")
"""Memory of the device, of the host, or managed by the driver: of sender and of receiver."""
_HEAP = {
    f"osu_oshm_{name}": ("heap", "global")
    for name in (
        *("put", "get", "put_nb", "get_nb", "put_mr", "put_mr_nb", "get_mr_nb", "put_overlap"),
        "atomics",
    )
}
_BANDWIDTHS = "osu_(bi)?bw(_persistent|_fan_in|_fan_out)?|osu_mbw_mr"
_COLLECTIVES = "osu_i?(neighbor_|all|bcast|barrier|gather|reduce|scatter).*"
_OF_MPI = "osu_(?!oshm|hello|init).*"
OPTIONS = options(
    "osu",
    {"": _BUFFERS, **_HEAP},
    {
        "-W": rf"{_BANDWIDTHS}|osu_(put|get)_.*bw",
        "-p -R -V": "osu_mbw_mr",
        "-b": rf"osu_latency|osu_multi_lat|osu_latency_persistent|{_BANDWIDTHS}",
        "-d -x -z -I": _OF_MPI,
        "-c -u -T": rf"{_OF_MPI}(?<!barrier)(?<!barrier_persistent)",
        "-D": rf"osu_latency.*|osu_multi_lat|{_BANDWIDTHS}|"
        r"osu_i?(neighbor_)?(all(toall|gather)|bcast|gather|scatter).*",
        "-f": r"osu_oshm_(barrier|broadcast|f?collect|reduce)|" + _COLLECTIVES,
        "-r -a": _COLLECTIVES,
        "-t": r"osu_latency_m[tp]|osu_(bi)?bw|osu_i.*",
        "-s -w": r"osu_(put|get|acc|cas|fop)_.*",
        "-N": r"osu_i?neighbor_.*",
        "-k": r"osu_i?(gatherv?|scatterv?|reduce)",
        "-l": r"osu_i?(all|gather|scatter|reduce).*",
    },
)
LARGE = 8192  # Larger messages are sent less often [bytes].
WINDOW = 64  # Messages on their way at once.
_CHECK_WARM_UP = 5  # Repetitions before each checked one.
_TYPES = ("mpi_char", "mpi_int", "mpi_float")


class _Loop(NamedTuple):
    """Timed and warm-up iterations of small and of large messages."""

    small: int
    large: int
    warm_small: int
    warm_large: int

    def of(self, size: int, request: plans.BenchmarkRequest) -> int:
        """Count all iterations at a size, those for each data type and before checks included."""
        timed, warm = (
            (self.large, self.warm_large) if size > LARGE else (self.small, self.warm_small)
        )
        own = request.options
        types = own.value("-T", "mpi_char").split(",")
        checked = 1 + own.count("-u", _CHECK_WARM_UP) if own.has("-c") else 1
        each = (request.iterations or timed) + own.count("-x", warm)
        return each * checked * (len(_TYPES) if "all" in types else len(types))


_LATENCY = _Loop(10_000, 1_000, 200, 10)
_BANDWIDTH = _Loop(100, 20, 10, 2)
_COLLECTIVE = _Loop(1_000, 100, 200, 10)
_IN_WINDOWS = ("osu_bw", "osu_bibw", "osu_mbw_mr", "osu_put_bw", "osu_get_bw", "osu_put_bibw")
_FANS = ("osu_bw_fan_in", "osu_bw_fan_out")  # One host against all others, in windows.
_OF_WORDS = ("osu_cas_latency", "osu_fop_latency")
"""Atomic operations on a word of eight bytes: they sweep no sizes."""
_OF_PAIRS = (
    *_IN_WINDOWS,
    *("osu_latency", "osu_latency_mt", "osu_latency_mp", "osu_multi_lat"),
    *("osu_put_latency", "osu_get_latency", "osu_acc_latency", "osu_get_acc_latency"),
    *_OF_WORDS,
)
_OF_ALL = tuple(
    f"osu_oshm_{name}" for name in ("barrier", "broadcast", "collect", "fcollect", "reduce")
)
"""OpenSHMEM's collectives."""
_WITHOUT_SIZES = ("barrier", "barrier_persistent", "_atomics", "_init", "_hello")
_MANY_PAIRS = ("osu_mbw_mr", "osu_multi_lat")


def plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    """Plan a run of any OSU program."""
    program = request.program
    is_shmem = program.startswith("osu_oshm_")
    is_pair = program in _OF_PAIRS or (is_shmem and program not in _OF_ALL)
    if is_pair and program not in _MANY_PAIRS and plans.need_ranks(request, 2, program) != 2:
        raise plans.BenchmarkPlanError(f"{program} runs on exactly two ranks")
    if program in _MANY_PAIRS and plans.need_ranks(request, 2, program) % 2:
        raise plans.BenchmarkPlanError(f"{program} needs an even number of ranks")
    if request.options.count("-p", 1) > request.nodes * request.ranks_per_node // 2:
        raise plans.BenchmarkPlanError(
            f"-p of {program}: expected at most a pair of each two ranks"
        )
    places = len(request.options.words)
    if is_pair and not is_shmem and places not in (0, 2):
        raise plans.BenchmarkPlanError(
            f"{program}: {places} places of buffers; expected those of both ranks, such as D D"
        )
    sizes = _sizes(request, is_pair)
    placement = plans.HostPlacement(
        plans.HostPattern.PAIR if is_pair else plans.HostPattern.ALL_NODES,
        request.nodes,
        request.ranks_per_node,
    )
    own = _options(request, sizes, is_shmem and program not in _OF_ALL)
    arguments = request.options.behind((program, *own))
    command = plans.BenchmarkCommand(plans.Start.SHMEM if is_shmem else plans.Start.MPI, arguments)
    forecast = _forecast(request, fabric, sizes, is_pair)
    notes = ("without -m in versions before 7: the sweep cannot be shortened",)
    return plans.BenchmarkPlan(
        program, placement, command, forecast, sizes, notes if is_pair else ()
    )


def _sizes(request: plans.BenchmarkRequest, is_pair: bool) -> tuple[int, ...]:
    if request.program.endswith(_WITHOUT_SIZES):
        return ()
    if request.program in _OF_WORDS:
        return (8,)
    if 0 in (request.size_min, request.size_max):
        raise plans.BenchmarkPlanError(
            f"{request.program} sends no empty messages, which OSU's tests leave out from version "
            "7 on; expected --size 1B or more"
        )
    reduces = "reduce" in request.program
    smallest = request.size_min if request.size_min is not None else (4 if reduces else 1)
    return plans.doubling(smallest, request.size_max or (2**22 if is_pair else 2**20))


def _options(
    request: plans.BenchmarkRequest, swept: tuple[int, ...], is_shmem: bool
) -> tuple[str, ...]:
    if is_shmem:
        return () if request.options.words else ("heap",)
    smallest, largest = request.size_min, request.size_max
    bounds = f"{smallest}:" if smallest else ""
    is_swept = len(swept) > 0 and request.program not in _OF_WORDS
    sizes = ("-m", f"{bounds}{largest or ''}") if is_swept and (bounds or largest) else ()
    loops = ("-i", str(request.iterations)) if request.iterations else ()
    return (*sizes, *loops)


def _forecast(
    request: plans.BenchmarkRequest,
    fabric: plans.FabricEstimate,
    sizes: tuple[int, ...],
    is_pair: bool,
) -> plans.RunForecast:
    program, own = request.program, request.options
    share = min(request.ranks_per_node, own.count("-p", request.ranks_per_node))
    if program in (*_IN_WINDOWS, *_FANS):
        peers = request.nodes - 1 if program in _FANS else 1
        window = own.count("-W", WINDOW)
        steps = [(size, _BANDWIDTH.of(size, request) * window * share * peers) for size in sizes]
        there = plans.predict_sweep(steps, fabric, f"{window} messages a window", each=1 / window)
        return there.bidirectional() if "bibw" in program else there
    if is_pair:
        swept = [(size, _LATENCY.of(size, request) * share) for size in sizes or (0,)]
        there = plans.predict_sweep(swept, fabric, "ping-pong: a host sends half of the messages")
        return plans.RunForecast(there.bytes, 2 * there.seconds, there.basis)
    return _forecast_collective(request, fabric, sizes or (0,))


def _forecast_collective(
    request: plans.BenchmarkRequest, fabric: plans.FabricEstimate, sizes: tuple[int, ...]
) -> plans.RunForecast:
    """Count what a node's ranks send in all calls, and rounds of latency by halving."""
    ranks = request.nodes * request.ranks_per_node
    if ranks < 2:
        raise plans.BenchmarkPlanError(f"{request.program} needs at least two ranks")
    volume = {"alltoall": ranks - 1, "allgather": ranks - 1, "allreduce": 2 * (ranks - 1) / ranks}
    name = request.program.removeprefix("osu_").removeprefix("oshm_").removeprefix("i")
    each = volume.get(name, 1)
    if name.removeprefix("i").startswith("neighbor_"):
        # Both neighbours of each dimension to a radius; of a graph, all others at most.
        kind, _, shape = request.options.value("-N", "cart:1:1").partition(":")
        each = 2 * prod(map(int, shape.split(":"))) if kind == "cart" else ranks - 1
    total = seconds = 0.0
    for size in sizes:
        calls = _COLLECTIVE.of(size, request)
        bytes_call = size * each * request.ranks_per_node
        total += calls * bytes_call
        seconds += calls * (bytes_call / fabric.rate + 2 * ceil(log2(ranks)) * fabric.latency)
    return plans.RunForecast(
        total, seconds, "calls times what a node's ranks send, and rounds of latency"
    )
