"""Kernels, proxies and solvers: numbers read off captured texts, or off lines written by hand."""

import json

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.plans import BenchmarkPlanError, BenchmarkRequest, FabricEstimate
from support import command_line
from support.captured_texts import captured, failure

FABRIC = FabricEstimate(rate=12.5e9, latency=2e-6)

OPENFOAM = captured("handmade/openfoam.log")
RANKS = captured("handmade/ranks.txt")


def test_npb_wants_ranks_that_fit_the_kernel() -> None:
    npb = ADAPTERS["npb"]
    placement = npb.plan(BenchmarkRequest("cg.C.x", nodes=4), FABRIC).placement
    assert (placement.nodes, placement.ranks_per_node) == (4, 1)
    assert npb.plan(BenchmarkRequest("dt.A.x", nodes=21), FABRIC).command.arguments == (
        "dt.A.x",
        "BH",
    )
    with pytest.raises(BenchmarkPlanError, match="power of two"):
        npb.plan(BenchmarkRequest("cg.C.x", nodes=3), FABRIC)
    with pytest.raises(BenchmarkPlanError, match="square"):
        npb.plan(BenchmarkRequest("bt.C.x", nodes=8), FABRIC)


@pytest.mark.parametrize(
    ("words", "hosts", "arrays"),
    [("dt.A.x", 21, 1), ("dt.A.x -- WH", 21, 4), ("dt.A.x --ranks 4 -- SH", 20, 8)],
)
def test_a_graph_of_dt_has_a_rank_for_each_node(words: str, hosts: int, arrays: int) -> None:
    """Sources of class A send 110,592 samples of four doubles in the mean; SH has five layers."""
    options, _, own = words.partition(" -- ")
    done = command_line.invoke("bench", "plan", "--json", *options.split(), "--", *own.split())
    plan = json.loads(done.stdout)
    assert plan["placement"]["nodes"] == hosts
    assert plan["forecast"]["bytes"] == arrays * 110_592 * 4 * 8
    assert plan["command"]["arguments"][1] == (own or "BH")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("dt.C.x --nodes 2", "dt.C.x BH needs at least 85 ranks; 2 asked for"),
        ("dt.C.x --nodes 84 -- WH", "dt.C.x WH needs at least 85 ranks; 84 asked for"),
        ("dt.E.x", "dt.E.x: DT has the classes S, W, A, B, C, D"),
        ("dt.S.x -- XH", "unknown argument XH of dt.S.x; nearest: "),
        ("dt.S.x -- BH SH", "dt.S.x has one graph; expected one of BH, WH, SH"),
    ],
)
def test_a_graph_of_dt_that_cannot_be_launched_is_refused(words: str, message: str) -> None:
    done = command_line.invoke("bench", "plan", *words.split(), code=2)
    assert message in done.stderr


def test_the_description_of_npb_lists_all_programs_and_graphs() -> None:
    done = command_line.invoke("bench", "info", "npb", code=0)
    assert "arguments of dt.C.x after --: BH, WH, SH" in done.stdout
    assert all(f"\n  {name}.C.x " in done.stdout for name in ("ep", "dt", "bt-mz"))


def test_ember_sends_the_faces_and_edges_of_the_paper() -> None:
    plan = ADAPTERS["ember"].plan(BenchmarkRequest("halo3d-26", nodes=48, iterations=1), FABRIC)
    # Six faces of 640,000 B and twelve edges of 6,400 B.
    assert plan.forecast.bytes == 3_916_800
    assert "-pex 4 -pey 4 -pez 3" in " ".join(plan.command.arguments)


def test_a_part_of_the_ranks_gives_no_statistics() -> None:
    lines = RANKS.splitlines(keepends=True)
    assert "expected" in failure("".join(lines[:-1])).reason
    assert "4 expected" in failure("".join(lines[1:])).reason


def test_chatterbug_plans_the_blocking_exchanges_of_the_paper() -> None:
    request = BenchmarkRequest("subcom3d-a2a", nodes=48, iterations=1, size_max=10_000)
    plan = ADAPTERS["chatterbug"].plan(request, FABRIC)
    assert plan.forecast.bytes == 80_000  # 3 + 3 + 2 messages of 10,000 B
    assert plan.command.arguments[1:4] == ("4", "4", "3")


def test_openfoam_that_did_not_end_gives_no_number() -> None:
    assert "come to its end" in failure(OPENFOAM[: OPENFOAM.index("End")]).reason
    assert "lines are missing" in failure(OPENFOAM.replace("Time = 2\n", "\n")).reason
