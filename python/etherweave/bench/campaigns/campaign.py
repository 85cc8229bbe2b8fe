"""A campaign: every benchmark on every fabric and placement, as plain values.

It holds planned commands, and can be written as JSON and read back. Its identity is the hash of
that JSON: equal campaigns are the same one, on any machine.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import PurePath
from typing import Any

from etherweave.api.nearest import nearest
from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import Adapter
from etherweave.bench.programs.catalogue import catalogue
from etherweave.bench.programs.program_options import FIELDS
from etherweave.bench.statistics.launches import StoppingRule

FORMAT = 1
LIMIT_FACTOR = 10.0  # Times the forecast, after which a launch is ended.
LIMIT_MIN = 60.0  # No launch is ended before [s].


@dataclass(frozen=True)
class Network:
    """One of the site's fabrics, with its assumed rate and latency."""

    name: str
    kind: str = ""  # Words that select published figures of such networks: ``RoCE``, ``TCP``.
    rate: float = plans.FabricEstimate.rate  # Rate of a host's link [bytes/s].
    latency: float = plans.FabricEstimate.latency  # One way, between processes [s].
    interface: str = ""
    device: str = ""  # RDMA device of the NIC.


@dataclass(frozen=True)
class BackgroundProgram:
    """A program that loads the network while an experiment is launched."""

    start: str  # Value of :class:`etherweave.bench.programs.plans.Start`.
    arguments: tuple[str, ...]
    server: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Name of the program."""
        return PurePath(self.arguments[0]).name

    @property
    def command(self) -> plans.BenchmarkCommand:
        """The command that a launcher starts."""
        start = plans.Start(self.start)
        return plans.BenchmarkCommand(start, self.arguments, self.server, self.environment)


@dataclass(frozen=True)
class CampaignExperiment:
    """One benchmark on one fabric and on certain hosts, which is launched repeatedly."""

    benchmark: str
    program: str
    fabric: str  # A network's name.
    hosts: tuple[str, ...]
    ranks_per_node: int
    sizes: tuple[int, ...]  # Message sizes that must appear in the result [bytes].
    start: str  # Value of :class:`etherweave.bench.programs.plans.Start`.
    arguments: tuple[str, ...]
    server: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    output: str | None
    bytes: float  # Predicted traffic of the busiest host [bytes].
    seconds: float  # Predicted time of one launch [s].
    options: tuple[str, ...] = ()  # Options of the program that the user passed on.
    background: tuple[BackgroundProgram, ...] = ()  # Programs that run beside each launch.
    unknown: str = ""
    """Why bytes and time are not known, and are those of a launch that lasts to its limit."""

    @property
    def command(self) -> plans.BenchmarkCommand:
        """The command that a launcher starts."""
        return plans.BenchmarkCommand(
            plans.Start(self.start),
            self.arguments,
            self.server,
            self.environment,
            self.files,
            self.output,
        )

    @property
    def name(self) -> str:
        """Name in files: readable, and unique by the hash of the contents."""
        words = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{self.program}-{self.fabric}")[:60]
        return f"{words}-{digest(asdict(self))[:10]}"


@dataclass(frozen=True)
class Campaign:
    """All experiments that belong together."""

    site: str
    networks: tuple[Network, ...]
    experiments: tuple[CampaignExperiment, ...]
    rule: StoppingRule = field(default_factory=StoppingRule)
    seed: int = 0  # Seed of the order of launches.
    format: int = FORMAT

    @property
    def identity(self) -> str:
        """The hash of its contents."""
        return digest(asdict(self))

    @property
    def launches_max(self) -> int:
        """Largest number of launches of an experiment, the warm-up included."""
        return self.rule.launches_max + 1


@dataclass(frozen=True)
class CampaignOptions:
    """Options of a campaign that hold for every benchmark."""

    hosts: tuple[str, ...]
    sizes: tuple[tuple[int | None, int | None], ...] = ((None, None),)
    """Smallest and largest message, of each experiment [bytes]."""
    ranks_per_node: int = 1
    iterations: int | None = None
    seconds: float | None = None
    streams: int = 1
    is_all_pairs: bool = False
    """Whether benchmarks of a pair go to every pair, rather than to the first two hosts."""
    options: tuple[str, ...] = ()  # Options of the programs themselves, as they are written.
    background: tuple[str, ...] = ()  # Programs that load the network during each launch.
    launch_s: float | None = None
    """Time after which a launch is ended, for which the background lasts [s]."""


def experiments(
    programs: Sequence[str], networks: Sequence[Network], options: CampaignOptions
) -> tuple[CampaignExperiment, ...]:
    """Plan every program on every network and placement.

    Raises ``BenchmarkPlanError`` when a program or an option of it is unknown, or it cannot run as
    requested.
    """
    if not options.hosts:
        raise plans.BenchmarkPlanError("no hosts; expected at least one")
    check_used(
        (adapter, _request(adapter, name, networks[0], options, options.sizes[-1]))
        for adapter, name in map(adapter_of, programs)
    )
    planned_experiments = [
        experiment
        for program in programs
        for network in networks
        for sizes in options.sizes
        for experiment in _experiments(program, network, options, sizes)
    ]
    return tuple(dict.fromkeys(planned_experiments))


def adapter_of(program: str) -> tuple[Adapter, str]:
    """Find the adapter of a program: by the program's name, or by the benchmark's.

    Raises ``BenchmarkPlanError`` when there is none, with the reason if one is known.
    """
    if program in ADAPTERS:
        return ADAPTERS[program], ADAPTERS[program].programs[0]
    of_any_class = re.sub(r"(?<=\.)[A-FSW](?=\.x)", "C", program)  # Problem classes of NPB.
    for adapter in ADAPTERS.values():
        if reason := adapter.refused.get(of_any_class):
            raise plans.BenchmarkPlanError(f"{program} is not planned: {reason}")
        if program in (*adapter.programs, *adapter.rarer):
            return adapter, program
    for name, entry in catalogue().items():
        if entry.why_not and program.startswith(name):  # osu_upc_memput is of osu_upc.
            raise plans.BenchmarkPlanError(f"{program} is not planned: {entry.why_not}")
    if program.endswith(".x"):
        return ADAPTERS["npb"], program
    every = [key for tool in ADAPTERS.values() for key in (tool.name, *tool.programs, *tool.rarer)]
    advice = f"{nearest(program, list(dict.fromkeys(every)))}; `etherweave bench list` has all"
    raise plans.BenchmarkPlanError(f"unknown program {program}; {advice}")


SECONDS_MAX = 366 * 86_400.0  # No benchmark lasts longer: a year [s].


def check_used(requests: Iterable[tuple[Adapter, plans.BenchmarkRequest]]) -> None:
    """Refuse an option of Etherweave that none of the programs uses; raises ``BenchmarkPlanError``.

    An option that is used changes the plan.
    """
    unused = [_unused(adapter, request) for adapter, request in requests]
    for name in sorted(set.intersection(*unused)) if unused else ():
        raise plans.BenchmarkPlanError(f"{name}: none of the programs uses it; expected none")


def check_length(plan: plans.BenchmarkPlan) -> None:
    """Refuse what takes longer than a year; raises ``BenchmarkPlanError``."""
    if plan.forecast.seconds > SECONDS_MAX:
        raise plans.BenchmarkPlanError(
            f"{plan.program} takes {plan.forecast.seconds:.3g} s ({plan.forecast.basis}); expected "
            "less than a year"
        )


def check_sizes(adapter: Adapter, request: plans.BenchmarkRequest) -> None:
    """Refuse sizes that a program does not send: empty messages, and a range where it sends one.

    Raises ``BenchmarkPlanError``.
    """
    least, most = request.size_min, request.size_max
    is_range, is_empty = least not in (None, most), most == 0
    if not (is_range or is_empty) or "--size" in _unused(adapter, request):
        return
    planned = adapter.plan(request, plans.FabricEstimate())

    def is_plan_of(least: int | None, most: int | None) -> bool:
        other = replace(request, size_min=least, size_max=most)
        return adapter.plan(other, plans.FabricEstimate()) == planned

    if is_empty and is_plan_of(least, None):
        raise plans.BenchmarkPlanError(
            f"--size 0B: {request.program} sends no empty messages; expected --size 1B or more"
        )
    if is_range and is_plan_of(most, most):
        raise plans.BenchmarkPlanError(
            f"--size {least}:{most}: {request.program} sends a single size; expected --size {most}"
        )


def _unused(adapter: Adapter, request: plans.BenchmarkRequest) -> set[str]:
    usual = plans.BenchmarkRequest(request.program)

    def plan(field: str, value: Any) -> plans.BenchmarkPlan | None:
        try:
            return adapter.plan(replace(request, **{field: value}), plans.FabricEstimate())
        except plans.BenchmarkPlanError:
            return None

    return {
        name
        for name, field in FIELDS.items()
        if (value := getattr(request, field)) != getattr(usual, field)
        if (planned := plan(field, value)) and planned == plan(field, 2 * value or 1)
    }


def every_program() -> tuple[str, ...]:
    """Name all programs that adapters know, and the benchmarks that are not parsed."""
    known = (
        (*adapter.programs, *adapter.rarer, *adapter.refused) if adapter else (name,)
        for name, adapter in ((name, ADAPTERS.get(name)) for name in catalogue())
    )
    return tuple(dict.fromkeys(program for programs in known for program in programs))


def digest(facts: Any) -> str:
    """Return the hash of a value that JSON can represent."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _experiments(
    program: str, network: Network, options: CampaignOptions, sizes: tuple[int | None, int | None]
) -> list[CampaignExperiment]:
    adapter, name = adapter_of(program)
    request = _request(adapter, name, network, options, sizes)
    adapter.options.check_ranges(request)
    check_sizes(adapter, request)
    plan = _planned(adapter, network, request, options)
    check_length(plan)
    places = _placements(plan, options)
    return [_experiment(adapter, plan, network, hosts, options) for hosts in places]


