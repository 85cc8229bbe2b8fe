"""Fabrics on paper: a scenario in, figures out, or texts for other programs.

Nothing is computed here. Figures are the core's, as plain dictionaries and lists with units in
their names; ``Design`` in ``crates/design`` documents each.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol, TypeAlias, TypeVar

from etherweave import _core
from etherweave.api.results import Result
from etherweave.api.scenario import Overrides, ScenarioSource, literals, read
from etherweave.api.simulation import EstimateCallback, FaultError

T = TypeVar("T")
U = TypeVar("U")

Figures: TypeAlias = dict[str, Any]  # Figures by name, units as suffixes.
PortSent: TypeAlias = tuple[str, int, int, int, int | None, tuple[float, float] | None]
"""Node, port, bytes and packets sent, wakes, a rate and for how long the port had it [ns]."""

Cause: TypeAlias = tuple[str, str]  # Message of a fault, and its place in the code.
StepCallback: TypeAlias = Callable[[str, str, float | None], bool]
"""Takes a fabric's name, the next step of its design and, where it is known, the share of the step
that is done; returns whether to continue."""

GOALS = {
    "watts": ("watts_per_host", False),
    "price": ("price_per_host", False),
    "bisection": ("bisection_gbps_per_host", True),
    "entries": ("table_entries", False),
    "hosts": ("hosts", True),
}
"""Names of rankings: the metric, and whether more of it is better."""


HOSTS_MAX = 2**32 - 1  # The most hosts that a request can name.


class Carrier(Protocol):
    """Carries out tasks in other processes; :func:`etherweave.executor` makes one."""

    def completed(
        self, function: str, tasks: Iterable[tuple[str, Any]], home: Path
    ) -> Iterator[tuple[str, Any]]:
        """Carry out tasks, each a name and an argument; give each name with its result."""


class StoppedError(Exception):
    """The caller's progress function asked to stop."""


@dataclass(frozen=True)
class Proposals:
    """Fabrics with enough hosts."""

    comparison: Figures  # Their ``designs`` and ``metrics``, best first.
    scenarios: dict[str, str]  # A scenario of each, as TOML, by its name.
    rejected: list[str]
    """Reasons why families have no such fabric, and why a fabric could not be designed."""


def fabric(scenario: ScenarioSource, overrides: Overrides | None = None) -> _core.Fabric:
    """Build the fabric of a scenario.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`; jobs may be missing.

    Raises
    ------
    ScenarioError
        When the scenario is wrong: file, line, key and what is expected there.
    """
    text, origin = read(scenario)
    return _core.Fabric.parse(text, origin, literals(overrides))


def design(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    load: Result | None = None,
    progress: StepCallback | None = None,
    memory_limit: str | None = None,
    on_start: EstimateCallback | None = None,
) -> Figures:
    """Compute every figure of a scenario's fabric that needs no simulation.

    Parameters
    ----------
    scenario, overrides
        As for :func:`fabric`; the table ``design`` has the parameters of a design.
    load
        Result of a run on the same fabric, whose power under that load is computed.
    progress
        Called before each step and during long ones; returns whether to continue.
    memory_limit, on_start
        As for :func:`etherweave.run`.

    Returns
    -------
    dict
        ``fabric`` (counts, distances, bisection, cables), ``routings`` (deadlock proofs),
        ``tables``, ``busiest`` (channels that are full first), ``power``, ``cost``, and in
        ``missing`` the figures that are not known and why.

    Raises
    ------
    ScenarioError
        When the scenario is wrong.
    StoppedError
        When ``progress`` asked to stop.
    ValueError
        When ``load`` was not simulated.
    FaultError
        When Etherweave itself has a fault; carries the figures that it has not taken.
    """
    built = fabric(scenario, overrides)
    if on_start is not None:
        on_start(json.loads(built.estimate_design()))
    designed = _designed(built, progress, Event(), memory_limit)
    fault = designed.fault
    if load is not None:
        if "ports" not in load.tables:
            raise ValueError("load: was measured, without octets of ports; expected a simulation")
        designed = built.with_load(designed, list(_sent(load)), load.summary["end_ns"])
    return _whole(_parsed(designed.to_json()), [(built.name, fault)])


def _sent(load: Result) -> Iterator[PortSent]:
    """List what ports sent, how often those woke that sleep, and rates that follow the load."""
    columns = ("node", "port", "tx_bytes", "tx_packets")
    for node, port, octets, packets in load.to_polars("ports").select(columns).rows():
        yield node, port, octets, packets, None, None
    if "sleeps" in load.tables:
        for node, port, wakes in load.to_polars("sleeps").select("node", "port", "wakes").rows():
            yield node, port, 0, 0, wakes, None
    if "rates" in load.tables:
        columns = ("node", "port", "rate_share", "time_ns")
        for node, port, rate, time_ns in load.to_polars("rates").select(columns).rows():
            yield node, port, 0, 0, None, (rate, time_ns)


