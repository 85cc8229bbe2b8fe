"""Figures of benchmarks as their tools print them, by ``run``."""

import json
import re
from pathlib import Path

import pytest

from etherweave.api.key_descriptions import description
from etherweave.measurements.npb import CG_INNER, benchmark_iterations
from support import command_line

TOPOLOGY = "topology.single_switch = { hosts = 4 }\n[[job]]\nname = 'test'\nworkload."
PAIRS = "osu_bw = { bytes = '4KiB', pairs = 2, window = 8, iterations = 3, warm_up = 1 }"

PUTS = "osu_one_sided_bw = { bytes = '4KiB', bidirectional = true, window = 8, iterations = 3 }"

PUT = "osu_one_sided_latency = { bytes = '8B', iterations = 3 }"
ALLREDUCE = "osu_collective = { operation.allreduce.bytes = '1KiB', ranks = 4, iterations = 3 }"


@pytest.mark.parametrize(
    ("workload", "program", "names", "scale"),
    [
        ("osu_latency = { bytes = '8B', iterations = 3 }", "osu_latency", ["us"], [1e6]),
        ("osu_bw = { bytes = '4KiB', window = 8, iterations = 3 }", "osu_bw", ["MB/s"], [1e-6]),
        ("osu_bibw = { bytes = '4KiB', window = 8, iterations = 3 }", "osu_bibw", ["MB/s"], [1e-6]),
        (PUTS, "osu_put_bibw", ["MB/s"], [1e-6]),
        (PUT, "osu_put_latency", ["us"], [1e6]),
        (ALLREDUCE, "osu_allreduce", ["us"], [1e6]),
        (PAIRS, "osu_mbw_mr", ["MB/s", "messages/s"], [1e-6, 1]),
    ],
)
def test_a_benchmark_is_printed_in_its_tools_units(
    workload: str, program: str, names: list[str], scale: list[float], tmp_path: Path
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(TOPOLOGY + workload + "\n")
    figures = json.loads(command_line.run_here("run", file, "--json").stdout)
    rows = figures["benchmarks"]
    assert [row["program"] for row in rows] == [program] * len(names)
    values = [row["value"] * factor for row, factor in zip(rows, scale, strict=True)]
    shown = ", ".join(f"{value:.2f} {name}" for value, name in zip(values, names, strict=True))
    assert f"  test: {program} {shown}; " in command_line.run_here("run", file).stdout
    if program == "osu_latency":
        assert values[0] == pytest.approx(figures["jobs"]["test"]["mean_us"] / 2)
    if program == "osu_bw":
        assert values[0] == pytest.approx(8 * 4096 / figures["jobs"]["test"]["mean_us"])


def test_an_exchange_counts_the_four_messages_of_a_rank(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(TOPOLOGY + "imb = { ranks = 4, bytes = '1KiB', iterations = 3 }\n")
    time, rate = json.loads(command_line.run_here("run", file, "--json").stdout)["benchmarks"]
    assert (time["program"], time["metric"]) == ("IMB-MPI1", "call_time")
    assert rate["value"] == pytest.approx(4 * 1024 / time["value"])
    shown = f"{time['value'] * 1e6:.2f} us, {rate['value'] / 1e6:.2f} MB/s"
    text = command_line.run_here("run", file).stdout
    assert f"IMB-MPI1 Exchange {shown}; 12 iterations, mean " in text


@pytest.mark.parametrize(
    ("iterations", "note"),
    [(1, "1 iteration, as the benchmark has"), (20, "20 iterations; the benchmark has 1")],
)
def test_a_time_of_npb_names_its_iterations(iterations: int, note: str, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    keys = f"benchmark = 'ep', class = 'S', ranks = 4, iterations = {iterations}"
    file.write_text(f"{TOPOLOGY}npb = {{ {keys} }}\n")
    text = command_line.run_here("run", file).stdout
    assert re.search(rf"  test: npb ep.S elapsed [\d.]+ m?s \({note}\); ", text)
    (row,) = json.loads(command_line.run_here("run", file, "--json").stdout)["benchmarks"]
    assert row["note"] == note


def test_conjugate_gradient_has_the_time_of_its_outer_iterations(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f"{TOPOLOGY}npb_cg = {{ ranks = 4, class = 'S', iterations = 3 }}\n")
    text = command_line.run_here("run", file).stdout
    note = "3 iterations; the benchmark has 15"
    assert re.search(rf"  test: npb cg.S elapsed [\d.]+ us \({note}\); 300 iterations, ", text)
    figures = json.loads(command_line.run_here("run", file, "--json").stdout)
    (row,) = figures["benchmarks"]
    assert (row["metric"], row["ranks"], row["note"]) == ("elapsed", 4, note)
    # A rank spends all of the run in them but for the barrier before.
    barrier = 4 * figures["jobs"]["test"]["mean_us"] * 1e3
    assert figures["end_ns"] - barrier < row["value"] * 1e9 < figures["end_ns"]


@pytest.mark.parametrize("keys", ["iterations = 1", "iterations = 2, inner = 24"])
def test_conjugate_gradient_has_no_time_where_none_is_known(keys: str, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f"{TOPOLOGY}npb_cg = {{ ranks = 4, class = 'S', {keys} }}\n")
    assert json.loads(command_line.run_here("run", file, "--json").stdout)["benchmarks"] == []


def test_iterations_of_conjugate_gradient_are_those_that_its_key_names() -> None:
    meaning = description("job.workload.npb_cg.iterations")
    for count, classes in re.findall(r"(\d+) \(([A-Z, ]+)\)", meaning):
        for kind in classes.split(", "):
            assert benchmark_iterations("cg", kind) == int(count)
    assert meaning.count("(") == 3
    (inner,) = re.findall(r"Default: (\d+)", description("job.workload.npb_cg.inner"))
    assert int(inner) == CG_INNER


@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("workload", ["npb = { benchmark = 'is', class = 'S', ", "openfoam = { "])
def test_few_iterations_sum_their_times(workload: str, iterations: int, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f"{TOPOLOGY}{workload}ranks = 4, iterations = {iterations} }}\n")
    figures = json.loads(command_line.run_here("run", file, "--json").stdout)
    (row,) = figures["benchmarks"]
    assert row["value"] == pytest.approx(iterations * figures["jobs"]["test"]["mean_us"] * 1e-6)


def test_iterations_of_npb_are_those_that_its_page_lists() -> None:
    page = Path(__file__).parents[2] / "docs/models/workload/npb.md"
    rows = re.findall(
        r"^\| (BT|EP|FT|IS|LU|MG|SP) \|[^|]*\|(.*)\|$", page.read_text(), re.MULTILINE
    )
    listed = {}
    for name, cells in rows[:7]:
        counts = [cell.split(", ")[-1] for cell in cells.split("|")]
        listed[name.lower()] = [int(count) for count in counts]
    assert len(listed) == 7
    for name, counts in listed.items():
        assert [benchmark_iterations(name, kind) for kind in "SWABCDE"] == counts


def test_nccl_tests_have_their_bus_bandwidth() -> None:
    file = Path(__file__).parents[2] / "scenarios" / "nccl_tests.toml"
    text = command_line.run_here("run", file).stdout
    call, bus = json.loads(command_line.run_here("run", file, "--json").stdout)["benchmarks"]
    assert call["metric"] == "call_time" and bus["metric"] == "bandwidth_bus"
    ranks, size = bus["ranks"], bus["bytes"]
    assert bus["value"] == pytest.approx(size * 2 * (ranks - 1) / ranks / call["value"])
    assert f"nccl_tests all_reduce_perf bandwidth bus {bus['value'] / 1e9:.4g} GB/s; " in text
    (row,) = (line.split() for line in text.splitlines() if " float " in line)
    assert row[:5] == [f"{size}", f"{size // 4}", "float", "sum", "-1"]
    assert (
        row[5:8]
        == row[9:12]
        == [
            *(f"{call['value'] * 1e6:.2f}", f"{size / call['value'] / 1e9:.2f}"),
            f"{bus['value'] / 1e9:.2f}",
        ]
    )
