"""Algorithms and protocols of NCCL by size on a fabric, for entries of its tuner.

:mod:`etherweave.api.tuner_files` reads and writes files with them.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from statistics import fmean
from typing import NamedTuple

from etherweave.api import tuner_files
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.api.simulation import resolve, run

SIMULATED = {
    **{"tree": "double_tree", "ring": "ring"},
    **{"nvls": "in_network", "nvls_tree": "nvls_tree", "pat": "pat"},
    **{"collnet_direct": "collnet_direct", "collnet_chain": "collnet_chain"},
}
"""Algorithms that are simulated, and their names in scenarios."""


CHANNELS_MAX = 32  # Most channels of NCCL 2.21.


class Variant(NamedTuple):
    """An algorithm, its protocol and its channels."""

    algorithm: str
    protocol: str
    channels: int = tuner_files.ANY


OWN = Variant("own", "own")  # Choice of NCCL by itself.
UNMATCHED = {tuner_files.Library.NCCLX: OWN}
"""Variants that libraries take where no line matches; others take :data:`RING`."""
RING = Variant("ring", "simple")


class Operation(NamedTuple):
    """A collective of the plug-in as ``nccl_tests`` has it."""

    name: str  # Key of ``operation``.
    has_root: bool
    is_of_blocks: bool  # Whether its size in scenarios is that of a rank's block.
    algorithms: tuple[str, ...]


OPERATIONS = {
    "allreduce": Operation("allreduce", False, False, ("ring", "tree")),
    "allgather": Operation("allgather", False, True, ("ring",)),
    "reducescatter": Operation("reduce_scatter", False, False, ("ring",)),
    "broadcast": Operation("bcast", True, False, ("ring",)),
    "reduce": Operation("reduce", True, False, ("ring",)),
}


GAP_MAX = 4
"""Factor between sizes beyond which what lies between them may be far from both."""
REDUCED_OR_GATHERED = ("allreduce", "allgather", "reducescatter")
"""Collectives that switches of a node perform."""


@dataclass(frozen=True)
class Timing:
    """Calls of one size: times by NCCL's choice, and by another."""

    collective: str
    group: tuner_files.Group
    size: int  # Bytes as NCCL counts them: the vector, or all blocks.
    own_s: float  # Time by NCCL's own choice [s].
    chosen: Variant | None  # None where a file has what is not simulated.
    chosen_s: float  # Time by it [s].

    @property
    def gain(self) -> float:
        """How much faster it is than NCCL's own choice."""
        return self.own_s / self.chosen_s - 1


@dataclass(frozen=True)
class Tuning:
    """Entries with the times that speak for them."""

    entries: Sequence[tuner_files.AnyEntry]
    timings: list[Timing]

    @cached_property
    def gains(self) -> list[float | None]:
        """Mean gain of each entry over the sizes in its range; None where none was simulated."""
        gains: list[list[float]] = [[] for _ in self.entries]
        for timing in self.timings:
            matches = (at for at, entry in enumerate(self.entries) if _is_for(entry, timing))
            if timing.chosen is not None and (first := next(matches, None)) is not None:
                gains[first].append(timing.gain)
        return [fmean(of) if of else None for of in gains]


def _is_for(entry: tuner_files.AnyEntry, timing: Timing) -> bool:
    return entry.matches(timing.collective, timing.size, timing.group)


Count = Callable[[int, int, str], None]
"""Takes how many calls are simulated, of how many, and the last."""


