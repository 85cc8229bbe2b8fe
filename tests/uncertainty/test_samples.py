"""Samples of a scenario whose answer is linear in what is not known."""

import json
import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from etherweave import run
from etherweave.api.interconnects import Interconnect
from etherweave.api.work import LeftRange, Work
from etherweave.cli.sampled import intervals, print_intervals
from etherweave.report.interconnects import overview
from etherweave.report.sweep import plot
from etherweave.sweeps import executor, load_sweep, sweep
from etherweave.uncertainty import (
    UncertaintyError,
    declared,
    run_samples,
    sample_interconnects,
    sampled_sweep,
)
from etherweave.uncertainty.check_rows import FITS, LINK, Conditions
from etherweave.uncertainty.intervals import Distribution, Interval, distribution, quantiles
from etherweave.uncertainty.model_errors import errors_at
from etherweave.uncertainty.sampled_interconnects import conditions_of_figure
from etherweave.uncertainty.sampled_sweeps import intervals_at_points
from etherweave.uncertainty.sampling import sampled_scenario
from etherweave.uncertainty.together import errors_in, together, together_of
from support.command_line import run_here

pytestmark = pytest.mark.usefixtures("workers_of_this_process")

SCENARIO = """\
topology.single_switch.hosts = 2
transport.roce = {}

[[job]]
name = "ping"
workload.osu_latency = { bytes = "8B", iterations = 4 }
"""
LATENCY, OVERHEAD = "switch.latency", "nic.transmit_latency"
MEAN = "jobs.ping.mean_us"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ping.toml"
    path.write_text(SCENARIO)
    return path


RANGES = (f"{LATENCY}=200ns..400ns", f"{OVERHEAD}=100ns..200ns")
TIME_US_MIN, TIME_US_MAX = 1.56912, 2.16912
"""A round trip at both ends of both ranges [us]; it has each of them twice."""


def test_the_interval_of_a_linear_answer_is_that_of_unknowns(file: Path, tmp_path: Path) -> None:
    for latency, overhead, time_us in (
        ("200ns", "100ns", TIME_US_MIN),
        ("400ns", "200ns", TIME_US_MAX),
    ):
        rows = run(file, {LATENCY: latency, OVERHEAD: overhead}).to_polars("iterations")
        assert rows["duration_ns"].to_list() == pytest.approx([time_us * 1e3] * 4)
    on = executor("local", 1)
    own = {"declared": declared(RANGES), "executor": on}
    sampled_result = run_samples(file, 256, tmp_path / "out", **own, precision=0.02)  # type: ignore[arg-type]
    assert sampled_result.is_known
    assert sampled_result.samples == 64, "no more samples where the interval is known"
    first = run_samples(file, 256, tmp_path / "out", **own)  # type: ignore[arg-type]
    assert (first.is_known, first.samples) == (True, 32), "5 % are known sooner"
    ping = sampled_result.by_name[MEAN]
    # A sum of even distributions of 0.4 and 0.2 us has x^2 / (2 * 0.4 * 0.2) below x, up to 0.2 us.
    tail_us = math.sqrt(0.05 * 2 * 0.4 * 0.2)
    assert list(ping.most) == pytest.approx(
        [TIME_US_MIN + tail_us, TIME_US_MAX - tail_us], abs=0.012
    )
    assert list(ping.half) == pytest.approx([TIME_US_MIN + 0.2, TIME_US_MAX - 0.2], abs=0.012)
    contributions = ping.contributions or ()
    shares = {contribution.unknown: contribution.share for contribution in contributions}
    assert shares == pytest.approx({LATENCY: 4 / 5, OVERHEAD: 1 / 5}, abs=0.02)
    known = contributions[0].known
    # Of the weaker unknown alone nine tenths of its range are left.
    assert known and known.width == pytest.approx(0.9 * 0.2, abs=0.02)
    assert ping.rest < 0.01, "seeds change nothing here"


def test_times_of_a_job_have_an_interval_with_the_error_of_the_model(
    file: Path, tmp_path: Path
) -> None:
    words = ["--uncertain", RANGES[0], "-o", tmp_path / "out", "--threads", 1]
    printed = run_here("run", file, "--samples", 8, *words, code=0).stdout
    head = next(line for line in printed.splitlines() if "as it stands" in line)
    assert head.rstrip().endswith("90 % with the model's error")
    result = run_samples(file, 8, tmp_path / "out", declared=declared([RANGES[0]]))
    most, ping = result.model_errors["ping"].most, result.by_name[MEAN]
    assert ping.together is not None
    # The error is far wider than these 8 samples: its ends lie about their median.
    assert ping.together.low < ping.most.low and ping.together.high > ping.most.high
    assert list(ping.together) == pytest.approx([ping.median * end for end in most], rel=0.05)
    assert result.by_name["end_ns"].together is None, "it is no time of a job"


