"""Reaction time to pauses: statistics of trials, and trials on the kernel and on Open vSwitch."""

import json
import socket
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest

from etherweave.control import reaction
from etherweave.control.ovs.bridges import built
from etherweave.control.ovs.daemons import run
from etherweave.control.ovs.load import load
from etherweave.control.pause.frame import ClassPause, Pause, PauseFrame, encode
from etherweave.control.plan import plan
from etherweave.control.reaction import DataPlane, ReactionError, TimeSpread, measure, summary
from etherweave.control.reaction_trials import (
    ALTERNATIVE,
    DEFAULT,
    FRAMES_BETWEEN,
    Arrival,
    Trial,
    reaction_times,
)
from support import command_line
from support.waiting import until

COMMAND = [*command_line.COMMAND, "control"]
verb = partial(command_line.invoke, "control")
MS = 10**6
PAUSE, RESUME, FEW = 10 * MS, 60 * MS, 110 * MS  # When pauses were sent [ns].
END = FEW + 199_680_000  # 390 quanta of 512 bit times at 1 Mb/s are 199.68 ms.


def arrivals(*times: tuple[int, int]) -> list[Arrival]:
    return [Arrival(number, port, time_ns) for number, (port, time_ns) in enumerate(times)]


def test_a_reaction_ends_with_the_first_frame_at_the_other_port() -> None:
    came = arrivals(
        (DEFAULT, PAUSE - 1),
        (DEFAULT, PAUSE + 40_000),
        (ALTERNATIVE, PAUSE + 70_000),
        (ALTERNATIVE, PAUSE + 170_000),
        (ALTERNATIVE, RESUME + 10_000),
        (DEFAULT, RESUME + 90_000),
        (ALTERNATIVE, FEW + 50_000),
        (DEFAULT, END + 30_000),
    )
    assert reaction_times(came, [PAUSE, RESUME, FEW], 8) == Trial(70.0, 90.0, 30.0, 8, 0)


def test_a_pause_that_ends_early_shows_as_a_negative_time() -> None:
    came = arrivals((ALTERNATIVE, FEW + 50_000), (DEFAULT, END - 2_000))
    assert reaction_times(came, [PAUSE, RESUME, FEW], 2).expiry_us == -2.0


def test_frames_that_stay_at_their_port_are_no_reaction() -> None:
    came = arrivals(*((DEFAULT, PAUSE + step * MS) for step in range(120)))
    trial = reaction_times(came, [PAUSE, RESUME, FEW], 121)
    assert (trial.pause_us, trial.expiry_us) == (None, None)
    assert trial.lost == 1


def test_a_frame_that_comes_twice_counts_once() -> None:
    twice = [Arrival(0, DEFAULT, 1), Arrival(0, ALTERNATIVE, 2)]
    assert reaction_times(twice, [PAUSE, RESUME, FEW], 2).lost == 1


def test_trials_are_summarised_by_minimum_median_and_maximum() -> None:
    trials = [Trial(time, None, 5.0, 100, lost) for time, lost in ((3.0, 0), (1.0, 2), (9.0, 0))]
    result = summary(trials)
    assert result.pause == TimeSpread(1.0, 3.0, 9.0)
    assert result.resume == TimeSpread(None, None, None)
    assert (result.trials, result.missed, result.sent, result.lost) == (3, 3, 300, 2)


@pytest.mark.parametrize("count", [0, -1, 1001])
def test_a_number_of_trials_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(ReactionError, match="trials: expected 1 to 1000"):
        measure(DataPlane.EBPF, count)


def test_a_plane_that_the_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaction, "missing", lambda plane: "clang not installed")
    with pytest.raises(ReactionError, match="ebpf: clang not installed"):
        measure(DataPlane.EBPF, 1)


@pytest.mark.needs("ebpf")
def test_the_kernel_obeys_without_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done: list[int] = []
    result = measure(DataPlane.EBPF, 2, done.append)
    assert done == [1, 2]
    assert (result.missed, result.lost) == (0, 0)
    assert result.sent >= 2 * 4 * FRAMES_BETWEEN
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs("namespaces", "ovs")
def test_open_vswitch_obeys_the_agent() -> None:
    result = measure(DataPlane.OVS, 2)
    assert result.missed == 0
    # Other programs may keep a switch that is a process from reading all frames.
    assert result.lost < result.sent // 10


