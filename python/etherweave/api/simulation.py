"""One scenario in, one result out: the Python face of the core.

Nothing is computed here.
"""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypeAlias, TypedDict

from etherweave import _core
from etherweave.api.machine import machine
from etherweave.api.results import CoreTables, Result, parse_summary
from etherweave.api.scenario import Overrides, ScenarioSource, literals, read
from etherweave.extend import Extension, extensions_of

ScenarioError = _core.ScenarioError


class Progress(TypedDict):
    """Progress of a simulation."""

    simulated_ns: float
    """Simulated time [ns]."""
    end_ns: float | None
    """Simulated time at which the run ends at the latest [ns]; None when only its jobs end it."""
    packet_hops: int
    """Packets that have crossed a link, each link counted."""
    wall_s: float
    """Real time since the start [s]."""
    fraction: float | None
    """Share of what is simulated that is done, 0 to 1; None when it is not known."""
    fraction_max: float | None
    """The same share if repetitions are skipped as soon as can be; None where no more are."""


class Estimate(TypedDict):
    """Expected resources of a simulation, known before it starts."""

    memory_bytes: int  # Most memory at once [B].
    memory_parts: list[tuple[str, int]]  # Its largest parts, the largest first: name and bytes.
    disk_bytes: int  # Tables and captures, if they are written [B].
    packet_hops: int | None
    """Packets over links, each link counted; None where the scenario does not say when it ends."""
    run_s: float | None
    """Time on one thread of the machine of the benchmarks, without set-up [s]; None as above."""
    setup_s: float  # Time to build the tables of its routing on that machine [s].
    warnings: list[str]
    """Warnings that a reader must know before the start, such as that the routing may deadlock."""
    derived: list[str]
    """Keys that are left open and others decide, each with its value and rule."""


