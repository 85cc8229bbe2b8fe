"""OSU Micro-Benchmarks: numbers read off the captured texts, converted in view."""

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.campaigns.campaign import adapter_of
from etherweave.bench.programs.plans import (
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    Start,
)
from etherweave.bench.texts.document import parse
from etherweave.measurements.benchmark_report import Completeness
from support.captured_texts import DATA, captured, report, value

OSU = "osu-micro-benchmarks"
GIGABIT = FabricEstimate(rate=125e6, latency=20e-6)


def test_openshmem_names_its_operations_and_leaves_out_rates_too_small_to_be_printed() -> None:
    parsed = report("osu-openshmem/osu_oshm_atomics-7.4.txt")
    assert value(parsed, "operation_rate", operation="shmem_int_add") == 2.07e6
    assert value(parsed, "call_time", operation="shmem_int_fadd") == 12023.82e-6
    assert not [m for m in parsed.measurements if m.metric.name == "operation_rate" and not m.value]
    assert (
        value(report("osu-openshmem/osu_oshm_put_mr-7.4.txt"), "message_rate", size=1) == 40753.12
    )


def test_validation_is_part_of_the_result() -> None:
    text = captured(f"{OSU}/osu_latency-7.4-validate.txt")
    assert parse(text).reports[0].valid is True
    (parsed,) = parse(text.replace("Pass", "Fail", 1)).reports
    assert parsed.valid is False
    assert not parsed.is_sound


def test_a_missing_row_is_reported() -> None:
    lines = captured(f"{OSU}/osu_latency-7.4.txt").splitlines(keepends=True)
    (parsed,) = parse("".join(line for line in lines if not line.startswith("64 "))).reports
    assert parsed.completeness == Completeness.PARTIAL
    assert "no row for 64 B: sizes of a whole output double" in parsed.warnings


@pytest.mark.parametrize(
    ("program", "sizes"),
    [
        ("osu_barrier", ()),
        ("osu_ibarrier", ()),
        ("osu_barrier_persistent", ()),
        ("osu_init", ()),
        ("osu_oshm_atomics", ()),
        ("osu_cas_latency", (8,)),
        ("osu_allreduce", (4, 8)),
        ("osu_bcast", (1, 2, 4, 8)),
    ],
)
def test_only_sizes_that_a_program_sweeps_are_awaited(program: str, sizes: tuple[int, ...]) -> None:
    """A launch without an awaited size does not count."""
    assert ADAPTERS["osu"].plan(BenchmarkRequest(program, size_max=8), GIGABIT).sizes == sizes


def test_a_fan_sends_windows_to_every_other_host() -> None:
    request = BenchmarkRequest("osu_bw_fan_out", nodes=4, size_min=2**20, size_max=2**20)
    plan = ADAPTERS["osu"].plan(request, GIGABIT)
    # 20 timed and 2 warm-up windows of 64 messages, to three hosts.
    assert plan.forecast.bytes == 22 * 64 * 2**20 * 3
    assert plan.placement.nodes == 4


def test_a_ping_pong_waits_for_both_directions_and_sends_one() -> None:
    plan = ADAPTERS["osu"].plan(BenchmarkRequest("osu_latency", size_min=8, size_max=8), GIGABIT)
    assert plan.forecast.bytes == 10_200 * 8
    assert plan.forecast.seconds == pytest.approx(2 * 10_200 * (8 / 125e6 + 20e-6))
    assert plan.sizes == (8,)


def test_a_pair_is_two_ranks() -> None:
    with pytest.raises(BenchmarkPlanError, match="exactly two ranks"):
        ADAPTERS["osu"].plan(BenchmarkRequest("osu_bw", nodes=3), GIGABIT)
    with pytest.raises(BenchmarkPlanError, match="even number"):
        ADAPTERS["osu"].plan(BenchmarkRequest("osu_mbw_mr", nodes=3), GIGABIT)


@pytest.mark.parametrize(
    ("title", "program", "metric", "header"),
    [
        ("Put_nb Test", "osu_oshm_put_nb", "call_time", "Latency (us)"),
        ("Get Test", "osu_oshm_get", "call_time", "Latency (us)"),
        ("Get_nb Message Rate Test", "osu_oshm_get_mr_nb", "message_rate", "Messages/s"),
        ("Reduce Latency Test", "osu_oshm_reduce", "call_time", "Avg Latency(us)"),
    ],
)
def test_openshmem_is_known_by_titles(title: str, program: str, metric: str, header: str) -> None:
    (parsed,) = parse(f"# OSU OpenSHMEM {title} v7.4\n# Size  {header}\n4  2.50\n8  3.50\n").reports
    scale = 1e-6 if metric == "call_time" else 1
    assert (parsed.program, value(parsed, metric, size=8)) == (program, 3.50 * scale)


def test_openshmem_collectives_take_any_number_of_ranks() -> None:
    plan = ADAPTERS["osu"].plan(BenchmarkRequest("osu_oshm_barrier", nodes=4), GIGABIT)
    assert (plan.placement.nodes, plan.command.start) == (4, Start.SHMEM)
    with pytest.raises(BenchmarkPlanError, match="exactly two ranks"):
        ADAPTERS["osu"].plan(BenchmarkRequest("osu_oshm_get", nodes=4), GIGABIT)


def test_programs_that_were_captured_can_be_asked_for() -> None:
    """Texts are named after the program, its version behind a hyphen."""
    names = {path.name.partition("-")[0].removesuffix(".txt") for path in DATA.glob("*/osu_*")}
    assert {"osu_bw_fan_in", "osu_iallreduce", "osu_hello"} <= names
    for name in names:
        assert adapter_of(name) == (ADAPTERS["osu"], name)


def test_openshmem_programs_are_started_by_its_launcher() -> None:
    plan = ADAPTERS["osu"].plan(BenchmarkRequest("osu_oshm_put"), GIGABIT)
    assert (plan.command.start, plan.command.arguments) == (Start.SHMEM, ("osu_oshm_put", "heap"))