@pytest.mark.needs("ebpf")
def test_the_verb_prints_json() -> None:
    done = verb("reaction", "--plane", "ebpf", "--trials", "1", "--json", code=0)
    (result,) = json.loads(done.stdout).values()
    assert result["pause_us"].keys() == {"min", "median", "max"}
    assert result["trials"] == 1


def test_an_unknown_plane_is_a_mistake() -> None:
    errors = verb("reaction", "--plane", "asic", code=2).stderr
    assert "'asic' is not one of 'ebpf', 'ovs', 'both'" in errors


def agent(scenario: Path, *words: str, code: int) -> str:
    switch = ["--switch", "group0.switch0", "--connect", "unix:/nowhere"]
    return verb("agent", scenario, *switch, *words, code=code).stderr


@pytest.fixture
def dragonfly(tmp_path: Path) -> Path:
    file = tmp_path / "dragonfly.toml"
    file.write_text('[topology.dragonfly]\n[control]\nrules = "conditional"\n', encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "three=lo"), "--port three=lo: expected NUMBER=INTERFACE"),
        (("--port", "3"), "--port 3: expected NUMBER=INTERFACE"),
        (
            ("--port", "1=lo"),
            "--port 1: no rule of group0.switch0 depends on it; expected one of 3, 4",
        ),
        (("--port", "3=lo", "--rate", "fast"), "--rate fast: expected a rate such as 100Gb/s"),
        (("--port", "3=lo", "--rate", "0Gb/s"), "--rate 0Gb/s: expected a rate above zero"),
        (("--port", "3=lo", "--switch", "s9"), "--switch s9: no such switch; expected one of"),
        (("--port", "3=lo", "--set", "control.rules=minimal"), "no rule writes a pause vector"),
    ],
)
def test_mistakes_of_users_are_errors(dragonfly: Path, words: tuple[str, ...], said: str) -> None:
    assert said in agent(dragonfly, *words, code=2)


@pytest.mark.needs("root")
def test_an_agent_without_interface_or_switch_ends(dragonfly: Path) -> None:
    # Behind what the plan is warned of.
    *_, last = agent(dragonfly, "--port", "3=nothing", code=2).splitlines()
    assert last == "interface nothing: No such device"
    *_, last = agent(dragonfly, "--port", "3=lo", code=1).splitlines()
    assert last == "unix:/nowhere: No such file or directory"


@pytest.mark.needs("namespaces", "ovs")
@pytest.mark.parametrize(
    ("pauses", "frame", "rule"),
    # Port 3 has bit 1 of two.
    [
        ("port", Pause(1, 65535), "priority=0 actions=write_metadata:0x2/0x3"),
        (
            "class",
            ClassPause(1, (None, None, None, 65535, None, None, None, None)),
            "dl_vlan_pcp=3 actions=write_metadata:0x2/0x3",
        ),
    ],
)
def test_an_agent_moves_the_vector_of_a_planned_switch_and_clears_it(
    tmp_path: Path, pauses: str, frame: PauseFrame, rule: str
) -> None:
    scenario = tmp_path / "dragonfly.toml"
    text = '[topology.dragonfly]\np = 1\na = 2\nh = 1\n[control]\nrules = "conditional"\n'
    scenario.write_text(f'{text}pauses = "{pauses}"\n', encoding="utf-8")
    planned = plan(scenario).plan
    name = planned.switches[0].name
    with built(planned) as (daemons, wired):
        load(daemons, planned, wired)
        address = daemons.management(wired.bridges[name])
        words = ["--switch", name, "--connect", address, "--port", "3=lo", "--rate", "1Mb/s"]
        started = subprocess.Popen(
            [*COMMAND, "agent", str(scenario), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with started as process, socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as end:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("WARNING: control.priorities")
            assert process.stderr.readline() == "listening\n"
            end.bind(("lo", 0))
            end.send(encode(frame))
            try:
                until(lambda: rule in flows(address))
            finally:
                process.terminate()
            printed, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "")
        assert printed == "pauses received: 1, rules changed: 1\n"
        assert "write_metadata:0x2/0x3" not in flows(address)


def flows(address: str) -> str:
    return run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", address)
