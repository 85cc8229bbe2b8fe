"""The verb ``bench plan``."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

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
from etherweave.cli.bench.amounts import rate_of, size_of, time_of
from etherweave.cli.bench.info import entry_of
from etherweave.cli.bench.plan_sheet import plan_rows
from etherweave.cli.design_page import print_sheet
from etherweave.cli.exits import refuse
from etherweave.cli.parameters import AsJson

EXAMPLES = """Examples:

etherweave bench plan osu_bw --rate 1Gb/s --size 4MiB

etherweave bench plan osu_alltoall --nodes 16 --ranks 32 --rate 100Gb/s --latency 2us

etherweave bench plan ib_write_bw --device mlx5_0 --seconds 10"""


def plan(
    program: Annotated[
        str, typer.Argument(help="A program such as osu_bw, or a benchmark for its first program.")
    ],
    nodes: Annotated[int | None, typer.Option(min=1, help="Hosts; as few as it needs.")] = None,
    ranks: Annotated[int, typer.Option(min=1, help="Processes on each host.")] = 1,
    size: Annotated[
        str | None, typer.Option(metavar="[MIN:]MAX", help="Message sizes, such as 8B:64KiB.")
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Of each size.")] = None,
    seconds: Annotated[
        int | None, typer.Option(min=1, help="Of each test, where it goes by the clock.")
    ] = None,
    streams: Annotated[int, typer.Option(min=1, help="Connections of a pair.")] = 1,
    device: Annotated[str | None, typer.Option(help="The network card, for RDMA.")] = None,
    rate: Annotated[str, typer.Option(help="Of a host's link, as one believes it.")] = "10Gb/s",
    latency: Annotated[str, typer.Option(help="One way, as one believes it.")] = "20us",
    as_json: AsJson = False,
) -> None:
    """Tell how a benchmark would be started, how many bytes it would send, how long it would take.

    Starts nothing. Ends with 2 after a mistake.
    """
    adapter, name = _adapter(program)
    smallest, largest = sizes_of(size)
    try:
        fabric = FabricEstimate(rate_of(rate), time_of(latency))
    except ValueError as error:
        refuse(error)
    hosts = nodes or nodes_least(name)
    request = BenchmarkRequest(
        name, hosts, ranks, smallest, largest, iterations, seconds, streams, device
    )
    try:
        planned = adapter.plan(request, fabric)
    except BenchmarkPlanError as error:
        refuse(error)
    print(json.dumps(asdict(planned), indent=2)) if as_json else _print(adapter, planned)


def _adapter(program: str) -> tuple[Adapter, str]:
    """Find who knows a program, or end with why nobody does."""
    try:
        return adapter_of(program)
    except BenchmarkPlanError:
        entry = entry_of(program)
        refuse(f"{entry.title} is not planned: {entry.why_not}")


def sizes_of(text: str | None) -> tuple[int | None, int | None]:
    """Read the smallest and the largest message [bytes], or end with the mistake."""
    if text is None:
        return None, None
    low, colon, high = text.rpartition(":")
    try:
        smallest, largest = size_of(low) if colon else None, size_of(high)
    except ValueError as error:
        refuse(error)
    if smallest is not None and smallest > largest:
        refuse(f"--size {text}: expected the smallest message first, as in 8B:64KiB")
    return smallest, largest


def _print(adapter: Adapter, planned: BenchmarkPlan) -> None:
    rows = plan_rows(planned)
    command = planned.command
    binary = find(adapter, command.arguments[0])
    rows.append(("found", str(binary.path) if binary else "not in PATH"))
    if binary and binary.mpi:
        rows.append(("linked with", binary.mpi))
    print(f"{planned.program}, started by {command.start.replace('_', ' ')}")
    print_sheet(("", ""), rows)
