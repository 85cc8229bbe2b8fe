"""Prototypes: classes of Python that decide in place of members of the core, for exploration.

A method has the name and the arguments of the function of the trait in Rust (``SenderControl`` in
``crates/transport/src/roce/congestion.rs``, ``EntropyChoice`` in ``uet/entropy.rs`` beside it,
``PortChoice`` in ``crates/routing/src/per_packet/caller.rs``, ``Driver`` in
``crates/workload/src/graph/driver.rs``), so that a prototype moves over line by line.
Times are in picoseconds, sizes in bytes, rates in bits per second, as in the core.
"""

import inspect
import math
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from importlib import import_module
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, Literal, TypeAlias

from etherweave._core import (
    DriverEvent,
    Feedback,
    FreshConnection,
    NextOperations,
    PortTelemetry,
    Progress,
    Received,
    ScenarioError,
)

__all__ = [
    "CongestionControl",
    "Driver",
    "DriverEvent",
    "Extension",
    "Feedback",
    "Flow",
    "FlowArrivals",
    "FreshConnection",
    "LoadBalancing",
    "NextOperations",
    "PathFeedback",
    "PortChoice",
    "PortTelemetry",
    "Progress",
    "Received",
    "load_extensions",
]


class CongestionControl:
    """The congestion control of one RoCE sender: what it learns, and what it allows.

    A subclass writes the methods that it needs; those that it does not write cost nothing. Each
    connection has an object of its own, made when it sends its first message. All objects are
    called by one thread, in the order of simulated time, so that equal runs give equal results
    where the class itself draws from nothing but its arguments.

    Parameters
    ----------
    connection
        Rate of the NIC, payload of a packet, and window of the connection.
    """

    heeds_marks: ClassVar[bool] = False
    """Whether switches mark its packets; needs ``switch.ecn``."""
    needs_echoes: ClassVar[bool] = True
    """Whether every packet is acknowledged by itself, with its round trip and its mark; needs
    ``reliability = "selective_repeat"`` and ``ack_every = 1``. :meth:`acknowledged` is called for
    such acknowledgements alone."""
    notification_gap: ClassVar[str | None] = None
    """Shortest time between two notifications of marks, such as ``"4us"``. None: there are none."""
    telemetry_switches: ClassVar[int] = 0
    """Switches on a path whose telemetry :meth:`measured` takes, 0 to 8."""

    def __init__(self, connection: FreshConnection) -> None:
        """Start a connection."""

    def window(self) -> float | None:
        """Most that may be unacknowledged [B], 1 or more; None: the window of the connection.

        Asked after every other method but :meth:`next_at` and :meth:`rate_at`.
        """

    def sent(self, now: int, wire: int) -> bool:
        """Take note of a packet of ``wire`` bytes that goes out; whether the next one must wait."""
        return False

    def next_at(self) -> float:
        """When the next packet may go, or :meth:`is_open` is to be asked again [ps]."""
        return 0

    def is_open(self, now: int) -> bool:
        """Whether the next packet may go; by default once :meth:`next_at` has come."""
        return self.next_at() <= now

    def acknowledged(self, now: int, feedback: Feedback) -> None:
        """Take an acknowledgement."""

    def measured(self, path: Sequence[PortTelemetry], acknowledged: int, next: int) -> None:  # noqa: A002
        """Take what switches wrote into the packet that an acknowledgement answers."""

    def notified(self, now: int) -> None:
        """Take a congestion notification."""

    def lost(self, now: int, progress: Progress) -> None:
        """Take note of a lost packet."""

    def timed_out(self, now: int) -> None:
        """Take note of an expiry of the retransmission timer."""

    def rate_at(self, now: int) -> float | None:
        """Rate at ``now`` [b/s], for samples of flows; None where there is none.

        Asked at time 0 as well, when the connection starts, so that a wrong answer ends the run.
        """


PathFeedback: TypeAlias = Literal["unmarked", "marked", "trimmed", "lost"]
"""Outcome of a packet, for the value that it had."""


class LoadBalancing:
    """The entropy values of one Ultra Ethernet sender, by which switches hash packets to paths.

    Parameters
    ----------
    entropies
        Number of values, ``transport.uet.entropies``.
    """

    def __init__(self, entropies: int) -> None:
        """Start a sender, before its first packet."""

    def next(self) -> int:
        """Value of the next packet, from 0 to less than the number of values."""
        raise NotImplementedError

    def heed(self, now: int, entropy: int, feedback: PathFeedback) -> None:
        """Take what became of a packet with a value."""