def compare(
    scenarios: Sequence[ScenarioSource],
    overrides: Overrides | None = None,
    *,
    threads: int = 1,
    progress: StepCallback | None = None,
    memory_limit: str | None = None,
) -> Figures:
    """Put the fabrics of several scenarios side by side.

    Parameters
    ----------
    scenarios
        At least one.
    threads
        Number of fabrics that are designed at once. Results do not depend on it.
    overrides, progress, memory_limit
        As for :func:`design`, for each of them.

    Returns
    -------
    dict
        ``designs`` as of :func:`design`, and ``metrics`` of each: hosts, bisection, table entries,
        watts and price per host, and whether another fabric beats it in all of them (Pareto).

    Raises
    ------
    FaultError
        When Etherweave itself has a fault; carries the figures that it has not taken.
    """
    fabrics = [fabric(scenario, overrides) for scenario in scenarios]

    def designed(built: _core.Fabric, stop: Event) -> tuple[_core.Design | None, Cause | None]:
        return _until_fault(built, progress, stop, memory_limit)

    designs = _at_once(designed, fabrics, threads)
    figures = _parsed(_core.compare([core for core, _ in designs if core is not None]))
    faults = [(built.name, fault) for built, (_, fault) in zip(fabrics, designs, strict=True)]
    return _whole(figures, faults)


def find(
    hosts: int,
    radix: int,
    rate: str = "100Gb/s",
    *,
    hosts_max: int | None = None,
    rank: str = "watts",
    threads: int = 1,
    progress: StepCallback | None = None,
    memory_limit: str | None = None,
    executor: Carrier | None = None,
    directory: str | Path = "results/find",
) -> Proposals:
    """Propose the fabrics with enough hosts: of every family the smallest and the largest.

    Parameters
    ----------
    hosts
        Least number of hosts.
    radix
        Number of ports of every switch.
    rate
        Rate of every link.
    hosts_max
        Greatest number of hosts; twice ``hosts`` by default.
    rank
        One of :data:`GOALS`. Pareto-optimal fabrics come first.
    threads, progress, memory_limit
        As for :func:`compare`; a fabric that needs more memory is among the rejected.
    executor
        Designs each fabric in a process of its own, in place of threads; the result is the same.
    directory
        Which the executor may use; all its workers see it.

    Raises
    ------
    ScenarioError
        When the rate is not one.
    FaultError
        When Etherweave itself has a fault; carries the proposals that it has not taken.

    Notes
    -----
    Deadlock proofs are left out; :func:`design` has them.
    """
    most = min(2 * hosts, HOSTS_MAX) if hosts_max is None else hosts_max
    proposals, rejected = _core.proposals(hosts, most, radix, rate)

    if executor:
        tasks = [(name, [name, text, memory_limit]) for name, text in proposals]
        carried = executor.completed(f"{__name__}:propose", tasks, Path(directory))
        figures = _carried(carried, len(tasks), progress)
        results = [figures[name] for name, _ in proposals]
    else:

        def designed(proposal: tuple[str, str], stop: Event) -> Figures:
            return _proposed(*proposal, progress, stop, memory_limit)

        results = _at_once(designed, proposals, threads)
    rejected += [result["rejected"] for result in results if "rejected" in result]
    comparison = _together([result for result in results if "rejected" not in result])
    faults = [(name, row.get("fault")) for (name, _), row in zip(proposals, results, strict=True)]
    return _whole(Proposals(_ranked(comparison, rank), dict(proposals), rejected), faults)


def _whole(result: T, faults: Iterable[tuple[str, Cause | None]]) -> T:
    """Return the result, unless a fault of a fabric has taken a part of it."""
    for name, cause in faults:
        if cause is not None:
            raise FaultError(name, (cause[0], cause[1]), result)
    return result


def propose(task: tuple[str, str, str | None]) -> Figures:
    """Design a proposal in a worker: its name, its scenario and the most memory."""
    name, text, memory_limit = task
    return _proposed(name, text, None, Event(), memory_limit)


def _proposed(
    name: str, text: str, progress: StepCallback | None, stop: Event, memory_limit: str | None
) -> Figures:
    """Design a proposal; gives a comparison of it alone, or why it was rejected."""
    try:
        built = _core.Fabric.parse(text, name, [("design.routings", "[]")])
        designed, fault = _until_fault(built, progress, stop, memory_limit)
    except _core.ScenarioError as error:
        return {"rejected": str(error)}
    if designed is None:
        return {"rejected": f"{name}: a fault of Etherweave", "fault": fault}
    return _parsed(_core.compare([designed])) | {"fault": fault}