EstimateCallback: TypeAlias = Callable[[Estimate], None]
"""Takes the estimate before the first event."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run, with what the run had until then.

    Parameters
    ----------
    result
        Partial, and marked so.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        return f"{self.result.summary['name']}: interrupted"


class FaultError(RuntimeError):
    """A fault of Etherweave itself, with what there was until then.

    Parameters
    ----------
    name
        Name of the scenario.
    cause
        Message and place in the code.
    result
        What the function that raises it would have returned, without what the fault took: of a run
        a :class:`Result` that is marked as partial, of a curve its rows, of designs their figures.
    """

    def __init__(self, name: str, cause: tuple[str, str], result: Any) -> None:
        super().__init__(name, cause, result)
        self.name, self.cause, self.result = name, cause, result

    def __str__(self) -> str:
        message, place = self.cause
        return f"{self.name}: a fault of Etherweave: {message} ({place})"


def run(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    threads: int = 1,
    pcap: Mapping[str, str | Path] | None = None,
    progress: Callable[[Progress], bool] | None = None,
    memory_limit: str | None = None,
    on_start: EstimateCallback | None = None,
    snap_length: str | None = None,
    extend: Mapping[str, Extension] | None = None,
) -> Result:
    """Simulate a scenario.

    Parameters
    ----------
    scenario
        Path of a TOML file, or a mapping of the same shape.
    overrides
        Dotted keys and their values, such as ``{"job.0.workload.halo3d.iterations": 100}``; strings
        carry units as in a file (``"200ns"``), and None takes a key out.
    threads
        Number of threads. Results do not depend on it.
    pcap
        Hosts whose ports are captured, and the pcapng file to write for each.
    progress
        Called from time to time; returns whether to continue. If it returns false, the run ends
        with what it has, and ``finished`` is ``"interrupted"``.
    memory_limit
        Most memory that the run may be expected to take, such as ``"4GiB"``; by default what the
        machine and the limits of the process leave.
    on_start
        Called once, before the first event, with what the run is expected to need.
    snap_length
        Most that is kept of a captured frame, such as ``"128B"``; by default the whole frame.
    extend
        Classes of Python that decide in place of members of the core: ``"congestion"``, a subclass
        of :class:`etherweave.extend.CongestionControl` for connections of ``transport.roce``;
        ``"load_balancing"``, a :class:`etherweave.extend.LoadBalancing` for those of
        ``transport.uet``; ``"port_choice"``, a :class:`etherweave.extend.PortChoice` for switches
        of a tree; ``"driver"``, a :class:`etherweave.extend.Driver` for jobs with
        ``workload.driver``; such a run has one thread, and its warnings name the class.
        ``"arrivals"``, a :class:`etherweave.extend.FlowArrivals` for the job with
        ``workload.flows``, is asked before the run.

    Returns
    -------
    Result
        The tables, the summary and the resolved scenario.

    Raises
    ------
    ScenarioError
        When the scenario is wrong: file, line, key and what is expected there; or when its run
        needs more memory than there is.
    OSError
        When a file cannot be read, or a capture cannot be written; raised before the run.
    Interrupted
        On Ctrl-C; a :class:`KeyboardInterrupt` that carries the partial result.
    FaultError
        When Etherweave itself has a fault; carries the partial result.
    Exception
        What a class of ``extend`` raises, with a note of method and simulated time; ``ValueError``
        when one of its methods returns what it must not.

    Examples
    --------
    >>> result = run("scenarios/first.toml", {"seed": 7}, threads=2)
    >>> result.summary["finished"]
    'complete'
    """
    text, origin = read(scenario)
    listener = _Listener(progress)
    captures, changes = _captures(pcap), literals(overrides)
    extensions = extensions_of(
        extend, lambda more: _core.resolve(text, origin, changes + literals(more))
    )
    changes += literals(extensions.overrides)
    started = _parsed(on_start)
    done = _core.run(
        text,
        origin,
        changes,
        threads,
        captures,
        listener,
        memory_limit,
        started,
        snap_length,
        extensions.classes,
    )
    result = Result(
        tables=CoreTables(done.tables),
        summary=parse_summary(done.summary),
        resolved=done.resolved,
        machine=machine(),
    )
    if result.summary["finished"] == "interrupted" and not listener.has_declined:
        raise Interrupted(result)
    if result.summary["finished"] == "fault":
        fault = result.summary["fault"]
        raise FaultError(result.summary["name"], (fault["message"], fault["place"]), result)
    return result


def resolve(scenario: ScenarioSource, overrides: Overrides | None = None) -> str:
    """Fill in every default of a scenario and check it, without simulating.

    Parameters
    ----------
    scenario, overrides
        As for :func:`run`. Without jobs it describes a fabric: for designs, open loops or labs.

    Returns
    -------
    str
        The whole scenario, as TOML.

    Raises
    ------
    ScenarioError
        As for :func:`run`.
    """
    text, origin = read(scenario)
    changes = literals(overrides)
    if _has_jobs(text, changes):
        return _core.resolve(text, origin, changes)
    return _core.Fabric.parse(text, origin, changes).resolved


class AcceleratorMemory(TypedDict):
    """Memory of an accelerator that a training step takes, of the stage that takes most."""

    parameters_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int  # Most micro-batches whose backward pass is ahead.


class StepTimes(TypedDict):
    """Parts of a training step that are known before it is simulated."""

    operations: float
    """Operations of the model for all tokens; what is computed again does not count."""
    computation_s: float  # Computation of an accelerator, the mean over stages [s].
    bubble_s: float  # Wait of stages for each other if all take the same time [s].
    imbalance_s: float  # Additional wait because some stages take longer [s].
    in_node_s: float  # Time of collectives within the nodes, by their formula [s].
    memory: AcceleratorMemory


def memory_of(times: StepTimes) -> int:
    """Return the memory of an accelerator that a training step takes, all parts together [B]."""
    parts = times["memory"]
    states = parts["parameters_bytes"] + parts["gradients_bytes"] + parts["optimizer_bytes"]
    return states + parts["activations_bytes"]


def step_times(training: Mapping[str, object]) -> StepTimes:
    """Return the parts of a training step that no message delays: operations, and times to add."""
    times: StepTimes = json.loads(_core.workload_figures(json.dumps({"training": training}), 0))
    return times


class MoeLoads(TypedDict):
    """Sums over a layer of experts that are known before it is simulated."""

    network_tokens: float  # Copies of tokens that a rank sends over the network, in the mean.
    token_bytes: list[int]  # Payload of a copy in a dispatch, and in a combine [B].
    logical_bytes: list[float]
    """Bytes that DeepEP's tests divide by the time of a dispatch, and of a combine [B]."""
    imbalance: float  # Tokens of the rank with the most over the mean.


