"""Open vSwitch as harness: it starts, takes a plan, returns it, and leaves nothing."""

import contextlib
import dataclasses
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from etherweave.control import rules
from etherweave.control.ovs import bridges, load
from etherweave.control.ovs.daemons import (
    Daemons,
    Datapath,
    OvsError,
    is_running,
    run,
    running,
    start,
    stop,
)
from etherweave.control.ovs.oracle import ControlSocket, Delivery, InjectedFrame, Oracle
from etherweave.control.text import mac_text

pytestmark = pytest.mark.needs("ovs")
HOSTS = 2
LINKS = (3, 4)
SWITCH_BITS = 0xFFFFFFFFFF00


def mac(switch: int, host: int) -> int:
    return 0x020000000000 | switch << 8 | host


def switch(number: int, *extra: rules.FlowRule) -> rules.SwitchPlan:
    other = 1 - number
    return rules.SwitchPlan(
        name=f"leaf{number}",
        datapath_id=number + 1,
        ports=(
            *(rules.PortPlan(1 + host, f"host{number}{host}", 1, True) for host in range(HOSTS)),
            *(rules.PortPlan(port, f"leaf{other}", port, False) for port in LINKS),
        ),
        rules=(
            rules.FlowRule(
                0, 10, (rules.MatchField("in_port", 1),), (), (rules.UseMeter(1), rules.GoTo(2))
            ),
            rules.FlowRule(0, 9, (), (), (rules.GoTo(2),)),
            *(
                rules.FlowRule(
                    2,
                    10,
                    (rules.MatchField("eth_dst", mac(number, host)),),
                    (rules.Output(1 + host),),
                )
                for host in range(HOSTS)
            ),
            rules.FlowRule(
                2,
                5,
                (rules.MatchField("eth_dst", mac(other, 0), SWITCH_BITS),),
                (rules.ToGroup(1),),
            ),
            *extra,
        ),
        groups=(rules.Group(1, LINKS),),
        meters=(rules.Meter(1, 100, 10),),
        pause_bits={},
    )


def two_switches() -> rules.FabricPlan:
    hosts = [
        rules.HostPlan(name, f"leaf{number}", 1 + host, mac(number, host), None, name)
        for number in range(2)
        for host in range(HOSTS)
        for name in [f"host{number}{host}"]
    ]
    return rules.FabricPlan("pair", "switch 1 | host 1", (switch(0), switch(1)), tuple(hosts))


PLAN = two_switches()
WIRING = bridges.bridge_names(PLAN)
NOBODY = 65534


@pytest.fixture(scope="module")
def built() -> Iterator[Daemons]:
    with bridges.built(PLAN) as (daemons, _):
        yield daemons


def pids(directory: Path) -> list[int]:
    return [int(file.read_text()) for file in (directory / "run").glob("*.pid")]


