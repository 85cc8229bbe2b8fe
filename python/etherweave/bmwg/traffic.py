"""Jobs of the tests, as scenarios have them."""

import math
from collections.abc import Mapping, Sequence

Job = Mapping[str, object]
WARM_UP = 10  # Round trips of a ping-pong that are not measured.


def write(source: int, sink: int, message: int, streams: int = 1) -> Job:
    """Write from one host to another over a number of connections, until the run ends."""
    return incast([source], sink, message, streams=streams)


def incast(
    sources: Sequence[int],
    sink: int,
    message: int,
    *,
    streams: int = 1,
    messages: int | None = None,
    outstanding: int | None = None,
    **keys: object,
) -> Job:
    """Send streams from several hosts to one; ``keys`` are those of the job."""
    workload: dict[str, object] = {
        "sources": len(sources),
        "streams_per_source": streams,
        "message": f"{message}B",
    }
    if messages is not None:
        workload["messages"] = messages
    if outstanding is not None:
        workload["outstanding"] = outstanding
    return _job(
        [sink, *sources], {"incast": workload}, f"h{next(iter(sources), sink)}-h{sink}", keys
    )


def collective(
    hosts: Sequence[int], operation: str, size: int, iterations: int, **keys: object
) -> Job:
    """Call a collective of NCCL on a number of hosts, an accelerator each.

    ``size`` is that of nccl-tests [B]: the vector of an all-reduce, all blocks of an all-gather or
    of a participant's all-to-all.
    """
    count = len(hosts)
    block = size if operation == "allreduce" else size // count
    workload = {
        "ranks": count,
        "operation": {operation: {"bytes": f"{block}B"}},
        "node": {"accelerators": 1},
        "iterations": iterations,
    }
    return _job(hosts, {"nccl_tests": workload}, operation, keys)


def experts(hosts: Sequence[int], moe: Mapping[str, object], **keys: object) -> Job:
    """Dispatch and combine tokens of experts, as DeepEP does, on hosts with an accelerator each."""
    return _job(hosts, {"moe": moe}, "experts", keys)


def ping(client: int, server: int, size: int, samples: int, **keys: object) -> Job:
    """Send to and fro between two hosts, whose iterations are round trips."""
    workload = {"bytes": f"{size}B", "warm_up": WARM_UP, "iterations": samples}
    return _job([client, server], {"osu_latency": workload}, "ping", keys)


def uniform(hosts: int, load: int, size: int, duration_us: float, **keys: object) -> Job:
    """Send flows of a size between random hosts, at a load of their links [%]."""
    workload = {
        "ranks": hosts,
        "load": load / 100,
        "sizes": {"fixed": f"{size}B"},
        "duration": f"{math.ceil(duration_us)}us",
    }
    return _job(range(hosts), {"flows": workload}, "background", keys)


def _job(hosts: Sequence[int], workload: object, name: str, keys: Mapping[str, object]) -> Job:
    job = {"name": name, "workload": workload, "placement": {"hosts": [*hosts]}}
    return {**job, "shared_hosts": True, **keys}


def named(jobs: Sequence[Job]) -> Sequence[Job]:
    """Give jobs of one name a number behind it."""
    names = [str(job["name"]) for job in jobs]
    return [
        {**job, "name": f"{name}.{at}"} if names.count(name) > 1 else job
        for at, (job, name) in enumerate(zip(jobs, names, strict=True))
    ]
