from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

from typing_extensions import CapsuleType

class ScenarioError(ValueError):
    """Mistakes in a scenario, a line each: ``file:line:col: key: found; expected …``."""

    mistakes: Sequence[Mistake]
    """The mistakes as structures; made by :func:`scenario_error` and by the core."""

@final
class Mistake:
    """A mistake with its place; its text is the line that errors print."""

    def __new__(
        cls,
        file: str,
        key: str,
        mistake: str,
        expected: str = "",
        line: int | None = None,
        column: int | None = None,
        text_line: int | None = None,
        text_column: int | None = None,
        text_file: str = "",
    ) -> Mistake:
        """Make a mistake; ``text_line`` and ``text_column`` count in the text at the key.

        ``text_file`` is the file of that text where the key names it.
        """
    @property
    def file(self) -> str:
        """File, as the caller named it; ``override`` where an override is wrong."""
    @property
    def key(self) -> str:
        """Names and list indices with dots between them; empty where no key is at fault."""
    @property
    def found(self) -> str:
        """Value that stands there, or what is wrong with it."""
    @property
    def expected(self) -> str:
        """Value that would be right; empty where :attr:`found` says it."""
    @property
    def line(self) -> int | None:
        """Line in the file, or in the text at the key, counted from 1."""
    @property
    def column(self) -> int | None:
        """Column in characters, counted from 1."""
    @property
    def reason(self) -> str:
        """Sentence without file, key and place."""
    def at(self, file: str, key: str | None = None) -> Mistake:
        """Return the same mistake at another file, and perhaps at another key."""

def scenario_error(mistakes: Sequence[Mistake]) -> ScenarioError:
    """Make the exception of these mistakes."""

def check_document(key: str, document: str) -> None:
    """Read a price book or a power profile, by the key that has its name or its text.

    The keys are ``design.prices``, ``design.power``, and these with ``_text``.
    """

class PanicException(BaseException):
    """A fault of the core, which is no mistake of its caller."""

def take_fault() -> tuple[str, str] | None:
    """Message and place in the code of the first panic that nobody has asked for yet."""

def version() -> str:
    """Version of the core, as in ``Cargo.toml``."""

def header_bytes() -> dict[str, int]:
    """Sizes of the headers of a frame [B]: ``ethernet`` with the check sequence, ``ipv4``, ..."""

def build() -> Table:
    """How the core was built: columns ``fact`` and ``value``."""

def join_processes() -> tuple[int, int] | None:
    """Join the processes of the MPI job: the number of this one, and how many there are.

    None if the core is built without MPI.
    """

def leave_processes(mistake: str | None) -> None:
    """Wait for all processes and leave them; ``mistake`` is one before the simulation."""

def abort_processes(code: int) -> None:
    """End all processes at once."""

def schema() -> str:
    """JSON Schema of a scenario file."""

def resolve(text: str, origin: str, overrides: Sequence[tuple[str, str]]) -> str:
    """Fill in every default of a scenario; gives TOML."""

def full_frame(resolved: str) -> tuple[int, int]:
    """Payload of a full frame, and what it takes of a link with preamble and gap [bytes]."""

def figures(text: str, origin: str, overrides: Sequence[tuple[str, str]]) -> str:
    """List the figures that a scenario has from its interconnect, as JSON."""

def sweep(text: str, origin: str) -> str | None:
    """Read the table ``sweep`` of a file, every default written out; gives JSON."""

def foresee(text: str, origin: str, overrides: Sequence[tuple[str, str]]) -> str:
    """Estimate what a run needs, with warnings, as JSON."""

def workload_figures(workload: str, seed: int) -> str:
    """Give figures of a workload that are known before a run, as JSON; ``workload`` is JSON too."""

def run(
    text: str,
    origin: str,
    overrides: Sequence[tuple[str, str]],
    threads: int,
    pcap: Sequence[tuple[str, str]],
    progress: Callable[[Any], bool] | None,
    memory_limit: str | None = None,
    on_start: Callable[[str], None] | None = None,
    snap_length: str | None = None,
    extensions: Sequence[tuple[str, Callable[..., object], str, Sequence[str]]] = (),
) -> Run:
    """Simulate; ``progress`` returns whether to continue, ``on_start`` gets the estimate.

    ``extensions`` are what a class decides on, the class, its name, and the names of the methods
    that it writes.
    """

@final
class FreshConnection:
    """A connection without history."""

    @property
    def rate(self) -> int:
        """Rate of the NIC [b/s]."""
    @property
    def packet(self) -> int:
        """Payload of a full packet [B]."""
    @property
    def window(self) -> int:
        """Most that may be unacknowledged [B]."""

@final
class Feedback:
    """Congestion as an acknowledgement reports it."""

    @property
    def acked(self) -> int:
        """Newly acknowledged [B]."""
    @property
    def acknowledged(self) -> int:
        """Offset below which all is acknowledged [B]."""
    @property
    def next(self) -> int:
        """Offset of the next byte to send [B]."""
    @property
    def round_trip(self) -> int:
        """Time since the packet left that it answers [ps]."""
    @property
    def is_marked(self) -> bool:
        """Whether that packet was marked."""

