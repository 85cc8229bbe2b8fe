"""Exported configurations against formulas, standards and the testbed's settings."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.cli.control import export
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.devices import read_lookup
from etherweave.control.qos.nos import PORT_NAMES, SYSTEMS, files
from etherweave.control.qos.policy import Marking, Policy, PolicyError, SonicForm, ranges
from support import command_line

SCENARIOS = Path(__file__).parents[2] / "scenarios"
TESTBED = SCENARIOS / "qos_ets.toml"
DRAGONFLY: dict[str, object] = {"dragonfly": {"p": 1, "a": 2, "h": 1}}
PAIR: dict[str, object] = {"single_switch": {"hosts": 2, "rate": "100Gb/s", "cable": "3m"}}


def of_testbed(**options: int) -> Policy:
    return policy(TESTBED, options=ExportOptions(mtu_bytes=4500, **options))  # type: ignore[arg-type]


def test_the_headroom_is_that_of_the_switch_s_cells_and_the_table_s_cables() -> None:
    # SN2700, the device for 100 Gb/s, 12.5 B/ns: twice 14800 B and a cable both ways, 5 ns/m.
    host, uplink = (2 * (14_800 + 12.5 * 2 * 5 * length) for length in (5, 40))
    leaf = of_testbed().switches[0]
    cells = [-(-int(size) // 96) * 96 for size in (host, uplink)]
    assert [port.headroom_bytes for port in leaf.ports] == [cells[0]] * 12 + [cells[1]] * 4
    assert [port.cable_m for port in leaf.ports] == [5] * 12 + [40] * 4
    # What the scenario says by itself counts.
    said = policy(TESTBED, {"switch.headroom": "50kB"}).switches[0]
    assert {port.headroom_bytes for port in said.ports} == {50_000}


def test_reserves_headroom_and_pool_are_the_memory_of_the_device() -> None:
    result = of_testbed()
    leaf = result.switches[0]
    # Two lossless groups, and one of all others; the reserve of NVIDIA's tables is 19 KiB.
    taken = sum(3 * (19 << 10) + 2 * port.headroom_bytes for port in leaf.ports)
    assert result.device == "sn2700"
    assert leaf.pool_bytes + taken == result.memory.buffer_bytes == 13_945_824


@pytest.mark.parametrize(
    ("rate", "system", "device"),
    [
        ("25Gb/s", "sonic", "sn2700"),
        ("400Gb/s", "sonic", "sn4700"),
        ("400Gb/s", "eos", "tomahawk3"),
    ],
)
def test_the_device_is_one_with_fast_enough_ports(rate: str, system: str, device: str) -> None:
    scenario = {"topology": {"single_switch": {"hosts": 2, "rate": rate}}}
    assert policy(scenario, options=ExportOptions(system=system)).device == device
    named = policy(scenario, {"switch.profile": "sn5600"}, ExportOptions(system=system))
    assert named.device == "sn5600"


def test_rows_of_the_device_s_own_table_count() -> None:
    table = read_lookup("x.ini", "# speed cable size xon xoff\n100000 7m 1 2 99999 0\n")
    exported = policy({"topology": PAIR}, options=ExportOptions(lookup=table))
    assert {(port.cable_m, port.headroom_bytes) for port in exported.switches[0].ports} == {
        (7, 99_999)
    }
    with pytest.raises(PolicyError, match=r"x\.ini:1: '100000 7m 1'; expected speed, cable, size"):
        read_lookup("x.ini", "100000 7m 1")
    with pytest.raises(PolicyError, match=r"x\.ini: no row"):
        read_lookup("x.ini", "# nothing\n")


def test_lossless_traffic_has_a_priority_of_its_own_unless_the_scenario_says_otherwise() -> None:
    result = policy(SCENARIOS / "dcqcn.toml")
    assert [level.number for level in result.lossless] == [3]
    assert {job.priority for job in result.jobs} == {3}
    assert not any("DSCP 0" in note for note in result.notes)
    said = policy(SCENARIOS / "dcqcn.toml", {"flow_control.pfc.priorities": [0]})
    assert [level.number for level in said.lossless] == [0]
    assert said.notes[0].startswith("flow_control.pfc.priorities: 0 has DSCP 0")


def test_code_points_are_those_of_the_guides() -> None:
    priorities = of_testbed().priorities
    assert (priorities[3].mark, priorities[3].dscps) == (26, tuple(range(24, 32)))
    assert of_testbed().priority_of_dscp()[48] == 6
    own = policy(TESTBED, options=ExportOptions(dscps={1: 26})).priority_of_dscp()
    assert (own[26], own[27], own[8]) == (1, 3, 1)


def test_links_in_parallel_are_port_channels() -> None:
    leaf, core = of_testbed().switches[0], of_testbed().switches[-1]
    channels = {number: [port.number for port in ports] for number, ports in core.bundles().items()}
    assert [[port.number for port in ports] for ports in leaf.bundles().values()] == [
        [12, 13, 14, 15]
    ]
    assert channels == {number + 1: [4 * number + port for port in range(4)] for number in range(8)}


def test_lossless_priorities_have_groups_of_their_own_and_the_others_one() -> None:
    assert of_testbed().group_of_priority() == {0: 0, 1: 1} | dict.fromkeys(range(2, 8), 2)


def test_congestion_notifications_belong_to_dcqcn() -> None:
    assert of_testbed().cnp_dscp is None
    dcqcn = policy(SCENARIOS / "dcqcn.toml")
    assert dcqcn.cnp_dscp == 48
    assert dcqcn.marking is not None
    assert (dcqcn.marking.minimum_bytes, dcqcn.marking.maximum_bytes) == (50_000, 200_000)
    assert dcqcn.marking.percent == 10
    # Without jobs, too, the class of the notifications is lossy.
    scenario = {
        "topology": PAIR,
        "switch": {"ecn": {"queue_min": "50kB", "queue_max": "200kB", "share_max": 0.1}},
        "transport": {"roce": {"dcqcn": {}}},
    }
    classes = policy(scenario).classes
    assert [traffic_class.number for traffic_class in classes if traffic_class.is_lossless] == [3]
    assert [traffic_class.number for traffic_class in classes if traffic_class.is_used] == [3, 6]


SHARED = "ets.class_of_priority"


@pytest.mark.parametrize(
    ("topology", "changes", "options", "message"),
    [
        (PAIR, {}, {"mtu_bytes": 1500}, "hosts send packets of 4156 B; expected 4156"),
        (PAIR, {}, {"mtu_bytes": 9217}, "expected 4156 to 9216"),
        (PAIR, {}, {"dscps": {3: 64}}, "DSCP 64: expected 0 to 63"),
        (PAIR, {}, {"dscps": {8: 1}}, "priority 8: expected 0 to 7"),
        (PAIR, {}, {"dscps": {1: 2, 3: 2}}, "one DSCP for two priorities"),
        (DRAGONFLY, {}, {"routing": "minimal"},
         "1 lossless priorities in 1 traffic classes; expected 2 in classes of their own, which"),
        (DRAGONFLY, {"flow_control.pfc.priorities": [0, 1], SHARED: [0, 0, 2, 3, 4, 5, 6, 7]},
         {"routing": "minimal"}, "2 lossless priorities in 1 traffic classes; expected 2"),
        (DRAGONFLY, {"control.priorities": [0, 3]}, {},
         "expected [3] too, through which control.priorities takes frames"),
        (DRAGONFLY, {"control.priorities": [3, 4], "flow_control.pfc.priorities": [0, 3, 4],
                     SHARED: [0, 1, 2, 3, 3, 5, 6, 7]}, {},
         "priorities [3, 4] of control.priorities share a class; expected one for each"),
        (DRAGONFLY, {"control.priorities": [9]}, {}, "control.priorities: [9]; expected 0 to 7"),
    ],
)  # fmt: skip
def test_what_a_system_does_not_support_is_rejected(
    topology: object, changes: dict[str, object], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyError) as error:
        policy({"topology": topology}, changes, ExportOptions(**options))
    assert message in str(error.value)


def test_priorities_that_frames_are_raised_to_are_used_and_kept_apart() -> None:
    scenario = {
        "topology": DRAGONFLY,
        "control": {"priorities": [3, 4]},
        "flow_control": {"pfc": {"priorities": [0, 3, 4]}},
    }
    result = policy(scenario)
    assert (result.raised, result.routing_priorities) == ((3, 4), 2)
    assert [tc.number for tc in result.classes if tc.is_used] == [3, 4]


def test_the_later_priority_of_conditional_rules_has_three_times_the_share() -> None:
    scenario = {
        "topology": DRAGONFLY,
        "control": {"priorities": [3, 4], "rules": "conditional"},
        "flow_control": {"pfc": {"priorities": [3, 4]}},
    }
    weights = [traffic_class.weight for traffic_class in policy(scenario).classes]
    assert weights == [10, 10, 10, 10, 30, 10, 10, 10]


def test_a_name_that_is_no_device_s_is_refused() -> None:
    def export(name: str) -> None:
        graph = (
            '<graphml><key id="k" for="node" attr.name="kind"/><graph>'
            '<node id="a"><data key="k">host</data></node>'
            '<node id="b"><data key="k">host</data></node>'
            f'<node id="{name}"/><edge source="a" target="{name}"/>'
            f'<edge source="b" target="{name}"/></graph></graphml>'
        )
        policy({"topology": {"custom": {"graphml": graph}}})

    with pytest.raises(PolicyError) as error:
        export("$(reboot)")
    assert "node '$(reboot)': expected letters, digits" in str(error.value)
    with pytest.raises(etherweave.ScenarioError, match="has a slash"):
        export("../../etc")


def test_a_factor_that_switches_cannot_take_is_noted() -> None:
    result = policy({"topology": PAIR, "switch": {"ingress_threshold": {"alpha": 6.0}}})
    assert result.memory.ingress.alpha == 4
    assert result.notes[0].startswith("switch.ingress_threshold.alpha: 6 is exported as 4")


def test_a_routing_that_there_is_not_is_the_scenario_s_mistake() -> None:
    with pytest.raises(
        etherweave.ScenarioError, match="unknown name `ugall`; expected one of `up_down`"
    ):
        policy({"topology": PAIR}, options=ExportOptions(routing="ugall"))


def test_numbers_that_follow_each_other_are_joined() -> None:
    assert ranges([5, 1, 2, 3, 7]) == [(1, 3), (5, 5), (7, 7)]
    assert ranges([]) == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_exports_every_switch_and_host_reproducibly(system: str) -> None:
    result = of_testbed()
    written = files(result, system)
    places = {name.split("/")[0] for name in written}
    assert places == {switch.name for switch in result.switches} | {"hosts", "fabric.json"}
    assert sum(name.startswith("hosts/") for name in written) == 96
    assert files(of_testbed(), system) == written


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("is_whole", [False, True])
def test_switches_that_are_alike_differ_in_names_only(system: str, is_whole: bool) -> None:
    graph = (
        '<graphml><key id="k" for="node" attr.name="kind"/><graph>'
        '<node id="a"><data key="k">host</data></node><node id="b"><data key="k">host</data></node>'
        '<node id="on"/><node id="12"/><edge source="a" target="on"/><edge source="b" target="12"/>'
        '<edge source="on" target="12"/></graph></graphml>'
    )
    for case in (TESTBED, {"topology": DRAGONFLY}, {"topology": {"custom": {"graphml": graph}}}):
        designed = policy(case, options=ExportOptions(system=system))
        result = replace(designed, sonic=SonicForm(is_whole=is_whole))
        written = files(result, system)
        for switch in result.switches:
            for name, text in SYSTEMS[system](result, switch).items():
                assert written[f"{switch.name}/{name}"] == text
        for host in result.hosts:
            first = f"# {host.name}, plugged into {host.switch} port {host.switch_port}.\n"
            assert first in written[f"hosts/{host.name}.sh"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_knows_every_switch_s_ports_and_the_mtu(system: str) -> None:
    result = of_testbed()
    leaf, name = result.switches[0], PORT_NAMES[system]
    assert len({name(leaf, port) for port in leaf.ports}) == 16
    for text in SYSTEMS[system](replace(result, sonic=SonicForm(is_whole=True)), leaf).values():
        assert ("4500" in text or "speed cable" in text) and "9000" not in text


def test_ports_are_called_as_on_the_front() -> None:
    leaf = of_testbed().switches[0]
    names = {system: name(leaf, leaf.ports[1]) for system, name in PORT_NAMES.items()}
    assert names == {
        "cumulus": "swp2",
        "eos": "Ethernet2/1",
        "onyx": "ethernet 1/2",
        "sonic": "Ethernet4",
    }
    fast = policy({"topology": {"single_switch": {"hosts": 2, "rate": "800Gb/s"}}}).switches[0]
    assert PORT_NAMES["sonic"](fast, fast.ports[1]) == "Ethernet8"


def test_credits_are_refused_for_ethernet_switches() -> None:
    with pytest.raises(PolicyError, match=r"flow_control\.credits: Ethernet switches have no"):
        policy(SCENARIOS / "credits.toml")


def test_a_host_marks_pauses_and_shares_as_its_switch_does() -> None:
    text = files(of_testbed(), "sonic")["hosts/host0.sh"]
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    for line in (
        # Code point 8 p + 2 and ECT(0): 4 (8 p + 2) + 2.
        "# halo3d: priority 1, UCX_IB_SL=1 UCX_IB_TRAFFIC_CLASS=42",
        'ip link set dev "$device" mtu 4500',
        '  mlnx_qos -i "$device" --trust dscp --pfc 1,1,0,0,0,0,0,0',
        '  dcb pfc set dev "$device" prio-pfc all:off 0:on 1:on',
        # The driver's own tool and files are not everywhere.
        "if command -v cma_roce_tos > /dev/null; then",
        '  cma_roce_tos -d "$rdma" -t 10',
    ):
        assert line in text.splitlines()
    assert "ecn/roce_np" not in text
    dcqcn = files(policy(SCENARIOS / "dcqcn.toml"), "sonic")["hosts/host0.sh"]
    assert 'put 48 "/sys/class/net/$device/ecn/roce_np/cnp_dscp"' in dcqcn


def test_a_job_s_name_stays_in_its_comment() -> None:
    named = {"job.0.name": "x\nreboot", "job.1.name": "y"}
    text = files(policy(TESTBED, named), "sonic")["hosts/host0.sh"]
    assert "# x?reboot: priority 0" in text and "\nreboot" not in text


invoke = partial(command_line.invoke, "control", "export")
DCQCN = SCENARIOS / "dcqcn.toml"


def test_without_a_directory_the_files_are_listed() -> None:
    out = invoke(TESTBED, "--nos", "onyx", "--mtu", "4500", code=0).stdout
    assert "30,912 B, 39,648 B of sn2700 at MTU 4500" in out and "    leaf7/onyx.cfg" in out
    out = invoke(TESTBED, "--nos", "eos", "--json", code=0).stdout
    assert "core0/eos.cfg" in json.loads(out)["files"]


def test_files_are_written_and_scripts_can_run(tmp_path: Path) -> None:
    done = invoke(DCQCN, "--nos", "sonic", "-o", tmp_path, code=0)
    assert f"8 in {tmp_path}" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"fabric.json", "hosts", "switch0"}
    assert (tmp_path / "hosts" / "host4.sh").stat().st_mode & 0o111
    tables = json.loads((tmp_path / "switch0" / "config_db.json").read_text())
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "3"
    assert "PORT" not in tables and "DEVICE_METADATA" not in tables


def test_files_of_others_stay_and_older_ones_are_replaced(tmp_path: Path) -> None:
    own, other = tmp_path / "switch0" / "config_db.json", tmp_path / "switch0" / "notes"
    own.parent.mkdir()
    own.write_text("old")
    other.write_text("mine")
    invoke(DCQCN, "--nos", "sonic", "-o", tmp_path, code=0)
    assert other.read_text() == "mine" and own.read_text() != "old"


def test_nothing_is_written_where_a_file_stands_for_a_directory(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("")
    done = invoke(DCQCN, "--nos", "sonic", "-o", tmp_path, code=2)
    assert f"{tmp_path}/hosts: expected a directory" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["hosts"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_file(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Iterator[tuple[str, str]]:
        yield "switch0/config_db.json", "{}"
        assert [path.name[:8] for path in tmp_path.iterdir()] == [".export-"]
        os.kill(os.getpid(), number)
        yield "fabric.json", "{}"

    monkeypatch.setattr(export, "texts", interrupted)
    invoke(DCQCN, "--nos", "sonic", "-o", tmp_path, code=130)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nos", "ios"), "is not one of"),
        (("--nos", "eos", "--yang", "."), "--yang: expected --nos sonic"),
        (("--nos", "eos", "--dscp", "3"), "--dscp 3: expected PRIORITY=DSCP"),
        (("--nos", "eos", "--dscp", "3=1", "--dscp", "3=2"), "one code point for priority 3"),
        (("--nos", "eos", "--watchdog", "99:200"), "--watchdog 99:200: expected off, or"),
        (("--nos", "eos", "--watchdog", "soon"), "--watchdog soon: expected off, or"),
        (("--nos", "eos", "--cnp", "99"), "DSCP 99: expected 0 to 63"),
        (("--nos", "eos", "--mtu", "1"), "MTU 1: hosts send packets of 4156 B; expected 4156"),
        (("--nos", "eos", "--set", "nonsense=1"), "nonsense"),
    ],
)
def test_mistakes_end_with_2_and_say_what_is_expected(words: tuple[str, ...], message: str) -> None:
    assert message in " ".join(invoke(TESTBED, *words, code=2).stderr.split())


@pytest.mark.parametrize("system", ["sonic", "cumulus", "eos", "onyx"])
def test_times_of_a_watchdog_without_pfc_are_a_mistake(system: str) -> None:
    words = (SCENARIOS / "trimming.toml", "--nos", system, "--watchdog")
    message = "--watchdog: flow control none; expected flow_control.pfc, which it watches"
    assert message in " ".join(invoke(*words, "200:200", code=2).stderr.split())
    invoke(*words, "off", code=0)


@pytest.mark.parametrize("system", ["sonic", "cumulus", "eos", "onyx"])
def test_switches_of_every_plane_and_every_port_of_a_host_have_a_configuration(system: str) -> None:
    tree: dict[str, object] = {
        "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 1}},
        "flow_control": {"pfc": {}},
    }
    options = ExportOptions(system=system)
    single = files(policy(tree, None, options), system)
    two = files(policy({**tree, "host_ports": {"planes": 2}}, None, options), system)
    of_switches = {name: text for name, text in single.items() if name.startswith(("leaf", "core"))}
    for plane in ("plane0", "plane1"):
        for name, text in of_switches.items():
            named = re.sub(r"\b(leaf|core)(\d)", rf"{plane}.\1\2", text)
            # A host's port has the number of its plane.
            assert two[f"{plane}.{name}"] == re.sub(
                r"(host\d+ port )0", rf"\g<1>{plane[-1]}", named
            ), f"{plane}.{name}"
    scripts = sorted(name for name in two if name.startswith("hosts/"))
    assert scripts == [f"hosts/host{host}.{port}.sh" for host in range(4) for port in range(2)]
    assert "# host3.1, plugged into plane1.leaf1 port 1.\n" in two["hosts/host3.1.sh"]


def test_where_no_share_is_named_the_vendor_s_guide_gives_them() -> None:
    # NVIDIA, Cumulus Linux 5.14, RDMA over Converged Ethernet: class 3 and class 0 half of a port
    # each, class 6 of notifications strict; ECN from 150 kB to 1.5 MB, all packets above.
    result = policy({"topology": PAIR, "transport": {"roce": {}}})
    assert [priority.traffic_class for priority in result.priorities] == [0, 0, 0, 3, 0, 0, 6, 0]
    assert {tc.number: tc.weight for tc in result.classes if tc.weight} == {0: 50, 3: 50}
    assert [tc.number for tc in result.classes if tc.kind == "strict"] == [6]
    assert result.marking == Marking(150_000, 1_500_000, 100)
    assert result.cnp_dscp == 48
    assert any(note.startswith("ets: not in the scenario") for note in result.notes)
    assert any("DCQCN at NICs, which were not simulated" in note for note in result.notes)


def test_what_the_scenario_or_an_option_says_stays() -> None:
    scenario: dict[str, object] = {"topology": PAIR, "transport": {"roce": {}}}
    plain = policy(scenario, options=ExportOptions(marks=False))
    assert (plain.marking, plain.cnp_dscp) == (None, None)
    assert [traffic_class.weight for traffic_class in plain.classes] == [50, 0, 0, 50, 0, 0, 0, 0]
    weights = [40, 0, 0, 60, 0, 0, 0, 0]
    named = policy(scenario, {"ets.weights": weights})
    assert [traffic_class.weight for traffic_class in named.classes] == weights
    assert (named.marking, named.cnp_dscp) == (None, None)


def test_two_lossless_priorities_share_half_of_a_port() -> None:
    result = policy({"topology": PAIR}, {"flow_control.pfc.priorities": [3, 4], "job": []})
    assert [traffic_class.weight for traffic_class in result.classes] == [50, 0, 0, 25, 25, 0, 0, 0]


@pytest.mark.parametrize(("system", "sign"), [("eos", "!"), ("onyx", "##"), ("cumulus", "#")])
def test_every_choice_is_a_comment_of_each_switch(system: str, sign: str) -> None:
    result = policy({"topology": PAIR}, options=ExportOptions(system=system))
    texts = [text for name, text in files(result, system).items() if name.startswith("switch0/")]
    assert result.notes
    assert all(f"{sign} {note}\n" in texts[0] for note in result.notes)


@pytest.mark.parametrize("system", ["eos", "onyx"])
def test_whether_a_port_is_routed_or_switched_is_left_as_it_is(system: str) -> None:
    result = policy({"topology": PAIR}, options=ExportOptions(system=system))
    assert "switchport" not in "".join(files(result, system).values())