def _request(
    adapter: Adapter,
    program: str,
    network: Network,
    options: CampaignOptions,
    sizes: tuple[int | None, int | None],
) -> plans.BenchmarkRequest:
    is_alone = len(options.hosts) == 1
    return plans.BenchmarkRequest(
        program,
        nodes=1 if is_alone else 2,
        ranks_per_node=max(options.ranks_per_node, 2) if is_alone else options.ranks_per_node,
        size_min=sizes[0],
        size_max=sizes[1],
        iterations=options.iterations,
        seconds=options.seconds,
        streams=options.streams,
        device=network.device or None,
        options=adapter.options.read(program, options.options),
    )


def _planned(
    adapter: Adapter, network: Network, request: plans.BenchmarkRequest, options: CampaignOptions
) -> plans.BenchmarkPlan:
    """Plan for two hosts what runs on a pair, and for all hosts what does not."""
    estimate = plans.FabricEstimate(network.rate, network.latency)
    everywhere = replace(request, nodes=len(options.hosts))
    try:
        plan = adapter.plan(request, estimate)
    except plans.BenchmarkPlanError:
        return adapter.plan(everywhere, estimate)
    if plan.placement.pattern in (plans.HostPattern.PAIR, plans.HostPattern.ALONE):
        return plan
    return adapter.plan(everywhere, estimate)


