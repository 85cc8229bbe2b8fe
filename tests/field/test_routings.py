"""Routings that decide for every packet, by their name alone or with parameters."""

import tomllib
from math import sqrt
from pathlib import Path

import pytest

import etherweave
from etherweave.sweeps import executor, load_sweep, sweep
from support import command_line

DRAGONFLY = """
[topology.dragonfly]
[transport.roce]
reliability = "selective_repeat"
loss_detection = "timeout"
[[job]]
name = "pairs"
workload.permutation_streams = { ranks = 72, message = "200kB", partner = { shift = 8 } }
"""
"""Nine groups of eight hosts, of which each sends to the next: eight links' load on one."""
TREE = """
[topology.k_ary_fat_tree]
k = 8
[transport.roce]
reliability = "selective_repeat"
loss_detection = "timeout"
[[job]]
name = "pairs"
workload.permutation_streams = { ranks = 128, message = "200kB" }
"""
"""A permutation of 128 hosts that full bisection carries."""


def run(text: str, folder: Path, **changes: object) -> etherweave.Result:
    """Run a scenario with some keys changed."""
    file = folder / "scenario.toml"
    file.write_text(text)
    return etherweave.run(file, {key.replace("__", "."): value for key, value in changes.items()})


def of_routing(result: etherweave.Result) -> list[str]:
    """Give the warnings of a run that its routing causes."""
    warnings: list[str] = result.summary["warnings"]
    return [warning for warning in warnings if warning.startswith("routing: ")]


@pytest.mark.parametrize(
    ("routing", "priorities"),
    [
        ("minimal", [0, 1]),
        ("conditional", [0, 1]),
        ("ugal_local", [0, 1, 2]),
        ("piggyback", [0, 1, 2]),
        ("progressive_adaptive", [0, 1, 2, 3]),
    ],
)
def test_a_routing_takes_the_priorities_that_it_needs_and_show_prints_them(
    routing: str, priorities: list[int], tmp_path: Path
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f'routing = "{routing}"\n{DRAGONFLY}')
    done = command_line.invoke("show", file, code=0)
    assert tomllib.loads(done.stdout)["flow_control"]["pfc"]["priorities"] == priorities
    short = 'job.0.workload.permutation_streams.message="1kB"'
    done = command_line.invoke("run", file, "--set", short, code=0)


PAUSE_ALONE: dict[str, object] = {"open_loop__tables__conditional__trigger": "pause"}
"""Rules that pause frames alone deactivate."""


def test_rules_by_absent_pauses_are_reported_and_small_buffers_let_them_act(tmp_path: Path) -> None:
    tables = {"routing": "conditional_tables", **PAUSE_ALONE}
    large = run(DRAGONFLY, tmp_path, **tables)
    small = run(DRAGONFLY, tmp_path, **tables, switch__buffer="1MB")
    minimal = run(DRAGONFLY, tmp_path, routing="minimal")
    (warning,) = of_routing(large)
    assert warning.startswith(
        "routing: conditional_tables leaves minimal paths only where ports are paused"
    )
    assert "switch.buffer" in warning and 'trigger = "full"' in warning
    assert of_routing(small) == [] and of_routing(minimal) == []
    ends = [result.summary["end_ns"] for result in (small, large, minimal)]
    assert ends[0] < 0.9 * ends[1]
    assert ends[1] == pytest.approx(ends[2], rel=0.02)


def test_conditional_rules_act_on_their_own_full_queue_even_without_pauses(tmp_path: Path) -> None:
    for routing in ("conditional", "conditional_tables"):
        large = run(DRAGONFLY, tmp_path, routing=routing)
        small = run(DRAGONFLY, tmp_path, routing=routing, switch__buffer="1MB")
        minimal = run(DRAGONFLY, tmp_path, routing="minimal")
        alone = {"routing": "conditional_tables", "switch__buffer": "1MB", **PAUSE_ALONE}
        paused = run(DRAGONFLY, tmp_path, **alone)
        assert of_routing(large) == of_routing(small) == []
        # Eight hosts' load on one link: two global links a switch carry four times as much.
        assert large.summary["end_ns"] < 0.75 * minimal.summary["end_ns"]
        assert small.summary["end_ns"] < paused.summary["end_ns"]


def test_a_depth_of_output_queues_that_nothing_asks_for_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f'routing = "conditional"\n{DRAGONFLY}')
    depth = ("--set", "switch.output_queue=20kB")
    assert command_line.invoke("show", file, *depth).exit_code == 0
    for changes in (
        ("--set", "routing=minimal"),
        (
            "--set",
            "routing=conditional_tables",
            "--set",
            "open_loop.tables.conditional.trigger=pause",
        ),
    ):
        done = command_line.invoke("show", file, *depth, *changes, code=2)
        assert "switch.output_queue: 20kB; expected 40KiB, the default" in done.stderr


