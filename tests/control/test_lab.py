"""Labs of real namespaces: what they do, and that nothing of them is left, whatever happens."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from etherweave.control.lab import counters, lifecycle, namespaces, processes, state, status
from etherweave.control.lab.compare import compare
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.lab.state import Realm, StateError
from etherweave.control.lab.story import in_a_lab
from support import command_line

pytestmark = pytest.mark.needs("namespaces", "ovs")

PAIR: dict[str, object] = {"topology": {"single_switch": {"hosts": 2}}}
SQUARE: dict[str, object] = {"topology": {"dragonfly": {"p": 2, "a": 2, "h": 1, "groups": 2}}}
"""4 switches with 2 hosts each."""
TRIANGLE: dict[str, object] = {
    "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1}},
    "control": {"rules": "conditional"},
}
"""6 switches with a host each, and ways round their local links."""
STEPS = ("namespaces", "Open vSwitch", "agents", "hosts boot")
"""What bringing up tells, in order."""
NUMBERS = count()


@pytest.fixture
def realm() -> Iterator[Realm]:
    """Give a realm that nobody else has; nothing of it may be left, and no process in it."""
    directory = Path(tempfile.mkdtemp(prefix="ew-lab-"))
    one = Realm(directory / "lab", f"ew-t{os.getpid()}-{next(NUMBERS)}.")
    try:
        yield one
        assert lifecycle.everything(one) == []
    finally:
        for name in lifecycle.everything(one):
            lifecycle.down(one, name)
        shutil.rmtree(directory, ignore_errors=True)
    assert not traces(one)


def traces(realm: Realm) -> list[str]:
    """Find what labs of a realm have left: namespaces, mounts, processes, files."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    files = [str(realm.directory)] if realm.directory.exists() else []
    return [
        *(name for name in namespaces.existing() if name.startswith(realm.prefix)),
        *(line for line in mounts if f"{realm.directory}/" in line),
        *(words for words in commands() if f"{realm.directory}/" in words),
        *files,
    ]


def commands() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def homes(realm: Realm) -> list[tuple[int, int]]:
    own = (name for name in namespaces.existing() if name.startswith(realm.prefix))
    return [home for home in map(namespaces.identity, own) if home]


def down(realm: Realm, name: str) -> None:
    """Bring a lab down, and make sure that nothing of it is left, nobody in its namespaces."""
    lived = homes(realm)
    lifecycle.down(realm, name)
    assert not traces(realm)
    assert not processes.inhabitants(lived)


