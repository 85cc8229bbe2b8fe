"""Kernels, proxies and solvers: numbers read off captured texts, or off lines written by hand."""

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.document import parse
from etherweave.bench.plans import BenchmarkPlanError, BenchmarkRequest, FabricEstimate
from support.captured_texts import captured, failure, report, value

FABRIC = FabricEstimate(rate=12.5e9, latency=2e-6)

OPENFOAM = captured("handmade/openfoam.log")
RANKS = captured("handmade/ranks.txt")


def test_npb_that_did_not_verify_gives_no_number() -> None:
    text = captured("npb/cg.A.4.txt").replace(
        "=               SUCCESSFUL", "=             UNSUCCESSFUL"
    )
    assert failure(text).reason.startswith("no measurement")


def test_npb_wants_ranks_that_fit_the_kernel() -> None:
    npb = ADAPTERS["npb"]
    assert npb.plan(BenchmarkRequest("cg.C.x", nodes=4), FABRIC).placement.ranks == 4
    with pytest.raises(BenchmarkPlanError, match="power of two"):
        npb.plan(BenchmarkRequest("cg.C.x", nodes=3), FABRIC)
    with pytest.raises(BenchmarkPlanError, match="square"):
        npb.plan(BenchmarkRequest("bt.C.x", nodes=8), FABRIC)


def test_ember_sends_the_faces_and_edges_of_the_paper() -> None:
    plan = ADAPTERS["ember"].plan(BenchmarkRequest("halo3d-26", nodes=48, iterations=1), FABRIC)
    # Six faces of 640,000 B and twelve edges of 6,400 B.
    assert plan.forecast.bytes == 3_916_800
    words = " ".join(plan.command.arguments)
    assert "-pex 4 -pey 4 -pez 3" in words


def test_times_of_each_rank_become_order_statistics() -> None:
    (one,) = parse(RANKS).reports
    assert value(one, "iteration_time", statistic="max") == 0.004
    assert value(one, "iteration_time", statistic="min") == 0.001
    assert value(one, "iteration_time") == pytest.approx(0.0025)
    assert dict(one.facts)["ranks"] == "2"


def test_a_part_of_the_ranks_gives_no_statistics() -> None:
    lines = RANKS.splitlines(keepends=True)
    assert "expected" in failure("".join(lines[:-1])).reason
    assert "4 expected" in failure("".join(lines[1:])).reason


def test_chatterbug_plans_the_blocking_exchanges_of_the_paper() -> None:
    request = BenchmarkRequest("subcom3d-a2a", nodes=48, iterations=1, size_max=10_000)
    plan = ADAPTERS["chatterbug"].plan(request, FABRIC)
    assert plan.forecast.bytes == 80_000  # 3 + 3 + 2 messages of 10,000 B
    assert plan.command.arguments[1:4] == ("4", "4", "3")


def test_mpigraph_measures_every_pair_in_powers_of_two() -> None:
    one = report("mpigraph/mpigraph-4.txt")
    ends = {"from": "n2:1", "to": "n1:0"}
    sent = value(one, "bandwidth", size=4096, measured_by="send", **ends)
    assert sent == 1531.154 * 2**20
    received = value(one, "bandwidth", size=4096, measured_by="recv", **ends)
    assert received == 249.163 * 2**20
    assert len(one.measurements) == 2 * 4 * 3


def test_mpigraph_average_is_harmonic_and_must_agree() -> None:
    text = captured("mpigraph/mpigraph-4.txt").replace("1309.284", "1399.284")
    assert "Send avg contradict" in failure(text).reason


def test_openfoam_prints_the_time_of_a_step_without_the_start() -> None:
    (one,) = parse(OPENFOAM).reports
    assert one.program == "simpleFoam"
    assert value(one, "elapsed", clock="wall") == 6
    assert value(one, "elapsed", clock="processor") == 5.70
    assert value(one, "iteration_time") == pytest.approx((5.70 - 2.50) / 2)


def test_openfoam_that_did_not_end_gives_no_number() -> None:
    assert "come to its end" in failure(OPENFOAM[: OPENFOAM.index("End")]).reason
    assert "lines are missing" in failure(OPENFOAM.replace("Time = 2\n", "\n")).reason