def moe_loads(moe: Mapping[str, object], seed: int) -> MoeLoads:
    """Return how much the ranks of a layer of experts exchange, with the run's seed."""
    loads: MoeLoads = json.loads(_core.workload_figures(json.dumps({"moe": moe}), seed))
    return loads


class Figure(TypedDict):
    """A figure of an interconnect in a scenario."""

    profile: str
    """Interconnect that has it, or the file."""
    key: str
    """Dotted key."""
    value: object
    """Value, as in the scenario."""
    basis: str
    """"published", "derived", "fitted", "estimate" or "example"."""
    source: str
    """Where it comes from."""
    range: NotRequired[list[str]]
    """Both ends between which its documents have it; only of some."""


def figures(scenario: ScenarioSource, overrides: Overrides | None = None) -> list[Figure]:
    """List the figures that a scenario has from its interconnect, with their sources.

    Parameters
    ----------
    scenario, overrides
        As for :func:`run`. Figures that the scenario or an override replaces are not listed.

    Raises
    ------
    ScenarioError
        As for :func:`run`.
    """
    text, origin = read(scenario)
    document: list[Figure] = json.loads(_core.figures(text, origin, literals(overrides)))
    return document


def foresee(scenario: ScenarioSource, overrides: Overrides | None = None) -> Estimate | None:
    """Estimate what a run of a scenario needs, without running it; None without jobs.

    Parameters
    ----------
    scenario, overrides
        As for :func:`run`.

    Raises
    ------
    ScenarioError
        As for :func:`run`.
    """
    text, origin = read(scenario)
    changes = literals(overrides)
    if not _has_jobs(text, changes):
        return None
    estimate: Estimate = json.loads(_core.foresee(text, origin, changes))
    return estimate


def _has_jobs(text: str, changes: Sequence[tuple[str, str]]) -> bool:
    """Look for a job; text that is not TOML may have one, and the core reports what is wrong."""
    try:
        return bool(tomllib.loads(text).get("job")) or any(
            key.startswith("job") for key, _ in changes
        )
    except (ValueError, RecursionError):
        return True


def schema() -> str:
    """JSON Schema of a scenario file, as text."""
    return _core.schema()


def _parsed(on_start: EstimateCallback | None) -> Callable[[str], None] | None:
    if on_start is None:
        return None
    return lambda text: on_start(json.loads(text))


class _Listener:
    """Callback of the core that records whether the caller stopped the run; else Ctrl-C did."""

    def __init__(self, progress: Callable[[Progress], bool] | None) -> None:
        self._progress = progress
        self.has_declined = False

    def __call__(self, facts: Progress) -> bool:
        if self._progress is not None:
            self.has_declined = not self._progress(facts)
        return not self.has_declined


def _captures(pcap: Mapping[str, str | Path] | None) -> list[tuple[str, str]]:
    files = {host: Path(file) for host, file in (pcap or {}).items()}
    for file in files.values():
        if not file.parent.is_dir():
            raise FileNotFoundError(f"{file}: no directory {file.parent} for the capture")
    return [(host, str(file)) for host, file in files.items()]
