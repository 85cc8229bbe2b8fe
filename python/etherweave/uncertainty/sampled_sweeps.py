"""Samples at every point of a sweep: a row for each, and intervals of the figures of a point."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etherweave import _core
from etherweave.api.scenario import literals
from etherweave.api.simulation import ScenarioError
from etherweave.sweeps import Sweep
from etherweave.sweeps.points import RUNS_MAX
from etherweave.uncertainty import sampling
from etherweave.uncertainty.declared import UncertaintyError
from etherweave.uncertainty.intervals import quantiles
from etherweave.uncertainty.together import CONDITIONS, SAMPLE, SEED, errors_in, together_of

if TYPE_CHECKING:
    import polars as pl

ENDS = ("low_90", "low_50", "median", "high_50", "high_90")
"""Ends of the columns of a figure at a point: the median and its intervals of 50 and 90 %."""


@dataclass(frozen=True)
class SampledSweep(Sweep):
    """A sweep whose points are drawn.

    Of each point, the first row has every figure as it stands (sample -1). A sample has the same
    shares at all points, which are compared in pairs.
    """

    drawn: Sequence[tuple[Mapping[str, object], sampling.SampledScenario | None]]
    """Points, and their samples; None of a point with a mistake."""
    samples: int

    def __len__(self) -> int:
        return sum(1 + (self.samples if drawn else 0) for _, drawn in self.drawn)

    @property
    def axes(self) -> list[str]:
        """Keys of the sweep, the number of the sample, and keys that samples set."""
        return [*dict.fromkeys((*super().axes, "sample", *self._sampled))]

    @property
    def _sampled(self) -> list[str]:
        keys = (
            key
            for _, draw in self.drawn
            if draw
            for key in (*draw.seeded, *draw.drawn.keys, *draw.conditions)
        )
        return [*dict.fromkeys(keys)]

    @property
    def warnings(self) -> list[str]:
        """Warn of tables that no sample changes at some point."""
        every = {name for _, draw in self.drawn if draw for name in draw.drawn.without_basis}
        return sampling.without_basis(sorted(every))

    def points(self) -> Iterator[dict[str, object]]:
        """Make the points; the number of a sample is no key of the scenario."""
        unset = dict.fromkeys(self._sampled, "")
        for point, drawn in self.drawn:
            if drawn is None:
                yield {"sample": -1, **unset, **point}
                continue
            for sample in drawn.points():
                yield {**unset, **point, **sample, "sample": sample["sample"]}

    def resolve(self, point: Mapping[str, Any]) -> str:
        """Fill in the defaults of the scenario in a sample of a point; raises ``ScenarioError``."""
        keys = {**sampling.keys_of(point), **self.overrides}
        return _core.resolve(self.text, self.origin, literals(keys))


def sampled_sweep(what: Sweep, samples: int) -> SampledSweep:
    """Draw what is not known at every point of a sweep; what an axis sets is known.

    Samples are those of each point, beside the run as it stands. Raises ``UncertaintyError`` when
    they are too few or too many.
    """
    sampling.check_count(samples)
    if len(what) * (samples + 1) > RUNS_MAX:
        count = f"{len(what):,} points of {samples + 1:,} runs"
        raise UncertaintyError(f"{what.origin}: {count}; expected at most {RUNS_MAX:,} runs")
    points, found = list(what.points()), dict[str, sampling.SampledScenario]()
    for number, point in enumerate(points):
        changes = {**point, **what.overrides}
        try:
            scenario = (what.name, what.text, what.origin)
            drawn_here = sampling.sampled_text(scenario, changes, samples, has_site=True)
            found[str(number)] = sampling.with_conditions(drawn_here)
        except ScenarioError:
            continue  # The sweep records the mistake.
    drawn = sampling.paired(found, samples)
    own = [(point, drawn.get(str(at))) for at, point in enumerate(points)]
    names = {key: getattr(what, key) for key in ("name", "text", "origin", "groups", "partition")}
    return SampledSweep(**names, overrides=what.overrides, drawn=own, samples=samples)


def intervals_at_points(table: "pl.DataFrame", axes: Sequence[str]) -> "pl.DataFrame":
    """Return a row for each point of a dataset with samples: its figures with their intervals.

    ``axes`` are those of the sweep. A figure has its mean over seeds as it stands, the columns of
    :data:`ENDS`, and as times and rates of jobs the interval of 90 % with the error of the model.
    Runs that did not end well are left out. Raises ``ValueError`` when no row is a sample.
    """
    import polars as pl

    if SAMPLE not in table.columns or not (table[SAMPLE] >= 0).any():
        raise ValueError("no samples; expected a sweep with --samples")
    if not (table[SAMPLE] < 0).any():
        raise ValueError("no run as it stands has ended; expected that of each point")
    points = [name for name in axes if _is_of_point(table, name)]
    groups = table.partition_by(points) if points else [table]
    rows = [_intervals(group.to_dicts(), points, axes) for group in groups]
    return pl.DataFrame(rows, infer_schema_length=None)


def _is_of_point(table: "pl.DataFrame", axis: str) -> bool:
    """Whether an axis distinguishes points: keys that samples draw are not set in other rows."""
    if axis in (SAMPLE, SEED) or axis.startswith(CONDITIONS):
        return False
    known = [row[axis] for row in table.select(SAMPLE, axis).to_dicts() if row[SAMPLE] < 0]
    return table[axis].n_unique() > 1 and any(value not in ("", None) for value in known)


def _intervals(
    rows: Sequence[Mapping[str, Any]], points: Sequence[str], axes: Sequence[str]
) -> dict[str, object]:
    good = [row for row in rows if row["ended"] == "complete"]
    samples = [row for row in good if row[SAMPLE] >= 0]
    errors = errors_in(samples) if samples else {}
    intervals: dict[str, object] = {name: rows[0][name] for name in points}
    intervals["samples"] = len(samples)
    for name in sampling.figures_of(rows[0], axes):
        known = [row[name] for row in good if row[SAMPLE] < 0 and row[name] is not None]
        intervals[name] = statistics.fmean(known) if known else None
        values = [row[name] for row in samples if row[name] is not None]
        ends = quantiles(values) if values else [None] * len(ENDS)
        intervals |= {f"{name}_{end}": value for end, value in zip(ENDS, ends, strict=True)}
        if values and (both := together_of(name, values, errors)):
            intervals |= {f"{name}_low_model": both.low, f"{name}_high_model": both.high}
    return intervals
