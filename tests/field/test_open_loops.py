"""Open loops on the fabrics that people bring: rings, grids, and links of unequal rates."""

from pathlib import Path

import polars as pl
import pytest

import etherweave
from support import command_line

CASES = Path(__file__).parent / "cases"
TORUS = CASES / "28-open-loop-on-a-torus"
LISTED = CASES / "rates-of-listed-links"


def refusal(file: Path) -> str:
    """Give the message of a curve that ends with a mistake."""
    done = command_line.invoke("curve", file, code=2)
    return " ".join(done.stderr.split())


def test_a_torus_carries_uniform_traffic_up_to_its_capacity_and_no_further() -> None:
    # Dally and Towles, section 3.2: k/4 links in each of two dimensions, over 4 channels: 8/k.
    capacity = 8 / 10
    points = pl.DataFrame(etherweave.curve(TORUS / "torus.toml"))
    of_order = points.filter(routing="dimension_order")
    # A host sends nothing to itself: 99 of 100 pairs take links.
    assert of_order["load_bound"].to_list() == pytest.approx([capacity * 99 / 100] * 3)
    for routing in ["dimension_order", "adaptive_minimal"]:
        lower, middle, full = points.filter(routing=routing).iter_rows(named=True)
        for point in (lower, middle):
            assert point["load_accepted"] == pytest.approx(point["load_offered"], rel=0.02)
        assert 0.7 < full["load_accepted"] <= capacity
    # Twice as many links: half of that.
    assert 0.3 < points.filter(routing="valiant")["load_accepted"][2] <= capacity / 2


def test_a_routing_that_decides_for_no_packet_names_those_that_do() -> None:
    message = refusal(TORUS / "up_down.toml")
    assert "dimension_order, adaptive_minimal, valiant, disjoint_trees on this fabric" in message


def test_an_error_names_the_only_routing_that_decides() -> None:
    assert "expected one of disjoint_trees on this fabric" in refusal(TORUS / "long_ring.toml")


@pytest.mark.parametrize("name", ["links.toml", "graph.toml"])
def test_a_slow_link_in_a_list_limits_what_a_fabric_accepts(name: str) -> None:
    points = pl.DataFrame(etherweave.curve(LISTED / name))
    bound = 2 / 9
    assert points["load_bound"].to_list() == pytest.approx([bound] * 2)
    assert set(points["load_bound_channel"]) <= {
        "s0 port 3 to s1",
        "s1 port 3 to s0",
        "left port 3 to right",
        "right port 3 to left",
    }
    below, above = points["load_accepted"].to_list()
    assert below == pytest.approx(0.2, rel=0.03)
    assert bound * 0.95 < above
    # 40 Gb/s cross in each direction, and hosts of a switch send each other the rest.
    assert above <= bound + (1 - 3 / 5)


def test_a_long_cable_delays_packets_by_its_length(tmp_path: Path) -> None:
    def latency(length: str) -> float:
        file = tmp_path / "listed.toml"
        file.write_text(
            f"topology.custom.links = '''\nh0,s0\nh1,s1\ns0,s1,100Gb/s,{length}\n'''\n"
            "[open_loop]\nroutings = ['shortest_path']\nloads = [0.01]\n"
            "warm_up = '10us'\nmeasured = '200us'\n"
        )
        return float(pl.DataFrame(etherweave.curve(file))["latency_ns_p50"][0])

    # 5 ns/m; percentiles are those of a histogram with steps of a few percent.
    assert latency("1000m") - latency("20m") == pytest.approx(980 * 5, rel=0.1)


BOTH: dict[str, object] = {
    "topology": {"single_switch": {"hosts": 2}},
    "switch": {"model": "input_queued"},
    "flow_control": {"credits": {}},
    "job": [{"name": "a", "workload": {"osu_latency": {"iterations": 1, "warm_up": 0}}}],
    "open_loop": {"routings": ["ecmp"], "loads": [0.01], "warm_up": "10us", "measured": "200us"},
}
"""A file of `run` and `curve`."""


def test_one_key_delays_packets_of_runs_and_of_curves() -> None:
    def latencies(latency: str) -> tuple[float, float]:
        settings = {"switch.latency": latency}
        end = etherweave.run(BOTH, settings).summary["end_ns"]
        return end, float(pl.DataFrame(etherweave.curve(BOTH, settings))["latency_ns_mean"][0])

    (run, curve), (late_run, late_curve) = latencies("200ns"), latencies("700ns")
    # A packet crosses one switch, a round trip of two messages at least two.
    assert late_curve - curve == pytest.approx(500, abs=1)
    assert late_run - run >= 2 * 500


def test_a_key_of_switches_that_curves_ignore_is_refused_beside_a_job() -> None:
    with pytest.raises(etherweave.ScenarioError, match=r"switch\.header: .14B.; expected none"):
        etherweave.curve(BOTH, {"switch.header": "14B"})


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("listed = {}", "open_loop.patterns.0.listed.pairs"),
        ("listed = { pairs = [[3, 3]] }", "open_loop.patterns.0.listed.pairs"),
        (
            "alternating = { patterns = [{ uniform = {} }, { listed = {} }] }",
            "open_loop.patterns.0.alternating.patterns.1.listed.pairs",
        ),
        ("listed = { pairs = [[0, 1], [0, 2]] }", "source 0 twice"),
    ],
)
def test_a_silent_pattern_is_refused_with_its_key(pattern: str, key: str, tmp_path: Path) -> None:
    file = tmp_path / "silent.toml"
    file.write_text(f"[topology.dragonfly]\n[open_loop]\npatterns = [{{ {pattern} }}]\n")
    assert key in refusal(file)
