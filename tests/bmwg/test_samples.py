"""Samples of the tests: every value as median, with intervals of 50 and 90 %."""

import json
from pathlib import Path

import pytest

from etherweave.bmwg import TestResult, entries
from etherweave.bmwg.model import Cell, Column, ObservationPoint, Plot, ReportTable
from etherweave.cli.bmwg_sampled import with_intervals
from support import command_line

pytestmark = pytest.mark.usefixtures("workers_of_this_process", "undrawn_figures")

COLUMNS = (
    Column("strategy", ObservationPoint.SETTING),
    Column("JFI", ObservationPoint.REPORTED),
    Column("verdict", ObservationPoint.SOFTWARE),
    Column("time [us]", ObservationPoint.SOFTWARE),
)
FABRIC = """\
routing = "ecmp"
{profile}
[topology.fat_tree]
leaves = 4
hosts_per_leaf = 2
cores = 2
links_per_core = 1
"""
PROFILE = '[interconnect]\nprofile = "ethernet-100-roce"'


def report(value: float, verdict: str, time_us: float | None) -> ReportTable:
    rows: list[list[Cell]] = [["ECMP", value, verdict, time_us], ["spray", 1.0, "same", 2.0]]
    return ReportTable("t", "T", COLUMNS, rows, "A note.", Plot(0, 3))


def test_a_value_becomes_its_median_and_the_ends_of_intervals() -> None:
    """Quartiles of 1 to 9 lie at 2.67 and 7.33 by method 8, 5 and 95 % at the ends."""
    samples = [report(float(at), f"{at % 2}", None if at == 3 else 1.0) for at in range(1, 10)]
    tables = [[report(100.0, "0", 1.0)], *([own] for own in samples)]
    entry = next(iter(entries("training").values()))
    (table,) = with_intervals(TestResult(entry, [], tables[0], tables)).tables
    titles = [column.title for column in table.columns]
    assert titles[:6] == ["strategy", "JFI", "JFI, 25 %", "JFI, 75 %", "JFI, 5 %", "JFI, 95 %"]
    first, second = table.rows
    assert first[:6] == pytest.approx(["ECMP", 5, 8 / 3, 22 / 3, 1, 9])
    # Samples differ in the verdict, and the third has no time.
    assert first[6:] == ["differs", *[None] * 5]
    assert second[6] == "same" and second[7:] == [2.0] * 5
    assert table.plot and titles[table.plot.y] == "time [us]"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "said"), [(PROFILE, "Unknowns: "), ("", "Samples differ in their seeds alone")]
)
def test_samples_draw_what_is_not_known_of_a_fabric(
    profile: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(FABRIC.format(profile=profile) + ("" if profile else "[transport.roce]\n"))
    words = ("bmwg", file, "--tests", "8.4", "--samples", 8, "-o", tmp_path / "out", "--json")
    done = command_line.run_here(*words, code=0)
    assert said in done.stderr
    (test,) = json.loads(done.stdout)["tests"]
    assert test["trials"]["included"] == 3 * 9
    for _, median, first, third, low, high in test["tables"][0]["rows"]:
        assert low <= first <= median <= third <= high
    ecmp = next(row for row in test["tables"][0]["rows"] if row[0] == "ECMP")
    assert ecmp[4] < ecmp[5]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--samples", "4"), "samples: 4; expected 8 to 65,536"),
        (("--samples", "8", "--seeds", "2"), "--seeds: every sample has a seed of its own"),
        (("--uncertain", "nic.x=1..2"), "--uncertain: draws in samples; expected --samples"),
        (
            ("--samples", "8", "--uncertain", "seed=1..9"),
            "QPs a pair 4: seed: uncertain; every sample has a seed of its own already",
        ),
        (
            ("--samples", "8", "--uncertain", "run.end=1ms..2ms"),
            "8.4, strategy ECMP, QPs a pair 4: run.end: set and uncertain; expected one",
        ),
    ],
)
def test_a_mistake_of_samples_is_named(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(FABRIC.format(profile=PROFILE))
    done = command_line.run_here("bmwg", file, "--tests", "8.4", *words, "-o", tmp_path, code=2)
    assert reason in done.stderr