def test_a_figure_as_it_stands_outside_of_its_interval_has_a_mark(
    capsys: pytest.CaptureFixture[str],
) -> None:
    most = Interval(2.0, 7.0)
    rows = [Distribution("end_ns", at, 3.0, most, most, 0.0, None) for at in (1.5, 2.0, 7.0, 9.5)]
    print_intervals(("figure",), [(row.name, *intervals(row)) for row in rows])
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in printed[1:5]] == ["1.5*", "2", "7", "9.5*"]
    assert printed[5].startswith("  * outside of the interval of 90 %")


def test_the_page_of_samples_has_intervals_and_names_no_draw(file: Path, tmp_path: Path) -> None:
    words = ["--uncertain", RANGES[0], "-o", tmp_path / "out", "--threads", 1]
    run_here("run", file, "--samples", 8, *words, code=0)
    done = run_here("report", tmp_path / "out", code=0)
    assert "Warning" not in done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    for text in ("jobs.ping.mean [us]: median", "with the model&#39;s error", "as it stands"):
        assert text in page
    assert LATENCY not in page, "values of samples are no names"
    assert (tmp_path / "out" / "jobs_ping_mean_us.png").exists()


def test_an_error_multiplies_times_and_divides_rates() -> None:
    (error,) = errors_at([Conditions("iteration", "", FITS[1])])
    # Of 64 quantiles, each 8 times, 5 % of values lie below the third or the fourth.
    shortest, short, long, longest = error.further.at([2.5 / 64, 3.5 / 64, 60.5 / 64, 61.5 / 64])
    low, high = together([2.0] * 8, error.further, is_time=True)
    assert 2 * shortest <= low <= 2 * short and 2 * long <= high <= 2 * longest
    low, high = together([2.0] * 8, error.further, is_time=False)
    assert 2 / longest <= low <= 2 / long and 2 / short <= high <= 2 / shortest


@pytest.mark.processes
def test_any_processes_and_an_interruption_give_the_same_bytes(file: Path, tmp_path: Path) -> None:
    def sampled(home: str, processes: int) -> str:
        options = ["--samples", 8, "-o", tmp_path / home, "--threads", processes, "--json"]
        ranges = [word for key in RANGES for word in ("--uncertain", key)]
        return run_here("run", file, *options, *ranges, code=0).stdout

    first = sampled("one", 1)
    assert sampled("two", 2) == first
    (journal,) = (tmp_path / "two" / "journal").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 8 + 1, "the samples, and the scenario as it stands"
    journal.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # Killed while it wrote the fourth.
    assert sampled("two", 1) == first
    again = sorted((tmp_path / "two" / "journal").iterdir())[-1]
    assert len(again.read_bytes().splitlines()) == 6, "what was kept is not run again"
    figures = json.loads(first)["figures"]
    assert figures[MEAN]["point"] == pytest.approx(2.00112)
    assert figures["drops.packets"]["rest"] is None, "what does not vary has no parts"


def test_samples_have_one_progress_over_all_batches(file: Path, tmp_path: Path) -> None:
    seen = list[tuple[Work, int, int, LeftRange | None]]()
    wide = declared([f"{LATENCY}=10ns..40000ns", f"{OVERHEAD}=10ns..40000ns"])
    run_samples(
        file,
        64,
        tmp_path / "out",
        declared=wide,
        executor=executor("local", 1),
        precision=1e-9,
        on_progress=lambda work: seen.append((work, work.done, work.count, work.left())),
    )
    works, done, counts, left = zip(*seen, strict=True)
    assert len({id(work) for work in works}) == 1
    assert list(done) == sorted(done) and sorted(set(counts)) == [33, 65]
    half = left[done.index(16)]
    assert half and half.max_s > half.min_s > 0, "another batch may follow"
    # A machine that stalls there has taken longer than expected: nothing is predicted then.
    assert left[-1] is None or left[-1].max_s == left[-1].min_s


