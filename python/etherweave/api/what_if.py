"""The same run with one limit less: what each is worth.

Each question changes a scenario in one way. What does not apply, or cannot be simulated, has a
reason instead of a time.
"""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from etherweave.api.overview import overview
from etherweave.api.results import Result
from etherweave.api.simulation import ScenarioError

Scenario = dict[str, Any]  # A resolved scenario.
Simulate = Callable[[Scenario], Result]  # Runs a scenario.

COPIES = "_per_kib"  # How keys of a host end that are costs of copies.
SAVED_MIN = 0.05  # Part of a job's time below which another fabric saves little.
BY_FLOW = ("up_down", "ecmp", "shortest_path", "minimal")
"""Routings by which every packet of a flow may take one path."""
MAX_PORTS = 16
"""Ports of a host, at most."""
NO_TAPER = "uplinks carry all that comes from below"
NO_RATES = "the file of the fabric has the rates of links"
NO_SPRAYING = "TCP takes packets that overtake each other for losses"
NO_OVERTAKING = "ordered delivery of Ultra Ethernet discards packets that overtake others"
NOT_KNOWN = (NO_RATES, NO_SPRAYING, NO_OVERTAKING)
"""Why a limit cannot be removed; all other reasons say that there is no such limit."""
ENTROPY = "{} spreads packets over paths by their entropy values"
GROUPS = ("dragonfly", "dragonfly_plus", "flattened_butterfly", "hyperx")
"""Fabrics on which packets take any path by UGAL, not by spraying."""
CALLS = ("_call", "_overhead", "receive_frame", "receive_batch", "acknowledgement", "interrupt")
"""How keys of a host end that are costs of calls and of the kernel."""


@dataclass(frozen=True)
class Question:
    """One limit less."""

    name: str  # Name on a command line.
    words: str  # Question in words.
    place: str  # Where the limit is: ``host`` or ``network``.
    change: Callable[[Scenario], str]
    """Changes a scenario; returns why that makes no difference, and nothing where it does."""


@dataclass(frozen=True)
class Answer:
    """The time of a job without one limit."""

    name: str  # Name of the question.
    words: str  # The question in words.
    place: str  # Where the limit is: ``host`` or ``network``.
    job: str  # Name of the job.
    base_us: float  # Its time with all limits [us].
    time_us: float | None  # Its time without this one [us]; None where that is not known.
    reason: str = ""  # Why it is not.
    is_as_it_is: bool = False  # Whether the scenario has no such limit, so that nothing changes.
    drops: int = 0  # Packets that the changed run drops.

    @property
    def saved(self) -> float | None:
        """Share of the time that the limit takes."""
        return None if self.time_us is None else 1 - self.time_us / self.base_us


def _no_copies(scenario: Scenario) -> str:
    is_changed = _shorten(scenario.get("host", {}), (COPIES,), "0ps")
    return "" if is_changed else "no copy takes time"


def _no_calls(scenario: Scenario) -> str:
    # Messages keep their order where a send takes some time.
    is_changed = _shorten(scenario.get("host", {}), CALLS, "1ps")
    return "" if is_changed else "no call takes time"


def _shorten(table: Scenario, endings: tuple[str, ...], time: str) -> bool:
    is_changed = False
    for key, value in table.items():
        if isinstance(value, dict):
            is_changed |= _shorten(value, endings, time)
        elif isinstance(value, str) and key.endswith(endings) and value not in ("0ps", time):
            table[key], is_changed = time, True
    return is_changed


def _no_bus(scenario: Scenario) -> str:
    fabric, nic = _fabric(scenario)[1], scenario.setdefault("nic", {})
    rate = fabric.get("host_rate") or fabric.get("rate")
    if not isinstance(rate, str):
        return NO_RATES
    links = _times(rate, MAX_PORTS if "host_ports" in scenario else 1)
    if "pcie" not in nic and _gbps(nic["drain_rate"]) >= _gbps(links):
        return "no link of a host is faster than its NIC"
    nic.pop("pcie", None)
    nic["drain_rate"] = links
    return ""


