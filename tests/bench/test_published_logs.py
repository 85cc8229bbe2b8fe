"""Logs of others that are read as references."""

import json

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.plans import BenchmarkPlanError, BenchmarkRequest, FabricEstimate
from etherweave.bench.texts.document import parse
from support.captured_texts import failure, values


def entry(key: str, value: object, time_ms: int = 0, **metadata: object) -> str:
    """A line as mlperf-logging writes it, behind the rank of a launcher."""
    fields = {"namespace": "", "time_ms": time_ms, "event_type": "POINT_IN_TIME", "key": key}
    return "0: :::MLLOG " + json.dumps(fields | {"value": value, "metadata": metadata}) + "\n"


STEPS = [0.75, 0.71, 0.72, 0.73]
LINES = [
    entry("submission_benchmark", "llama31_8b"),
    entry("global_batch_size", 64),
    entry("run_start", None, 1_000),
    "0: a line of the framework\n",
    *(entry("tracked_stats", {"train_step_time": time}, step=64) for time in STEPS),
    entry("tracked_stats", {"throughput": 88.5}, step=256),
    entry("run_stop", None, 91_500, status="success"),
]


def test_a_log_of_mlperf_has_the_time_of_a_step_and_the_time_to_train() -> None:
    (report,) = parse("".join(LINES)).reports
    assert (report.program, report.completeness) == ("llama31_8b", "complete")
    assert dict(report.facts) == {
        "global_batch_size": "64",
        "entries of train_step_time": "4",
        "entries of throughput": "1",
    }
    times = [values(report, "iteration_time", statistic=name) for name in ("min", "p50", "max")]
    assert times == [[0.71], [(0.72 + 0.73) / 2], [0.75]]
    assert values(report, "sample_rate", statistic="p50") == [88.5]
    assert values(report, "elapsed") == [(91_500 - 1_000) / 1e3]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("run_stop", "run_start"), "run_start occurs twice: two logs are mixed"),
        (('"value": 64', '"value": NaN'), "the JSON object of an MLLOG line is garbled"),
        (("0.71", '"0.71"'), "expected a number, found '0.71'"),
        (('"metadata": {}', '"metadata": []'), "metadata of an MLLOG line is no object"),
    ],
)
def test_a_mixed_or_garbled_log_gives_no_number(change: tuple[str, str], reason: str) -> None:
    assert failure("".join(LINES).replace(*change)).reason.startswith(reason)


def test_a_run_that_was_aborted_or_cut_says_so() -> None:
    (aborted,) = parse("".join(LINES).replace('"success"', '"aborted"')).reports
    assert aborted.warnings == ("the run ended with status 'aborted'",)
    assert not aborted.is_sound
    (cut,) = parse("".join(LINES[:-1])).reports
    assert cut.warnings == ("run_stop is missing",)
    assert not values(cut, "elapsed")


PICO = """\
collective_type,array_dim,buffer_size,algo_name,datatype,mean,median,std,min,max,nnodes,\
tasks_per_node,n_iter,percentile_10,percentile_90,system
ALLREDUCE,8,32,ring_ompi,int32,12500.5,12400,310.2,11900,14000,4,1,20000,12000,13000,lumi
ALLREDUCE,8,32,default_ompi,int32,9500.0,9400,10,9300,9900,2x2x2,1,20000,9350,9700,lumi
"""


def test_a_summary_of_pico_has_times_of_algorithms_in_nanoseconds() -> None:
    (report,) = parse(PICO).reports
    ring = {"operation": "allreduce", "algorithm": "ring_ompi", "nodes": "4"}
    times = {"mean": 12500.5e-9, "p50": 12.4e-6, "stdev": 310.2e-9, "p10": 12e-6, "max": 14e-6}
    for statistic, time in times.items():
        assert values(report, "call_time", size=32, statistic=statistic, **ring) == [
            pytest.approx(time)
        ]
    assert values(report, "call_time", size=32, nodes="2x2x2") == [9.5e-6]
    assert dict(report.facts) == {"system": "lumi"}
    twice = PICO + PICO.splitlines()[1] + "\n"
    assert failure(twice).reason.startswith("a row occurs twice: two tables are mixed")
    assert failure(PICO.replace("12500.5", "14500.5")).reason.startswith("mean 14500.5 ns is above")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((",12400,", ",-5,"), "expected a number of 0 or more, found '-5'"),
        (("mean,median", "mean,middle"), "no column median; expected collective_type, buffer_size"),
        (("collective_type,", "kind,"), "no column collective_type; expected"),
        (("algo_name,", "name,"), "no column algo_name; expected"),
    ],
)
def test_a_damaged_summary_of_pico_is_refused_by_its_value_or_column(
    change: tuple[str, str], reason: str
) -> None:
    refused = failure(PICO.replace(*change))
    assert refused.reason.startswith(reason) and "comma" not in refused.reason


@pytest.mark.parametrize("name", ["mlperf", "pico"])
def test_what_is_only_read_is_not_planned(name: str) -> None:
    with pytest.raises(BenchmarkPlanError, match="published logs are read"):
        ADAPTERS[name].plan(BenchmarkRequest(name, nodes=2), FabricEstimate(1e9, 1e-6))