def test_figures_without_a_basis_are_named_in_a_warning(file: Path, tmp_path: Path) -> None:
    def sampled(*words: str) -> tuple[list[str], list[str], str]:
        done = run_here("run", file, "--samples", 8, "-o", tmp_path / "out", "--json", *words)
        facts = json.loads(done.stdout)
        return facts["without_basis"], facts["warnings"], done.stderr

    tables, (warning,), error = sampled()
    assert tables == ["host", "nic", "switch"]
    assert warning.startswith("host, nic, switch: no figure has a basis")
    assert "interconnect.profile" in warning
    assert f"WARNING: {warning}" in error
    assert sampled("--uncertain", RANGES[0])[0] == ["host", "nic"]
    assert sampled("--set", "interconnect.profile=ethernet-100-roce")[:2] == ([], [])
    printed = run_here("uncertainty", "figures", file).stderr
    assert warning in printed


def test_times_without_a_basis_are_listed_where_a_scenario_uses_them(tmp_path: Path) -> None:
    file = tmp_path / "ping.toml"
    file.write_text(SCENARIO.replace("transport.roce = {}\n", ""))

    def listed(profile: str, *words: object) -> list[str]:
        asked = ("--set", f"interconnect.profile={profile}", *words, "--json")
        keys: list[str] = json.loads(run_here("uncertainty", "figures", file, *asked).stdout)[
            "no_basis"
        ]
        return keys

    calls = {"host.cpu.send_call", "host.cpu.receive_call"}
    assert calls < {*listed("ethernet-100-tcp")}
    assert calls.isdisjoint(listed("ethernet-100-roce")), "RoCE makes no calls of the kernel"
    assert calls - {*listed("ethernet-100-tcp", "--uncertain", "host.cpu.send_call=1us..3us")}
    assert calls - {*listed("ethernet-100-tcp", "--set", "host.cpu.send_call=1us")}


def test_hashes_of_switches_take_the_seed_of_a_sample_unless_it_is_given(file: Path) -> None:
    def seeds(changes: dict[str, object]) -> list[tuple[object, object]]:
        points = sampled_scenario(file, changes, 8, declared(RANGES)).points()
        return [(point["seed"], point.get("selection.ecmp_hash.seed")) for point in points]

    assert seeds({"seed": 7})[:3] == [(7, ""), (7, 7), (8, 8)], "the run as it stands comes first"
    assert seeds({"selection.ecmp_hash.seed": 3})[1] == (1, None)


def test_a_scenario_without_unknowns_varies_by_its_seeds(tmp_path: Path) -> None:
    scenario = {
        "topology": {
            "fat_tree": {"leaves": 2, "hosts_per_leaf": 3, "cores": 2, "links_per_core": 1}
        },
        "transport": {"roce": {}},
        "job": [
            {
                "name": "swap",
                "placement": {"random": {}},
                "workload": {
                    "all_to_all": {
                        **{"ranks": 6, "bytes": "64KiB", "iterations": 1},
                        "library": "open_mpi_4_0",
                    }
                },
            }
        ],
    }
    result = run_samples(scenario, 8, tmp_path / "out", {"seed": 5}, executor=executor("local", 1))
    assert not result.unknowns.entries
    assert (result.seeds, result.samples) == ((5, 12), 8)
    swap = result.by_name["jobs.swap.mean_us"]
    assert swap.most.width > 0 and swap.rest == 1
    assert result.model_errors["swap"].kind == "collective"


