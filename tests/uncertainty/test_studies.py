"""Samples of a study: what is drawn, what is shared, and what is kept."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.collections import LineCollection

import etherweave
from etherweave.api import toml
from etherweave.api.results import Result
from etherweave.api.work import Work
from etherweave.report.study.page import section_builder
from etherweave.study import load_study, run_study, shipped
from etherweave.study.declared import read_declaration
from etherweave.sweeps import executor
from etherweave.sweeps.cost import START_S
from etherweave.uncertainty import load_sampled, sample_study
from etherweave.uncertainty.declared import Declared, UncertaintyError
from etherweave.uncertainty.figures import unknowns
from etherweave.uncertainty.studies import sampled_experiments
from support.command_line import run_here

pytestmark = pytest.mark.usefixtures("workers_of_this_process")

SCENARIO = """
topology.single_switch.hosts = 2
transport.roce = {}

[[job]]
name = "ping"
workload.osu_latency = { bytes = "8B", iterations = 2, warm_up = 0 }
"""
STUDY = """
title = "Two pings"

[[experiment]]
name = "near"
scenario = "ping"

[[experiment]]
name = "far"
scenario = "ping"
overrides = { "topology.single_switch.cable" = "200m" }

[[unknown]]
keys = ["switch.latency"]
low = "200ns"
high = "400ns"
source = "two data sheets"

[[unknown]]
experiments = "far"
keys = ["nic.transmit_latency"]
spread = "latency"
"""
CODE = '''
"""Checks of pings."""

from etherweave.study.experiments import RunExperiment


def experiments(full):
    return []


def metrics():
    def time(name, results):
        return results[name].to_polars("iterations")["duration_ns"].mean() / 2e3

    return {
        "near": lambda results: time("near", results),
        "difference": lambda results: time("far", results) - time("near", results),
        "paper": lambda results: 42.0,
        "fitted": lambda results: time("near", results),
        "above": lambda results: time("near", results),
    }
'''
EXPECTED = """id,source,published,low,high,unit
near,Table 1,0.95,0.5,1.5,us
difference,Table 1,9,8,10,us
paper,Table 2,42,42,42,hosts
fitted,Table 1; calibration,3,2,4,us
above,Table 1: above 2 us,2,2,4,us
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "pings"
    home.mkdir()
    for name, text in (
        ("ping.toml", SCENARIO),
        ("study.toml", STUDY),
        ("study.py", CODE),
        ("expected.csv", EXPECTED),
    ):
        (home / name).write_text(text)
    return home


def test_samples_of_a_study_draw_what_experiments_share_once(folder: Path, tmp_path: Path) -> None:
    on = executor("local", 1)
    result = run_study(folder, tmp_path / "out", processes=1)
    sampled = sample_study(result, 8, on)
    assert (sampled.samples, sampled.unknowns, sampled.experiments) == (8, 2, 2)
    assert not sampled.failures
    assert set(sampled.values) == {"near", "difference", "fitted", "above"}, "paper has no run"
    as_it_stands = result.value("near")
    # The switch has 300 ns as it stands, in the middle of its range.
    changes = [value - as_it_stands for value in sampled.values["near"]]
    assert -0.1 <= min(changes) < -0.05 and 0.05 < max(changes) <= 0.1
    # Both have the same switch, so that only the NIC's 216 ns are left, 10 % up or down.
    spread = max(sampled.values["difference"]) - min(sampled.values["difference"])
    assert 0.01 < spread < 0.1
    rows = {interval.check.id: interval for interval in sampled.intervals(result)}
    assert rows["paper"].parameters.interval == (42, 42)
    assert rows["paper"].together.is_inside
    assert not rows["fitted"].together.is_inside, "3 us are far above one"
    assert not rows["above"].together.is_inside, "and so are all above 2 us"
    assert {row.kind for row in rows.values()} == {"other", "fitted", "statement"}
    # Kept samples are not run again; a changed folder has others.
    kept = sorted((tmp_path / "out" / "samples").iterdir())
    times = [file.stat().st_mtime_ns for file in kept]
    assert sample_study(result, 8, on).values == sampled.values
    assert [file.stat().st_mtime_ns for file in kept] == times
    assert load_sampled(tmp_path / "out") == sampled
    kept[3].write_text("{")
    assert sample_study(result, 8, on).values == sampled.values
    assert [file.stat().st_mtime_ns for file in kept][:3] == times[:3]


