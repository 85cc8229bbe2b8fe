"""Tests of the drafts on a small fabric: what their tables say is what the fabric does."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from etherweave.bmwg import TestResult, bursts, kpis, load_fabric, run_tests, selected
from etherweave.bmwg.bursts import Transfer
from etherweave.bmwg.inference import chapter_6, chapter_7
from etherweave.bmwg.model import ReportTable
from etherweave.sweeps import executor
from support import command_line
from support.small_fabric import SMALL

pytestmark = pytest.mark.usefixtures("workers_of_this_process", "undrawn_figures")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that all tests share, so that equal cases run once."""
    path = tmp_path_factory.mktemp("bmwg")
    (path / "small.toml").write_text(SMALL)
    return path


def run(home: Path, section: str, draft: str = "training", file: Path | None = None) -> TestResult:
    fabric = load_fabric(file or home / "small.toml")
    (done,) = run_tests(fabric, draft, selected(draft, [section]), home, executor("local", 1))
    return done


def column(table: ReportTable, start: str) -> Sequence[Any]:
    """Read the first column whose title begins so."""
    at = next(at for at, value in enumerate(table.columns) if value.title.startswith(start))
    return [row[at] for row in table.rows]


def columns(table: ReportTable, *starts: str) -> Iterator[tuple[Any, ...]]:
    """Read the rows of the first columns whose titles begin so."""
    return zip(*(column(table, start) for start in starts), strict=True)


def test_spraying_is_fairer_to_links_than_a_hash_of_flows(home: Path) -> None:
    (table,) = run(home, "8.4").tables
    fairness = dict(columns(table, "strategy", "JFI"))
    assert fairness["ECMP"] < fairness["spray"] <= 1
    assert fairness["spray"] == pytest.approx(1, abs=0.01)


def test_marks_follow_the_configured_ramp(home: Path) -> None:
    (table,) = run(home, "7.1").tables
    low = column(table, "lower")[0]
    for start, marked, configured in columns(table, "depth", "marked", "configured"):
        if start + low / 4 <= low:
            assert marked == 0
        elif start >= 2 * low:
            assert marked > 99
        else:
            assert marked == pytest.approx(configured, abs=20)


def test_bursts_are_lost_without_pauses_alone(home: Path) -> None:
    (table,) = run(home, "5.3").tables
    sizes = list(columns(table, "flow", "shortest"))
    assert dict(sizes)["pfc"] is None
    # Four senders fill 2 MB at three times the rate of the receiver's link.
    lost = [size for kind, size in sizes if kind == "none"]
    assert all(size is not None and size * 8 > 2_000_000 for size in lost)


def test_missing_links_and_small_thresholds_deadlock(home: Path) -> None:
    shipped = Path(__file__).parents[2] / "scenarios/bmwg/leaf_spine.toml"
    (table,) = run(home, "7.4", file=shipped).tables
    verdicts = dict(columns(table, "cause", "deadlock"))
    assert verdicts["missing links, XOFF at 100kB"] == "yes"
    # What waits in a cycle has no throughput until the run would have ended.
    assert column(table, "longest zero")[-1] > 9_900 > column(table, "run")[-1]
    assert all(
        paused <= length * 60 for paused, length in columns(table, "paused by switches", "run")
    )
    assert column(table, "storms")[:2] == [0, 1]


def test_the_algorithm_of_a_collective_is_verified_by_its_peers(home: Path) -> None:
    done = run(home, "9.4")
    (table,) = done.tables
    assert column(table, "collective") == ["allreduce", "alltoall", "allgather"]
    for trial in done.included:
        assert trial.result
        kind = trial.label("collective")
        name = kpis.algorithm(trial.result)
        assert name == {"alltoall": "pairwise", "allgather": "ring"}.get(str(kind), name)
        size = int(str(trial.label("S [B]")))
        # Each block crosses ten times; protocols add flags, the last acknowledgements are away.
        if kind == "alltoall":
            sent = dict.fromkeys(trial.result.values("flows", "source_host"), 0)
            for host, acknowledged in kpis.rows(trial.result, "flows", "source_host", "bytes"):
                sent[host] += acknowledged
            assert 0.99 * size * 7 / 8 <= max(sent.values()) / 10 < size * 7 / 8 * 1.1


