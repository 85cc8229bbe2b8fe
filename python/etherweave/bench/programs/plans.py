"""Plans of benchmarks: placement of processes, command, and predicted cost."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from etherweave.bench.programs.data_traffic import graph_of


class HostPattern(StrEnum):
    """Hosts that take part together."""

    ALONE = "alone"  # One host, without the network.
    PAIR = "pair"  # Two hosts; a runner may repeat it for any pair.
    ALL_PAIRS = "all_pairs"  # All hosts in one run, which measures each pair by itself.
    RING = "ring"  # All hosts, each with its neighbours in some order.
    ALL_NODES = "all_nodes"  # All hosts at once.


class Start(StrEnum):
    """How the processes are started."""

    MPI = "mpi"  # An MPI launcher starts all ranks with the same words.
    SHMEM = "shmem"  # An OpenSHMEM launcher does.
    CLIENT_SERVER = "client_server"  # A server on one host, then a client on another.
    FAN_IN = "fan_in"
    """A server for each client on the first host, then all clients on the others at once."""
    EACH_RANK = "each_rank"  # The runner starts each rank with its number.
    ALONE = "alone"  # One process.


@dataclass(frozen=True)
class HostPlacement:
    """Placement of processes on hosts."""

    pattern: HostPattern
    nodes: int
    ranks_per_node: int = 1


@dataclass(frozen=True)
class BenchmarkCommand:
    """Command lines as lists of arguments; no shell reads them.

    A runner fills in ``{server}``, ``{rank}``, ``{ranks}``, ``{directory}`` and ``{interface}``.
    """

    start: Start
    arguments: tuple[str, ...]  # Program first: of each rank, or of the client.
    server: tuple[str, ...] = ()  # Arguments of the server, if there is one.
    environment: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    """Names and texts of the files that it needs in its working directory."""
    output: str | None = None
    """The file that it writes its results to; standard output if ``None``."""

    def filled(self, values: Mapping[str, str]) -> "BenchmarkCommand":
        """Replace the words in braces by values; raises ``KeyError`` when a value is missing."""
        fill = tuple(part.format_map(values) for part in self.arguments)
        serve = tuple(part.format_map(values) for part in self.server)
        return BenchmarkCommand(self.start, fill, serve, self.environment, self.files, self.output)


@dataclass(frozen=True)
class FabricEstimate:
    """Assumed properties of the network before it is measured."""

    rate: float = 1.25e9  # Rate of a host's link [bytes/s].
    latency: float = 20e-6  # One way, between processes [s].


@dataclass(frozen=True)
class RunForecast:
    """Predicted traffic and time of a run."""

    bytes: float  # Sent by ``senders``.
    seconds: float
    basis: str  # How it was counted.
    unknown: str = ""
    """Why neither is known: a launch then sends at most what the link carries until it is ended."""
    senders: str = "the busiest host"  # Or both of a pair, where both send at once.

    def bidirectional(self) -> "RunForecast":
        """Count what both hosts of a pair send at once."""
        return replace(self, bytes=2 * self.bytes, senders="both hosts")


@dataclass(frozen=True)
class GivenOptions:
    """Options of a program that its adapter knows, as a user passes them on."""

    arguments: tuple[str, ...] = ()  # All of them, as they are written.
    values: tuple[tuple[str, str], ...] = ()
    """First name of each option, and its value; empty for a switch."""
    words: tuple[str, ...] = ()  # Arguments without a dash.
    instead: tuple[tuple[str, str], ...] = ()
    """Options that say what another of Etherweave says, and that: ``-r`` and ``--size``."""
    replaced: frozenset[str] = frozenset()
    """All names of options whose usual value gives way to the user's."""

    def behind(self, usual: Sequence[str]) -> tuple[str, ...]:
        """Place them behind the usual arguments, without those that they replace."""
        words = iter(usual)
        kept = [word for word in words if word not in self.replaced or next(words, None) is None]
        return (*kept, *self.arguments)

    def value(self, name: str, usual: str = "") -> str:
        """Return the last value of an option, by its first name."""
        return next((value for own, value in self.values[::-1] if own == name), usual)

    def without(self, name: str) -> "GivenOptions":
        """Leave out an option, by its first name."""
        if not self.has(name):
            return self
        values = tuple(pair for pair in self.values if pair[0] != name)
        words = (*(word for pair in values for word in pair if word), *self.words)
        literal = tuple(word.replace("{", "{{").replace("}", "}}") for word in words)
        return replace(self, arguments=literal, values=values)

    def has(self, *names: str) -> bool:
        """Whether any of these options is there."""
        return any(own in names for own, _ in self.values)

    def count(self, name: str, usual: int) -> int:
        """Return the last whole number of an option."""
        return int(self.value(name, str(usual)))

    def amount(self, name: str, usual: str, kilo: int) -> float:
        """Return the last size or rate of an option, whose ``k`` is 1000 or 1024."""
        return scaled(self.value(name, usual), kilo)


def scaled(text: str, kilo: int) -> float:
    """Read a number with a prefix as programs write it: ``64K``, ``10G``, ``8B``, ``10pps``."""
    match = re.match(r"([0-9.]+)([kmgt]?)", text.lower())
    assert match
    return float(match[1]) * float(kilo) ** ("", *"kmgt").index(match[2])