def wait_for(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def inside(lab: Lab, host: str, *command: str) -> subprocess.CompletedProcess[str]:
    enter = ["ip", "netns", "exec", lab.layout.host(host)]
    return subprocess.run([*enter, *command], capture_output=True, text=True, timeout=30)


@pytest.mark.needs("ping")
@pytest.mark.parametrize("plane", ["ovs", pytest.param("ebpf", marks=pytest.mark.needs("ebpf"))])
def test_hosts_have_planned_addresses_and_ping_each_other(realm: Realm, plane: str) -> None:
    before = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    lab = lifecycle.up(realm, "one", SQUARE, plane=plane)
    found = status.status(lab)
    assert found.is_whole
    assert [host.mac for host in found.hosts] == [f"02:00:00:00:00:0{n}" for n in range(8)]
    told = inside(lab, "host0", "ping", "-c", "2", "-i", "0.1", "-w", "5", "10.128.0.7")
    assert "0% packet loss" in told.stdout
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == before
    down(realm, "one")


def test_requests_for_addresses_are_answered_and_seen_nowhere_else(realm: Realm) -> None:
    lab = lifecycle.up(realm, "one", SQUARE)
    boot = lab.record.boot
    assert boot is not None
    # Those that a busy switch misses are asked again.
    assert boot["requests"] >= boot["answers"] >= 8
    assert boot["elsewhere"] == 0
    assert [host["factory"] for host in boot["hosts"]] == [
        f"00:00:5e:00:53:0{number}" for number in range(8)
    ]
    down(realm, "one")


def test_hosts_of_a_fabric_that_rewrites_keep_their_factory_addresses(realm: Realm) -> None:
    scenario = {**SQUARE, "control": {"addresses": "rewrite"}}
    lab = lifecycle.up(realm, "one", scenario)
    assert [host.mac for host in status.status(lab).hosts][-1] == "00:00:5e:00:53:07"
    assert status.status(lab).is_whole
    if shutil.which("ping"):
        told = inside(lab, "host0", "ping", "-c", "2", "-i", "0.1", "-w", "5", "10.128.0.7")
        assert "0% packet loss" in told.stdout
    down(realm, "one")


def test_a_lab_goes_round_a_cable_that_failed(realm: Realm) -> None:
    cable = "group0.switch0 - group1.switch0"
    lab = lifecycle.up(realm, "one", SQUARE, failed=[cable])
    found = compare(lab.layout, None)
    assert (found.pairs, found.arrived, found.as_tables) == (56, 56, 56)
    carried = counters.ports(lab)
    switches = lab.layout.switches
    for end, (_, sent) in carried.items():
        if end in ((switches["group0.switch0"], 4), (switches["group1.switch0"], 4)):
            assert sent == 0, "nothing goes over the cable"
    assert lifecycle.find(realm, None).layout.plan == lab.layout.plan
    down(realm, "one")


def test_the_story_holds_with_as_many_rules_as_the_model_says(realm: Realm) -> None:
    told = in_a_lab(SQUARE, where=realm)
    assert told["failures"] == []
    # Of each switch: two hosts, the other switch of the group, the other group.
    assert told["rules"]["installed"] == (4,) * 4
    assert (told["rules"]["design_min"], told["rules"]["design_max"]) == (4, 4)
    assert told["unknown"]["entered"] == told["unknown"]["sent"] == 16
    assert told["unknown"]["elsewhere"] == 0
    ways = told["ways"]
    assert ways["pairs"] == ways["arrived"] == ways["as_tables"] == ways["as_simulated"] == 56
    assert told["pausing"] is None
    assert not traces(realm)


@pytest.mark.parametrize("plane", ["ovs", pytest.param("ebpf", marks=pytest.mark.needs("ebpf"))])
def test_traffic_goes_round_a_port_that_pauses_and_comes_back(realm: Realm, plane: str) -> None:
    told = in_a_lab(TRIANGLE, plane=plane, where=realm)
    assert told["failures"] == []
    phases = [told["pausing"][name] for name in ("before", "paused", "resumed")]
    counted = [(phase["by_default"], phase["by_alternative"]) for phase in phases]
    assert counted == [(200, 0), (0, 200), (200, 0)]
    assert not traces(realm)


def test_a_second_lab_of_the_same_name_is_refused_and_the_first_stays(realm: Realm) -> None:
    lab = lifecycle.up(realm, "one", PAIR)
    with pytest.raises(LabError, match="is there already; expected `etherweave lab down"):
        lifecycle.up(realm, "one", PAIR)
    assert status.status(lab).is_whole
    lifecycle.up(realm, "two", PAIR)
    assert state.names(realm) == ["one", "two"]
    lifecycle.down(realm, "one")
    assert status.status(lifecycle.find(realm, None)).is_whole, "the other is untouched"
    down(realm, "two")


@pytest.mark.parametrize("step", STEPS[1::2])
def test_what_fails_half_way_is_undone(realm: Realm, step: str) -> None:
    def fail(line: str) -> None:
        if step in line:
            raise RuntimeError(step)

    with pytest.raises(RuntimeError, match=step):
        lifecycle.up(realm, "one", TRIANGLE, tell=fail)
    assert not traces(realm)


@pytest.mark.parametrize(
    ("plane", "step"),
    [
        *(("ovs", step) for step in STEPS),
        pytest.param("ebpf", "hosts boot", marks=pytest.mark.needs("ebpf")),
    ],
)
def test_a_lab_whose_making_was_killed_is_removed(realm: Realm, plane: str, step: str) -> None:
    """The process kills itself where it would go on; ``down`` knows nothing but the name."""
    script = f"""
import os, signal
from pathlib import Path
from etherweave.control.lab import lifecycle
from etherweave.control.lab.state import Realm

def tell(line):
    if {step!r} in line:
        os.kill(os.getpid(), signal.SIGKILL)

realm = Realm(Path({str(realm.directory)!r}), {realm.prefix!r})
lifecycle.up(realm, "one", {TRIANGLE!r}, plane={plane!r}, tell=tell)
"""
    killed = subprocess.run([sys.executable, "-c", script], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert lifecycle.everything(realm) == ["one"]
    with pytest.raises(StateError, match="is not whole; expected `etherweave lab down`"):
        lifecycle.find(realm, None)
    down(realm, "one")


def test_a_lab_whose_daemons_were_killed_says_so_and_is_removed(realm: Realm) -> None:
    lab = lifecycle.up(realm, "one", TRIANGLE)
    keeper = lab.keeper
    assert keeper is not None and status.status(lab).hears_pauses
    daemons = [int(file.read_text()) for file in (lab.directory / "ovs" / "run").glob("*.pid")]
    for pid in (*daemons, keeper.pid):
        kill(pid)
    gone = status.status(lab)
    assert not gone.is_running and not gone.hears_pauses and not gone.is_whole
    down(realm, "one")


def kill(pid: int) -> None:
    """Kill a process, and wait until it is gone."""
    held = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(held, signal.SIGKILL)
        assert select.select([held], [], [], 10)[0]
    finally:
        os.close(held)


def test_a_lab_whose_files_are_lost_is_found_by_its_prefix(realm: Realm) -> None:
    lab = lifecycle.up(realm, "one", TRIANGLE)
    shutil.rmtree(lab.directory)
    assert lifecycle.everything(realm) == ["one"]
    down(realm, "one")


def test_processes_in_hosts_end_with_the_lab_and_no_others(realm: Realm) -> None:
    lab = lifecycle.up(realm, "one", PAIR)
    namespace = lab.layout.host("host0")
    with (
        subprocess.Popen(["ip", "netns", "exec", namespace, "sleep", "60"]) as inhabitant,
        # Its words name the lab, but it lives elsewhere.
        subprocess.Popen(["sleep", "60"], cwd=lab.directory) as bystander,
    ):
        try:
            wait_for(
                lambda: inhabitant.pid in {one.pid for one in processes.inhabitants(homes(realm))}
            )
            lifecycle.down(realm, "one")
            assert inhabitant.wait(10) == -signal.SIGTERM
            assert bystander.poll() is None
        finally:
            inhabitant.kill()
            bystander.kill()
    assert not traces(realm)


def test_a_pause_of_a_port_that_leads_to_a_host_is_refused(realm: Realm) -> None:
    from etherweave.control.lab.layout import End
    from etherweave.control.lab.pauses import PauseError, paused

    lab = lifecycle.up(realm, "one", PAIR)
    with pytest.raises(PauseError, match="port 1 of switch0: expected one that leads to a switch"):
        paused(lab.layout, End(0, 1)).__enter__()
    down(realm, "one")


@pytest.fixture
def command(realm: Realm) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line with labs in a directory of the test's own."""
    surroundings = os.environ | {state.RUNTIME: str(realm.directory.parent)}

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
        found = json.loads(checked.stdout)
        assert (checked.returncode, found["as_tables"], found["as_simulated"]) == (0, 2, None)
        assert "expected one of ecmp" in found["not_simulated"]
        unknown = command("exec", "host9", "true")
        assert (unknown.returncode, "expected one of host0 to host1" in unknown.stderr) == (2, True)
    finally:
        gone = command("down", "--name", name)
    assert gone.returncode == 0, gone.stderr
    assert not [one for one in namespaces.existing() if name in one]


def test_a_lab_is_undone_when_it_is_told_to_end_while_it_is_made(
    realm: Realm, tmp_path: Path
) -> None:
    name = f"e{os.getpid()}"
    scenario = tmp_path / "square.toml"
    scenario.write_text("[topology.dragonfly]\np = 2\na = 2\nh = 1\ngroups = 2\n")
    words = [*command_line.COMMAND, "lab", "up"]
    surroundings = os.environ | {state.RUNTIME: str(realm.directory.parent)}
    with subprocess.Popen(
        [*words, str(scenario), "--name", name], stderr=subprocess.PIPE, text=True, env=surroundings
    ) as making:
        assert making.stderr is not None
        assert any("Open vSwitch" in line for line in making.stderr)
        making.send_signal(signal.SIGTERM)
        assert "removing what was made" in making.stderr.read()
    assert making.returncode not in (0, -signal.SIGTERM)
    assert not [one for one in namespaces.existing() if name in one]
    assert not traces(realm)