def test_the_distribution_of_latency_ends_at_its_largest_value(home: Path) -> None:
    statistics, distribution = run(home, "5.2").tables
    largest = [value for kind, value in columns(statistics, "time", "max") if kind == "one way"]
    shares = columns(distribution, "messages [%]", "one way")
    assert [value for share, value in shares if share == 100] == pytest.approx(largest)
    factors = dict(columns(statistics, "load", "over"))
    assert factors["none"] == 1 < factors["all pairs, bidirectional"]


def test_tokens_cross_the_fabric_once_for_each_node_or_expert(home: Path) -> None:
    """On 8 hosts a node is an accelerator, and an expert of 32 on each: 8 of 256 for a token."""
    normal, low = run(home, "7.2", "inference").tables
    for table, copies, size in ((normal, 5.30, 7_472), (low, 8, 7_408)):
        batches, sent = column(table, "batch"), column(table, "S_fabric")
        # Seven of eight copies are for others.
        assert sent[-1] == pytest.approx(7 / 8 * copies * size * batches[-1], rel=0.02)
        assert sent[-1] < column(table, "T_egress")[-1] * 1.04
        assert column(table, "dispatch P50")[0] < column(table, "dispatch P50")[-1]


def test_more_participants_than_hosts_are_not_attempted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapter_7, "BATCH", 8)
    done = run(home, "7.3", "inference")
    excluded = [trial for trial in done.trials if trial.problem]
    assert {trial.label("EP") for trial in done.included} == {8}
    assert all("needs" in trial.problem for trial in excluded) and len(excluded) == 5


def test_a_first_token_without_load_waits_for_computation_a_transfer_and_a_step(home: Path) -> None:
    (table,) = run(home, "10.1", "inference").tables
    rows = [row for row in table.rows if row[1:3] == [128, "P50"]]
    short = {str(row[0]): [float(str(value)) for value in row[3:]] for row in rows}
    for first, queueing, prefill, transfer, step, share in short.values():
        assert (queueing, prefill, step) == pytest.approx((0, 5 + 0.05 * 128, 15.1), rel=1e-3)
        assert first == pytest.approx(prefill + transfer + step, rel=1e-6)
        assert share == pytest.approx(100 * transfer / first)
    # 80 layers instead of 32, and one byte of a value instead of two.
    transfers = {name: values[3] for name, values in short.items()}
    assert transfers["CFG-B"] / transfers["CFG-A"] == pytest.approx(80 / 32, rel=0.05)
    assert transfers["CFG-B"] / transfers["CFG-D"] == pytest.approx(2, rel=0.05)


def test_transfers_that_overlap_are_a_burst() -> None:
    three = [Transfer(0, 10, 100), Transfer(5, 20, 300), Transfer(30, 40, 50)]
    joined = bursts.bursts(three)
    assert joined == [Transfer(0, 20, 400), Transfer(30, 40, 50)]
    assert bursts.gaps_us(joined) == [10]
    assert bursts.flows_max(three) == 2
    # 100 B in 10 us beside 300 B in 15 us; all of it in 30 us without the gap.
    assert bursts.peak_gbytes(three) == pytest.approx((10 + 20) / 1e3)
    assert bursts.mean_gbytes(joined) == pytest.approx(450 / 30 / 1e3)
    after = [Transfer(0, 10, 1), Transfer(10, 20, 1)]
    assert bursts.flows_max(after) == 1 and len(bursts.bursts(after)) == 1


def test_a_link_that_flaps_loses_packets_until_tables_follow(home: Path) -> None:
    (table,) = run(home, "13.3", "inference").tables
    lost, away = column(table, "packets lost"), column(table, "link is away")
    assert list(away) == [0, 100, 500] and lost[0] == 0 < lost[1]
    # Tables follow after 50 us, hence before the link is back: no more is lost.
    assert lost[1] == lost[2]
    assert 50 <= column(table, "loss duration")[1] < 100
    assert column(table, "retransmitted")[0] > 0 and "overtake" in table.note


def test_prompts_beyond_what_is_computed_wait_and_their_transfers_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chapter_6, "TOKENS", 64)  # Requests come the faster, so as many wait.
    (tmp_path / "small.toml").write_text(SMALL.replace("hosts_per_leaf = 2", "hosts_per_leaf = 4"))
    parallelism, queue = (run(tmp_path, section, "inference") for section in ("6.3", "6.4"))
    waits = column(queue.tables[0], "queueing")
    assert waits[0] < waits[1] < waits[2]
    # A prompt of a worker of eight has eight flows; a worker of four takes twice as long for it.
    assert column(parallelism.tables[0], "RDMA flows")[0] >= 8
    first = column(parallelism.tables[0], "TTFT P50")
    assert first[2] > first[0]


