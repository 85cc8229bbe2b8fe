"""Labs on paper: names, cables, ways; no privilege and nothing opened."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from etherweave.control.lab import probes, state
from etherweave.control.lab.boot import BootRecord
from etherweave.control.lab.compare import HostPair, predict, simulate
from etherweave.control.lab.layout import (
    LabPort,
    Layout,
    LayoutError,
    cables,
    check_size,
    hosts_file,
    interface,
    is_of_lab,
    layout,
)
from etherweave.control.lab.lifecycle import prepare
from etherweave.control.lab.pauses import find_diversion
from etherweave.control.lab.state import LabRecord, LabScope, StateError
from etherweave.linux import processes
from etherweave.linux.links import VethEnd
from etherweave.linux.processes import Process

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "lab"
PAIR: dict[str, object] = {"topology": {"single_switch": {"hosts": 2}}}
DRAGONFLY: dict[str, object] = {"topology": {"dragonfly": {"p": 2, "a": 2, "h": 1, "groups": 2}}}
"""Switches 0 and 1, and 2 and 3, are joined by ports 3; 0 and 2, and 1 and 3, by ports 4."""
TRIANGLE: dict[str, object] = {
    "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
    "control": {"rules": "conditional"},
}
"""Three groups of two switches with a host and a global link each."""

PLANES: dict[str, object] = {
    "host_ports": {"planes": 2},
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 1}},
}
"""Two hosts, each with a port on a leaf of both planes."""
DUAL_HOMED: dict[str, object] = {
    "host_ports": {"leaves": 2},
    "topology": {"fat_tree": {"leaves": 4, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 1}},
}
"""Two hosts, each with a port on two leaves."""


def paper(scenario: dict[str, object] | Path, name: str = "one") -> Layout:
    return layout("ew-lab.", name, prepare(scenario, None, ())[1])


def test_a_cable_has_an_end_in_the_fabric_and_one_in_a_host() -> None:
    lab = paper(PAIR)
    assert lab.namespaces == ["ew-lab.one", "ew-lab.one.host0", "ew-lab.one.host1"]
    assert list(cables(lab)) == [
        ("s0p1", VethEnd("eth0", "ew-lab.one.host0", "00:00:5e:00:53:00")),
        ("s0p2", VethEnd("eth0", "ew-lab.one.host1", "00:00:5e:00:53:01")),
    ]


def test_a_cable_between_switches_is_made_once() -> None:
    ends = [(near, far.name) for near, far in cables(paper(DRAGONFLY)) if far.name != "eth0"]
    assert ends == [("s0p3", "s1p3"), ("s0p4", "s2p4"), ("s1p4", "s3p4"), ("s2p3", "s3p3")]


@pytest.mark.parametrize("scenario", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_labs_have_every_cable_of_their_fabric(scenario: Path) -> None:
    lab = paper(scenario)
    links = list(cables(lab))
    # A host's cable takes one port of switches, every other takes two.
    ports, hosts = len(lab.across), len(lab.plan.hosts)
    assert len(links) == hosts + (ports - hosts) // 2
    assert len(set(lab.wiring.interfaces.values())) == ports


def test_names_of_interfaces_fit_into_the_kernel() -> None:
    assert len(interface(LabPort(39, 9999))) <= 15


def test_a_namespace_belongs_to_the_lab_of_its_name_only() -> None:
    assert is_of_lab("ew-lab.a", "ew-lab.", "a")
    assert is_of_lab("ew-lab.a.host0", "ew-lab.", "a")
    assert not is_of_lab("ew-lab.ab", "ew-lab.", "a")
    assert not is_of_lab("ew-lab.ab.host0", "ew-lab.", "a")
    assert not is_of_lab("a.host0", "ew-lab.", "a")


def test_hosts_have_the_prefix_of_all_addresses_and_one_bit_less() -> None:
    lab = paper({**PAIR, "control": {"ipv4": "10.20.0.0/16"}})
    assert [lab.address(host) for host in lab.plan.hosts] == ["10.20.0.0/15", "10.20.0.1/15"]


def test_what_is_too_large_is_refused_before_it_is_planned() -> None:
    with pytest.raises(LayoutError, match="264 switches and 1,056 hosts; expected at most 40 and"):
        prepare(SCENARIOS.parent / "open_loop" / "dragonfly_1056.toml", None, ())
    check_size("figure 3c", 36, 72)
    with pytest.raises(LayoutError, match="41 switches"):
        check_size("one more", 41, 1)


@pytest.mark.parametrize(
    ("topology", "keys", "size"),
    [
        # Half of all counts.
        ({"dragonfly": {"p": 4, "a": 8, "h": 4}}, ["p=2", "a=4", "h=2"], "36 and 72"),
        # Half of them, too: three quarters are 9 hosts at each of 12 leaves.
        (
            {"fat_tree": {"leaves": 16, "hosts_per_leaf": 12, "cores": 4, "links_per_core": 4}},
            ["leaves=8", "hosts_per_leaf=6", "cores=2", "links_per_core=2"],
            "10 and 48",
        ),
        ({"single_switch": {"hosts": 192}}, ["hosts=80"], "1 and 80"),
        # No divisor is common to 4 and 7: three quarters, rounded.
        (
            {"flattened_butterfly": {"hosts_per_switch": 4, "sizes": [7, 7]}},
            ["hosts_per_switch=3", "sizes=[5, 5]"],
            "25 and 75",
        ),
        # With half the radix two levels have a quarter of the hosts, not half of them. With the
        # same radix there are 10 leaves of 8 hosts, whose 80 uplinks take 5 spines of 16 ports.
        ({"folded_clos": {"radix": 16, "hosts": 128}}, ["hosts=80"], "15 and 80"),
        # The seed of a wiring is no count, and stays.
        (
            {"dragonfly": {"p": 4, "a": 8, "h": 4, "arrangement": {"random": {"seed": 7}}}},
            ["p=2", "a=4", "h=2"],
            "36 and 72",
        ),
    ],
)
def test_a_smaller_fabric_of_the_same_shape_is_named(
    topology: dict[str, object], keys: list[str], size: str
) -> None:
    with pytest.raises(LayoutError) as error:
        prepare({"topology": topology}, None, ())
    (family,) = topology
    words = [word for key in keys for word in ("--set", f"topology.{family}.{key}")]
    assert str(error.value).endswith(f"in a lab; with {shlex.join(words)} it has {size}")


@pytest.mark.parametrize("name", ["", "a.b", "../a", "A", "a" * 25, "a b", "a\n"])
def test_a_name_that_would_reach_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(LayoutError, match="expected 1 to 24 small letters"):
        paper(PAIR, name)
    with pytest.raises(LayoutError, match="expected 1 to 24 small letters"):
        state.lab_directory(LabScope(Path("/nowhere")), name)


def test_hosts_of_a_fabric_without_ipv4_have_no_such_addresses() -> None:
    lab = paper({**PAIR, "control": {"ipv4": ""}})
    assert [lab.address(host) for host in lab.hosts] == ["", ""]
    assert hosts_file(lab) == "127.0.0.1 localhost\n"


def test_hosts_keep_made_up_factory_addresses_where_switches_rewrite() -> None:
    lab = paper({**PAIR, "control": {"addresses": "rewrite"}})
    assert list(cables(lab))[-1][1].mac == "00:00:5e:00:53:01"


def seen(*places: tuple[int, int, bool]) -> list[probes.ObservedFrame]:
    return [
        probes.ObservedFrame(LabPort(switch, port), leaves, b"") for switch, port, leaves in places
    ]


def test_a_path_follows_from_the_ports_where_a_frame_was_captured() -> None:
    across = paper(DRAGONFLY).across
    straight = seen((0, 1, False), (0, 4, True), (2, 4, False), (2, 2, True))
    assert probes.probe_path(across, LabPort(0, 1), straight) == probes.ProbePath(
        (probes.PathHop(0, 1, 4), probes.PathHop(2, 4, 2)), True, "host5", 0
    )


def test_a_copy_at_another_port_is_a_stray() -> None:
    across = paper(DRAGONFLY).across
    copied = seen((0, 1, False), (0, 2, True), (0, 3, True), (1, 3, False))
    assert probes.probe_path(across, LabPort(0, 1), copied) == probes.ProbePath(
        (probes.PathHop(0, 1, 2),), True, "host1", 2
    )


def test_a_frame_that_is_dropped_comes_out_nowhere() -> None:
    across = paper(DRAGONFLY).across
    assert probes.probe_path(across, LabPort(0, 1), seen((0, 1, False))) == probes.ProbePath(
        (), True, None, 0
    )
    assert probes.probe_path(across, LabPort(0, 1), []) == probes.ProbePath((), False, None, 0)


def test_a_probe_keeps_its_number_and_others_have_none() -> None:
    octets = probes.encode(0x020000000001, 0x020000000002, 77)
    assert len(octets) == 60 and octets[:6] == bytes.fromhex("020000000001")
    assert probes.number(octets) == 77
    assert probes.number(octets[:19]) is None
    assert probes.number(octets[:12] + b"\x08\x00" + octets[14:]) is None


def test_tables_lead_over_the_one_global_link_and_then_over_the_local_one() -> None:
    assert predict(paper(DRAGONFLY), HostPair(0, 7)) == (
        probes.PathHop(0, 1, 4),
        probes.PathHop(2, 4, 3),
        probes.PathHop(3, 3, 2),
    )


@pytest.mark.parametrize(
    "scenario",
    [DRAGONFLY, TRIANGLE, PLANES, DUAL_HOMED],
    ids=["minimal", "conditional", "planes", "leaves"],
)
def test_the_simulator_uses_the_links_of_the_tables(scenario: dict[str, object]) -> None:
    lab = paper(scenario)
    for pair in map(HostPair._make, lab.pairs):
        ends = {LabPort(hop.switch, hop.out_port) for hop in predict(lab, pair)}
        links = {end for end in ends if isinstance(lab.across[end], LabPort)}
        assert simulate(lab, scenario, pair) == links


def test_an_alternative_leaves_by_another_port_when_the_first_pauses() -> None:
    lab = paper(TRIANGLE)
    diversion = find_diversion(lab)
    assert diversion is not None and diversion.port.switch == diversion.alternative.switch
    usual, other = (predict(lab, diversion.pair), predict(lab, diversion.pair, (diversion.port,)))
    assert (usual[0].out_port, other[0].out_port) == (
        diversion.port.port,
        diversion.alternative.port,
    )
    last = [lab.across[LabPort(way[-1].switch, way[-1].out_port)] for way in (usual, other)]
    assert last == [lab.plan.hosts[diversion.pair.destination].name] * 2


def test_minimal_rules_have_no_alternative() -> None:
    assert find_diversion(paper(DRAGONFLY)) is None


def test_the_only_lab_needs_no_name(tmp_path: Path) -> None:
    scope = LabScope(tmp_path)
    with pytest.raises(StateError, match="no lab is up"):
        state.choose(scope, None)
    (tmp_path / "one").mkdir()
    assert state.choose(scope, None) == "one"
    (tmp_path / "two").mkdir()
    with pytest.raises(StateError, match="labs one, two are up; expected --name"):
        state.choose(scope, None)
    with pytest.raises(StateError, match='no lab "three"; expected one of: one, two'):
        state.choose(scope, "three")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"failed": 1, "plane": "ovs"}', '{"plane": "ovs"}']
)
def test_a_damaged_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    assert state.read(tmp_path) is None


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = LabRecord(("leaf0 - core0",), "ebpf", ("host1",), BootRecord((), 0, 0, 0))
    state.write(tmp_path, record)
    assert state.read(tmp_path) == record
    assert json.loads((tmp_path / "state.json").read_text())["plane"] == "ebpf"


def test_a_lab_is_changed_by_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        state.locked(tmp_path),
        pytest.raises(StateError, match="another process is bringing it up or down"),
        state.locked(tmp_path),
    ):
        pass


def test_a_process_that_only_inherited_the_number_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        sleeping = processes.process(sleeper.pid)
        assert sleeping is not None
        file = tmp_path / "pid"
        processes.write(file, sleeper.pid)
        assert processes.read(file) == sleeping
        other = Process(sleeping.pid, sleeping.start + 1)
        file.write_text(f"{other.pid} {other.start}\n")
        assert processes.read(file) is None
        processes.terminate([other])
        assert sleeper.poll() is None, "somebody else's"
        processes.terminate([sleeping])
        assert sleeper.wait() == -15


def test_a_process_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE_S", 0.1)
    ignore = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", ignore], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n"
        running = processes.process(child.pid)
        assert running is not None
        processes.terminate([running])
        assert child.wait() == -9


@pytest.mark.parametrize("text", ["", "x", "1", "1 2 3", "{own} 0"])
def test_a_damaged_process_file_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "pid").write_text(text.format(own=os.getpid()))
    assert processes.read(tmp_path / "pid") is None


def test_a_host_with_several_ports_has_an_interface_for_each() -> None:
    lab = paper(PLANES)
    assert lab.namespaces == ["ew-lab.one", "ew-lab.one.host0", "ew-lab.one.host1"]
    ends = {near: far[:2] for near, far in cables(lab) if far.name.startswith("eth")}
    # Two leaves and a core a plane.
    assert ends == {
        f"s{3 * plane + host}p1": (f"eth{plane}", f"ew-lab.one.host{host}")
        for host in range(2)
        for plane in range(2)
    }
    assert len({far.mac for _, far in cables(lab) if far.mac}) == 4
    # A bit for the plane, and one for the host.
    assert hosts_file(lab) == (
        "127.0.0.1 localhost\n"
        "10.128.0.0 host0.0 host0\n10.128.0.2 host0.1\n"
        "10.128.0.1 host1.0 host1\n10.128.0.3 host1.1\n"
    )
    assert [str(lab.plane_network(port)) for port in lab.hosts[:2]] == [
        "10.128.0.0/31",
        "10.128.0.2/31",
    ]
    assert sorted(lab.pairs) == [(0, 2), (1, 3), (2, 0), (3, 1)]


def test_ports_of_hosts_count_for_the_size_of_a_lab() -> None:
    many: dict[str, object] = {
        "host_ports": {"planes": 4},
        "topology": {"single_switch": {"hosts": 21}},
    }
    with pytest.raises(
        LayoutError, match="4 switches and 84 ports of hosts; expected at most 40 and"
    ):
        prepare(many, None, ())


def test_a_guest_has_all_ports_of_its_host_and_no_namespace() -> None:
    lab = layout("ew-lab.", "one", prepare(PLANES, None, ())[1], ["host0"])
    assert lab.host_names == ["host1"]
    assert {far.name for _, far in cables(lab) if far.mac} == {"eth0", "eth1"}
    assert not {"s0p1", "s3p1"} & dict(cables(lab)).keys()