@final
class Progress:
    """How far a connection is."""

    @property
    def acknowledged(self) -> int:
        """Offset below which all is acknowledged [B]."""
    @property
    def next(self) -> int:
        """Offset of the next byte that was never sent [B]."""

@final
class Received:
    """A message that a receive has taken."""

    @property
    def peer(self) -> int:
        """Rank that sent it."""
    @property
    def tag(self) -> int:
        """Tag of the send."""
    @property
    def bytes(self) -> int:
        """Payload [B]."""

@final
class DriverEvent:
    """Event at the rank of a driver."""

    @property
    def operation(self) -> int | None:
        """Number of the operation or the wait that is complete; None when the job starts."""
    @property
    def received(self) -> Received | None:
        """Message that came in, where a receive is complete."""

@final
class NextOperations:
    """Collects what a driver answers. Each method returns the number of what it begins."""

    def send(self, peer: int, bytes: int, tag: int = 0, stream: int = 0) -> int:  # noqa: A002
        """Send a message to another rank."""
    def receive(self, peer: int | None, bytes: int, tag: int | None = None, stream: int = 0) -> int:  # noqa: A002
        """Receive a message; None takes any rank or any tag."""
    def compute(self, duration: float, stream: int = 0) -> int:
        """Compute on a stream [ps]."""
    def wait(self, duration: float) -> int:
        """Wait, beside all that is in progress [ps]."""

@final
class PortTelemetry:
    """Telemetry of a switch in a packet, of when it began to send it."""

    @property
    def time(self) -> int:
        """Simulated time [ps]."""
    @property
    def sent(self) -> int:
        """Sent by the port in all [B on the wire]."""
    @property
    def queued(self) -> int:
        """Waiting at the port, as buffers count [B]."""
    @property
    def port(self) -> int:
        """Number of the port in the run."""
    @property
    def rate(self) -> int:
        """Rate of the port [b/s]."""