@pytest.mark.parametrize(
    ("taken_s", "sample_s"),
    [({"near": 10.0, "far": 30.0}, 40), ({"near": 10.0}, 20)],
    ids=["both times are recorded", "one time stands for both"],
)
def test_a_check_whose_interval_is_known_is_not_drawn_again(
    folder: Path, tmp_path: Path, taken_s: Mapping[str, float], sample_s: float
) -> None:
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("200ns", "10ns").replace("400ns", "900ns"))
    run_study(folder, tmp_path / "out", processes=1)
    result = run_study(folder, tmp_path / "out", processes=1)
    assert not any(result.taken_s.values()), "results are those that were there"
    facts = {"processor_s": 40.0, "taken_s": taken_s, "computed": {}}
    (folder / "record.json").write_text(json.dumps(facts))
    left_s = list[tuple[int, float | None]]()
    sampled = sample_study(
        result, 16, executor("local", 1), lambda work: left_s.append((work.done, work.left_s()))
    )
    # The switch moves a latency of 1 us by hundreds of nanoseconds, and no difference of two.
    counts = {name: len(values) for name, values in sampled.values.items()}
    assert counts == {"near": 16, "difference": 8, "fitted": 16, "above": 16}
    assert sampled.samples == 16
    # Samples of both pings take that by the record, and of the near one 10 s.
    assert left_s[0][1] == pytest.approx(16 * sample_s, rel=0.01)
    until_8, from_8 = (seconds for done, seconds in left_s if done == 8)
    assert until_8 is not None and from_8 is not None and from_8 < until_8
    assert left_s[-1] == (16, 0.0)


