"""The verb ``bench plan``."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from etherweave.api.units import rate_of, size_of, time_of
from etherweave.bench.adapter import Adapter
from etherweave.bench.binaries import find
from etherweave.bench.campaign import adapter_of
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    nodes_least,
)
from etherweave.cli.bench.amounts import seconds
from etherweave.cli.bench.info import entry_of
from etherweave.cli.bench.printing import plan_rows
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.parameters import AsJson, Positive

EXAMPLES = """Examples:
etherweave bench plan osu_bw --rate 1Gb/s --size 4MiB
etherweave bench plan osu_alltoall --nodes 16 --ranks 32 --rate 100Gb/s --latency 2us
etherweave bench plan ib_write_bw --device mlx5_0 --duration 10s"""

Ranks = Annotated[int, typer.Option(min=1, help="Start this many processes on each host.")]
Iterations = Annotated[
    int | None,
    typer.Option(min=1, help="Repeat each size this often. Default: the program's own."),
]
Streams = Annotated[
    int, typer.Option(min=1, help="Open this many connections between a pair of hosts.")
]
Duration = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Let tests that run for a time last this long, in whole seconds: 10s. Default: the "
        "program's own.",
    ),
]


def plan(
    program: str,
    *,
    nodes: Positive | None = None,
    ranks: Ranks = 1,
    size: str | None = None,
    iterations: Iterations = None,
    duration: Duration = None,
    streams: Streams = 1,
    device: str | None = None,
    rate: str = "10Gb/s",
    latency: str = "20us",
    as_json: AsJson = False,
) -> None:
    """Print the command, the traffic and the predicted time of a benchmark.

    Starts nothing. Ends with 2 after a mistake.

    Parameters
    ----------
    program
        Program such as osu_bw, or a benchmark for its first program.
    nodes
        Number of hosts. Default: the fewest that it needs.
    size : [MIN:]MAX
        Send messages of these sizes, such as 8B:64KiB.
    device : NAME
        RDMA device of the NIC, such as mlx5_0.
    rate : RATE
        Assume this rate of a host's link.
    latency : TIME
        Assume this one-way latency between processes.
    """
    adapter, name = _adapter(program)
    smallest, largest = sizes_of(size)
    with mistakes(ValueError):
        fabric = FabricEstimate(rate_of(rate), time_of(latency))
    hosts = nodes or nodes_least(name)
    test_s = duration_of(duration)
    request = BenchmarkRequest(
        name, hosts, ranks, smallest, largest, iterations, test_s, streams, device
    )
    with mistakes(BenchmarkPlanError):
        planned = adapter.plan(request, fabric)
    print(json.dumps(asdict(planned), indent=2)) if as_json else _print(adapter, planned)


def _adapter(program: str) -> tuple[Adapter, str]:
    """Find the adapter of a program, or end with the reason that there is none."""
    try:
        return adapter_of(program)
    except BenchmarkPlanError:
        entry = entry_of(program)
        reject(f"{entry.title} is not planned: {entry.why_not}")


def sizes_of(text: str | None) -> tuple[int | None, int | None]:
    """Read the smallest and the largest message [bytes], or end with the mistake."""
    if text is None:
        return None, None
    low, colon, high = text.rpartition(":")
    with mistakes(ValueError):
        smallest, largest = size_of(low) if colon else None, size_of(high)
    if smallest is not None and smallest > largest:
        reject(f"--size {text}: expected the smallest message first, as in 8B:64KiB")
    return smallest, largest


def duration_of(text: str | None) -> int | None:
    """Read the length of a test [s], in whole seconds, or end with the mistake."""
    if text is None:
        return None
    length = seconds("--duration", text)
    if length != int(length):
        reject(f"--duration {text}: expected whole seconds, such as 10s")
    return int(length)


def _print(adapter: Adapter, planned: BenchmarkPlan) -> None:
    rows = plan_rows(planned)
    command = planned.command
    binary = find(adapter, command.arguments[0])
    rows.append(("found", str(binary.path) if binary else "not in PATH"))
    if binary and binary.mpi:
        rows.append(("linked with", binary.mpi))
    print(f"{planned.program}, started by {command.start.replace('_', ' ')}")
    print_table(("", ""), rows)
