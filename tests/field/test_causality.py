"""No packet arrives before light and bits allow, and none crosses more links than its path has."""

from pathlib import Path

import pytest

import etherweave

CASES = Path(__file__).parent / "cases" / "50-livelock-of-unequal-rates"
TWO_STEPS = CASES / "two_steps.toml"
STORED: dict[str, object] = {"switch.forwarding": "store_and_forward"}
RATES = [("40Gb/s", "100Gb/s"), ("100Gb/s", "400Gb/s"), ("25Gb/s", "100Gb/s")]


def row(*rates: int) -> dict[str, object]:
    """Two hosts with a switch between any two links of these rates [Gb/s]."""
    last = len(rates) - 2
    ends = [f"h0,s0,{rates[0]}Gb/s,3m", f"h1,s{last},{rates[-1]}Gb/s,3m"]
    between = [f"s{at},s{at + 1},{rate}Gb/s,3m" for at, rate in enumerate(rates[1:-1])]
    return {"topology.custom.links": "\n".join(ends + between)}


def arrival_ns(changes: dict[str, object]) -> float:
    """When the message of two steps has arrived, and its receiver ends; the run ends later."""
    arrival: float = max(etherweave.run(TWO_STEPS, changes).values("iterations", "duration_ns"))
    return arrival


@pytest.mark.parametrize("routing", ["up_down", "shortest_path"])
@pytest.mark.parametrize(
    "rates", [(10, 40, 100), (10, 25, 40, 100), (25, 100, 400), (10, 100), (10, 25, 40, 100, 400)]
)
def test_over_rising_rates_cut_through_is_as_storing(rates: tuple[int, ...], routing: str) -> None:
    """Every switch needs the whole packet before it may send the first byte."""
    changes = {**row(*rates), "routing": routing}
    assert arrival_ns(changes) == arrival_ns({**changes, **STORED})


@pytest.mark.parametrize("rates", [(100, 40, 10), (40, 40, 40), (10, 40, 10, 40)])
def test_where_rates_do_not_rise_cutting_through_is_faster(rates: tuple[int, ...]) -> None:
    """A switch that need not wait does not."""
    assert arrival_ns(row(*rates)) < arrival_ns({**row(*rates), **STORED})


@pytest.mark.parametrize("routing", ["spray", "ecmp", "flowlet", "adaptive_up", "shortest_path"])
@pytest.mark.parametrize("rates", RATES)
def test_packets_of_slow_hosts_cross_all_four_links(rates: tuple[str, str], routing: str) -> None:
    """Host, leaf, core, leaf, host; what the run leaves in flight, fewer."""
    tree = {"host_rate": rates[0], "uplink_rate": rates[1]}
    changes = {f"topology.fat_tree.{key}": value for key, value in tree.items()}
    summary = etherweave.run(CASES / "spray.toml", {**changes, "routing": routing}).summary
    assert summary["finished"] == "complete"
    delivered, created = summary["packets_delivered"], summary["packets_created"]
    assert 4 * delivered <= summary["packet_hops"] <= 4 * created


@pytest.mark.parametrize("case", ["spray.toml", "incast.toml"])
def test_unequal_rates_give_the_same_on_any_threads(case: str) -> None:
    """A mark of one switch once chose ports of another shard."""
    runs = [etherweave.run(CASES / case, threads=threads).summary for threads in (1, 2, 3)]
    assert len({str(summary["fingerprint"]) for summary in runs}) == 1
    assert len({summary["packet_hops"] for summary in runs}) == 1