def test_piggyback_says_where_no_link_can_be_marked_as_saturated(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    words = "none of 2 can: it decides as ugal_local does"
    file.write_text(f'routing = "piggyback"\n{DRAGONFLY}')
    assert words in " ".join(command_line.invoke("show", file).stderr.split())
    loop = (
        "[open_loop]\nroutings = ['piggyback']\nloads = [0.1]\nwarm_up = '1us'\nmeasured = '5us'\n"
    )
    file.write_text(f"[topology.dragonfly]\n{loop}")
    done = command_line.invoke("curve", file, code=0)
    assert words in " ".join(done.stderr.split())
    file.write_text(f"[topology.dragonfly]\np = 1\na = 2\nh = 3\n{loop}")
    done = command_line.invoke("curve", file, code=0)
    assert "saturated" not in done.stderr and "WARNING" not in done.stderr


def test_a_torus_runs_by_dimension_order_with_a_dateline(tmp_path: Path) -> None:
    text = """
    routing = "dimension_order"
    [topology.torus]
    dimensions = [{ size = 5 }, { size = 4 }]
    [[job]]
    name = "all"
    workload.permutation_streams = { ranks = 20, message = "50kB", partner = { shift = 7 } }
    """
    result = run(text, tmp_path)
    assert result.summary["finished"] == "complete"
    assert "priorities = [\n    0,\n    1,\n]" in result.resolved


def test_a_routing_that_sees_the_path_down_is_no_slower_than_spraying(tmp_path: Path) -> None:
    ends = {
        routing: run(TREE, tmp_path, routing=routing).summary["end_ns"]
        for routing in ["spray", "adaptive_up", "global_load_balancing"]
    }
    assert ends["global_load_balancing"] <= ends["spray"], ends
    assert ends["global_load_balancing"] < ends["adaptive_up"], ends


@pytest.mark.parametrize(("routing", "paths"), [("spray", 8), ("ecmp", 1)])
def test_packets_over_efa_take_every_path_alike(tmp_path: Path, routing: str, paths: int) -> None:
    """Counts by path are binomial: four of their deviations bound them. The profile sprays."""
    text = """
    interconnect.profile = "efa-100"
    topology.fat_tree = { leaves = 2, cores = 8, hosts_per_leaf = 2, links_per_core = 1 }
    [[job]]
    name = "pair"
    placement.hosts = [0, 2]
    workload.osu_bw = { bytes = "4MiB", iterations = 3, window = 4 }
    """
    result = run(text, tmp_path, **({} if routing == "spray" else {"routing": routing}))
    ports = zip(
        *(result.values("ports", name) for name in ("node", "peer", "tx_packets")), strict=True
    )
    counts = [sent for node, peer, sent in ports if node == "leaf0" and "core" in peer and sent]
    packets = 12 * 1_024  # Packets of 4 KiB.
    assert sum(counts) >= packets and len(counts) == paths
    bound = 4 * sqrt(sum(counts) / paths * (1 - 1 / paths))
    assert all(abs(count - sum(counts) / paths) <= bound for count in counts), counts


@pytest.mark.usefixtures("workers_of_this_process")
def test_sweeps_vary_a_routing_s_threshold_and_packets_stay_minimal_below(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    axis = '[[sweep.axis]]\nkey = "routing.ugal_local.threshold"\nvalues = [0, 60000]\n'
    file.write_text(f'routing = "ugal_local"\n{DRAGONFLY}[sweep]\n{axis}')
    frame = sweep(load_sweep(file), tmp_path / "out", executor("local", 1)).to_polars()
    low, high = frame.sort("routing.ugal_local.threshold")["end_ns"]
    assert high == run(DRAGONFLY, tmp_path, routing="minimal").summary["end_ns"]
    assert low < high / 2, "of eight links' load on one, UGAL sends most by other groups"


CURVE = """
[topology.dragonfly]
[open_loop]
routings = ["ugal_local", { ugal_local = { threshold = 60000 } }, "minimal"]
patterns = ["adversarial"]
loads = [0.3]
longest = "20us"
"""


def test_a_curve_distinguishes_parameters_of_one_routing(tmp_path: Path) -> None:
    file = tmp_path / "curve.toml"
    file.write_text(CURVE)
    points = etherweave.curve(file)
    low, high, minimal = points["load_accepted"].to_pylist()
    assert points["routing"].to_pylist() == [
        "ugal_local",
        'ugal_local {"threshold":60000}',
        "minimal",
    ]
    assert high == minimal < low


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ugal_local.threshold = 70000", "routing.ugal_local.threshold: 70000; expected a whole"),
        (
            "ugal_local.treshold = 1",
            "routing.ugal_local.treshold: unknown key; expected `threshold`",
        ),
        ("minimal.threshold = 1", "routing.minimal.threshold: unknown key; expected none"),
        ("ugall = {}", "unknown name `ugall`; expected one of `up_down`"),
        ('flowlet.gap = "1500ps"', 'routing.flowlet.gap: 1500ps; expected "1ns" to "4s" in whole'),
    ],
)
def test_a_mistake_in_parameters_names_the_key(line: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(etherweave.ScenarioError) as error:
        run(f"routing.{line}\n{DRAGONFLY}", tmp_path)
    assert words in str(error.value)
