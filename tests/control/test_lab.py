"""Labs of real namespaces: what they do, and that nothing of them is left, whatever happens."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address
from itertools import pairwise, permutations
from pathlib import Path

import polars as pl
import pytest

import etherweave
from etherweave.control.lab import lifecycle, state, status
from etherweave.control.lab.compare import HostPair, compare
from etherweave.control.lab.demonstration import demonstrate_in_lab
from etherweave.control.lab.layout import LabPort
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.pauses import PauseError, find_diversion, measure_pause, paused
from etherweave.control.lab.probes import ProbeFrame, ProbeSender
from etherweave.control.lab.state import LabScope, StateError
from etherweave.linux import namespaces, processes
from support import command_line
from support.labs import new_scope
from support.living import commands
from support.waiting import until

pytestmark = pytest.mark.needs("namespaces", "ovs")

PAIR: dict[str, object] = {"topology": {"single_switch": {"hosts": 2}}}
SQUARE: dict[str, object] = {"topology": {"dragonfly": {"p": 2, "a": 2, "h": 1, "groups": 2}}}
"""4 switches with 2 hosts each."""
TRIANGLE: dict[str, object] = {
    "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
    "control": {"rules": "conditional"},
}
"""6 switches with a host each, and paths around their local links."""
APPLICATION: dict[str, object] = {
    **TRIANGLE,
    "routing": "conditional_tables",
    "transport": {"roce": {"reliability": "selective_repeat"}},
    "flow_control": {"pfc": {"priorities": [0, 1]}},
    "switch": {"buffer": "1200kB"},
}
"""The triangle with hosts that talk RoCEv2, switches that send PFC frames, and the same rules."""
MESSAGE_BYTES = 2_000_000  # A stream in the simulator: more than the buffer of a switch [B].
STEPS = ("namespaces", "Open vSwitch", "agents", "hosts boot")  # Progress of bringing up, in order.


@pytest.fixture
def scope() -> Iterator[LabScope]:
    """Return a realm that nobody else has; nothing of it may be left, and no process in it."""
    with new_scope() as alone:
        yield alone
    assert not traces(alone)


def traces(scope: LabScope) -> list[str]:
    """Find what labs of a realm have left: namespaces, mounts, processes, files."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    files = [str(scope.directory)] if scope.directory.exists() else []
    return [
        *(name for name in namespaces.existing() if name.startswith(scope.prefix)),
        *(line for line in mounts if f"{scope.directory}/" in line),
        *commands(f"{scope.directory}/"),
        *files,
    ]


def homes(scope: LabScope) -> list[tuple[int, int]]:
    own = (name for name in namespaces.existing() if name.startswith(scope.prefix))
    return [home for home in map(namespaces.identity, own) if home]


def down(scope: LabScope, name: str) -> None:
    """Bring a lab down, and make sure that nothing of it is left, nobody in its namespaces."""
    lived = homes(scope)
    lifecycle.down(scope, name)
    assert not traces(scope)
    assert not processes.inhabitants(lived)


def inside(lab: Lab, host: str, *command: str) -> subprocess.CompletedProcess[str]:
    enter = ["ip", "netns", "exec", lab.layout.host(host)]
    return subprocess.run([*enter, *command], capture_output=True, text=True, timeout=30)


@pytest.mark.needs("ping")
@pytest.mark.parametrize("plane", ["ovs", pytest.param("ebpf", marks=pytest.mark.needs("ebpf"))])
def test_hosts_have_planned_addresses_and_ping_each_other(scope: LabScope, plane: str) -> None:
    before = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    lab = lifecycle.up(scope, "one", SQUARE, plane=plane)
    outcome = status.status(lab)
    assert outcome.is_whole
    assert [host.mac for host in outcome.hosts] == [f"02:00:00:00:00:0{n}" for n in range(8)]
    result = inside(lab, "host0", "ping", "-c", "2", "-i", "0.1", "-w", "5", "10.128.0.7")
    assert "0% packet loss" in result.stdout
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == before
    down(scope, "one")


def test_requests_for_addresses_are_answered_and_seen_nowhere_else(scope: LabScope) -> None:
    boot = lifecycle.up(scope, "one", SQUARE).boot
    # Those that a busy switch misses are asked again.
    assert boot.requests >= boot.answers >= 8
    assert boot.elsewhere == 0
    assert [host.factory for host in boot.hosts] == [f"00:00:5e:00:53:0{at}" for at in range(8)]
    down(scope, "one")