def test_a_sample_that_runs_counts_its_experiments(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_study(folder, tmp_path / "out", processes=1)
    works, running, run = list[Work](), list[str](), etherweave.run

    def run_noted(*arguments: Any) -> Result:
        running.append(works[0].running)
        return run(*arguments)

    monkeypatch.setattr(etherweave, "run", run_noted)
    sample_study(result, 8, executor("local", 1), works.append)
    of_sample = [f"{ended} of 2 experiments of 1 sample" for ended in range(2)]
    assert running == of_sample * 8
    assert works[0].running == ""
    assert not list((tmp_path / "out" / "samples").glob("*.ended"))


def test_samples_are_expected_to_take_what_experiments_took_here(
    folder: Path, tmp_path: Path
) -> None:
    result = run_study(folder, tmp_path / "out", processes=1)
    recorded_s = {"near": 10.0, "far": 30.0}
    facts = {"processor_s": 40.0, "taken_s": recorded_s, "computed": {}}
    (folder / "record.json").write_text(json.dumps(facts))
    left_s = list[float | None]()
    sample_study(result, 8, executor("local", 1), lambda work: left_s.append(work.left_s()))
    here_s = 8 * sum(result.taken_s.values())
    assert left_s[0] == pytest.approx(START_S + here_s, rel=0.01)


MORE = """,
        "count": lambda results: (time("far", results) - time("near", results)) ** 99,
        "along": lambda results: (time("near", results) - 1) ** 99,
        "none": lambda results: float("nan") * time("far", results),
        "zero": lambda results: 0.0 * time("far", results),
    }
"""
MORE_EXPECTED = """count,Table 3,9,8,10,frames
along,Table 3,9,8,10,frames
none,Table 3,9,8,10,us
zero,Table 3,9,8,10,us
"""


def test_counts_and_what_has_no_figure_do_not_delay_the_end(folder: Path, tmp_path: Path) -> None:
    file, code = folder / "study.toml", folder / "study.py"
    file.write_text(file.read_text().replace("200ns", "10ns").replace("400ns", "900ns"))
    code.write_text(code.read_text().replace(",\n    }\n", MORE))
    (folder / "expected.csv").write_text(EXPECTED + MORE_EXPECTED)
    result = run_study(folder, tmp_path / "out", processes=1)
    sampled = sample_study(result, 32, executor("local", 1))
    counts = {name: len(values) for name, values in sampled.values.items()}
    # Times of the near ping are drawn to the end, and what else that ping has; the far one ends.
    assert (counts["near"], counts["along"]) == (32, 32)
    assert (counts["count"], counts["zero"], "none" in counts) == (8, 8, False)
    assert sampled.failures == {"no figure": 8}


def test_bars_of_the_report_have_the_interval_of_their_check(folder: Path, tmp_path: Path) -> None:
    bars = """
[[bars]]
name = "pings"
title = "Pings"
axis = "latency [us]"
unit = "us"
bars = [{ label = "near", check = "near" }, { label = "paper", check = "paper" }]
"""
    with (folder / "study.toml").open("a") as file:
        file.write(bars)
    result = run_study(folder, tmp_path / "out", processes=1)

    def lines() -> list[LineCollection]:
        section = section_builder(result.study.sections["pings"])(result)
        assert section is not None and section.figure is not None
        (axes,) = section.figure.axes
        return [part for part in axes.collections if isinstance(part, LineCollection)]

    def bands() -> list[LineCollection]:
        return [line for line in lines() if line.get_alpha() == 0.25]

    assert bands() == [], "no samples, no interval"
    sample_study(result, 8, executor("local", 1))
    assert len(bands()) == 2


def test_the_verb_prints_bounds_and_intervals_side_by_side(folder: Path, tmp_path: Path) -> None:
    words = ("study", folder, "-o", tmp_path / "out", "--threads", 1, "--samples", 8)
    done = run_here(*words, "--all", "--only", "*", code=0)
    assert "8 samples of 2 unknowns in 2 experiments; intervals of 90 %:" in done.stdout
    facts = json.loads(run_here(*words, "--json").stdout)
    near = next(row for row in facts["checks"] if row["id"] == "near")
    low, high = near["intervals_90"]["parameters"]["interval"]
    assert low < near["value"] < high
    assert near["pass"] and near["intervals_90"]["model"] is None


@pytest.mark.parametrize("count", [-5, 0, 2, 65_537])
def test_a_number_of_samples_outside_its_range_is_refused_before_any_experiment_runs(
    folder: Path, tmp_path: Path, count: int
) -> None:
    refused = run_here("study", folder, "-o", tmp_path / "out", "--samples", count, code=2)
    assert f"samples: {count:,}; expected 8 to 65,536" in refused.stderr
    assert not (tmp_path / "out").exists()


def drawn(text: str, tmp_path: Path) -> dict[str, Mapping[str, object]]:
    """Draw the middle of a ping's unknowns as a study declares them."""
    file = tmp_path / "study.toml"
    file.write_text(f'title = "One"\n{text}')
    stated = read_declaration(file).unknown
    result = unknowns(SCENARIO, "ping", {}, Declared(), stated)
    return {entry.name: result.at([0.5] * len(result.entries)) for entry in result.entries}


def test_a_scenario_that_states_the_figures_of_a_profile_has_their_basis(tmp_path: Path) -> None:
    names = drawn('[[unknown]]\nprofiles = ["ethernet-100-roce"]', tmp_path)
    # The defaults of the receive side and of the switch are those of the profile, 200 and 300 ns.
    # That of the transmit side is not: 216 ns, where the profile has 493.
    keys = {key for drawn_keys in names.values() for key in drawn_keys}
    assert {"nic.receive_latency", "switch.latency"} <= keys
    assert "nic.transmit_latency" not in keys


def test_parts_of_a_measured_time_keep_their_sum(tmp_path: Path) -> None:
    parts = """[[unknown]]
keys = ["nic.transmit_latency", "nic.receive_latency"]
share_of = "osu_latency over RoCE of 1 us"
"""
    file = tmp_path / "study.toml"
    file.write_text(f'title = "One"\n{parts}')
    result = unknowns(SCENARIO, "ping", {}, Declared(), read_declaration(file).unknown)
    assert len(result.entries) == 3, "two parts and their time"
    at = [entry.name for entry in result.entries].index("osu_latency over RoCE of 1 us")
    for share in (0.1, 0.9):
        values = result.at([0.5 if place == at else share for place in range(3)]).values()
        assert sum(int(str(value).removesuffix("ps")) for value in values) == pytest.approx(
            416_000, abs=2
        )


def test_what_is_fitted_to_a_measurement_of_this_system_is_known(tmp_path: Path) -> None:
    parts = """[[unknown]]
keys = ["nic.transmit_latency", "nic.receive_latency"]
share_of = "osu_latency over RoCE of 1 us: these hosts"

[[unknown]]
measured_here = "these hosts"
"""
    file = tmp_path / "study.toml"
    file.write_text(f'title = "One"\n{parts}')
    result = unknowns(SCENARIO, "ping", {}, Declared(), read_declaration(file).unknown)
    assert {entry.basis for entry in result.entries} == {"estimate"}, "two parts without their time"
    values = result.at([0.1, 0.8])
    assert sorted(values) == sorted(result.keys)
    assert sum(int(str(value).removesuffix("ps")) for value in values.values()) == pytest.approx(
        416_000, abs=2
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected either profiles, keys or measured_here"),
        ('keys = ["a"]\nprofiles = ["b"]', "expected either profiles, keys or measured_here"),
        ('keys = ["a"]\nlow = "1ns"', "one end of a range; expected low and high"),
        (
            'keys = ["a"]\nspread = "latency"\nshare_of = "1 us"',
            "unknown.0.spread: beside share_of",
        ),
        ('profiles = ["b"]\nspread = "latency"', "unknown.0.spread: of profiles"),
        ('keys = ["nic.transmit_latency"]\nspread = "latancy"', "spread = 'latancy': none; known"),
        ('keys = ["nic.transmit_latency"]\nshare_of = "a time"', "share_of = 'a time': no time"),
    ],
)
def test_an_unknown_that_cannot_be_drawn_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises((ValueError, UncertaintyError)) as refused:
        drawn(f"[[unknown]]\n{text}", tmp_path)
    assert message in str(refused.value)


