"""Gains by a transport, a choice of paths or a placement: fabrics that differ in it alone."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from etherweave.advise.evaluation import Evaluation
from etherweave.advise.question import Candidate, Job, Question
from etherweave.advise.simulated import OBSERVED, Draw, job_keys
from etherweave.api.limits import HIDES
from etherweave.api.what_if import BY_FLOW

_OBSERVED = Draw(OBSERVED, 0, {})
TRANSPORTS = {
    "roce": "RoCE",
    "tcp": "TCP",
    "uet": "Ultra Ethernet",
}  # Names of transports in sentences.


BY_VALUES = "by entropy values"
"""End of a routing whose hashes senders change from packet to packet."""


def _has_values(transport: str, keys: Mapping[str, Any]) -> bool:
    """Return whether senders give packets of a connection several entropy values."""
    if transport == "uet":
        return bool(keys["delivery"] != "rod" and keys["entropies"] > 1)
    return transport == "roce" and "load_balancing" in keys


@dataclass(frozen=True)
class Aspects:
    """Keys of a fabric that sentences compare."""

    transport: str
    routing: str
    placement: str
    topology: str
    ranks_per_host: int

    @classmethod
    def of(cls, candidate: Candidate, sending: Job) -> "Aspects":
        """Read them from the scenario of a job."""
        job = sending.placed(candidate.placement)
        scenario = tomllib.loads(candidate.resolve({**job_keys(job, _OBSERVED), "design": {}}))
        ((transport, keys),) = scenario["transport"].items()
        by_values = f" {BY_VALUES}" if _has_values(transport, keys) else ""
        return cls(
            transport,
            f"{scenario.get('routing')} {scenario.get('selection')}{by_values}",
            str(scenario["job"][0].get("placement")),
            str(scenario["topology"]),
            scenario["job"][0].get("ranks_per_host", 1),
        )

    @property
    def takes_one_path(self) -> bool:
        """Return whether a flow has one of several paths."""
        is_hashed = self.routing.startswith("ecmp ") and self.routing.endswith(BY_VALUES)
        return self.has_choice and self.by in BY_FLOW and not is_hashed

    @property
    def has_choice(self) -> bool:
        """Return whether the fabric has several switches, and so several paths."""
        return "single_switch" not in self.topology

    @property
    def by(self) -> str:
        """Return the name of the routing."""
        return self.routing.split()[0]

    @property
    def is_scattered(self) -> bool:
        """Return whether ranks are on hosts in another order than that of racks."""
        return "linear" not in self.placement

    def differs_in(self, key: str, other: "Aspects") -> bool:
        """Return whether this aspect alone differs."""
        mine, theirs = vars(self), vars(other)
        return [name for name in mine if mine[name] != theirs[name]] == [key]


def contrasts(evaluation: Evaluation, question: Question, draws: Sequence[Draw]) -> list[str]:
    """Say what the transport, the paths and the placement are worth.

    The pair that is compared has the baseline, where one does. Where no two fabrics differ in the
    paths or the placement alone, the key to try is named.
    """
    known = _aspects(evaluation, question)
    return [
        *_transport(evaluation, known, draws),
        *(
            _tried(evaluation, known, draws, "routing", _SPRAY)
            or _paths(known)
            or _not_compared(known, "routing", _SPRAY[0])
        ),
        *(
            _tried(evaluation, known, draws, "placement", _IN_ORDER)
            or _not_compared(known, "placement", _IN_ORDER[0])
        ),
    ]


def transports(evaluation: Evaluation, question: Question) -> dict[str, str]:
    """Find the transport of each fabric."""
    return {name: fabric.transport for name, fabric in _aspects(evaluation, question).items()}


def _aspects(evaluation: Evaluation, question: Question) -> dict[str, Aspects]:
    sending = next(job for job in question.jobs if job.name in evaluation.reference)
    return {
        candidate.name: Aspects.of(candidate, sending)
        for candidate in question.candidates
        if candidate.name in evaluation.fabrics
    }


_SPRAY = ("Paths", 'routing = "spray"', "each packet takes any path")
_IN_ORDER = ("Placement", "placement.linear = {}", "ranks are on hosts in order, rack by rack")

_COPY = "a copy of a fabric with another `{}` shows what it is worth"


def _pair(evaluation: Evaluation, known: Mapping[str, Aspects], key: str) -> tuple[str, str] | None:
    """Find two fabrics that differ in a key alone, the baseline or the earlier one first."""
    base = evaluation.baseline
    names = [base, *(name for name in known if name != base)]
    pairs = (
        (name, other)
        for at, name in enumerate(names)
        for other in names[at + 1 :]
        if known[name].differs_in(key, known[other])
    )
    return next(pairs, None)


def _transport(
    evaluation: Evaluation, known: Mapping[str, Aspects], draws: Sequence[Draw]
) -> list[str]:
    pair = _pair(evaluation, known, "transport")
    if pair is None:
        return []
    names = [TRANSPORTS.get(known[name].transport, known[name].transport) for name in pair]
    hosts = [
        f"{share:.0%} of {job} on {name}"
        for name in pair
        for job in evaluation.reference
        if (share := evaluation.times.places.get((name, job), {}).get("host", 0.0)) >= HIDES
    ]
    ranks = known[pair[0]].ranks_per_host
    count = "1 rank" if ranks == 1 else f"{ranks} ranks"
    limit = f"; hosts take {', '.join(hosts)}, with {count} a host" if hosts else ""
    return [f"{names[0]} or {names[1]}: {_times(evaluation, pair, draws)}{limit}."]


def _tried(
    evaluation: Evaluation,
    known: Mapping[str, Aspects],
    draws: Sequence[Draw],
    key: str,
    words: tuple[str, str, str],
) -> list[str]:
    title, keys, meaning = words
    if pair := _pair(evaluation, known, key):
        return [f"{title}: {_times(evaluation, pair, draws)}."]
    if not all(fabric.takes_one_path and fabric.is_scattered for fabric in known.values()):
        return []
    return [f"{title}: not compared; a fabric with `{keys}` shows what it is worth if {meaning}."]


def _not_compared(known: Mapping[str, Aspects], key: str, title: str) -> list[str]:
    """Say that no pair is compared, and which key would make one; single switches need none."""
    if not any(fabric.has_choice for fabric in known.values()):
        return []
    return [f"{title}: not compared; {_COPY.format(key)}."]


def _paths(known: Mapping[str, Aspects]) -> list[str]:
    """Say which paths packets of each fabric take, where that differs beside other aspects."""
    known = {name: fabric for name, fabric in known.items() if fabric.has_choice}
    if len({fabric.takes_one_path for fabric in known.values()}) < 2:
        return []

    def of(fabric: Aspects) -> str:
        values = f" {BY_VALUES}" if fabric.routing.endswith(BY_VALUES) else ""
        return f"{'one path' if fabric.takes_one_path else 'several'} ({fabric.by}{values})"

    each = ", ".join(f"{name} {of(fabric)}" for name, fabric in known.items())
    alone = f"no two fabrics differ in them alone; {_COPY.format('routing')}"
    return [f"Paths for a pair of hosts: {each}; {alone}."]


def _times(evaluation: Evaluation, pair: tuple[str, str], draws: Sequence[Draw]) -> str:
    """Say how long each job takes on the second of a pair, over the first."""

    def ratio(job: str) -> float:
        first, second = (median(evaluation.time_us(name, job, draws)) for name in pair)
        return second / first

    times = ", ".join(f"{job} {ratio(job):.2f} times" for job in evaluation.reference)
    return f"on {pair[1]} jobs take, over {pair[0]}: {times}"