class PortChoice:
    """The choice of a switch of a tree among the ports that lead on, for each packet.

    The scenario's ``routing`` says how long packets of a flow keep their random bits: ``spray``
    draws them for each packet, ``flowlet`` after a gap, ``ecmp`` once.

    Parameters
    ----------
    switch
        Number of the switch.
    """

    def __init__(self, switch: int) -> None:
        """Start a switch, before the first packet that has a choice there."""

    def choose(
        self, now: int, source: int, destination: int, bits: int, ports: list[tuple[int, int]]
    ) -> int:
        """Choose the port by which a packet leaves, by its number.

        Parameters
        ----------
        now
            Time [ps], in whole nanoseconds.
        source, destination
            Numbers of hosts.
        bits
            32 random bits of the packet at this switch.
        ports
            Two or more ports, in order, each with what waits for it [B].
        """
        raise NotImplementedError


class Driver:
    """The operations of one rank of a job with ``workload.driver``, decided on during the run.

    Parameters
    ----------
    rank, ranks
        Number of the rank, and ranks of the job.
    seed
        Seed of the run.
    """

    def __init__(self, rank: int, ranks: int, seed: int) -> None:
        """Start a rank."""

    def on_event(self, now: int, event: DriverEvent, next: NextOperations) -> None:  # noqa: A002
        """Answer the start of the job, or what is complete, with operations that begin at once.

        A driver with none in progress has ended.
        """
        raise NotImplementedError


Flow: TypeAlias = tuple[float, int, int, int]
"""Start after the start of the job [ps], source and destination by rank, and payload [B]."""


class FlowArrivals:
    """The flows of a job with ``workload.flows``, in place of those that the core draws.

    Made once, before the run. The flows become the list of the job, ``workload.flows.text``, so
    that the result contains them and can be repeated without the class.

    Parameters
    ----------
    ranks
        Hosts of the job, as the scenario says.
    seed
        Seed of the run: ``random.Random(seed)`` draws the same flows for the same seed.
    """

    def __init__(self, ranks: int, seed: int) -> None:
        self.ranks, self.seed = ranks, seed

    def batches(self) -> Iterable[Iterable[Flow]]:
        """Yield flows, some at a time."""
        raise NotImplementedError


Extension: TypeAlias = (
    type[CongestionControl]
    | type[LoadBalancing]
    | type[PortChoice]
    | type[Driver]
    | type[FlowArrivals]
    | partial[Any]
)
"""A class, or one with some of its keywords set."""

START_MAX = 10**18  # Latest start of a flow [ps].
_KINDS: Mapping[str, type] = {
    "congestion": CongestionControl,
    "load_balancing": LoadBalancing,
    "port_choice": PortChoice,
    "driver": Driver,
    "arrivals": FlowArrivals,
}
_ATTRIBUTES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "heeds_marks": ((bool,), "True or False"),
    "needs_echoes": ((bool,), "True or False"),
    "notification_gap": ((str, type(None)), 'a duration such as "4us", or None'),
    "telemetry_switches": ((int,), "a number of switches, 0 to 8"),
}
"""Attributes of a congestion control: their types, and what is expected."""
_TRANSPORTS = {"congestion": "roce", "load_balancing": "uet"}
"""Transports whose connections a class decides for."""


def load_extensions(names: Iterable[str], folder: Path = Path()) -> dict[str, Any]:
    """Import classes for ``extend`` by their names; the base of each says what it decides.

    A name is ``MODULE:CLASS``; modules of the folder, by default the working directory, are known.
    Raises ``ValueError`` when one has no such form, two classes decide the same, or there is no
    such class.
    """
    classes = dict[str, Any]()
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    for name in names:
        module, colon, attribute = name.partition(":")
        if not (module and colon and attribute):
            raise ValueError(f"extend: {name!r}; expected MODULE:CLASS, as in timely:Timely")
        try:
            made = getattr(import_module(module), attribute)
        except Exception as error:
            raise ValueError(f"extend: {name}: {error}; expected a class of a module") from None
        kinds = [
            kind
            for kind, base in _KINDS.items()
            if isinstance(made, type) and issubclass(made, base)
        ]
        if not kinds or kinds[0] in classes:
            expected = "a subclass of one of " + ", ".join(own.__name__ for own in _KINDS.values())
            raise ValueError(f"extend: {name}; expected {expected}, each once")
        classes[kinds[0]] = made
    return classes