def test_flow_level_mode_is_named_and_its_warnings_are_printed_once(tmp_path: Path) -> None:
    file = tmp_path / "flow.toml"
    file.write_text(
        "topology.fat_tree = { leaves = 2, hosts_per_leaf = 4, cores = 1, links_per_core = 1 }\n"
        'transport.roce = {}\nrun.fidelity = "flow"\n\n[[job]]\nname = "exchange"\n'
        'workload.all_to_all = { ranks = 8, bytes = "1MiB" }\n'
    )
    words = ["run", file, "--samples", 8, "-o", tmp_path / "out", "--threads", 1]
    done = run_here(*words, code=0)
    mode = "error of flow-level mode, in no interval above: exchange: not measured"
    assert mode in done.stdout
    warnings = json.loads(run_here(*words, "--json").stdout)["warnings"]
    shapes = [re.sub(r"\d+", "", text) for text in warnings]
    assert len(shapes) == len({*shapes}), "warnings differ in more than their numbers"
    assert any(re.search(r"in \d+ to \d+ % of rates", text) for text in warnings)
    figures = json.loads(run_here("uncertainty", "figures", file, "--json").stdout)
    ends = [(row["low"], row["high"]) for row in figures["unknowns"]]
    assert ("linear.first = 0", "random = {}") in ends, "as a scenario has them"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--samples", 4], "samples: 4; expected 8 to 65,536"),
        (["--samples", 8, "--uncertain", "switch.latency=-1ns..1ns"], "switch.latency: -1ns"),
        (["--samples", 8, "--uncertain", "switch.latancy=1ns..2ns"], "switch.latancy"),
        (["--samples", 8, "--uncertain", "seed=1..2"], "a seed of its own already"),
        (
            ["--samples", 8, "--uncertain", RANGES[0], "--set", "switch.latency=1us"],
            "switch.latency: set and uncertain; expected one of both",
        ),
        (
            ["--samples", 8, "--uncertain", RANGES[0], "--set", "switch={ latency = '1us' }"],
            "switch.latency: set and uncertain; expected one of both",
        ),
        (["--samples", 8, "--memory-limit", "1MiB"], "expected a smaller scenario"),
        (["--samples", 8, "--slowdown"], "--samples: expected no --slowdown beside it"),
        (["--uncertain", RANGES[0]], "expected --samples beside it"),
    ],
)
def test_what_cannot_be_drawn_is_named(
    file: Path, tmp_path: Path, words: list[object], message: str
) -> None:
    assert message in run_here("run", file, "-o", tmp_path / "out", *words, code=2).stderr
    assert not (tmp_path / "out").exists(), "nothing is simulated before"


def test_a_key_of_a_table_that_a_change_switches_on_is_drawn(file: Path, tmp_path: Path) -> None:
    key = "transport.roce.dcqcn.min_time_between_cnps"
    ecn = {"queue_min": "1kB", "queue_max": "2kB", "share_max": 1.0}
    changes = {"transport.roce.dcqcn": {}, "switch.ecn": ecn}
    own = {"declared": declared([f"{key}=2us..6us"]), "executor": executor("local", 1)}
    result = run_samples(file, 8, tmp_path / "out", changes, **own)  # type: ignore[arg-type]
    assert [entry.document[0] for entry in result.unknowns.entries] == [key]


def test_no_interval_is_faster_than_the_link() -> None:
    row = {
        "conditions.pair": "bandwidth; above 64 KiB; benchmark not fitted; 95",
        "jobs.pair.median_us": 100.0,
    }
    errors = errors_in([row] * 8)
    times = [95.5 + 9 * at / 63 for at in range(64)]
    time = together_of("jobs.pair.mean_us", times, errors)
    rate = together_of("jobs.pair.goodput_gbps", [9_500 / own for own in times], errors)
    assert time and rate and time.low == pytest.approx(95.0) and rate.high == pytest.approx(100.0)
    assert time.high > 105 and rate.low < 90
    still = errors_in([{**row, "jobs.pair.median_us": 0.0}])
    assert together_of("jobs.pair.mean_us", times, still) is not None


def test_what_a_tool_prints_has_the_error_of_the_model_in_its_job() -> None:
    rows = {
        f"conditions.{job}": "latency; to 64 B; benchmark not fitted; 0" for job in ("a", "a.b")
    }
    errors = errors_in([rows] * 8)
    times = [1.0] * 8
    assert together_of("benchmarks.a.b.osu_latency.latency_us", times, errors) == together_of(
        "jobs.a.b.mean_us", times, errors
    )
    assert together_of("benchmarks.a.training.imbalance_of_stages_us", times, errors) is None
    assert together_of("benchmarks.c.osu_latency.latency_us", times, errors) is None


def test_samples_of_a_bandwidth_stay_within_the_link(tmp_path: Path) -> None:
    scenario = {
        "interconnect": {"profile": "infiniband-edr"},
        "topology": {"single_switch": {"hosts": 2}},
        "job": [{"name": "ping", "workload": {"osu_bw": {"bytes": "4MiB", "iterations": 2}}}],
    }
    result = run_samples(scenario, 8, tmp_path, {}, executor=executor("local", 1))
    time = result.by_name[MEAN].together
    assert time is not None
    assert time.low == pytest.approx(64 * (4 << 20) * 8 / 100e9 * 1e6, rel=1e-3)


