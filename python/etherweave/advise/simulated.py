"""The runs of every job on every fabric: a sweep whose axes are fabric, job and sample."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etherweave.advise.question import Candidate, Job, Question
from etherweave.advise.unknowns import FabricUnknowns, Unknown, share
from etherweave.api.fidelity import leaves_out
from etherweave.api.limits import KINDS, PARTS, PLACES
from etherweave.sweeps import Sweep

if TYPE_CHECKING:
    import polars

AXES = ("fabric", "job", "sample")
FLOW = -1  # Sample of messages at max-min fair rates, in which every figure is as it stands.
OBSERVED = 0  # Sample that says what limits each job.
OBSERVED_BYTES_MAX = 2 << 30  # Most memory that it may take to observe ranks [B].
SEED = "seed of placements"  # Name of what the seed decides, among unknowns.


@dataclass(frozen=True)
class Draw:
    """A sample: where every unknown lies."""

    sample: int
    seed: int  # Seed of the run: random placement of jobs, and all other random streams.
    shares: Mapping[str, float]
    """Places of unknowns in their ranges, 0 to 1, by name; others are as they stand."""


@dataclass(frozen=True)
class MixSweep(Sweep):
    """Runs of jobs on fabrics."""

    candidates: Mapping[str, Candidate]
    jobs: Mapping[str, Job]
    unknowns: Mapping[str, FabricUnknowns]  # Unknowns of the scenario of each fabric.
    draws: Mapping[int, Draw]
    cells: Sequence[tuple[str, str, int]]  # Fabric, job and sample of each run.

    @classmethod
    def of(
        cls,
        question: Question,
        unknowns: Mapping[str, FabricUnknowns],
        draws: Mapping[str, Sequence[Draw]],
    ) -> "MixSweep":
        """Run every job that sends on fabrics, in the samples of each."""
        jobs = {job.name: job for job in question.jobs if job.jobs}
        cells = [(name, job, draw.sample) for name in draws for job in jobs for draw in draws[name]]
        return cls(
            question.name,
            question.text,
            question.file,
            [([axis], []) for axis in AXES],
            (),
            {candidate.name: candidate for candidate in question.candidates},
            jobs,
            unknowns,
            {sample.sample: sample for draw in draws.values() for sample in draw},
            cells,
        )

    def __len__(self) -> int:
        return len(self.cells)

    def points(self) -> Iterator[dict[str, object]]:
        """Name fabric, job and sample of each run."""
        for cell in self.cells:
            yield dict(zip(AXES, cell, strict=True))

    def resolve(self, point: Mapping[str, Any]) -> str:
        """Write the whole scenario of a run; names of fabrics and prices are not part of it.

        Raises ``ScenarioError`` when the job does not fit the fabric.
        """
        fabric, draw = str(point["fabric"]), self.draws[point["sample"]]
        candidate = self.candidates[fabric]
        job = self.jobs[str(point["job"])].placed(candidate.placement)
        keys = {
            **self.unknowns[fabric].at(draw.shares),
            **job_keys(job, draw),
            "seed": draw.seed,
            "name": job.name,
            "design": {},
        }
        if draw.sample == OBSERVED:
            observed = candidate.resolve({**keys, "observe.ranks": True, "observe.waits": True})
            expected = candidate.foresee(observed)
            if expected and expected["memory_bytes"] <= OBSERVED_BYTES_MAX:
                return observed
        return candidate.resolve(keys)


def job_keys(job: Job, draw: Draw) -> dict[str, object]:
    """Say of all jobs how they are simulated: in packets unless the sample or the job differs."""
    if draw.sample == FLOW:
        return {"run.fidelity": "flow", "job": [{**job, "fidelity": "flow"} for job in job.jobs]}
    is_flow = len(job.in_flow) == len(job.jobs)
    return {"run.fidelity": "flow" if is_flow else "packet", "job": job.jobs}


def samples(question: Question, unknowns: Sequence[Unknown]) -> list[Draw]:
    """Draw the samples from which intervals come."""
    seed, drawn_by = question.settings.seed, {each.name: each.drawn_by for each in unknowns}
    return [
        Draw(at, seed + at, {name: share(drawn_by[name], at, seed) for name in sorted(drawn_by)})
        for at in range(question.settings.samples)
    ]


@dataclass(frozen=True)
class PathShares:
    """Parts of the time of a job, along the path that limits it."""

    parts: Mapping[str, float]  # Share of each of :data:`etherweave.api.limits.PARTS`.
    kinds: Mapping[str, float]
    """Share of each of :data:`etherweave.api.limits.KINDS` of waits in the network."""
    first: str  # Port at which messages wait most, in words.
    behind: str  # Jobs whose packets go first there.


@dataclass(frozen=True)
class Times:
    """Results of the runs."""

    time_us: Mapping[tuple[str, str], Mapping[int, float]]
    """Time of a fabric and a job in every sample [us], where all samples ended well."""
    failures: Mapping[tuple[str, str], str]  # Why others have no times.
    places: Mapping[tuple[str, str], Mapping[str, float]]
    """Share of the program, the host and the network in the path that limits a job, as far as a run
    has observed it."""
    paths: Mapping[tuple[str, str], PathShares]  # The same by part, and waits in the network.
    warned: Set[tuple[str, str]]  # Those of which flow-level mode left something out.
    warnings: Mapping[tuple[str, str], str]  # Those of the first run that has any.


def times(table: "polars.DataFrame", jobs: Mapping[str, Job]) -> Times:
    """Read times of jobs from the dataset of a sweep."""
    longest_us: dict[tuple[str, str], dict[int, float]] = {}
    failures: dict[tuple[str, str], str] = {}
    warned: set[tuple[str, str]] = set()
    warnings: dict[tuple[str, str], str] = {}
    places: dict[tuple[str, str], dict[str, float]] = {}
    paths: dict[tuple[str, str], PathShares] = {}
    for row in table.iter_rows(named=True):
        cell = (row["fabric"], row["job"])
        if leaves_out(row["message"]):
            warned.add(cell)
        if row["sample"] != FLOW and row["ended"] == "complete" and row["message"]:
            warnings.setdefault(cell, row["message"])
        if row["sample"] == OBSERVED and (name := _longest(row, jobs[row["job"]].timed)):
            places[cell] = _shares(row, name, "places_us", PLACES)
            paths[cell] = _path(row, name)
        time_us = [_time_us(row, name) for name in jobs[row["job"]].timed]
        if row["ended"] == "complete" and all(map(math.isfinite, time_us)):
            longest_us.setdefault(cell, {})[row["sample"]] = max(time_us)
        elif cell not in failures:
            unfinished = "not all of its streams were complete"
            failures[cell] = row["message"] or (
                unfinished if row["ended"] == "complete" else f"ended as {row['ended']}"
            )
    good = {cell: values for cell, values in longest_us.items() if cell not in failures}
    return Times(good, failures, places, paths, warned, warnings)


def _longest(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the job whose path takes longest, if any is known."""
    times_us = {name: row.get(f"limits.{name}.time_us") or 0.0 for name in names}
    name = max(times_us, key=lambda name: times_us[name], default="")
    return name if times_us.get(name) else ""


def _shares(row: Mapping[str, Any], job: str, table: str, keys: Iterable[str]) -> dict[str, float]:
    time_us = row[f"limits.{job}.time_us"]
    return {key: (row.get(f"limits.{job}.{table}.{key}") or 0.0) / time_us for key in keys}


def _path(row: Mapping[str, Any], job: str) -> PathShares:
    first, behind = (row.get(f"limits.{job}.{key}") for key in ("first_wait", "first_wait_behind"))
    parts, kinds = _shares(row, job, "parts_us", PARTS), _shares(row, job, "waits_us", KINDS)
    return PathShares(parts, kinds, first or "", behind or "")


def _time_us(row: Mapping[str, Any], job: str) -> float:
    """Return the mean time of an iteration, or the time until the last stream is complete."""
    if (mean := row.get(f"jobs.{job}.mean_us")) is not None:
        return float(mean)
    streams, complete = (row.get(f"streams.{job}.{key}") for key in ("streams", "complete"))
    last = row.get(f"streams.{job}.max_us")
    return float(last) if last is not None and streams == complete else math.nan