def _one_switch(scenario: Scenario) -> str:
    kind, fabric = _fabric(scenario)
    if kind == "single_switch":
        return "all hosts are on one switch"
    hosts = _design(scenario)["hosts"]
    rate = fabric.get("host_rate") or fabric.get("rate")
    own = {"rate": rate} if isinstance(rate, str) else {}
    scenario["topology"] = {"single_switch": {"hosts": hosts, **own}}
    has_planes = scenario.get("host_ports", {}).get("planes", 1) > 1
    for key in ("routing", "selection", "controller", "faults", *["host_ports"] * (not has_planes)):
        scenario.pop(key, None)
    for job in scenario["job"]:
        job.pop("placement", None)
    return ""


def _fabric(scenario: Scenario) -> tuple[str, Scenario]:
    kind, fabric = next(iter(scenario["topology"].items()))
    return kind, fabric


def _no_taper(scenario: Scenario) -> str:
    kind, fabric = _fabric(scenario)
    if kind == "fat_tree":
        return _more_links(fabric, ("cores", "links_per_core"), fabric["hosts_per_leaf"])
    if kind == "rail_optimised":
        return _more_links(fabric, ("spines", "links_per_spine"), fabric["servers_per_pod"])
    if kind == "folded_clos":
        stages = fabric["uplinks"]
        ports = [stage.get("ports", fabric["radix"] // 2) for stage in stages]
        uplinks = [(stage, "rate", up) for stage, up in zip(stages, ports, strict=True)]
        below = [fabric["radix"] - up for up in ports]
        return _faster_links(fabric, uplinks, below)
    return f"{kind} has no uplinks of leaves"


def _more_links(fabric: Scenario, keys: tuple[str, str], below: int) -> str:
    """Add links of the present rate between a leaf and each switch above it."""
    switches, links = keys
    rate = fabric[switches] * _gbps(fabric["uplink_rate"])
    needed = math.ceil(below * _gbps(fabric["host_rate"]) / rate - 1e-9)
    has_taper = needed > fabric[links]
    fabric[links] = max(fabric[links], needed)
    fabric.get("as_built", {}).pop("radix", None)  # Switches have the ports that this takes.
    return "" if has_taper else NO_TAPER


def _faster_links(fabric: Scenario, uplinks: Any, below: list[int]) -> str:
    """Raise the rate of uplinks: more of them would take ports that switches do not have."""
    rate, is_changed = fabric["host_rate"], False
    for (table, key, up), down in zip(uplinks, below, strict=True):
        factor = math.ceil(down * _gbps(rate) / (up * _gbps(table[key])) - 1e-9)
        if factor > 1:
            table[key], is_changed = _times(table[key], factor), True
        rate = table[key]
    return "" if is_changed else NO_TAPER


def _design(scenario: Scenario) -> Mapping[str, Any]:
    from etherweave.api.fabrics import design

    fabric: Mapping[str, Any] = design({"topology": scenario["topology"]})["fabric"]
    return fabric


def _add_memory(scenario: Scenario, resolved: str) -> None:
    """Give switches with more ports than before as much more memory: it is no limit here."""
    unchanged = tomllib.loads(resolved)
    buffer = str(scenario.get("switch", {}).get("buffer", "")).removesuffix("B")
    if scenario["topology"] == unchanged["topology"] or not buffer.isdigit():
        return
    before, after = (_design(own)["ports_used_max"] for own in (unchanged, scenario))
    if after > before:
        scenario["switch"]["buffer"] = f"{int(buffer) * after // before}B"


def _twice_the_rate(scenario: Scenario) -> str:
    return "" if scale_rates(scenario, 2) else NO_RATES


def scale_rates(scenario: Scenario, factor: float) -> bool:
    """Multiply the rates of all links and NICs by a factor; returns whether there are any."""
    nic = scenario.get("nic", {})
    if "pcie" in nic:
        nic.pop("drain_rate", None)
    return _scale(scenario["topology"], factor) | _scale(nic, factor)


def _scale(table: Scenario, factor: float) -> bool:
    is_changed = False
    for key, value in table.items():
        if isinstance(value, dict):
            is_changed |= _scale(value, factor)
        elif isinstance(value, list):
            for item in value:
                is_changed |= isinstance(item, dict) and _scale(item, factor)
        elif isinstance(value, str) and key.endswith("rate") and value.endswith("b/s"):
            table[key], is_changed = _times(value, factor), True
    return is_changed


def _times(rate: str, factor: float) -> str:
    digits = rate.rstrip("kMGTb/s")
    return f"{factor * float(digits):g}{rate[len(digits) :]}"


def _gbps(rate: str) -> float:
    digits = rate.rstrip("kMGTb/s")
    return (
        float(digits)
        * {"": 1e-9, "k": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}[
            rate[len(digits) :].removesuffix("b/s")
        ]
    )


def _in_order(scenario: Scenario) -> str:
    is_changed = False
    for job in scenario["job"]:
        if "linear" not in job.get("placement", {"linear": {}}):
            job.pop("placement")
            is_changed = True
    return "" if is_changed else "ranks are on hosts in order"


def _any_path(scenario: Scenario) -> str:
    kind, routing = _fabric(scenario)[0], scenario.get("routing")
    if kind == "single_switch":
        return "all hosts are on one switch"
    if routing not in BY_FLOW:
        return f"{routing} chooses paths packet by packet"
    if reason := _one_path(scenario["transport"], routing):
        return reason
    scenario["routing"] = "ugal_local" if kind in GROUPS else "spray"
    if "roce" in scenario["transport"]:
        scenario["transport"]["roce"]["reliability"] = "selective_repeat"
    scenario.pop("selection", None)
    if kind in GROUPS and "pfc" in scenario.get("flow_control", {}):
        # The routing raises the priority of a packet with its hops.
        first = min(job.get("priority", 0) for job in scenario["job"])
        scenario["flow_control"]["pfc"]["priorities"] = list(range(first, min(first + 5, 8)))
    return ""


def _one_path(transport: Scenario, routing: str) -> str:
    """Say why packets of a transport keep their paths, or have many."""
    roce, uet = transport.get("roce", {}), transport.get("uet", {})
    if uet.get("delivery") == "rod":
        return NO_OVERTAKING
    if routing == "ecmp" and ("uet" in transport or "load_balancing" in roce):
        return ENTROPY.format("Ultra Ethernet" if "uet" in transport else "RoCE")
    return "" if "roce" in transport or "uet" in transport else NO_SPRAYING


QUESTIONS = (
    Question("copies", "nothing is copied on hosts", "host", _no_copies),
    Question("calls", "calls of MPI, sockets and the kernel take no time", "host", _no_calls),
    Question("bus", "hosts receive at the rate of their links", "host", _no_bus),
    Question("fabric", "the core is infinite: all hosts are on one switch", "network", _one_switch),
    Question("taper", "no taper: uplinks carry all that comes from below", "network", _no_taper),
    Question("paths", "no collisions: each packet takes any path", "network", _any_path),
    Question("placement", "ranks are on hosts in order, rack by rack", "network", _in_order),
    Question("rate", "all links are twice as fast", "network", _twice_the_rate),
)


def what_if(resolved: str, base: Result, simulate: Simulate) -> Iterator[Answer]:
    """Run a resolved scenario without one limit at a time, beside its result."""
    times = job_times(base)
    for question in QUESTIONS:
        scenario = tomllib.loads(resolved)
        scenario.pop("observe", None)
        values: dict[str, float] = {}
        is_as_it_is, drops = False, 0
        try:
            reason = question.change(scenario)
            if not reason:
                _add_memory(scenario, resolved)
            is_as_it_is = bool(reason) and reason not in NOT_KNOWN
            if not reason:
                done = simulate(scenario)
                reason, values, drops = "the job has no times", job_times(done), _drops(done)
        except ScenarioError as error:
            mistake = error.mistakes[0]
            reason = f"{mistake.key}: {mistake.reason}" if mistake.key else mistake.reason
        for job, base_us in times.items():
            named = (question.name, question.words, question.place)
            yield Answer(*named, job, base_us, values.get(job), reason, is_as_it_is, drops)


def _drops(result: Result) -> int:
    return int(sum(result.values("ports", "drops_packets")))


def job_times(result: Result) -> dict[str, float]:
    """Mean time of an iteration, or of the streams, of each job [us]."""
    figures = overview(result)
    iterations = {job: own["mean_us"] for job, own in figures["jobs"].items()}
    streams = {job: own["mean_us"] for job, own in figures["streams"].items() if own.get("mean_us")}
    return {**streams, **iterations}