def test_a_point_counts_samples_that_have_ended_well() -> None:
    rows = [
        {"size": size, "sample": sample, "drawn": drawn, "ended": ended, "end_ns": end}
        for size, sample, drawn, ended, end in [
            ("near", -1, "", "complete", 10.0),
            ("near", 0, "1ns", "complete", 11.0),
            ("near", 1, "2ns", "stuck", 1e7),
            ("far", 0, "1ns", "complete", 31.0),
            ("far", 1, "2ns", "complete", 31.0),
        ]
    ]
    points = intervals_at_points(pl.DataFrame(rows), ["size", "sample", "drawn"])
    columns = ("size", "samples", "end_ns", "end_ns_median", "end_ns_high_90")
    assert points.select(columns).rows() == [
        ("near", 1, 10.0, 11.0, 11.0),
        ("far", 2, None, 31.0, 31.0),
    ]
    with pytest.raises(ValueError, match="no samples; expected a sweep with --samples"):
        intervals_at_points(pl.DataFrame(rows[:1]), ["size", "sample", "drawn"])


SWEEP = """
[sweep]
[[sweep.axis]]
key = "topology.single_switch.cable"
values = ["3m", "200m"]
"""


def test_samples_at_every_point_of_a_sweep_are_pairs(tmp_path: Path) -> None:
    file = tmp_path / "pings.toml"
    file.write_text(SCENARIO.replace("transport.roce = {}", "") + SWEEP)
    text = file.read_text().replace("topology.single_switch.hosts = 2", "")
    profile = 'topology.single_switch.hosts = 2\ninterconnect.profile = "infiniband-edr"\n'
    file.write_text(profile + text)
    what = sampled_sweep(load_sweep(file), 8)
    assert len(what) == 2 * (8 + 1)
    table = sweep(what, tmp_path / "out", executor("local", 1)).to_polars()
    assert table["ended"].unique().to_list() == ["complete"]
    near, far = (
        table.filter(pl.col("topology.single_switch.cable") == cable).sort("sample")
        for cable in ("3m", "200m")
    )
    assert near["sample"].to_list() == far["sample"].to_list() == [-1, *range(8)]
    assert near["switch.latency"].to_list() == far["switch.latency"].to_list()
    assert near[MEAN].n_unique() > 6, "samples differ"
    # 197 m of cable on both sides of the switch, twice in a round trip, at 5 ns for a metre.
    for first, second in zip(near[MEAN], far[MEAN], strict=True):
        assert second - first == pytest.approx(4 * 0.197 * 5, rel=0.03)
    band, wide = plot(table, "topology.single_switch.cable", MEAN).axes[0].collections
    ends = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert float(ends.min()) == pytest.approx(
        quantiles(near.filter(pl.col("sample") >= 0)[MEAN].to_numpy())[0]
    )
    outer = np.asarray(wide.get_paths()[0].vertices)[:, 1]
    assert outer.min() < ends.min() and outer.max() > ends.max(), "the model's error"
    drawn = ("x=topology.single_switch.cable", f"y={MEAN}", "-o", tmp_path / "band.svg")
    run_here("sweep", "plot", tmp_path / "out", *drawn, code=0)
    note = "bands: 90 % of samples; lighter, 90 % with the error of the model"
    assert note in (tmp_path / "band.svg").read_text()
    run_here("report", tmp_path / "out", code=0)
    run_here("sweep", "table", tmp_path / "out", "--intervals", code=0)
    points = pl.read_csv(tmp_path / "out" / "points.csv").sort(MEAN)
    assert points["topology.single_switch.cable"].to_list() == ["3m", "200m"]
    assert "switch.latency" not in points.columns, "what samples draw is no point"
    low, high = (points[f"{MEAN}_{end}_90"] for end in ("low", "high"))
    assert low[0] == pytest.approx(ends.min()) and high[1] == pytest.approx(ends.max())
    outside = [points[f"{MEAN}_{end}_model"] for end in ("low", "high")]
    assert outside[0][0] == pytest.approx(outer.min())
    assert outside[1][1] == pytest.approx(outer.max())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "at cable = 3m to" in page, "what samples draw names no point"
    with pytest.raises(UncertaintyError, match="samples: 4; expected 8"):
        sampled_sweep(load_sweep(file), 4)


