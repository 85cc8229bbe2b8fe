"""Numbers read off the captured texts, converted in view: ``tests/data/bench_figures.csv``.

A row has a metric of a text, at a size, of a statistic (the mean if empty) and with labels, and its
value; ``none``: the text has no such value. Further names: ``program``, ``version``, ``valid``,
``completeness``, ``line``, ``is_sound`` and ``fact NAME`` of the report, its number of
``measurements``, words of a ``warning``, and of the ``failure`` of a text without a report, which
begins with them behind ``^``. A change of the text is ``old => new ;; old => new``, or
``old =1> new`` of the first.
"""

import csv
import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from etherweave.bench.texts.document import parse
from support.captured_texts import captured, failure, report, values


class Figure(NamedTuple):
    text: str
    change: str
    claim: str
    metric: str
    size: str
    statistic: str
    labels: str
    value: str


def _figures() -> list[Figure]:
    file = Path(__file__).parents[1] / "data" / "bench_figures.csv"
    rows = csv.reader(line for line in file.read_text().splitlines() if not line.startswith("#"))
    assert tuple(next(rows)) == Figure._fields
    return [Figure(*row) for row in rows]


CLAIMS = [(claim, list(rows)) for claim, rows in groupby(_figures(), lambda row: row.claim)]
NAMES = ("program", "version", "valid", "completeness", "line", "is_sound")


@pytest.mark.parametrize("rows", [rows for _, rows in CLAIMS], ids=[claim for claim, _ in CLAIMS])
def test_a_text_has_the_figures_that_were_read_off_it(rows: list[Figure]) -> None:
    for row in rows:
        check(row)


def changed(row: Figure) -> str:
    text = captured(row.text)
    for pair in row.change.replace("\\n", "\n").split(" ;; "):
        old, sign, new = re.split(" (=>|=1>) ", pair)
        assert old in text
        text = text.replace(old, new, 1 if sign == "=1>" else -1)
    return text


def check(row: Figure) -> None:
    if row.metric == "failure":
        reason = failure(changed(row) if row.change else captured(row.text)).reason
        assert row.value in f"^{reason}", reason
        return
    (one,) = parse(changed(row)).reports if row.change else (report(row.text),)
    if row.metric in NAMES:
        assert str(getattr(one, row.metric)) == row.value, row
    elif row.metric.startswith("fact "):
        assert dict(one.facts)[row.metric.removeprefix("fact ")] == row.value
    elif row.metric == "measurements":
        assert len(one.measurements) == int(row.value)
    elif row.metric == "warnings":
        assert not one.warnings
    elif row.metric == "warning":
        assert any(row.value in warning for warning in one.warnings), one.warnings
    else:
        labels = dict(pair.split("=") for pair in row.labels.split("; ") if pair)
        size, statistic = int(row.size) if row.size else None, row.statistic or "mean"
        numbers = values(one, row.metric, size=size, statistic=statistic, **labels)
        expected = [] if row.value == "none" else [pytest.approx(eval(row.value), rel=1e-12)]
        assert numbers == expected, row