def test_hosts_of_a_fabric_that_rewrites_keep_their_factory_addresses(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", {**SQUARE, "control": {"addresses": "rewrite"}})
    assert [host.mac for host in status.status(lab).hosts][-1] == "00:00:5e:00:53:07"
    assert status.status(lab).is_whole
    if shutil.which("ping"):
        result = inside(lab, "host0", "ping", "-c", "2", "-i", "0.1", "-w", "5", "10.128.0.7")
        assert "0% packet loss" in result.stdout
    down(scope, "one")


@pytest.mark.needs("ping")
@pytest.mark.parametrize("addresses", ["dmp", "rewrite"])
def test_hosts_find_each_other_by_a_fabric_manager(scope: LabScope, addresses: str) -> None:
    control = {"resolution": "manager", "addresses": addresses}
    lab = lifecycle.up(scope, "one", {**SQUARE, "control": control})
    result = inside(lab, "host0", "ping", "-c", "2", "-i", "0.1", "-w", "5", "10.128.0.7")
    assert "0% packet loss" in result.stdout
    # What the host has learned: the hierarchical address, from the manager.
    neighbours = inside(lab, "host0", "ip", "neighbour", "show", "10.128.0.7").stdout
    assert "02:00:00:00:00:07" in neighbours
    down(scope, "one")


def test_a_lab_goes_round_a_cable_that_failed(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", SQUARE, failed=["group0.switch0 - group1.switch0"])
    result = compare(lab.layout, None)
    assert (result.pairs, result.arrived, result.as_tables) == (56, 56, 56)
    carried = status.port_counters(lab)
    switches = lab.layout.switches
    for end, (_, sent) in carried.items():
        if end in ((switches["group0.switch0"], 4), (switches["group1.switch0"], 4)):
            assert sent == 0, "nothing goes over the cable"
    assert lifecycle.find(scope, None).layout.plan == lab.layout.plan
    down(scope, "one")


def test_the_demonstration_passes_with_as_many_rules_as_the_model(scope: LabScope) -> None:
    result = demonstrate_in_lab(SQUARE, where=scope)
    assert result["failures"] == []
    # Of each switch: two hosts, the other switch of the group, the other group.
    assert result["rules"]["installed"] == (4,) * 4
    assert (result["rules"]["design_min"], result["rules"]["design_max"]) == (4, 4)
    assert result["unknown"]["entered"] == result["unknown"]["sent"] == 16
    assert result["unknown"]["elsewhere"] == 0
    paths = result["paths"]
    assert paths["pairs"] == paths["arrived"] == paths["as_tables"] == paths["as_simulated"] == 56
    assert result["pausing"] is None
    assert not traces(scope)


@pytest.mark.parametrize("plane", ["ovs", pytest.param("ebpf", marks=pytest.mark.needs("ebpf"))])
def test_traffic_avoids_a_paused_port_until_it_resumes(scope: LabScope, plane: str) -> None:
    result = demonstrate_in_lab(TRIANGLE, plane=plane, where=scope)
    assert result["failures"] == []
    phases = [result["pausing"][name] for name in ("before", "paused", "resumed")]
    counted = [(phase["by_default"], phase["by_alternative"]) for phase in phases]
    assert counted == [(200, 0), (0, 200), (200, 0)]
    assert not traces(scope)


def links(path: Sequence[str]) -> set[tuple[str, str]]:
    return set(pairwise(path))


def probed(lab: Lab, pairs: Sequence[HostPair]) -> list[set[tuple[str, str]]]:
    """Return the links between switches that a frame of each pair took in the lab."""
    plan = lab.layout.plan
    with ProbeSender(lab.layout) as sender:
        probes = [ProbeFrame(pair.source, plan.hosts[pair.destination].mac) for pair in pairs]
        return [
            links([plan.switches[hop.switch].name for hop in walk.hops])
            for walk in sender.follow(probes)
        ]


def simulated(pairs: Sequence[HostPair]) -> set[tuple[str, str]]:
    """Return the links between switches that carry data while each pair has a RoCEv2 stream."""
    incast = {"sources": 1, "message": f"{MESSAGE_BYTES}B", "messages": 1}
    jobs = [
        {
            "name": f"from host{pair.source}",
            "placement": {"hosts": [pair.destination, pair.source]},
            "workload": {"incast": incast},
        }
        for pair in pairs
    ]
    result = etherweave.run({**APPLICATION, "job": jobs})
    assert result.summary["packets_dropped"] == 0
    ports = result.to_polars("ports").group_by("node", "peer").agg(pl.col("tx_bytes").sum())
    # Acknowledgements are 4 % of the bytes that they acknowledge.
    is_data = pl.col("tx_bytes") > MESSAGE_BYTES // 20
    is_between_switches = pl.col("node").str.contains("switch") & pl.col("peer").str.contains(
        "switch"
    )
    return set(ports.filter(is_data & is_between_switches)["node", "peer"].rows())


def test_applications_use_the_links_that_frames_take_in_a_lab(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", APPLICATION)
    pairs = list(map(HostPair._make, permutations(range(6), 2)))
    assert probed(lab, pairs) == [simulated([pair]) for pair in pairs]
    down(scope, "one")


def test_applications_go_round_a_paused_port_where_frames_of_a_lab_do(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", APPLICATION)
    diversion = find_diversion(lab.layout)
    assert diversion is not None
    # The other host of its group sends over the same global link, whose switch then pauses both.
    other = HostPair(diversion.pair.source ^ 1, diversion.pair.destination ^ 1)
    (usual,) = probed(lab, [other])
    phases = measure_pause(lab, diversion)
    by_default, by_alternative = links(phases.before.path), links(phases.paused.path)
    assert by_default != by_alternative
    assert simulated([diversion.pair, other]) == by_default | by_alternative | usual
    down(scope, "one")


def test_a_second_lab_of_the_same_name_is_refused_and_the_first_stays(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", PAIR)
    with pytest.raises(LabError, match="exists already; expected `etherweave lab down"):
        lifecycle.up(scope, "one", PAIR)
    assert status.status(lab).is_whole
    lifecycle.up(scope, "two", PAIR)
    assert state.names(scope) == ["one", "two"]
    lifecycle.down(scope, "one")
    assert status.status(lifecycle.find(scope, None)).is_whole, "the other is untouched"
    down(scope, "two")


@pytest.mark.parametrize("step", STEPS[1::2])
def test_a_failure_while_bringing_up_is_undone(scope: LabScope, step: str) -> None:
    def fail(line: str) -> None:
        if step in line:
            raise RuntimeError(step)

    with pytest.raises(RuntimeError, match=step):
        lifecycle.up(scope, "one", TRIANGLE, progress=fail)
    assert not traces(scope)


@pytest.mark.parametrize(
    ("plane", "step"),
    [
        *(("ovs", step) for step in STEPS),
        pytest.param("ebpf", "hosts boot", marks=pytest.mark.needs("ebpf")),
    ],
)
def test_a_lab_whose_making_was_killed_is_removed(scope: LabScope, plane: str, step: str) -> None:
    """The process kills itself where it would go on; ``down`` knows nothing but the name."""
    script = f"""
import os, signal
from pathlib import Path
from etherweave.control.lab import lifecycle
from etherweave.control.lab.state import LabScope

def progress(line):
    if {step!r} in line:
        os.kill(os.getpid(), signal.SIGKILL)

scope = LabScope(Path({str(scope.directory)!r}), {scope.prefix!r})
lifecycle.up(scope, "one", {TRIANGLE!r}, plane={plane!r}, progress=progress)
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == -signal.SIGKILL
    assert lifecycle.all_labs(scope) == ["one"]
    with pytest.raises(StateError, match="is incomplete; expected `etherweave lab down`"):
        lifecycle.find(scope, None)
    down(scope, "one")


def test_a_lab_whose_daemons_were_killed_says_so_and_is_removed(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", TRIANGLE)
    supervisor = lab.supervisor
    assert supervisor is not None and status.status(lab).obeys_pauses
    daemons = [int(file.read_text()) for file in (lab.directory / "ovs" / "run").glob("*.pid")]
    for pid in (*daemons, supervisor.pid):
        kill(pid)
    gone = status.status(lab)
    assert not gone.is_running and not gone.obeys_pauses and not gone.is_whole
    down(scope, "one")


def kill(pid: int) -> None:
    """Kill a process, and wait until it is gone."""
    held = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(held, signal.SIGKILL)
        assert select.select([held], [], [], 10)[0]
    finally:
        os.close(held)


def test_a_lab_whose_files_are_lost_is_found_by_its_prefix(scope: LabScope) -> None:
    shutil.rmtree(lifecycle.up(scope, "one", TRIANGLE).directory)
    assert lifecycle.all_labs(scope) == ["one"]
    down(scope, "one")


def test_processes_in_hosts_end_with_the_lab_and_no_others(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", PAIR)
    namespace = lab.layout.host("host0")
    with (
        subprocess.Popen(["ip", "netns", "exec", namespace, "sleep", "60"]) as inhabitant,
        # Its words name the lab, but it lives elsewhere.
        subprocess.Popen(["sleep", "60"], cwd=lab.directory) as bystander,
    ):
        try:
            until(
                lambda: inhabitant.pid in {task.pid for task in processes.inhabitants(homes(scope))}
            )
            lifecycle.down(scope, "one")
            assert inhabitant.wait(10) == -signal.SIGTERM
            assert bystander.poll() is None
        finally:
            inhabitant.kill()
            bystander.kill()
    assert not traces(scope)


def test_a_pause_of_a_port_that_leads_to_a_host_is_refused(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", PAIR)
    with pytest.raises(PauseError, match="leads to a switch: none of switch0 does"):
        paused(lab.layout, LabPort(0, 1)).__enter__()
    down(scope, "one")


@pytest.fixture
def command(scope: LabScope) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line with labs in a directory of the test's own."""
    surroundings = os.environ | {state.RUNTIME: str(scope.directory.parent)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [*command_line.COMMAND, "lab"]
        return subprocess.run(
            [*words, *arguments], capture_output=True, text=True, timeout=60, env=surroundings
        )

    return run


def test_the_command_line_from_up_to_down(
    command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    name = f"t{os.getpid()}"
    scenario = tmp_path / "pair.toml"
    scenario.write_text("[topology.single_switch]\nhosts = 2\n")
    try:
        made = command("up", str(scenario), "--name", name, "--json")
        assert made.returncode == 0, made.stderr
        assert json.loads(made.stdout)["elsewhere"] == 0
        assert "hosts boot" in made.stderr
        hosts = command("exec", "host0", "cat", "/etc/hosts")
        assert hosts.stdout.splitlines()[-1] == "10.128.0.1 host1"
        assert "host1" not in Path("/etc/hosts").read_text()
        assert command("exec", "host1", "sh", "-c", "exit 7").returncode == 7
        assert json.loads(command("status", "--json").stdout)["is_whole"]
        checked = command("check", "--json")
        # The simulator has no flow tables for a single switch.
        document = json.loads(checked.stdout)
        assert (checked.returncode, document["as_tables"], document["as_simulated"]) == (0, 2, None)
        assert "expected one of ecmp" in document["not_simulated"]
        unknown = command("exec", "host9", "true")
        assert (unknown.returncode, "expected one of host0 to host1" in unknown.stderr) == (2, True)
    finally:
        gone = command("down", "--name", name)
    assert gone.returncode == 0, gone.stderr
    assert not [namespace for namespace in namespaces.existing() if name in namespace]


def test_a_lab_is_removed_when_a_signal_ends_its_making(scope: LabScope, tmp_path: Path) -> None:
    name = f"e{os.getpid()}"
    scenario = tmp_path / "square.toml"
    scenario.write_text("[topology.dragonfly]\np = 2\na = 2\nh = 1\ngroups = 2\n")
    words = [*command_line.COMMAND, "lab", "up"]
    surroundings = os.environ | {state.RUNTIME: str(scope.directory.parent)}
    with subprocess.Popen(
        [*words, str(scenario), "--name", name], stderr=subprocess.PIPE, text=True, env=surroundings
    ) as making:
        assert making.stderr is not None
        assert any("Open vSwitch" in line for line in making.stderr)
        making.send_signal(signal.SIGTERM)
        assert "removing the incomplete lab" in making.stderr.read()
    assert making.returncode not in (0, -signal.SIGTERM)
    assert not [namespace for namespace in namespaces.existing() if name in namespace]
    assert not traces(scope)


@pytest.mark.needs("ping")
@pytest.mark.parametrize("ports", [{"planes": 2}, {"leaves": 2}])
def test_hosts_reach_each_other_by_each_port(scope: LabScope, ports: dict[str, int]) -> None:
    tree = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 1}}
    tree["fat_tree"] |= {} if "planes" in ports else {"hosts_per_leaf": 2}
    lab = lifecycle.up(scope, "ports", {"host_ports": ports, "topology": tree})
    plan = lab.layout.plan
    assert plan.size.endswith("2 hosts with 4 ports")
    assert status.status(lab).is_whole
    before = status.port_counters(lab)
    first, second = plan.hosts[:2], plan.hosts[2:]
    for own, other in zip(first, second, strict=True):
        source, target = (str(ip_address(port.ipv4 or 0)) for port in (own, other))
        done = inside(lab, "host0", "ping", "-c", "3", "-i", "0.05", "-I", source, target)
        assert "3 received" in done.stdout, done.stdout + done.stderr
    after = status.port_counters(lab)
    index = lab.layout.switches
    for port in plan.hosts:
        end = LabPort(index[port.switch], port.port)
        assert after[end].received - before[end].received >= 3, port.name
    compared = compare(lab.layout, None)
    assert (compared.arrived, compared.as_tables) == (compared.pairs, compared.pairs)
    assert compared.pairs == (4 if "planes" in ports else 12)
    down(scope, "ports")