def test_daemons_end_with_their_block_and_leave_nothing() -> None:
    with pytest.raises(KeyboardInterrupt), running(Datapath.DUMMY) as daemons:
        started = pids(daemons.directory)
        assert len(started) == 2
        assert all(Path(f"/proc/{pid}").exists() for pid in started)
        raise KeyboardInterrupt
    # What is left of an ended process, until its parent asks, has no command line.
    lines = [Path(f"/proc/{pid}/cmdline") for pid in started]
    assert not any(line.exists() and line.read_bytes() for line in lines)
    assert not daemons.directory.exists()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Create a directory whose name leaves room for the sockets of Open vSwitch."""
    with tempfile.TemporaryDirectory(prefix="ew-ovs-") as directory:
        yield Path(directory)


def test_a_kept_directory_stays_with_its_logs_but_nothing_runs(short_path: Path) -> None:
    directory = short_path / "ovs"
    with running(Datapath.DUMMY, keep=directory):
        assert is_running(directory)
    assert (directory / "log" / "vswitchd.log").stat().st_size > 0
    assert not is_running(directory)


def test_a_directory_has_one_open_vswitch_at_a_time(short_path: Path) -> None:
    try:
        start(short_path, Datapath.DUMMY)
        with pytest.raises(OvsError, match="runs here; expected another directory"):
            start(short_path, Datapath.DUMMY)
        assert is_running(short_path), "whoever came first stays"
    finally:
        stop(short_path)


def test_a_directory_with_files_of_others_is_left_as_it_is(short_path: Path) -> None:
    precious = short_path / "db" / "conf.db"
    precious.parent.mkdir()
    precious.write_text("precious")
    with pytest.raises(OvsError, match="has files of others"), running(Datapath.DUMMY, short_path):
        pass
    assert precious.read_text() == "precious"


def test_a_directory_that_was_kept_can_be_used_again(short_path: Path) -> None:
    for _ in range(2):
        with running(Datapath.DUMMY, keep=short_path) as daemons:
            assert daemons.configure("list-br") == ""


def test_a_process_that_only_inherited_the_number_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "vswitchd.pid").write_text(f"{os.getpid()}\n")
    stop(tmp_path)
    assert not is_running(tmp_path)


def test_a_directory_too_long_for_sockets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OvsError, match="too long for sockets"):
        start(tmp_path / ("a" * 100), Datapath.DUMMY)
    assert not (tmp_path / ("a" * 100)).exists()


def test_a_failing_program_says_which_and_why() -> None:
    with pytest.raises(OvsError, match=r"ovs-ofctl ends with 1: .*unknown command"):
        run("ovs-ofctl", "nonsense")


def test_a_missing_program_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(OvsError, match=r"not found; expected Open vSwitch"):
        run("ovs-vsctl")


def test_bridges_have_identity_and_port_numbers_of_the_plan(built: Daemons) -> None:
    for planned in PLAN.switches:
        shown = run(
            "ovs-ofctl", "-O", "OpenFlow13", "show", built.management(f"s{planned.name[-1]}")
        )
        assert f"dpid:{planned.datapath_id:016x}" in shown
        for port in planned.ports:
            assert f" {port.number}({WIRING.port(planned.name, port.number)}):" in shown


def test_an_interface_that_does_not_exist_is_an_error(built: Daemons) -> None:
    leaf = dataclasses.replace(PLAN.switches[0], name="lost", ports=PLAN.switches[0].ports[:1])
    absent = bridges.BridgeNames({"lost": "t0"}, {("lost", 1): "absent0"})
    try:
        with pytest.raises(OvsError, match=r"port absent0 of lost: .*; expected number 1"):
            bridges.build(built, dataclasses.replace(PLAN, switches=(leaf,)), absent)
    finally:
        built.configure("--if-exists", "del-br", "t0")


def test_loading_brings_all_and_loading_again_changes_nothing(built: Daemons) -> None:
    for _ in range(2):
        load.load(built, PLAN, WIRING)
        for planned in PLAN.switches:
            assert load.differences(built, WIRING.bridges[planned.name], planned) == []


def test_differences_name_what_lacks_and_what_is_too_much(built: Daemons) -> None:
    load.install(built, "s0", switch(0))
    other = dataclasses.replace(
        switch(0),
        rules=(
            *switch(0).rules[:-1],
            rules.FlowRule(2, 7, (rules.MatchField("eth_dst", 5),), (rules.Output(1),)),
        ),
        groups=(rules.Group(1, (4, 3)), rules.Group(2, (3,))),
        meters=(rules.Meter(1, 100, 20),),
    )
    result = load.differences(built, "s0", other)
    assert sorted(result) == [
        "+group_id=1,type=select,bucket=weight:1,actions=output:4,bucket=weight:1,actions=output:3",
        "+group_id=2,type=select,bucket=weight:1,actions=output:3",
        "+meter=1,pktps,burst,bands=type=drop,rate=100,burst_size=20",
        "+table=2 priority=7,dl_dst=00:00:00:00:00:05 actions=output:1",
        "-group_id=1,type=select,bucket=weight:1,actions=output:3,bucket=weight:1,actions=output:4",
        "-meter=1,pktps,burst,bands=type=drop,rate=100,burst_size=10",
        "-table=2 priority=5,dl_dst=02:00:00:00:01:00/ff:ff:ff:ff:ff:00 actions=group:1",
    ]
    load.install(built, "s0", other)
    assert load.differences(built, "s0", other) == []
    load.install(built, "s0", switch(0))
    assert load.differences(built, "s0", switch(0)) == [], "groups that nobody needs are gone"


def test_a_rule_that_is_refused_leaves_all_rules_as_they_were(built: Daemons) -> None:
    load.install(built, "s0", switch(0))
    good = rules.FlowRule(2, 3, (), (rules.Output(1),))
    bad = rules.FlowRule(2, 4, (rules.MatchField("in_port", 2),), (rules.ToGroup(99),))
    with pytest.raises(OvsError, match="ovs-ofctl ends with 1"):
        load.install(built, "s0", switch(0, good, bad))
    assert load.differences(built, "s0", switch(0)) == []


@pytest.mark.needs("root", "setpriv")
def test_the_harness_needs_no_privilege() -> None:
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    code = (
        "from etherweave.control.ovs.daemons import Datapath, running\n"
        "with running(Datapath.DUMMY) as daemons:\n"
        "    made = 'add-br s0 -- set bridge s0 datapath_type=dummy'\n"
        "    daemons.configure(*made.split())\n"
        "    print(daemons.directory.stat().st_uid)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert (done.stdout, done.stderr) == (f"{NOBODY}\n", "")


@pytest.mark.needs("namespaces")
def test_interfaces_become_ports_of_bridges_and_outlive_them() -> None:
    own = f"ewov{os.getpid() % 10**6}"
    names = [f"{own}{end}" for end in "ab"]
    subprocess.run(["ip", "link", "add", names[0], "type", "veth", "peer", names[1]], check=True)
    made = {"leaf0": f"{own}s0", "leaf1": f"{own}s1"}
    wiring = bridges.BridgeNames(made, {("leaf0", 1): names[0]})
    try:
        with running(Datapath.NETDEV) as daemons:
            bridges.build(daemons, PLAN, wiring)
            load.load(daemons, PLAN, wiring)
            ports = daemons.configure("list-ports", f"{own}s0").split()
            links = [f"{own}s0-{port}" for port in (3, 4)]
            assert sorted(ports) == sorted([names[0], *links]), (
                "a host without interface has no port"
            )
            for bridge in made.values():
                daemons.configure("del-br", bridge)
        assert Path(f"/sys/class/net/{names[0]}").exists()
    finally:
        subprocess.run(["ip", "link", "delete", names[0]], check=True)


def test_a_control_socket_answers_many_questions_in_order(built: Daemons) -> None:
    questions = [("ofproto/trace", "s0", f"in_port=1,dl_dst={mac_text(n)}") for n in range(1, 100)]
    with ControlSocket(built.control) as control:
        answers = list(control.ask_all(questions))
        assert [f"dl_dst={mac_text(n)}" in text for n, text in enumerate(answers, 1)] == [True] * 99
        with pytest.raises(OvsError, match='nonsense: "nonsense" is not a valid command'):
            control.ask("nonsense")
        assert "Open vSwitch" in control.ask("version"), "a refusal does not end the connection"


def test_a_socket_that_nobody_listens_at_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OvsError, match=r"no\.ctl: No such file .*; expected a daemon's socket"):
        ControlSocket(tmp_path / "no.ctl")


@contextlib.contextmanager
def daemon_that_says(*pieces: bytes) -> Iterator[Path]:
    with (
        tempfile.TemporaryDirectory(prefix="ew-ovs-") as directory,
        socket.socket(socket.AF_UNIX) as server,
    ):
        path = Path(directory) / "daemon.ctl"
        server.bind(str(path))
        server.listen()

        def say() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                for piece in pieces:
                    connection.sendall(piece)

        thread = threading.Thread(target=say)
        thread.start()
        yield path
        thread.join()


def test_an_answer_may_come_in_pieces_even_of_characters() -> None:
    said = '{"id":0,"result":"a {\\"é\\"} b","error":null}'.encode()
    pieces = [said[at : at + 1] for at in range(len(said))]
    with daemon_that_says(*pieces) as path, ControlSocket(path) as control:
        assert control.ask("say") == 'a {"é"} b'


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b'{"id":0,', "the daemon has closed the connection"),
        (b"[1]", r"\[1\]; expected a JSON object"),
    ],
)
def test_a_broken_answer_is_refused(said: bytes, message: str) -> None:
    with (
        daemon_that_says(said) as path,
        ControlSocket(path) as control,
        pytest.raises(OvsError, match=message),
    ):
        control.ask("say")


def probe(switch: int, port: int, destination: int) -> InjectedFrame:
    return InjectedFrame(
        switch, port, f"dp_hash=1,dl_src={mac_text(1)},dl_dst={mac_text(destination)}"
    )


def test_journeys_speak_of_switches_and_ports_of_the_plan(built: Daemons) -> None:
    load.load(built, PLAN, WIRING)
    probes = [probe(0, 1, mac(1, 1)), probe(1, 2, mac(1, 0)), probe(0, 2, 5)]
    with Oracle(built.control, PLAN, WIRING) as oracle:
        across, local, nowhere = oracle.follow(probes)
    (link,) = [sent.port for sent in across.hops[0].sent]
    assert link in LINKS
    # Both ends of a link have the same number in this plan.
    assert [(hop.switch, hop.port) for hop in across.hops] == [(0, 1), (1, link)]
    assert across.deliveries == (Delivery(1, 2, {}),)
    assert local.deliveries == (Delivery(1, 1, {}),)
    assert nowhere.deliveries == ()
    assert [journey.remarks for journey in (across, local, nowhere)] == [()] * 3


def test_all_ports_of_a_group_are_found_by_hashes(built: Daemons) -> None:
    load.load(built, PLAN, WIRING)
    fields = f"dl_src={mac_text(1)},dl_dst={mac_text(mac(1, 0))}"
    probes = [InjectedFrame(0, 1, f"dp_hash={value},{fields}") for value in range(1, 17)]
    with Oracle(built.control, PLAN, WIRING) as oracle:
        journeys = list(oracle.follow(probes))
    assert {journey.hops[0].sent[0].port for journey in journeys} == set(LINKS)