def source_file(name: str) -> Path | None:
    """Give the file of the module of a loaded ``MODULE:CLASS``, if it has one."""
    file = getattr(sys.modules.get(name.partition(":")[0]), "__file__", None)
    return Path(file) if file else None


def described_fault(error: BaseException) -> str | None:
    """Describe what a class of ``extend`` raised, or why it is none: error, method and line.

    None of any other error.
    """
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("raised by ")]
    if not notes:
        return str(error) if str(error).startswith("extend: ") else None
    package = Path(__file__).parent
    stack = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in stack if not Path(frame.filename).is_relative_to(package)]
    own = [frame for frame in frames if frame.filename == frames[0].filename][-1:]
    lines = [f"{frame.filename}:{frame.lineno}: {frame.line}" for frame in own]
    return "\n  ".join([f"{type(error).__name__}: {error}", *notes, *lines])


@dataclass(frozen=True)
class Extensions:
    """Classes of ``extend`` as the core takes them."""

    classes: Sequence[tuple[str, Callable[..., object], str, Sequence[str]]]
    """Decision, class, name, and names of the methods that the class writes."""
    overrides: Mapping[str, object]
    """Keys of the scenario that ask for them."""


def extensions_of(
    extend: Mapping[str, Any] | None, resolve: Callable[[Mapping[str, object]], str]
) -> Extensions:
    """Check the classes of ``extend``; ``resolve`` gives the scenario in full, with overrides.

    Raises ``TypeError`` or ``ValueError`` where one is none, or stands under another name.
    """
    classes, overrides = [], dict[str, object]()
    named = {name: _class_of(name, made) for name, made in (extend or {}).items()}
    for name, own in sorted(named.items(), key=lambda item: list(_KINDS).index(item[0])):
        made = (extend or {})[name]
        if name in _TRANSPORTS:
            _reject_transport(name, own, resolve)
        if name == "congestion":
            overrides |= _congestion_keys(own)
        elif name == "load_balancing":
            overrides |= {"transport.uet.load_balancer.class": own.__name__}
        elif name == "port_choice":
            overrides |= {"port_choice.class": own.__name__}
        else:
            scenario = tomllib.loads(resolve(overrides))
            keys = _driver_keys if name == "driver" else _listed
            overrides |= keys(made, own, scenario)
        if name != "arrivals":
            classes.append((name, made, own.__name__, _written(_KINDS[name], own)))
    return Extensions(classes, overrides)


def _reject_transport(name: str, own: type, resolve: Callable[[Mapping[str, object]], str]) -> None:
    """Refuse a class beside another transport than it decides for."""
    try:
        transports = tomllib.loads(resolve({})).get("transport", {})
    except ScenarioError:  # A mistake without the class, such as marks that nothing else heeds.
        return
    if (expected := _TRANSPORTS[name]) not in transports:
        place = f"extend: {name}: {own.__name__}: beside transport.{', '.join(transports)}"
        raise ValueError(f"{place}; expected transport.{expected}")


def _class_of(name: str, made: object) -> Any:
    if name not in _KINDS:
        raise ValueError(f"extend: {name!r}; expected {' or '.join(map(repr, _KINDS))}")
    kind, own = _KINDS[name], made.func if isinstance(made, partial) else made
    if not (isinstance(own, type) and issubclass(own, kind)):
        expected = f"a subclass of etherweave.extend.{kind.__name__}, or a partial of one"
        raise TypeError(f"extend: {name}: {made!r}; expected {expected}")
    for needed in {"next", "choose", "on_event", "batches"} & vars(kind).keys():
        if getattr(own, needed) is getattr(kind, needed):
            raise TypeError(f"extend: {name}: {own.__name__} has no method {needed}")
    _reject_unknown(name, kind, own)
    return own


