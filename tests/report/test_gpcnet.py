"""GPCNeT's tests among the jobs of a result, printed and read back as its output."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etherweave
from etherweave.api.results import Result
from etherweave.api.slowdown import foreground, slowdowns
from etherweave.bench.texts.document import parse
from etherweave.report import gpcnet
from support.command_line import invoke

TESTS = {"ranks": 8, "rings": 3, "latency_turns": 4, "bandwidth_turns": 2, "allreduces": 5}
ALL = ["latency", "bandwidth", "natural_bandwidth", "bandwidth_sync", "allreduce", "alltoall"]
ONE_SIDED = ["get_latency", "put_bandwidth"]


JOBS = """
[topology.single_switch]
hosts = 4

[[job]]
name = "short"
workload.osu_latency = { iterations = 5 }

[[job]]
name = "long"
background = true
workload.osu_latency = { iterations = 50 }
"""


def run(jobs: list[dict[str, Any]], **overrides: object) -> Result:
    return etherweave.run({"topology": {"single_switch": {"hosts": 16}}, "job": jobs, **overrides})


def job(name: str, workload: dict[str, Any], **keys: object) -> dict[str, Any]:
    return {"name": name, "workload": workload, **keys}


def test_each_test_is_computed_from_its_own_iterations() -> None:
    result = run([job("tests", {"gpcnet": {**TESTS, "tests": ALL, "alltoalls": 2}})])
    rows = result.to_polars("iterations").sort("iteration", "rank")
    times = rows["duration_ns"].to_numpy().reshape(-1, 8) * 1e-9
    tests = {test.title.partition(" (")[0]: test for test in gpcnet.network_tests(result, "tests")}
    latency, allreduce = tests["RR Two-sided Lat"], tests["Multiple Allreduce"]
    # Three rings of 4 turns, three tests of three rings of 2, 5 all-reduces, 2 all-to-alls.
    assert latency.average == pytest.approx(times[:12].mean() * 1e6 / 2)
    assert latency.percentile == pytest.approx(np.quantile(times[:12], 0.99) * 1e6 / 2)
    assert allreduce.average == pytest.approx(times[30:35].mean() * 1e6)
    rates = 7 * 4_096 / times[35:] / 2**20
    assert tests["Multiple Alltoall"].percentile == pytest.approx(np.quantile(rates, 0.01))
    # Sixteen messages of 131,072 B out of a link of 12.5 GB/s.
    assert 0.8 * 12.5e9 / 2**20 < tests["RR Two-sided BW"].average < 12.5e9 / 2**20
    assert tests["RR Two-sided BW+Sync"].average < tests["RR Two-sided BW"].average


def test_one_sided_tests_are_those_of_rings() -> None:
    """Half of two gets; sixteen puts of 131,072 B out of a link of 12.5 GB/s."""
    result = run([job("tests", {"gpcnet": {**TESTS, "tests": ONE_SIDED}})])
    times = result.to_polars("iterations").sort("iteration", "rank")["duration_ns"].to_numpy()
    get, put = gpcnet.network_tests(result, "tests")
    assert get.title == "RR Get Lat (8 B)"
    # Three rings of 4 turns of 8 ranks.
    assert get.average == pytest.approx(times[: 12 * 8].mean() * 1e-3 / 2)
    assert put.title == "RR Put BW (131072 B)"
    assert 0.8 * 12.5e9 / 2**20 < put.average < 12.5e9 / 2**20


def test_what_is_printed_is_read_as_output_of_network_test() -> None:
    result = run([job("tests", {"gpcnet": {**TESTS, "tests": ALL}})])
    text = gpcnet.network_test(result, "tests")
    assert all(len(line) == 80 for line in text.splitlines() if line.startswith(("+", "|")))
    (report,) = parse(text).reports
    assert report.program == "network_test"
    (latency,) = [
        measurement
        for measurement in report.measurements
        if ("test", "RR Two-sided Lat") in measurement.labels and measurement.statistic == "mean"
    ]
    average = gpcnet.network_tests(result, "tests")[0].average
    assert latency.value == pytest.approx(average * 1e-6, abs=5e-8)


def test_congestors_in_the_background_slow_the_tests_down() -> None:
    kinds = ["alltoall", "incast", "put_incast", "get_broadcast"]
    congestors = [
        job(kind, {"gpcnet_congestor": {"kind": kind, "ranks": 3}}, background=True)
        for kind in kinds
    ]
    jobs = [job("tests", {"gpcnet": {**TESTS, "ranks": 4}}, start="50us"), *congestors]
    together, alone = run(jobs), run(jobs, run={"jobs": ["tests"]})
    assert set(alone.to_polars("iterations")["job"]) == {"tests"}
    assert alone.to_polars("iterations")["host"].unique().sort().to_list() == [
        f"host{number}" for number in range(4)
    ]
    text = gpcnet.network_load_test(together, alone, "tests")
    (report,) = parse(text).reports
    assert report.program == "network_load_test"
    assert ("nodes running congestion tests", "12") in report.facts
    assert "Congestion Impact Factor" in text


def test_a_slowdown_is_that_of_iterations_of_completions_or_of_a_rate(tmp_path: Path) -> None:
    """Three jobs on hosts and links of their own."""
    endless = {"incast": {"sources": 1, "streams_per_source": 1}}
    counted = {"incast": {"sources": 1, "messages": 100, "streams_per_source": 1}}
    halo = {"halo3d": {"pex": 2, "pey": 1, "pez": 1, "iterations": 2, "sleep": "0s"}}
    jobs = [
        job("pair", halo),
        job("bulk", counted, placement={"hosts": [2, 3]}),
        job("other", endless, placement={"hosts": [4, 5]}, background=True),
    ]
    together = run(jobs)
    assert foreground(together) == ["pair", "bulk"]
    alone = {name: run(jobs, run={"jobs": [name]}) for name in ("pair", "bulk")}
    result = slowdowns(together, alone)
    assert [(slowdown.job, slowdown.figure) for slowdown in result] == [
        ("pair", "mean iteration"),
        ("bulk", "mean completion"),
    ]
    assert [slowdown.factor for slowdown in result] == pytest.approx([1, 1], rel=1e-3)
    until = {"end": "1ms"}
    jobs[-1]["background"] = False
    (rate,) = slowdowns(
        run(jobs, run=until), {"other": run(jobs, run={**until, "jobs": ["other"]})}
    )
    assert rate.figure == "goodput"
    assert rate.factor == pytest.approx(1, rel=1e-2)
    file = tmp_path / "jobs.toml"
    file.write_text(JOBS, encoding="utf-8")
    assert "slowdown of short: 1.00 (mean iteration" in invoke("run", file, "--slowdown").stdout