def seconds_text(seconds: float) -> str:
    """Write a time for a command [s]: without an exponent, before which programs in C stop reading.

    Examples
    --------
    >>> seconds_text(1_080_000), seconds_text(0.5)
    ('1080000', '0.5')
    """
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class BenchmarkRequest:
    """Options of one run of a benchmark; ``None`` leaves the choice to the benchmark."""

    program: str
    nodes: int = 2
    ranks_per_node: int = 1
    size_min: int | None = None  # Smallest message [bytes].
    size_max: int | None = None  # Largest message [bytes].
    iterations: int | None = None
    seconds: float | None = None
    """How long each test lasts, where a benchmark goes by the clock.

    Whole ones: iperf3 and others read 0.5 as 0, and 0 as no end.
    """
    streams: int = 1  # Parallel connections of a pair.
    device: str | None = None  # RDMA device of the NIC, where a benchmark needs it.
    options: GivenOptions = GivenOptions()  # Options of the program itself.

    def __post_init__(self) -> None:
        is_asked = {
            "--size": self.size_max is not None,
            "--iterations": self.iterations is not None,
            "--duration": self.seconds is not None,
            "--streams": self.streams > 1,
        }
        for name, own in self.options.instead:
            if is_asked[own]:
                raise BenchmarkPlanError(
                    f"{own} and {name} of {self.program} set the same quantity; expected one"
                )


@dataclass(frozen=True)
class BenchmarkPlan:
    """A run before it is started."""

    program: str
    placement: HostPlacement
    command: BenchmarkCommand
    forecast: RunForecast
    sizes: tuple[int, ...] = ()  # Message sizes that must appear in the result [bytes].
    notes: tuple[str, ...] = field(default=())  # Notes for the user.


class BenchmarkPlanError(ValueError):
    """A request that the benchmark cannot fulfil."""


def nodes_least(program: str, ranks_per_node: int = 1, words: Sequence[str] = ()) -> int:
    """Return the fewest hosts on which a program measures a network, or anything at all.

    ``words`` are its arguments without a dash, of which DT's names a graph.
    """
    if graph := graph_of(program, *words[:1]):
        return max(-(-graph.nodes // ranks_per_node), 2)
    if program.startswith(("bt.", "sp.")):
        return 4  # Kernels of NPB that want a square number of ranks.
    return {"network_load_test": 10, "xhpl": 1}.get(program, 2)


def need_ranks(request: BenchmarkRequest, least: int, name: str) -> int:
    """Return the number of ranks; raises ``PlanError`` when there are too few."""
    ranks = request.nodes * request.ranks_per_node
    if ranks < least:
        raise BenchmarkPlanError(f"{name} needs at least {least} ranks; {ranks} asked for")
    return ranks


def doubling(smallest: int, largest: int) -> tuple[int, ...]:
    """Message sizes from one to another, each twice the one before; zero may come first."""
    return tuple(_doubling(smallest, largest))


def _doubling(smallest: int, largest: int) -> Iterator[int]:
    if smallest == 0:
        yield 0
    size = max(smallest, 1)
    while size <= largest:
        yield size
        size *= 2


def predict_sweep(
    steps: Iterable[tuple[int, int]], fabric: FabricEstimate, basis: str, *, each: float = 1.0
) -> RunForecast:
    """Count messages that follow each other: pairs of size and number.

    ``steps`` are size [bytes] and number of the messages on the busiest link, ``basis`` is how they
    were counted. ``each`` is the share of a message's time that waits for the latency: 1 for
    ping-pong, less in a window.
    """
    total = 0.0
    seconds = 0.0
    for size, count in steps:
        total += size * count
        seconds += count * (size / fabric.rate + each * fabric.latency)
    return RunForecast(total, seconds, basis)


def timed_pair(
    request: BenchmarkRequest,
    fabric: FabricEstimate,
    client: tuple[str, ...],
    server: tuple[str, ...],
    seconds: float,
    *,
    sent: float | None = None,
    basis: str | None = None,
    is_bidirectional: bool = False,
    files: tuple[tuple[str, str], ...] = (),
    output: str | None = None,
    notes: tuple[str, ...] = (),
) -> BenchmarkPlan:
    """Plan a client and a server that keep a pair busy for some time [s].

    The link is full for that time, unless the bytes that are ``sent`` and their ``basis`` are
    given; those of one host where both send at once.
    """
    words = request.options.behind(client)
    command = BenchmarkCommand(Start.CLIENT_SERVER, words, server, files=files, output=output)
    full = f"{seconds:g} s at the rate of the link"
    forecast = RunForecast(seconds * fabric.rate if sent is None else sent, seconds, basis or full)
    forecast = forecast.bidirectional() if is_bidirectional else forecast
    placement = HostPlacement(HostPattern.PAIR, 2)
    return BenchmarkPlan(request.program, placement, command, forecast, notes=notes)


def all_ranks(
    request: BenchmarkRequest,
    arguments: tuple[str, ...],
    forecast: RunForecast,
    *,
    pattern: HostPattern = HostPattern.ALL_NODES,
    files: tuple[tuple[str, str], ...] = (),
    output: str | None = None,
    sizes: tuple[int, ...] = (),
    notes: tuple[str, ...] = (),
) -> BenchmarkPlan:
    """Plan an MPI program on all nodes."""
    command = BenchmarkCommand(
        Start.MPI, request.options.behind(arguments), files=files, output=output
    )
    placement = HostPlacement(pattern, request.nodes, request.ranks_per_node)
    return BenchmarkPlan(request.program, placement, command, forecast, sizes, notes)


def alone(
    request: BenchmarkRequest,
    arguments: tuple[str, ...],
    forecast: RunForecast,
    *,
    notes: tuple[str, ...] = (),
) -> BenchmarkPlan:
    """Plan a program that talks to a service, or to no one; the runner starts it once."""
    command = BenchmarkCommand(Start.ALONE, request.options.behind(arguments))
    return BenchmarkPlan(
        request.program, HostPlacement(HostPattern.ALONE, 1), command, forecast, notes=notes
    )