def test_services_share_links_and_larger_batches_serve_more_tokens(home: Path) -> None:
    (services,) = run(home, "10.3", "inference").tables
    assert column(services, "T_transfer, more")[0] == 0 < column(services, "T_transfer, more")[1]
    (batches,) = run(home, "11.2", "inference").tables
    rates = column(batches, "TPS_out")
    assert list(rates) == sorted(rates)


def test_the_command_writes_tables_page_and_observation_points(home: Path) -> None:
    out = home / "out"
    words = ("bmwg", home / "small.toml", "--tests", "8.4, 11.1", "-o", out, "--seeds", 2)
    facts = json.loads(command_line.run_here(*words, "--json").stdout)
    assert [test["section"] for test in facts["tests"]] == ["8.4", "11.1"]
    points = {row["observed"] for test in facts["tests"] for row in test["tables"][0]["columns"]}
    assert points == {"setting", "DUT boundary", "DUT-reported", "software"}
    with (out / "training-8.4-fairness.csv").open() as file:
        assert next(csv.reader(file)) == ["strategy", "JFI of uplinks (DUT-reported)"]
    page = (out / "report.html").read_text()
    for number in range(1, 11):
        assert f"<h2>{number} " in page
    text = command_line.run_here(*words).stdout
    assert "8.4 Fairness of every strategy: 6 of 6 trials" in text
    notes = [table["note"] for test in facts["tests"] for table in test["tables"]]
    assert all(note in " ".join(text.split()) for note in notes)


def test_uplinks_and_rates_of_several_planes_are_those_of_all(tmp_path: Path) -> None:
    file = tmp_path / "planes.toml"
    file.write_text(SMALL + "\n[host_ports]\nplanes = 2\n")
    fabric = load_fabric(file)
    assert (fabric.hosts, fabric.rate_gbps, fabric.nic_gbps) == (8, 200, 100)
    # Four leaves of two planes, each joined to two cores.
    assert len(fabric.uplinks) == len(fabric.uplink_names) == 16


SWITCH = "[topology.single_switch]\nhosts = 8\n\n[transport.roce]\n"


def test_a_test_whose_trials_all_fail_says_why_and_ends_with_1(tmp_path: Path) -> None:
    """DCQCN needs switches that mark, which this one does not."""
    file = tmp_path / "unmarked.toml"
    file.write_text(SWITCH)
    done = command_line.run_here("bmwg", file, "--tests", "7.3,8.3", "-o", tmp_path / "out", code=1)
    assert "7.3 Convergence of DCQCN: 0 of 6 trials" in done.stdout
    assert "Excluded, 3: mistake: override: transport.roce.dcqcn: no switch.ecn" in done.stdout
    assert "8.3 Packet spraying: 2 of 2 trials" in done.stdout


def test_a_switch_alone_has_no_uplink_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "switch.toml"
    file.write_text(SWITCH)
    done = command_line.run_here(
        "bmwg", file, "--tests", "8.1,11.2", "-o", tmp_path / "out", code=0
    )
    assert "Excluded, 1: needs links between switches" in done.stdout


def test_a_routing_that_needs_no_failure_is_the_same_with_a_late_one(home: Path) -> None:
    """Iterations beside a failure after the end are those before a failure in time."""
    (table,) = run(home, "11.2").tables
    lost = {
        (kind, delay): packets
        for kind, delay, packets in columns(table, "failure", "convergence", "packets")
    }
    assert lost["none", "–"] == 0
    assert lost["uplink of a leaf", "500us"] > lost["uplink of a leaf", "50us"] > 0


def test_convergence_is_the_first_period_in_which_all_flows_are_near_their_share() -> None:
    rates = [{1: 50.0}, {1: 40.0, 2: 10.0}, {1: 27.0, 2: 24.0}, {1: 25.0, 2: 25.0}]
    series = [kpis.FlowRates(100.0 * at, period) for at, period in enumerate(rates, 1)]
    assert kpis.convergence_us(series, 100.0, 2, 0.1) == 200
    assert kpis.convergence_us(series, 100.0, 2, 0.05) == 300
    assert kpis.convergence_us(series, 100.0, 3, 0.1) is None
    assert kpis.steady_us(series, 100.0, 2, 0.05) == 300
