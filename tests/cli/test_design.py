"""Fabrics on paper as their user meets them."""

import json
from functools import partial
from pathlib import Path

import pytest

import etherweave
from etherweave.api.fabrics import GOALS
from etherweave.cli.design import Rank
from support import command_line

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DRAGONFLY: dict[str, object] = {"topology": {"dragonfly": {}}}
"""Figure 3c of Benito et al. 2015: 9 groups of 4 switches with 2 hosts."""


run = partial(command_line.run_here, "design")


@pytest.fixture
def dragonfly(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text("[topology.dragonfly]\n")
    return file


@pytest.fixture
def butterfly(tmp_path: Path) -> Path:
    file = tmp_path / "square.toml"
    file.write_text("[topology.flattened_butterfly]\nhosts_per_switch = 2\nsizes = [6, 6]\n")
    return file


def test_a_design_has_counts_proofs_tables_power_and_cost() -> None:
    figures = etherweave.design(DRAGONFLY)
    assert (figures["fabric"]["hosts"], figures["fabric"]["switches"]) == (72, 36)
    assert {proof["routing"]: proof["priorities"] for proof in figures["routings"]} == {
        "minimal": 2,
        "valiant_group": 3,
        "valiant_switch": 4,
        "conditional": 2,
    }
    assert all(proof["is_free"] for proof in figures["routings"])
    # One entry per host; 36 switches and the own 2 hosts; equation 1: 8 + 3 + 2.
    entries = {plan["plan"]: plan["largest"]["entries"] for plan in figures["tables"]["plans"]}
    assert entries == {"flat": 72, "per_switch": 37, "per_group": 13}
    for watts in [organisation["fabric"] for organisation in figures["power"]["organisations"]]:
        parts = [value for name, value in watts.items() if name != "total_w"]
        assert sum(parts) == pytest.approx(watts["total_w"])
    items = figures["cost"]["items"]
    assert sum(item["all"] for item in items) == pytest.approx(figures["cost"]["total"])
    assert not figures["missing"]


def test_switches_that_learn_keep_hosts_at_the_edge_and_switches_in_the_middle() -> None:
    figures = etherweave.design(DRAGONFLY, {"design.routings": [], "design.tables.peers": 5})
    # 72 hosts on 36 switches, two each with five peers: 2 + 10; 35 other switches.
    kept = {
        count["bridging"]: (count["access"]["entries"], count["core"]["entries"])
        for count in figures["bridging"]
    }
    encapsulated = ("trill", "fabricpath", "spb", "vxlan")
    assert kept == {"learning": (12, 72)} | dict.fromkeys(encapsulated, (12, 35))
    assert [count["header_bytes"] for count in figures["bridging"]] == [0, 20, 16, 22, 50]
    assert all(count["flooded_share"] == 0 for count in figures["bridging"])
    # The profile has no figures of CAMs.
    assert not any(row["is_encapsulated"] for row in figures["power"]["organisations"])


def test_entries_that_are_learnt_draw_power_where_a_profile_has_cams() -> None:
    changes = {"design.routings": [], "design.tables.peers": 5, "design.power": "exascale-2015"}
    rates = dict.fromkeys(("host_rate", "local_rate", "global_rate"), "40Gb/s")
    figures = etherweave.design({"topology": {"dragonfly": rates}}, changes)
    first, flat, *_ = figures["power"]["organisations"]
    # 12 hosts and 35 switches against 72 hosts.
    assert (first["is_encapsulated"], first["entries"]) == (True, 12 + 35)
    assert (flat["is_encapsulated"], flat["entries"]) == (False, 72)
    drawn = first["fabric"]["tables_w"] / flat["fabric"]["tables_w"]
    # Searches of a port draw some 80 uW, of which whole ones are counted.
    assert drawn == pytest.approx(47 / 72, rel=1e-2)


def test_a_comparison_has_the_entries_of_all_organisations(dragonfly: Path) -> None:
    printed = run("--compare", dragonfly, "--set", "design.tables.peers=5").stdout
    row = printed[printed.index("per switch") :].splitlines()[1]
    compacted = etherweave.design(DRAGONFLY)["tables"]["compacted"]["largest"]["entries"]
    assert row.split() == ["small", "72", "37", "13", f"{compacted}", "72", "12", "35"]


def test_the_busiest_channel_of_the_testbed_takes_what_three_hosts_send() -> None:
    busiest = etherweave.design({"topology": {"fat_tree": {}}})["busiest"]
    for by in ("tables", "algorithm"):
        # 12 hosts of a leaf have 4 uplinks; of the 95 others, 84 are on other leaves.
        assert busiest[by]["uniform"]["load"] == pytest.approx(12 / 4 * 84 / 95)
        assert busiest[by]["worst"]["accepted"] == pytest.approx(4 / 12)
    assert busiest["tables"]["worst"]["switches_further"] == 1
    assert busiest["tables"]["uniform"]["channel"] == "leaf0 port 12 to core0"


def test_a_fabric_too_large_to_be_followed_says_so() -> None:
    tree = {"topology": {"k_ary_fat_tree": {"k": 48}}}
    figures = etherweave.design(tree, {"design.routings": []})
    assert figures["busiest"] is None
    assert any(reason.startswith("busiest channel: ") for reason in figures["missing"])


def test_the_page_has_every_section(dragonfly: Path) -> None:
    done = run(dragonfly, code=0)
    assert done.stdout.startswith("small: dragonfly, 72 hosts, 36 switches, 162 cables\n")
    for title in (
        "Fabric",
        "Deadlock",
        "Tables, ",
        "Busiest channel",
        "Power at the worst case",
        "Cost, price book",
    ):
        assert f"\n{title}" in done.stdout
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())