DECLARING = [name for name in sorted(shipped()) if load_study(name).declared.unknown]


def test_studies_of_machines_declare_unknowns() -> None:
    machines = {"interconnect-references", "osu-references", "sandia-2020", "stackhpc-2019"}
    assert machines <= set(DECLARING)


@pytest.mark.parametrize("name", DECLARING)
def test_samples_draw_the_unknowns_of_every_shipped_study(name: str) -> None:
    study = load_study(name)
    sampled = sampled_experiments(study, False, 8)
    assert sampled
    stated = {key for own in study.declared.unknown if own.low for key in own.keys}
    assert stated <= {key for own in sampled.values() for key in own.drawn.keys}
    assert all(own.profiles or own.source or own.measured_here for own in study.declared.unknown)


BYTES = "job.0.workload.osu_latency.bytes"


def near_with(folder: Path, overrides: Mapping[str, object], key: str, low: str, high: str) -> None:
    """Let the near ping set keys, and declare a range of one for all pings."""
    file = folder / "study.toml"
    own = "".join(f"{json.dumps(of)} = {toml.literal(value)}, " for of, value in overrides.items())
    unknown = f'[[unknown]]\nkeys = ["{key}"]\nlow = "{low}"\nhigh = "{high}"\nsource = "S"\n'
    text = f'scenario = "ping"\noverrides = {{ {own.removesuffix(", ")} }}\n\n{unknown}\n'
    file.write_text(file.read_text().replace('scenario = "ping"\n\n', text, 1))


def test_a_range_of_a_study_replaces_a_key_of_a_table_that_an_experiment_sets(folder: Path) -> None:
    table = {"osu_latency": {"bytes": "64B", "iterations": 2}}
    near_with(folder, {"job.0.workload": table}, BYTES, "8B", "64B")
    sampled = sampled_experiments(load_study(folder), False, 8)
    assert BYTES in sampled["near"].drawn.keys


def test_a_range_of_a_study_is_refused_of_a_key_that_an_experiment_sets(folder: Path) -> None:
    near_with(folder, {BYTES: "64B"}, BYTES, "8B", "64B")
    with pytest.raises(UncertaintyError, match="set and uncertain; expected one of both"):
        sampled_experiments(load_study(folder), False, 8)
