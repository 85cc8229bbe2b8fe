"""The same run with one limit less: what each is worth.

Each question changes a scenario in one way. What does not apply, or cannot be simulated, has a
reason instead of a time.
"""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from etherweave.overview import overview
from etherweave.results import Result
from etherweave.simulation import ScenarioError

Scenario = dict[str, Any]
"""A resolved scenario."""
Simulate = Callable[[Scenario], Result]
"""Runs a scenario."""

COPIES = "_per_kib"
"""How keys of a host end that are costs of copies."""
CALLS = ("_call", "_overhead", "receive_frame", "receive_batch", "acknowledgement", "interrupt")
"""How keys of a host end that are costs of calls and of the kernel."""


@dataclass(frozen=True)
class Question:
    """One limit less."""

    name: str
    """As a command line has it."""
    words: str
    """In words."""
    change: Callable[[Scenario], bool]
    """Changes a scenario; returns whether that makes a difference."""


@dataclass(frozen=True)
class Answer:
    """The time of a job without one limit."""

    name: str
    """Of the question."""
    words: str
    """The question in words."""
    job: str
    """Name of the job."""
    base_us: float
    """Its time with all limits [us]."""
    time_us: float | None
    """Its time without this one [us]; None where that is not known."""
    reason: str = ""
    """Why it is not."""

    @property
    def saved(self) -> float | None:
        """Which share of the time the limit takes."""
        return None if self.time_us is None else 1 - self.time_us / self.base_us


def _no_copies(scenario: Scenario) -> bool:
    return _shorten(scenario.get("host", {}), (COPIES,), "0ps")


def _no_calls(scenario: Scenario) -> bool:
    # Messages keep their order where a send takes some time.
    return _shorten(scenario.get("host", {}), CALLS, "1ps")


def _shorten(table: Scenario, endings: tuple[str, ...], time: str) -> bool:
    is_changed = False
    for key, value in table.items():
        if isinstance(value, dict):
            is_changed |= _shorten(value, endings, time)
        elif isinstance(value, str) and key.endswith(endings) and value not in ("0ps", time):
            table[key], is_changed = time, True
    return is_changed


def _one_switch(scenario: Scenario) -> bool:
    kind, fabric = next(iter(scenario["topology"].items()))
    if kind == "single_switch":
        return False
    hosts = _hosts(scenario)
    rate = fabric.get("host_rate") or fabric.get("rate")
    own = {"rate": rate} if isinstance(rate, str) else {}
    scenario["topology"] = {"single_switch": {"hosts": hosts, **own}}
    for key in ("routing", "selection", "host_ports", "controller", "faults", "observe"):
        scenario.pop(key, None)
    for job in scenario["job"]:
        job.pop("placement", None)
    return True


def _hosts(scenario: Scenario) -> int:
    from etherweave.fabrics import design

    return int(design({"topology": scenario["topology"]})["fabric"]["hosts"])


def _twice_the_rate(scenario: Scenario) -> bool:
    nic = scenario.get("nic", {})
    if "pcie" in nic:
        nic.pop("drain_rate", None)
    return _double_rates(scenario["topology"]) | _double_rates(nic)


def _double_rates(table: Scenario) -> bool:
    is_changed = False
    for key, value in table.items():
        if isinstance(value, dict):
            is_changed |= _double_rates(value)
        elif isinstance(value, str) and key.endswith("rate") and value.endswith("b/s"):
            digits = value.rstrip("kMGTb/s")
            table[key], is_changed = f"{2 * float(digits):g}{value[len(digits) :]}", True
    return is_changed


def _in_order(scenario: Scenario) -> bool:
    is_changed = False
    for job in scenario["job"]:
        if "linear" not in job.get("placement", {"linear": {}}):
            job.pop("placement")
            is_changed = True
    return is_changed


def _any_path(scenario: Scenario) -> bool:
    if scenario.get("routing") not in ("up_down", "ecmp") or "roce" not in scenario["transport"]:
        return False
    scenario["routing"] = "spray"
    scenario["transport"]["roce"]["reliability"] = "selective_repeat"
    scenario.pop("selection", None)
    return True


QUESTIONS = (
    Question("copies", "nothing is copied on hosts", _no_copies),
    Question("calls", "calls of MPI, sockets and the kernel take no time", _no_calls),
    Question("fabric", "all hosts are on one switch: no collisions, no taper", _one_switch),
    Question("paths", "each packet takes any path: no collisions", _any_path),
    Question("placement", "ranks are on hosts in order", _in_order),
    Question("rate", "all links are twice as fast", _twice_the_rate),
)


def what_if(resolved: str, base: Result, simulate: Simulate) -> Iterator[Answer]:
    """Run a scenario without one limit at a time.

    Parameters
    ----------
    resolved
        The scenario, resolved.
    base
        Its result.
    simulate
        Runs a scenario.
    """
    times = job_times(base)
    for question in QUESTIONS:
        scenario = tomllib.loads(resolved)
        reason, found = "nothing to change", {}
        try:
            if question.change(scenario):
                reason, found = "the job has no times", job_times(simulate(scenario))
        except ScenarioError as error:
            reason = str(error).splitlines()[0]
        for job, base_us in times.items():
            yield Answer(question.name, question.words, job, base_us, found.get(job), reason)


def job_times(result: Result) -> dict[str, float]:
    """Mean time of an iteration, or of the streams, of each job [us]."""
    figures = overview(result)
    iterations = {job: own["mean_us"] for job, own in figures["jobs"].items()}
    streams = {job: own["mean_us"] for job, own in figures["streams"].items() if own.get("mean_us")}
    return {**streams, **iterations}