def test_profiles_of_interconnects_have_intervals_of_what_they_yield(tmp_path: Path) -> None:
    names, figures = ["infiniband-edr", "infiniband-hdr"], ["latency_us"]
    distributions = sample_interconnects(names, 8, tmp_path, executor("local", 1), figures=figures)
    edr, hdr = (distributions[name]["latency_us"] for name in names)
    assert edr.point == pytest.approx(Interconnect("infiniband-edr").latency_us)
    assert edr.most.low < edr.median < edr.most.high
    assert 0.05 < edr.most.width / edr.median < 1.0
    assert edr.point != hdr.point
    # As `run --samples` says of the same benchmark over the same interconnect.
    (error,) = errors_at([Conditions("latency", "to 64 B", FITS[1])])
    assert edr.together is not None
    assert edr.together.width > edr.most.width
    ratios = [edr.together.high / edr.most.high, edr.together.low / edr.most.low]
    assert 1.0 < ratios[0] < error.most.high, "ends of both seldom meet"
    assert error.most.low < ratios[1] < 1.0


def test_figures_of_interconnects_have_the_conditions_of_their_benchmarks() -> None:
    of = partial(conditions_of_figure, "slingshot-11")
    latency = Conditions("latency", "to 64 B", FITS[1])
    assert of("latency_us", 1.5) == latency
    assert of("messages_per_us", 40.0) == latency._replace(kind="message rate")
    stream = Conditions("bandwidth", "above 64 KiB", FITS[1])
    # 200 Gb/s of the link: 180 are nine tenths.
    assert of("bandwidth_gbps", 170.0) == stream
    assert of("bandwidth_gbps", 190.0) == stream._replace(limit=LINK)
    assert of("all_to_all_us", 50.0) == Conditions("collective", fit=FITS[1])
    assert of("congestion_impact", 2.0) == Conditions("ratio", fit=FITS[1])


def test_samples_of_profiles_leave_out_gpcnet_where_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def sample(names: list[str], *rest: Any) -> dict[str, dict[str, Distribution]]:
        asked.append(rest[-1])
        drawn = distribution("x", 10.0, [9.0, 10.0, 11.0], [[0.1], [0.5], [0.9]], ["x"])
        return {name: dict.fromkeys(asked[-1], drawn) for name in names}

    monkeypatch.setattr("etherweave.uncertainty.sample_interconnects", sample)
    for words, is_simulated in ((["--no-gpcnet"], False), ([], True)):
        done = run_here("interconnects", "tofu-d", "--samples", 8, *words, code=0)
        assert ("congestion_impact" in asked[-1]) == is_simulated
        assert ("GPCNeT" in done.stdout) == is_simulated


def test_a_page_of_interconnects_has_bands_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("latency_us", "bandwidth_gbps", "messages_per_us", "all_to_all_us"):
        monkeypatch.setattr(Interconnect, name, 10.0)
    monkeypatch.setattr(Interconnect, "congestion_impact", 1.0)
    drawn = distribution("latency_us", 10.0, [9.0, 10.0, 11.0], [[0.1], [0.5], [0.9]], ["x"])
    drawn = replace(drawn, together=Interval(8.0, 13.0))
    sampled = {"tofu-d": {"latency_us": drawn, "bandwidth_gbps": drawn}}
    result = [Interconnect("tofu-d"), Interconnect("aries")]
    with_bands, without = overview(sampled, result).figure, overview({}, result).figure
    assert with_bands is not None and without is not None
    bands = [collection for axes in with_bands.axes for collection in axes.collections]
    ends = [np.asarray(band.get_paths()[0].vertices)[:, 0].tolist() for band in bands]
    assert ends == 2 * [list(drawn.most), [8.0, 13.0]]
    assert not any(axes.collections for axes in without.axes)


def test_samples_without_figures_are_counted_by_reason(tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    tree = "leaves = 2, hosts_per_leaf = 2, cores = 1, links_per_core = 1"
    file.write_text(f"""\
interconnect.profile = "ethernet-100-roce"
topology.fat_tree = {{ {tree} }}
[[job]]
name = "fft"
workload.fft = {{ pex = 2, pey = 2, pez = 1, iterations = 1 }}
""")
    uncertain = ("--uncertain", "topology.fat_tree.leaves=1..2", "-o", tmp_path / "out")
    done = run_here("run", file, "--samples", 8, *uncertain)
    count = re.search(
        r"intervals leave out (\d) of 8 samples: job.0.workload: 4 ranks", done.stderr
    )
    assert count and 0 < int(count[1]) < 8
    ends = f"{count[1]} of 8 samples have no figures here, by their end: mistake {count[1]}"
    assert (done.returncode, ends in done.stderr) == (1, True)