def test_json_is_the_same_design(dragonfly: Path) -> None:
    assert json.loads(run(dragonfly, "--json").stdout) == etherweave.design(dragonfly)


def test_a_setting_changes_the_fabric(dragonfly: Path) -> None:
    done = run(dragonfly, "--set", "topology.dragonfly.groups=5", "--json")
    assert json.loads(done.stdout)["fabric"]["hosts"] == 40


def test_a_comparison_names_who_is_beaten(dragonfly: Path, butterfly: Path) -> None:
    comparison = etherweave.compare([dragonfly, butterfly])
    assert [metrics["name"] for metrics in comparison["metrics"]] == ["small", "square"]
    assert any(metrics["is_efficient"] for metrics in comparison["metrics"])
    done = run("--compare", dragonfly, butterfly, code=0)
    assert "small" in done.stdout
    assert "square" in done.stdout


def test_found_fabrics_have_the_hosts_and_can_be_designed(tmp_path: Path) -> None:
    output = tmp_path / "proposals"
    done = run("--find", "hosts=100", "radix=8", "-o", output, "--json", code=0)
    document = json.loads(done.stdout)
    assert all(100 <= figures["fabric"]["hosts"] <= 200 for figures in document["designs"])
    assert all(figures["fabric"]["ports_used_max"] <= 8 for figures in document["designs"])
    efficient = [metrics["is_efficient"] for metrics in document["metrics"]]
    assert efficient == sorted(efficient, reverse=True)
    # One switch of 8 ports has no 100 hosts.
    assert any(reason.startswith("single_switch: ") for reason in document["rejected"])
    files = sorted(output.iterdir())
    assert len(files) == len(document["scenarios"])
    assert etherweave.design(files[0], {"design.routings": []})["fabric"]["hosts"] >= 100