class _Caller:
    """Simulates calls of NCCL on the fabric of a scenario, whose first job calls it."""

    def __init__(self, scenario: ScenarioSource, overrides: Overrides | None) -> None:
        self._scenario, self._overrides = scenario, dict(overrides or {})
        resolved = tomllib.loads(resolve(scenario, overrides))
        jobs = resolved.get("job", [])
        facts = jobs[0]["workload"].get("nccl_tests") if len(jobs) == 1 else None
        if facts is None:
            raise ValueError(
                f"{scenario}: job: {len(jobs)} of them; expected one with workload.nccl_tests, "
                "which says what joins the accelerators"
            )
        self.ranks, self._in_node = int(facts["ranks"]), int(facts["node"]["accelerators"])
        self._has_switches = "reduction_rate" in facts["node"] and self._in_node > 1
        is_packet = resolved.get("run", {}).get("fidelity", "packet") == "packet"
        self._has_collnet = is_packet and "reduction" in resolved.get("switch", {})

    def group(self, ranks: int) -> tuner_files.Group:
        """Return a group of so many accelerators in nodes that are full."""
        if ranks % self._in_node:
            expected = f"a multiple of {self._in_node}, the accelerators of a node"
            raise ValueError(f"ranks: {ranks}; expected {expected}")
        return tuner_files.Group(ranks // self._in_node, ranks)

    def variants(self, collective: str, group: tuner_files.Group) -> list[Variant]:
        """Return what NCCL could take: what nodes have switches for, and trees for each block."""
        known = list(product(OPERATIONS[collective].algorithms, tuner_files.PROTOCOLS))
        special = {
            "nvls": self._has_switches and group.nodes == 1 and collective in REDUCED_OR_GATHERED,
            "nvls_tree": self._has_switches and group.nodes > 1 and collective == "allreduce",
            "collnet_direct": self._adds_up(collective, group),
            "collnet_chain": self._adds_up(collective, group),
            "pat": self._in_node == 1 and collective in ("allgather", "reducescatter"),
        }
        known += [(algorithm, "simple") for algorithm, is_known in special.items() if is_known]
        return [Variant(*parts) for parts in known]

    def _adds_up(self, collective: str, group: tuner_files.Group) -> bool:
        """Return whether switches of the network could take sums of a group."""
        return self._has_collnet and group.nodes > 1 and collective == "allreduce"

    def seconds(
        self, collective: str, group: tuner_files.Group, size: int, variant: Variant
    ) -> float:
        """Simulate a call, and return its time [s]."""
        operation = OPERATIONS[collective]
        length = max(size // group.ranks if operation.is_of_blocks else size, 1)
        facts = {"bytes": f"{length}B", **({"root": 0} if operation.has_root else {})}
        keys: dict[str, object] = {
            "ranks": group.ranks,
            "operation": {operation.name: facts},
            "iterations": 1,
        }
        if variant != OWN:
            keys |= {"algorithm": SIMULATED[variant.algorithm], "protocol": variant.protocol}
            keys |= {} if variant.channels == tuner_files.ANY else {"channels": variant.channels}
        workload = {f"job.0.workload.nccl_tests.{key}": value for key, value in keys.items()}
        result = run(self._scenario, {**self._overrides, **workload}, threads=1)
        return float(max(result.values("iterations", "duration_ns"))) * 1e-9


def tune(
    scenario: ScenarioSource,
    sizes: Sequence[int],
    ranks: Sequence[int] = (),
    collectives: Iterable[str] = tuner_files.COLLECTIVES,
    entries: Sequence[tuner_files.AnyEntry] | None = None,
    overrides: Overrides | None = None,
    threads: int = 1,
    on_progress: Count | None = None,
    channels: Sequence[int] = (),
    unmatched: Variant = RING,
) -> Tuning:
    """Simulate calls of NCCL on the fabric of a scenario, and choose what is fastest.

    With ``entries``, calls are those that a plug-in with these entries makes, and ``unmatched``
    where none matches. ``ranks`` are sizes
    of groups, by default that of the scenario's job; ``channels`` are tried beside NCCL's own
    number. Raises ``ValueError`` for a scenario without such a job.
    """
    caller = _Caller(scenario, overrides)
    groups = [caller.group(count) for count in ranks or (caller.ranks,)]
    cases = [
        (collective, group, size)
        for collective in collectives
        for group in groups
        for size in sorted(set(sizes))
    ]
    variants = {
        case: _variants(case, caller.variants(*case[:2]), entries, channels, unmatched)
        for case in cases
    }
    calls = [
        (*case, variant) for case in cases for variant in dict.fromkeys((OWN, *variants[case]))
    ]
    times = _times(caller, calls, threads, on_progress)
    timings = [_timing(case, variants[case], times) for case in cases]
    kept = _entries(timings) if entries is None else entries
    return Tuning(kept, timings)


_Case = tuple[str, tuner_files.Group, int]
_Times = dict[tuple[str, tuner_files.Group, int, Variant], float]


def _variants(
    case: _Case,
    known: Sequence[Variant],
    entries: Sequence[tuner_files.AnyEntry] | None,
    channels: Sequence[int],
    unmatched: Variant,
) -> list[Variant]:
    """List what is tried; of entries the one that matches."""
    collective, group, size = case
    if entries is None:
        counts = (tuner_files.ANY, *channels)
        return [variant._replace(channels=count) for variant in known for count in counts]
    match = next((entry for entry in entries if entry.matches(collective, size, group)), None)
    if match is None:
        return [unmatched]
    variant = Variant(match.algorithm, match.protocol, match.channels)
    has_channels = match.channels in (tuner_files.ANY, *range(1, CHANNELS_MAX + 1))
    return [variant] if has_channels and variant._replace(channels=tuner_files.ANY) in known else []


def _times(
    caller: _Caller,
    calls: Sequence[tuple[str, tuner_files.Group, int, Variant]],
    threads: int,
    on_progress: Count | None,
) -> _Times:
    times: _Times = {}
    with ThreadPoolExecutor(threads) as pool:
        seconds = pool.map(lambda call: caller.seconds(*call), calls)
        for number, (call, time) in enumerate(zip(calls, seconds, strict=True), 1):
            times[call] = time
            if on_progress:
                on_progress(number, len(calls), f"{call[0]} {call[2]} B")
    return times


def _timing(case: _Case, variants: Sequence[Variant], times: _Times) -> Timing:
    """Compare the fastest variant with NCCL's own choice; of equals the first."""
    own = times[(*case, OWN)]
    best = min(variants, key=lambda variant: times[(*case, variant)], default=None)
    return Timing(*case, own, best, own if best is None else times[(*case, best)])


def middle(size: int, other: int) -> int:
    """Return the size that is as far from one as from the other, on a logarithmic scale."""
    return math.isqrt(size * other)


def gaps(timings: Sequence[Timing]) -> list[tuple[Timing, Timing]]:
    """List neighbouring sizes with different choices, far apart: between them one may lose."""
    return [
        (timing, after)
        for timing, after in pairwise(timings)
        if (timing.collective, timing.group) == (after.collective, after.group)
        and timing.chosen != after.chosen
        and after.size > GAP_MAX * timing.size
    ]


def _entries(timings: Iterable[Timing]) -> list[tuner_files.Entry]:
    """Make an entry of each run of sizes with one choice, so that every size has one.

    A size between two that were simulated has the choice of the nearer, on a logarithmic scale.
    """
    entries: list[tuner_files.Entry] = []
    size = 0
    for timing in timings:
        size, before = timing.size, size
        if timing.chosen is None:
            continue
        entry = tuner_files.Entry(
            timing.collective, 0, tuner_files.SIZE_END, *timing.chosen, *timing.group
        )
        last = entries[-1] if entries else None
        if last is None or replace(last, min_bytes=0) == entry:
            entries += [] if last else [entry]
            continue
        if (last.collective, last.ranks) == (entry.collective, entry.ranks):
            # A multiple of the ranks, by whose shares NCCLX has sizes.
            begins = max(middle(before, size), before + 1)
            begins = min(-(-begins // entry.ranks) * entry.ranks, size)
            entries[-1] = replace(last, max_bytes=begins - 1)
            entry = replace(entry, min_bytes=begins)
        entries.append(entry)
    return entries