def convert_goal(
    text: str | PathLike[str],
    binary: str | PathLike[str],
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write a GOAL text as GOAL binary; ``progress`` gets how much of the text is read [B]."""

def schedules(
    text: str, origin: str, overrides: Sequence[tuple[str, str]], warm_up: int
) -> Schedules:
    """Write the jobs of a scenario for the executor, with passes to warm up."""

def executor_sources() -> list[tuple[str, str]]:
    """Give the sources of the executor and the recorder: names and texts."""

def compare(designs: Sequence[Design]) -> str:
    """Put designs side by side, as JSON."""

def compare_metrics(metrics: str) -> str:
    """Find out which fabrics beat which, of metrics as JSON that several processes have made."""

def exports() -> list[tuple[str, str]]:
    """Name the formats of :meth:`Fabric.export`, with a sentence about each."""

def proposals(
    hosts: int, hosts_max: int, radix: int, rate: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Name fabrics in a range of hosts with their scenarios, and why others are left out."""

def largest(radix: int) -> str:
    """Give by formula the figures of the largest balanced fabrics of a radix, as JSON."""

@final
class Fabric:
    """The fabric of a scenario."""

    @staticmethod
    def parse(text: str, origin: str, overrides: Sequence[tuple[str, str]]) -> Fabric:
        """Read a scenario and build its fabric; jobs may be missing."""
    @property
    def name(self) -> str:
        """What it is called."""
    @property
    def resolved(self) -> str:
        """The resolved scenario, as TOML."""
    @property
    def shape(self) -> str:
        """The order in which its switches are joined: single, tree, rails, grid, groups, graph."""
    @property
    def axes(self) -> list[str]:
        """What the coordinates of a switch are called."""
    @property
    def tables(self) -> Mapping[str, Table]:
        """Switches, hosts and links."""
    def buffers(self, mtu: int) -> Table:
        """Headroom and shared pool of every switch port, for packets of ``mtu`` bytes."""
    @property
    def largest_packet_bytes(self) -> int:
        """The largest packet above Ethernet that its hosts send [B]."""
    def routing_priorities(self, routing: str | None) -> int:
        """Count the priorities that a routing needs to be free of deadlock."""
    def with_load(
        self,
        design: Design,
        rows: Sequence[tuple[str, int, int, int, int | None, tuple[float, float] | None]],
        span_ns: float,
    ) -> Design:
        """Add what the fabric draws under a load by rows of ports."""
    def export(self, form: str, names: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Return the fabric in a format that other programs read: texts by file name."""
    def curve(
        self,
        threads: int,
        progress: Callable[[int, int, str], bool] | None,
        memory_limit: str | None = None,
    ) -> tuple[Table, tuple[str, str] | None]:
        """Simulate the traffic of ``open_loop``: a row for each routing, pattern and load.

        Beside the rows: message and place of the fault that ended them, if one did.
        """
    def observe(
        self,
        threads: int,
        routing: str | None,
        pattern: str | None,
        load: float | None,
        memory_limit: str | None = None,
    ) -> dict[str, Table]:
        """Simulate and watch one point: points, patterns, channels, steps, series."""
    def estimate_curve(self) -> str:
        """Estimate what ``curve`` needs, as JSON."""
    def estimate_observe(self, routing: str | None, pattern: str | None, load: float | None) -> str:
        """Estimate what ``observe`` needs, as JSON."""
    def deployment(self, down: Sequence[str]) -> Deployment:
        """Make the flow tables and addresses to deploy, around cables that are down."""
    def estimate_design(self) -> str:
        """Estimate what ``design`` needs, as JSON."""
    def design(
        self, progress: Callable[[str, float | None], bool] | None, memory_limit: str | None = None
    ) -> Design | None:
        """All its figures; ``progress`` returns whether to continue. None when it stopped."""

@final
class Deployment:
    """A fabric's flow tables, made and proved."""

    @property
    def spec(self) -> str:
        """The table ``control`` of the scenario, every default written out, as JSON."""
    @property
    def layout(self) -> str:
        """Fields of the addresses."""
    @property
    def address_bits(self) -> int:
        """How many address bits ports of hosts differ in."""
    @property
    def planes(self) -> int:
        """Equal fabrics, each of which has a port of every host."""
    @property
    def warnings(self) -> Sequence[str]:
        """How pauses can deadlock it, and what failed cables divide, each with its key."""
    @property
    def tables(self) -> Mapping[str, Table]:
        """Rules, hosts, ports, and patterns of known addresses."""
    def decide(
        self, questions: Sequence[tuple[int, int, int, int]], paused: Sequence[tuple[int, int]]
    ) -> Table:
        """Return the next ports of packets, by table and by routing, and the priority written.

        A question is a switch, an in-port (0: not known), and the rows of the source and the
        destination in the table of hosts; what is paused is a switch and its port. Ports are
        OpenFlow's.
        """

@final
class Design:
    """All figures of a fabric."""

    @property
    def fault(self) -> tuple[str, str] | None:
        """Message and place of the first fault that took figures from it, if one has."""
    def to_json(self) -> str:
        """Give the figures as JSON."""

@final
class Run:
    """What a simulation leaves."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The result tables by name."""
    @property
    def resolved(self) -> str:
        """The resolved scenario, as TOML."""
    @property
    def summary(self) -> str:
        """The figures of the whole run, as JSON."""

@final
class Schedules:
    """The jobs of a scenario, as files that the executor reads."""

    @property
    def name(self) -> str:
        """What the scenario is called."""
    @property
    def seed(self) -> int:
        """Of all random streams."""
    @property
    def resolved(self) -> str:
        """The resolved scenario, as TOML."""
    @property
    def rate_bps(self) -> int:
        """Rate of the slowest link of a host that a job has [b/s]."""
    @property
    def end_ns(self) -> float | None:
        """When the run ends at the latest [ns]."""
    @property
    def jobs(self) -> list[Schedule]:
        """A schedule for each job."""

@final
class Schedule:
    """The schedule of a job."""

    @property
    def name(self) -> str:
        """What tables call the job."""
    @property
    def hosts(self) -> list[str]:
        """The host of each rank, as the topology calls it."""
    @property
    def amounts(self) -> str:
        """How much it is, as JSON."""
    def write_goal(self, file: str | PathLike[str]) -> None:
        """Write the programs or graphs as GOAL text."""
    def write_goal_binary(self, file: str | PathLike[str]) -> None:
        """Write the programs or graphs as GOAL binary."""
    def chakra(self) -> list[bytes]:
        """Write the programs as execution traces of Chakra, one of each rank."""
    @property
    def bytes(self) -> bytes:
        """The file; an error for graphs that are no sequences."""

@final
class Recording:
    """A program that was recorded."""

    @staticmethod
    def read(directory: str | PathLike[str]) -> Recording:
        """Read the files of a directory, one for each rank."""
    @property
    def facts(self) -> str:
        """What it is about, as JSON."""
    def tables(self) -> Mapping[str, Table]:
        """Give what ranks did (``activities``), and messages of pairs (``transfers``)."""
    def goal(self, library: str, ranks_per_node: int, compute_scale: float) -> str:
        """Write the program as GOAL text, collectives as a library performs them."""

@final
class Table:
    """Named columns of equal length; polars, pyarrow and pandas read it without copying.

    A long table is read as a stream of groups of rows, which are not all in memory at once.
    """

    @property
    def name(self) -> str:
        """What the table is called in a result."""

    @property
    def is_long(self) -> bool:
        """Whether it has more rows than need be in memory at once."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order, units as suffixes."""

    def values(self, column: str) -> list[Any]:
        """Copy a column into a list."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...