def _carried(
    results: Iterator[tuple[str, Any]], count: int, progress: StepCallback | None
) -> dict[str, Figures]:
    """Collect what workers give; one that died has rejected its proposal."""
    figures: dict[str, Figures] = {}
    for name, result in results:
        is_lost = isinstance(result, Exception)
        figures[name] = {"rejected": f"{name}: {result}"} if is_lost else result
        if progress and not progress(name, "designing", len(figures) / count):
            raise StoppedError(name)
    return figures


def _together(comparisons: Sequence[Figures]) -> Figures:
    """Make one comparison of several, each of one fabric."""
    metrics = [comparison["metrics"][0] for comparison in comparisons]
    compared = json.loads(_core.compare_metrics(json.dumps(metrics)))
    beaten = [{key: row[key] for key in ("is_efficient", "beaten_by")} for row in compared]
    return {
        "designs": [comparison["designs"][0] for comparison in comparisons],
        "metrics": [metric | other for metric, other in zip(metrics, beaten, strict=True)],
    }


def _at_once(compute: Callable[[T, Event], U], items: Sequence[T], threads: int) -> list[U]:
    """Compute something of each item, several at once; after an error or Ctrl-C the others stop."""
    from concurrent.futures import ThreadPoolExecutor

    stop = Event()
    with ThreadPoolExecutor(max(min(threads, len(items)), 1)) as pool:
        try:
            return list(pool.map(compute, items, [stop] * len(items)))
        except BaseException:
            stop.set()
            raise


def _designed(
    fabric: _core.Fabric, progress: StepCallback | None, stop: Event, memory_limit: str | None
) -> _core.Design:
    def go_on(step: str, share: float | None) -> bool:
        return not stop.is_set() and (progress is None or progress(fabric.name, step, share))

    designed = fabric.design(go_on, memory_limit)
    if designed is None:
        raise StoppedError(fabric.name)
    return designed


def _until_fault(
    fabric: _core.Fabric, progress: StepCallback | None, stop: Event, memory_limit: str | None
) -> tuple[_core.Design | None, Cause | None]:
    """Design a fabric; beside its figures the fault that took some of them, or all."""
    try:
        designed = _designed(fabric, progress, stop, memory_limit)
    except _core.PanicException as panic:
        return None, _core.take_fault() or (str(panic), "")
    return designed, designed.fault


def _parsed(text: str) -> Figures:
    figures: Figures = json.loads(text)
    return figures


def _ranked(comparison: Figures, rank: str) -> Figures:
    """Order fabrics: Pareto-optimal ones first, then by a metric, unknown ones last."""
    metric, more_is_better = GOALS[rank]

    def key(number: int) -> tuple[bool, bool, float]:
        metrics = comparison["metrics"][number]
        value = metrics[metric]
        known = 0.0 if value is None else float(value)
        return not metrics["is_efficient"], value is None, -known if more_is_better else known

    order = sorted(range(len(comparison["metrics"])), key=key)
    return {part: [values[number] for number in order] for part, values in comparison.items()}


def export(
    scenario: ScenarioSource,
    form: str,
    overrides: Overrides | None = None,
    *,
    names: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Write a scenario's fabric in a format that other programs read.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`; jobs may be missing.
    form
        The format, one of :func:`exports`.
    names
        Names of things that a fabric has no name for: ``fabric`` (the name of the
        scenario), ``cable`` (the beginning of labels, ``"C"``); for NetBox ``site`` (``"Site"``),
        ``rack`` (the beginning of racks, ``""`` for none), ``manufacturer`` (``"Generic"``),
        ``host`` and ``switch`` (roles and device types, ``"Host"`` and ``"Switch"``),
        ``host_interface`` (``"eth0"``), ``switch_interface`` (before the port, ``"port"``),
        ``copper`` (``"dac-passive"``) and ``optical`` (``"aoc"``).

    Returns
    -------
    dict
        Texts by file name. Lines end as they are to be stored, so open files with ``newline=""``.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, the format or one of ``names`` unknown, or a node has a name
        that the format cannot express.

    Examples
    --------
    >>> pair = {"name": "pair", "topology": {"single_switch": {"hosts": 2}}}
    >>> print(export(pair, "edges")["pair-edges.csv"].splitlines()[1])
    h0,s0,100Gb/s,3m,copper,host
    """
    text, origin = read(scenario)
    fabric = _core.Fabric.parse(text, origin, literals(overrides))
    return fabric.export(form, list((names or {}).items()))


def exports() -> list[tuple[str, str]]:
    """Name the formats of :func:`export`, with a sentence about each."""
    return _core.exports()
