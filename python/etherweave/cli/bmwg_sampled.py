"""Samples of ``bmwg --samples``: cases at points of a sequence, and intervals of their KPIs."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from etherweave.bmwg import BenchFabric, TestResult
from etherweave.bmwg.model import Case, Cell, Column, ObservationPoint, Plot, ReportTable
from etherweave.bmwg.running import SEED_STEP, Cases, repetition
from etherweave.cli.exits import notice
from etherweave.uncertainty.declared import Declared, UncertaintyError
from etherweave.uncertainty.intervals import quantiles
from etherweave.uncertainty.sampling import SampledScenario, check_count, paired, sampled_text

Row: TypeAlias = Sequence[Cell]
ENDS = ("", ", 25 %", ", 75 %", ", 5 %", ", 95 %")  # Median, and ends of intervals of 50 and 90 %.
PLACES = (2, 1, 3, 0, 4)  # Places of these among the quantiles.
SEEDS_ALONE = (
    "Samples differ in their seeds alone: no figure of the fabric is uncertain; expected "
    "interconnect.profile, or ranges by --uncertain"
)


@dataclass(frozen=True)
class Samples:
    """Repetitions of cases that draw what is not known of a fabric, alike in all cases."""

    fabric: BenchFabric
    count: int
    declared: Declared

    def __call__(self, cases: Cases) -> Mapping[str, Sequence[Sequence[Case]]]:
        """Repeat cases, the first time as they stand."""
        check_count(self.count)
        single = {
            f"{section} {case.name}": self._drawn(section, case)
            for section, own in cases.items()
            for case in own
            if not case.excluded
        }
        unknown = {entry.name for each in single.values() for entry in each.drawn.entries}
        notice(f"Unknowns: {len(unknown)}, and seeds" if unknown else SEEDS_ALONE)
        drawn = paired(single, self.count)
        return {
            section: [
                own,
                *(
                    [_sample(case, drawn.get(f"{section} {case.name}"), at) for case in own]
                    for at in range(self.count)
                ),
            ]
            for section, own in cases.items()
        }

    def _drawn(self, section: str, case: Case) -> SampledScenario:
        text = (self.fabric.name, self.fabric.text, self.fabric.origin)
        try:
            return sampled_text(text, case.changes, self.count, self.declared)
        except UncertaintyError as error:
            raise UncertaintyError(f"test {section}, {case.name}: {error}") from None


def _sample(case: Case, drawn: SampledScenario | None, number: int) -> Case:
    """Make a sample of a case, which has a seed of its own."""
    if drawn is None:
        return repetition(case, number + 1, {})
    seeds = dict.fromkeys(("seed", *drawn.seeded), drawn.seed + (number + 1) * SEED_STEP)
    return repetition(case, number + 1, {**drawn.drawn.at(drawn.shares[number]), **seeds})


def with_intervals(result: TestResult) -> TestResult:
    """Replace each value of a test's tables by its median and intervals of 50 and 90 %."""
    samples = [{table.name: table.rows for table in tables} for tables in result.repetitions[1:]]
    tables = [
        _intervals(table, [own.get(table.name, ()) for own in samples]) for table in result.tables
    ]
    return replace(result, tables=tables)


def _intervals(table: ReportTable, samples: Sequence[Sequence[Row]]) -> ReportTable:
    every = [row for own in samples for row in own]
    is_number = [
        column.point is not ObservationPoint.SETTING
        and any(isinstance(row[at], int | float) for row in every)
        for at, column in enumerate(table.columns)
    ]
    rows = [
        _row(row, own, is_number)
        for row, own in zip(table.rows, _same_rows(table, samples), strict=True)
    ]
    columns = [
        Column(f"{column.title}{end}", column.point)
        for column, is_sampled in zip(table.columns, is_number, strict=True)
        for end in (ENDS if is_sampled else ENDS[:1])
    ]
    places = [
        sum(len(ENDS) if own else 1 for own in is_number[:at]) for at in range(len(is_number))
    ]
    plot = table.plot and Plot(
        places[table.plot.x],
        places[table.plot.y],
        [places[at] for at in table.plot.by],
        table.plot.is_bars,
    )
    note = f"{table.note} Medians of {len(samples)} samples, with the ends of intervals.".strip()
    return replace(table, columns=columns, rows=rows, plot=plot, note=note)


def _same_rows(table: ReportTable, samples: Sequence[Sequence[Row]]) -> Iterator[list[Row | None]]:
    """Find in each sample the row with the settings of a row, and of several the one at its place.

    A sample that lacks the row has none.
    """
    settings = [
        at for at, column in enumerate(table.columns) if column.point is ObservationPoint.SETTING
    ]
    seen: Counter[tuple[Cell, ...]] = Counter()
    for row in table.rows:
        key = tuple(row[at] for at in settings)
        alike = [
            [other for other in rows if tuple(other[at] for at in settings) == key]
            for rows in samples
        ]
        yield [rows[seen[key]] if seen[key] < len(rows) else None for rows in alike]
        seen[key] += 1


def _row(row: Row, own: Sequence[Row | None], is_number: Sequence[bool]) -> list[Cell]:
    """Compute a row from those of the samples."""
    cells: list[Cell] = []
    for at, is_sampled in enumerate(is_number):
        if is_sampled:
            cells += _ends([other[at] if other else None for other in own])
        else:
            texts = {other[at] for other in own if other} or {row[at]}
            cells.append(texts.pop() if len(texts) == 1 else "differs")
    return cells


def _ends(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Compute the median and ends of intervals; nothing where a sample has no value."""
    values = [float(cell) for cell in cells if isinstance(cell, int | float)]
    if not values or len(values) < len(cells) or not all(map(math.isfinite, values)):
        return [None] * len(ENDS)
    levels = quantiles(values)
    return [levels[place] for place in PLACES]