def _reject_unknown(name: str, kind: type, own: type) -> None:
    """Refuse public methods that no kind has and the class does not name: misspelt ones."""
    bases = own.__mro__[: own.__mro__.index(kind)]
    written = {key: member for base in bases for key, member in vars(base).items()}
    functions = {key: member for key, member in written.items() if inspect.isfunction(member)}
    named = {word for member in functions.values() for word in _words(member.__code__)}
    for key in sorted(functions.keys() - named - vars(kind).keys()):
        if key[0] != "_":
            near = sorted(
                _methods(kind), key=lambda known: -SequenceMatcher(None, key, known).ratio()
            )
            place = f"extend: {name}: {own.__name__}.{key}: a method that nothing calls"
            raise TypeError(f"{place}; expected {', '.join(near)}, or _{key}")


def _words(code: CodeType) -> set[str]:
    """Collect names that a function and those within it use."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_words, inner))


def _methods(kind: type) -> list[str]:
    """List the names of the public methods of a kind."""
    return [name for name, member in vars(kind).items() if callable(member) and name[0] != "_"]


def _written(kind: type, own: type) -> list[str]:
    """List the names of the methods of a kind that a class writes."""
    return [name for name in _methods(kind) if getattr(own, name) is not getattr(kind, name)]


def _congestion_keys(control: type[CongestionControl]) -> dict[str, object]:
    keys: dict[str, object] = {"class": control.__name__}
    for name, (kinds, expected) in _ATTRIBUTES.items():
        if type(value := getattr(control, name)) not in kinds:
            place = f"extend: congestion: {control.__name__}.{name}: {value!r}"
            raise TypeError(f"{place}; expected {expected}")
        keys |= {} if value is None else {name: value}
    return {f"transport.roce.prototype.{key}": value for key, value in keys.items()}


def _driver_keys(_made: object, own: type, scenario: Mapping[str, Any]) -> dict[str, object]:
    jobs = [n for n, job in enumerate(scenario["job"]) if "driver" in job["workload"]]
    return {f"job.{number}.workload.driver.class": own.__name__ for number in jobs}


def _listed(
    made: Callable[..., FlowArrivals], own: type, scenario: Mapping[str, Any]
) -> dict[str, object]:
    """Write the flows of a class as the list of the job with ``workload.flows``."""
    jobs = [(n, job) for n, job in enumerate(scenario["job"]) if "flows" in job["workload"]]
    if len(jobs) != 1:
        raise ValueError(f"extend: arrivals: {len(jobs)} jobs with workload.flows; expected one")
    ((number, job),) = jobs
    drawn = job["workload"]["flows"]
    try:
        arrivals = made(drawn["ranks"], scenario["seed"])
        lines = list(_flow_lines(arrivals, f"{own.__name__}.batches", drawn["ranks"]))
    except Exception as error:
        error.add_note(f"raised by {own.__name__}, which lists flows before the run")
        raise
    if len(lines) == 1:
        raise ValueError(f"{own.__name__}.batches returned no flow; expected at least one")
    kept = {key: drawn[key] for key in ("ranks", "ideal")}
    return {f"job.{number}.workload.flows": {**kept, "text": "\n".join(lines) + "\n"}}


def _flow_lines(arrivals: FlowArrivals, place: str, ranks: int) -> Iterator[str]:
    yield "source,destination,bytes,start_ps"
    value: Any
    rank = f"a rank from 0 to {ranks - 1:,}"
    batches = _iterated(arrivals.batches(), f"{place} returned", "batches of flows")
    flows = chain.from_iterable(_iterated(flows, f"{place}: batch", "flows") for flows in batches)
    for number, flow in enumerate(flows, 1):
        try:
            start, source, destination, size = flow
        except (TypeError, ValueError):
            reason = f"{flow!r}; expected start, source, destination and bytes"
            raise ValueError(f"{place}: flow {number}: {reason}") from None
        for name, value, kind, low, high, expected in (
            ("start", start, Real, 0, START_MAX, f"picoseconds, from 0 to {START_MAX:g}"),
            ("source", source, Integral, 0, ranks - 1, rank),
            ("destination", destination, Integral, 0, ranks - 1, rank),
            ("bytes", size, Integral, 1, math.inf, "bytes from 1, a whole number"),
        ):
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            if not (is_number and low <= value <= high):
                reason = f"{name} {value!r}; expected {expected}"
                raise ValueError(f"{place}: flow {number}: {reason}")
        yield f"{source},{destination},{size},{start}"


def _iterated(value: Any, place: str, expected: str) -> Iterable[Any]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return value
    raise ValueError(f"{place} {value!r}; expected {expected}")
