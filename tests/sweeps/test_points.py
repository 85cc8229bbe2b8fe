"""Axes, ranges, zips, samples and seeds become points; what cannot is refused with its reason."""

import re
from pathlib import Path

import pytest

from etherweave.sweeps import Sweep, SweepError, load_sweep

SCENARIO = """\
topology.single_switch = { hosts = 8 }
transport.roce = {}
seed = 7
[[job]]
name = "halo"
workload.halo3d = { pex = 2, pey = 2, pez = 1, iterations = 2 }
"""


def loaded(directory: Path, sweep: str) -> Sweep:
    path = directory / "halo.toml"
    path.write_text(f"{SCENARIO}[sweep]\n{sweep}")
    return load_sweep(path)


def axis(key: str, rest: str) -> str:
    return f'[[sweep.axis]]\nkey = "{key}"\n{rest}\n'


LATENCY, BUFFER = "switch.latency", "switch.buffer"


@pytest.mark.parametrize(
    ("rest", "values"),
    [
        ('values = ["1us", "3us"]', ["1us", "3us"]),
        ('from = "1us"\nto = "4us"\ncount = 4', ["1us", "2us", "3us", "4us"]),
        ('from = "1us"\nto = "100us"\ncount = 3\nscale = "log"', ["1us", "10us", "100us"]),
        # A third of the way from 1 to 2, with six digits.
        ('from = "1us"\nto = "2us"\ncount = 4', ["1us", "1.33333us", "1.66667us", "2us"]),
        # A picosecond has no parts.
        ('from = "10ps"\nto = "11ps"\ncount = 3', ["10ps", "11ps"]),
    ],
)
def test_an_axis_takes_values_or_even_steps(rest: str, values: list[str], tmp_path: Path) -> None:
    assert [point[LATENCY] for point in loaded(tmp_path, axis(LATENCY, rest)).points()] == values


def test_every_combination_is_a_point_and_seeds_follow_that_of_the_scenario(tmp_path: Path) -> None:
    axes = axis(LATENCY, 'values = ["1us", "2us"]') + axis(BUFFER, 'values = ["1MB", "2MB"]')
    points = list(loaded(tmp_path, f"seeds = 2\n{axes}").points())
    assert points[:3] == [
        {LATENCY: "1us", BUFFER: "1MB", "seed": 7},
        {LATENCY: "1us", BUFFER: "1MB", "seed": 8},
        {LATENCY: "1us", BUFFER: "2MB", "seed": 7},
    ]
    assert len(points) == 8


def test_zipped_axes_go_in_step(tmp_path: Path) -> None:
    axes = axis(LATENCY, 'values = ["1us", "2us"]\nzip = "a"')
    axes += axis(BUFFER, 'from = "1MB"\nto = "2MB"\ncount = 2\nzip = "a"')
    points = [(point[LATENCY], point[BUFFER]) for point in loaded(tmp_path, axes).points()]
    assert points == [("1us", "1MB"), ("2us", "2MB")]


@pytest.mark.parametrize("method", ["sobol", "latin_hypercube"])
def test_samples_have_one_point_in_every_part_of_every_axis(method: str, tmp_path: Path) -> None:
    # Both methods stratify each axis: of 16 points one lies in each sixteenth (McKay 1979; Sobol's
    # sequence is a (t, s)-sequence, whose first 2^m points are balanced on every axis).
    sample = f'sample = {{ method = "{method}", count = 16 }}\n'
    ends = 'from = "0us"\nto = "16us"'
    sweep = loaded(tmp_path, sample + axis(LATENCY, ends) + axis("nic.pcie_latency", ends))
    points = list(sweep.points())
    for key in (LATENCY, "nic.pcie_latency"):
        parts = sorted(int(float(str(point[key]).removesuffix("us"))) for point in points)
        assert parts == list(range(16))
    assert points == list(load_sweep(tmp_path / "halo.toml").points())


def test_a_file_may_name_its_scenario(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(SCENARIO)
    path = tmp_path / "many.toml"
    path.write_text('[sweep]\nscenario = "base.toml"\nseeds = 2\n')
    sweep = load_sweep(path)
    assert (sweep.name, len(sweep)) == ("many", 2)
    path.write_text('seed = 2\n[sweep]\nscenario = "base.toml"\n')
    with pytest.raises(SweepError, match=r"seed: beside sweep\.scenario"):
        load_sweep(path)


def test_the_hash_of_a_run_depends_on_its_scenario_alone(tmp_path: Path) -> None:
    own = {run.id for run in loaded(tmp_path, axis(LATENCY, 'values = ["1us", "2us"]')).runs()}
    again = {run.id for run in loaded(tmp_path, axis(LATENCY, 'values = ["1000ns"]')).runs()}
    assert len(own) == 2
    assert again < own


@pytest.mark.parametrize(
    ("sweep", "reason"),
    [
        (
            axis("switch.latency", 'from = "1us"\nto = "2us"\ncount = 1000000000'),
            "1,000,000,000 runs",
        ),
        (
            axis("switch.latency", 'from = "1us"\nto = "2ns"\ncount = 3'),
            "axis.0.to: 2ns; expected the",
        ),
        (axis("switch.latency", "from = 1"), "axis.0: neither values nor a range"),
        (axis("switch.latency", "from = 1\nto = 2"), "axis.0: no count; expected"),
        (axis("switch.latency", 'from = 0\nto = 2\ncount = 2\nscale = "log"'), "ends above 0"),
        (axis("switch.latency", "values = [1]\ncount = 2"), "values beside a range"),
        (2 * axis("switch.latency", "values = [1]"), "is an axis already"),
        (
            axis("a", "values = [1]\nzip = 'z'") + axis("b", "values = [1, 2]\nzip = 'z'"),
            r"\[1, 2\]",
        ),
        ("partition = ['a']\n" + axis("seed", "values = [1]"), "partition.0: a; expected one of"),
        ("seeds = 2\n" + axis("seed", "values = [1]"), "expected one of both"),
        ("seeds = 0\n", "0 runs"),
    ],
)
def test_what_is_no_sweep_is_refused(sweep: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=reason):
        loaded(tmp_path, sweep)


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("switch.bufer", "buffer"), ("job.0.workload.halo3d.iteration", "iterations")],
)
def test_an_axis_without_a_key_names_the_nearest(key: str, nearest: str, tmp_path: Path) -> None:
    sweep = loaded(tmp_path, axis(key, "values = [1, 2]"))
    with pytest.raises(
        SweepError, match=rf"{re.escape(key)}: unknown key; .*nearest is `{nearest}`"
    ):
        list(sweep.runs())
