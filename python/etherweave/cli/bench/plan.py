"""The verb ``bench plan``."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer

from etherweave.api.units import amount, rate_of, size_of, time_of
from etherweave.bench.campaigns import campaign
from etherweave.bench.programs.adapter import Adapter
from etherweave.bench.programs.binaries import find
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    nodes_least,
)
from etherweave.cli.bench.printing import plan_rows
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.parameters import AsJson, Positive, seconds

Ranks = Annotated[int, typer.Option(min=1, help="Start this many processes on each host.")]
Iterations = Annotated[
    int | None, typer.Option(min=1, help="Repeat each size this often. Default: the program's own.")
]
Streams = Annotated[
    int, typer.Option(min=1, help="Open this many connections between a pair of hosts.")
]
ProgramOptions = Annotated[
    list[str] | None, typer.Option(hidden=True, help="Pass these on to the program.")
]
"""Words after ``--``."""
Duration = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Let tests that run for a time last this long, in whole seconds: 10s. Default: the "
        "program's own.",
    ),
]


def plan(
    program: str | None = None,
    *,
    all_programs: bool = False,
    nodes: Positive | None = None,
    ranks: Ranks = 1,
    size: str | None = None,
    iterations: Iterations = None,
    duration: Duration = None,
    streams: Streams = 1,
    device: str | None = None,
    rate: str = "10Gb/s",
    latency: str = "20us",
    program_options: ProgramOptions = None,
    as_json: AsJson = False,
) -> None:
    """Print the command, the traffic and the predicted time of a benchmark.

    Starts nothing. Options of the program itself follow --, and `bench info` lists them.
    Exits with 2 after a mistake.

    Parameters
    ----------
    program
        Program such as osu_bw, or a benchmark for its first program.
    all_programs : --all
        Print a line for each known program, with the reason where it is not planned.
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
    if (program is None) != all_programs:
        reject("expected either a program or --all")
    smallest, largest = sizes_of(size)
    with mistakes(ValueError):
        fabric = FabricEstimate(rate_of(rate), time_of(latency))
    test_s = duration_of(duration)

    def planned_of(program: str) -> tuple[Adapter, BenchmarkPlan]:
        adapter, name = campaign.adapter_of(program)
        own = adapter.options.read(name, program_options or ())
        hosts = nodes or nodes_least(name, ranks, own.words)
        request = BenchmarkRequest(
            name, hosts, ranks, smallest, largest, iterations, test_s, streams, device, own
        )
        planned = adapter.plan(request, fabric)
        if not all_programs:
            campaign.check_used([(adapter, request)])
            adapter.options.check_ranges(request)
            campaign.check_sizes(adapter, request)
            campaign.check_length(planned)
        return adapter, planned

    if program is None:
        _print_all(planned_of, as_json)
        return
    with mistakes(BenchmarkPlanError):
        adapter, planned = planned_of(program)
    print(json.dumps(asdict(planned), indent=2)) if as_json else _print(adapter, planned)


def _print_all(planned_of: Callable[[str], tuple[Adapter, BenchmarkPlan]], as_json: bool) -> None:
    """Print the plans of all programs, and of each other why there is none."""
    plans = dict[str, BenchmarkPlan]()
    refusals = dict[str, str]()
    for program in campaign.every_program():
        try:
            plans[program] = planned_of(program)[1]
        except BenchmarkPlanError as error:
            refusals[program] = str(error)
    if as_json:
        facts = {name: asdict(planned) for name, planned in plans.items()}
        print(json.dumps({"plans": facts, "refused": refusals}, indent=2))
        return
    print_table(("program", "hosts", ">time", "command"), map(_line, plans.values()))
    print_table(("not planned", ""), refusals.items())
    print(f"{len(plans)} programs planned, {len(refusals)} not")


def _line(planned: BenchmarkPlan) -> tuple[str, ...]:
    time = amount(planned.forecast.seconds, "s")
    return planned.program, planned.placement.pattern, time, " ".join(planned.command.arguments)


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