def test_a_range_of_hosts_leaves_larger_members_out() -> None:
    document = json.loads(run("--find", "hosts=100..120", "radix=8", "--json").stdout)
    assert all(100 <= figures["fabric"]["hosts"] <= 120 for figures in document["designs"])
    assert any(reason.endswith("expected 100 to 120") for reason in document["rejected"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--find", "hosts=10"],
            "hosts=10: radix is missing; expected hosts=NUMBER or hosts=MIN..",
        ),
        (
            ["--find", "hosts=9", "radix=8", "rat=1Gb/s"],
            "rat=1Gb/s: rat is unknown; expected hosts=",
        ),
        (["--find", "hosts=0", "radix=8"], "hosts=0: expected 1 to 4,294,967,295"),
        (["--find", "hosts=9", "radix=99999"], "radix=99999: expected 1 to 65,536"),
        (["--find", "hosts=9..8", "radix=8"], "hosts=8: expected 9 to 4,294,967,295"),
        (["--find", "hosts=" + "9" * 5000, "radix=8"], "9: expected 1 to 4,294,967,295"),
        (["--find", "hosts=9", "radix=8", "rate=9"], "9"),
        (["nowhere.toml"], "nowhere.toml: No such file"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str) -> None:
    done = run(*arguments, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_choice_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    done = run("--find", "hosts=9", "radix=8", "--rank", "beauty", code=2)
    assert "'beauty' is not one of 'watts', 'price'" in done.stderr
    assert run("--find", "hosts=9", "radix=8", "--rank", "PRICE").returncode == 0


def test_rankings_of_the_command_line_are_those_of_the_library() -> None:
    assert [rank.value for rank in Rank] == list(GOALS)


def test_a_wrong_key_is_reported_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[topology.dragonfly]\n\n[design]\npower = "hamster"\n')
    done = run(file, code=2)
    assert done.stderr.startswith(
        f'{file}:4:1: design.power: no power profile "hamster"; expected one of '
    )


def test_progress_can_stop_a_design() -> None:
    steps: list[str] = []

    def report(name: str, step: str, share: float | None) -> bool:
        steps.append(step)
        return len(steps) < 2

    with pytest.raises(etherweave.api.fabrics.StoppedError):
        etherweave.design(DRAGONFLY, progress=report)
    assert steps == ["measuring", "planning tables"]


def test_a_measured_load_is_a_row_of_the_power(tmp_path: Path) -> None:
    scenario: dict[str, object] = {
        "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2}},
        "job": [{"name": "all", "workload": {"all_to_all": {"ranks": 4}}}],
    }
    result = etherweave.run(scenario)
    power = etherweave.design(scenario, load=result)["power"]
    rows = {at["saving"]: at for at in power["activity"]}
    assert all(at["is_measured"] and 0 < at["load"] < 1 for at in rows.values())
    worst = power["organisations"][-1]["fabric"]["total_w"]
    # This profile has buffers in the figure of the switch: load alone saves nothing, sleep does.
    assert rows["always_on"]["fabric"]["total_w"] == pytest.approx(worst)
    assert rows["low_power_idle"]["fabric"]["total_w"] < worst
    assert "low_power_idle.share" in {figure["key"] for figure in power["figures"]}
    other = {"topology": {"single_switch": {"hosts": 3}}}
    with pytest.raises(etherweave.ScenarioError, match="expected the result of this fabric"):
        etherweave.design(other, load=result)


def test_ports_that_slept_in_a_run_draw_by_how_often_they_woke() -> None:
    scenario: dict[str, object] = {
        "topology": {"single_switch": {"hosts": 2}},
        "job": [{"name": "all", "workload": {"all_to_all": {"ranks": 2, "bytes": "1MiB"}}}],
    }
    idle = {"sleep": "2.88us", "wake": "4.48us"}
    keys = {"switch.low_power_idle": idle, "nic.low_power_idle": idle}
    awake, asleep = etherweave.run(scenario), etherweave.run(scenario, keys)
    assert asleep.summary["end_ns"] > awake.summary["end_ns"]

    def draws(result: etherweave.Result) -> float:
        power = etherweave.design(scenario, load=result)["power"]
        rows = {at["saving"]: at["fabric"]["total_w"] for at in power["activity"]}
        return float(rows["low_power_idle"])

    # A burst wakes a port once, where each of its packets is taken to when nothing is known.
    assert sum(asleep.values("sleeps", "wakes")) < sum(asleep.values("ports", "tx_packets")) / 4
    assert draws(asleep) < draws(awake)


def test_ports_whose_rate_followed_their_load_draw_by_the_rates_that_they_had() -> None:
    scenario: dict[str, object] = {
        "topology": {"single_switch": {"hosts": 3, "rate": "40Gb/s"}},
        "switch": {"forwarding": "store_and_forward"},
        "design": {"power": "exascale-2015"},
        "job": [{"name": "pair", "workload": {"all_to_all": {"ranks": 2, "bytes": "1MiB"}}}],
    }
    rates = {"rates": [0.25, 0.5]}
    keys = {"switch.rate_adaptation": rates, "nic.rate_adaptation": rates}
    fixed, adapted = etherweave.run(scenario), etherweave.run(scenario, keys)
    # Ports that are always busy keep their rate; those of the third host do not.
    assert adapted.summary["end_ns"] == fixed.summary["end_ns"]

    def saved(result: etherweave.Result) -> float:
        power = etherweave.design(scenario, load=result)["power"]
        rows = {at["saving"]: at["fabric"]["total_w"] for at in power["activity"]}
        return float(rows["always_on"] - rows["rate_adaptation"])

    # Electrical ports of 0.48 W: half of one for each direction, by the share of its rate.
    columns = (adapted.values("rates", name) for name in ("rate_share", "time_ns"))
    lower_ns = sum((1 - share) * time_ns for share, time_ns in zip(*columns, strict=True))
    assert saved(adapted) == pytest.approx(
        0.48 / 2 * lower_ns / adapted.summary["end_ns"], rel=1e-3
    )
    assert saved(adapted) != pytest.approx(saved(fixed), rel=1e-3)


def test_a_fabric_that_may_deadlock_shows_the_ring(dragonfly: Path) -> None:
    done = run(dragonfly, "--set", "design.priorities=2", code=0)
    lines = done.stdout.splitlines()
    # Valiant to a group needs three: local, global, local, global, local.
    row = next(line for line in lines if line.startswith("  valiant_group  "))
    assert "2 of 3" in row
    assert "may deadlock" in row
    cycle = lines.index("  valiant_group may deadlock, each waits for the next:")
    assert "group" in lines[cycle + 1]
    assert ", priority " in lines[cycle + 1]


def test_routings_that_decide_by_packet_are_proved_by_order_of_channels(dragonfly: Path) -> None:
    names = ("ugal_local", "conditional", "conditional_tables")
    done = run(
        dragonfly, *(word for name in names for word in ("--routing", name)), "--json", code=0
    )
    ugal, conditional, tables = json.loads(done.stdout)["routings"]
    # Local 0, global 0, local 1, global 1, local 2.
    assert (ugal["priorities"], ugal["hops_max"], ugal["is_exact"]) == (3, 5, False)
    assert (ugal["is_free"], ugal["verdict"]) == (True, "free, because channels ascend")
    assert (conditional["routing"], conditional["priorities"]) == ("conditional", 2)
    assert conditional["is_free"] and conditional["is_exact"]
    assert conditional["per_packet"].get("problem") is None
    assert (tables["is_free"], tables["per_packet"]["channels_per_port"]) == (True, 2)


def test_a_routing_by_flow_may_deadlock_where_decisions_by_packet_cannot(tmp_path: Path) -> None:
    file = tmp_path / "ring.toml"
    file.write_text("topology.torus.dimensions = [{ size = 5 }]\n")
    done = run(file, "--routing", "shortest_path", "--routing", "dimension_adaptive", code=0)
    expected = "  shortest_path decided for every packet, with 2 priorities: free, because channels"
    assert expected in done.stdout
    assert "DAL is for flattened butterflies and HyperX; this is adaptive_minimal" in done.stdout
    done = run(file, "--routing", "ugal_local", code=2)
    assert "design.routings: ugal_local: for a complete dragonfly" in done.stderr


@pytest.mark.parametrize(
    ("name", "hosts", "switches"),
    [
        # Benito et al. 2015, section VI-A.
        ("design/clos_300k", 303_264, 29_484),
        ("design/butterfly_300k", 303_750, 20_250),
        ("design/dragonfly_300k", 300_024, 16_668),
        # p 4, a 8, h 4: 33 groups of 8 switches with 4 hosts.
        ("open_loop/dragonfly_1056", 1_056, 264),
    ],
)
def test_shipped_fabrics_have_the_size_of_the_source(name: str, hosts: int, switches: int) -> None:
    tables = etherweave.fabric(SCENARIOS / f"{name}.toml").tables
    assert (len(tables["hosts"]), len(tables["switches"])) == (hosts, switches)


@pytest.mark.slow
def test_an_executor_proposes_what_threads_of_one_process_propose(tmp_path: Path) -> None:
    here = etherweave.find(100, 8, threads=2)
    there = etherweave.find(100, 8, executor=etherweave.executor("local", 2), directory=tmp_path)
    assert there == here
    done = run(
        "--find", "hosts=100", "radix=8", "--json", "--executor", "dask", "-o", tmp_path, code=0
    )
    assert json.loads(done.stdout)["metrics"] == here.comparison["metrics"]


def test_a_proposal_that_needs_too_much_memory_is_rejected_by_workers_too(tmp_path: Path) -> None:
    executor = etherweave.executor("local", 1)
    result = etherweave.find(100, 8, memory_limit="1B", executor=executor, directory=tmp_path)
    assert not result.comparison["designs"]
    assert any("--memory-limit" in reason for reason in result.rejected)


def test_an_executor_without_a_search_is_a_mistake(dragonfly: Path) -> None:
    done = run(dragonfly, "--executor", "dask", code=2)
    assert done.stderr == "--executor dask: expected with --find\n"


def test_a_page_says_what_holds_of_each_of_several_planes(tmp_path: Path) -> None:
    file = tmp_path / "planes.toml"
    file.write_text("host_ports.planes = 2\n[topology.fat_tree]\n")
    # Nine switches and 128 cables, twice.
    title = (
        "planes: fat_tree, 96 hosts, 18 switches, 256 cables in 2 planes; "
        "distances, paths, proofs and tables are those of each"
    )
    assert run(file).stdout.splitlines()[0] == title


def test_exports_that_know_one_port_of_a_host_refuse_several(tmp_path: Path) -> None:
    file = tmp_path / "planes.toml"
    file.write_text("host_ports.planes = 2\n[topology.fat_tree]\n")
    for form in ("netbox", "slurm"):
        done = run(file, "--export", form, "-o", tmp_path / form, code=2)
        assert "topology: hosts with several ports; expected one port of every host" in done.stderr