def _placements(plan: plans.BenchmarkPlan, options: CampaignOptions) -> list[tuple[str, ...]]:
    pattern, hosts = plan.placement.pattern, options.hosts
    if pattern is plans.HostPattern.ALONE:
        return [hosts[:1]]
    if pattern is not plans.HostPattern.PAIR:
        return [hosts]
    if len(hosts) == 1:
        return [hosts * plan.placement.nodes]
    return list(combinations(hosts, 2)) if options.is_all_pairs else [hosts[:2]]


def _experiment(
    adapter: Adapter,
    plan: plans.BenchmarkPlan,
    network: Network,
    hosts: tuple[str, ...],
    options: CampaignOptions,
) -> CampaignExperiment:
    command, forecast = plan.command, plan.forecast
    if forecast.unknown:
        seconds = limit_s(forecast.seconds, options.launch_s)
        forecast = replace(forecast, seconds=seconds, bytes=seconds * network.rate)
    return CampaignExperiment(
        benchmark=adapter.name,
        program=plan.program,
        fabric=network.name,
        hosts=hosts,
        ranks_per_node=plan.placement.ranks_per_node,
        sizes=plan.sizes,
        start=command.start.value,
        arguments=command.arguments,
        server=command.server,
        environment=command.environment,
        files=command.files,
        output=command.output,
        bytes=forecast.bytes + len(options.background) * forecast.seconds * float(network.rate),
        seconds=float(forecast.seconds),
        options=options.options,
        background=tuple(
            _background(tool, network, forecast.seconds, options) for tool in options.background
        ),
        unknown=forecast.unknown,
    )


def _background(
    program: str, network: Network, seconds: float, options: CampaignOptions
) -> BackgroundProgram:
    """Plan a program that lasts as long as a launch may.

    Raises ``BenchmarkPlanError`` when it does not run for a time that can be chosen.
    """
    expected = "expected a program that runs for a time, such as iperf3"
    lasting_s = math.ceil(limit_s(seconds, options.launch_s)) + 1
    try:
        adapter, name = adapter_of(program)
        request = plans.BenchmarkRequest(
            name, nodes=max(len(options.hosts), 2), seconds=lasting_s, device=network.device or None
        )
        plan = adapter.plan(request, plans.FabricEstimate(network.rate, network.latency))
    except plans.BenchmarkPlanError as error:
        raise plans.BenchmarkPlanError(f"background: {error}; {expected}") from None
    if plan.forecast.seconds < lasting_s:
        raise plans.BenchmarkPlanError(
            f"background {name}: ends after {plan.forecast.seconds:.3g} s; {expected}"
        )
    command = plan.command
    return BackgroundProgram(
        command.start.value, command.arguments, command.server, command.environment
    )


def limit_s(seconds: float, chosen: float | None = None) -> float:
    """Return the time after which a launch that is predicted to take so long is ended [s]."""
    return chosen or max(LIMIT_MIN, LIMIT_FACTOR * seconds)
