"""The command line as its user meets it."""

import contextlib
import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from etherweave.api.results import Result
from etherweave.api.simulation import resolve
from etherweave.cli.exits import FAILED, PACKAGE, USAGE, mistakes
from etherweave.cli.manual import commands
from support import command_line

SCENARIOS = Path(__file__).parents[2] / "scenarios"


etherweave = command_line.run
here = command_line.run_here


def test_run_prints_iteration_times_and_saves_a_result(tmp_path: Path) -> None:
    done = etherweave(
        "run", SCENARIOS / "first.toml", "-o", tmp_path / "result", "--seed", "5", code=0
    )
    assert "latency: osu_latency 1.00 us; 1000 iterations, mean 2.00 us" in done.stdout
    result = Result.load(tmp_path / "result")
    assert result.summary["seed"] == 5
    assert len(result.tables["iterations"]) == 1000


def test_json_has_the_summary_and_the_times_of_each_job() -> None:
    done = etherweave("run", SCENARIOS / "first.toml", "--json", "--threads", "2")
    facts = json.loads(done.stdout)
    assert not done.stderr
    assert facts["finished"] == "complete"
    assert facts["packets_created"] == facts["packets_delivered"] + facts["packets_in_flight"]
    assert 1 < facts["jobs"]["latency"]["mean_us"] < 4


def test_a_mistake_is_one_line_with_its_place(tmp_path: Path) -> None:
    scenario = tmp_path / "wrong.toml"
    scenario.write_text("[switch]\nlatency = 300\n")
    done = here("run", scenario, code=2)
    assert done.stderr.startswith(f"{scenario}:2:1: switch.latency: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "x"], "--set x: expected KEY=VALUE"),
        (["-s", "seed=x"], "seed"),
        (["--pcap", "nobody"], "no host nobody to capture"),
        (["--pcap", "host0=nowhere/x.pcapng"], "no directory nowhere for the capture"),
        (["--pcap", "host0=/"], "/: Is a directory"),
        (["--pcap", "host0=x", "--pcap", "host1=x"], "--pcap: expected each host once"),
        (["--snap-length", "128B"], "--snap-length: no frames are captured; expected --pcap"),
        (
            ["--pcap", "host0", "--snap-length", "0B"],
            "--snap-length: 0B; expected 1B to 4294967295B",
        ),
        (["--pcap", "host0", "--snap-length", "few"], '--snap-length: "few" is not a size'),
        (["--threads", "x"], "'--threads': x; expected a valid integer\n"),
        (["--threads", "0"], "'--threads': 0; expected a number greater than or equal to 1\n"),
        (["-o", __file__], f"{__file__}: expected a directory, but {__file__} is a file"),
        (["-o", f"{__file__}/below"], f"expected a directory, but {__file__} is a file"),
    ],
)
def test_a_mistake_among_the_options_is_one_line(arguments: list[str], message: str) -> None:
    done = here("run", SCENARIOS / "first.toml", *arguments, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_enough_ends_a_verb_in_silence() -> None:
    line = f"{command_line.COMMAND[0]} design {SCENARIOS}/lab/dragonfly_72.toml | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dragonfly_72: ")
    assert done.stderr == ""


@pytest.mark.parametrize("verb", ["design", "show"])
def test_a_full_disk_behind_standard_output_is_one_line(verb: str) -> None:
    with Path("/dev/full").open("w") as full:
        words = [*command_line.COMMAND, verb, str(SCENARIOS / "lab/dragonfly_72.toml")]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1:] == [
        "the output cannot be written: No space left on device"
    ]


def test_python_runs_the_package_as_the_command_line() -> None:
    words = [sys.executable, "-m", "etherweave", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == command_line.run("--version").stdout


@pytest.mark.parametrize("verb", ["run", "show"])
def test_a_scenario_that_is_not_there_is_one_line(verb: str, tmp_path: Path) -> None:
    for path, why in ((tmp_path / "no.toml", "No such file or directory"), (tmp_path, "Is a dir")):
        done = here(verb, path, code=2)
        assert done.stderr.startswith(f"{path}: {why}")
        assert done.stderr.count("\n") == 1


def test_a_capture_that_cannot_be_written_fails_before_the_run(tmp_path: Path) -> None:
    # Neither ends before the test gives up.
    endless = ["-s", "job.0.workload.osu_latency.iterations=10000000"]
    done = etherweave(
        "run",
        SCENARIOS / "first.toml",
        *endless,
        "--pcap",
        f"host0={tmp_path / ('x' * 300)}",
        code=2,
    )
    assert done.stderr.count("\n") == 1
    assert "File name too long" in done.stderr


@pytest.mark.parametrize("number", [errno.EFBIG, errno.EACCES, errno.EPIPE])
def test_a_file_that_no_verb_expects_to_fail_is_one_line(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise OSError(number, os.strerror(number), "page/overview.svg")

    monkeypatch.setattr("etherweave.api.simulation.schema", fail)
    done = command_line.invoke("schema", code=2)
    assert done.stderr == f"page/overview.svg: {os.strerror(number)}\n"


def test_a_file_of_the_package_that_is_missing_is_no_mistake_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = str(PACKAGE / "measurements" / "references.csv")

    def fail(name: str = file) -> str:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)

    monkeypatch.setattr("etherweave.api.simulation.schema", fail)
    done = command_line.invoke("schema", code=FAILED)
    broken = (
        f"{file}: No such file or directory; the file belongs to Etherweave, whose installation"
    )
    assert done.stderr.startswith(broken) and done.stderr.count("\n") == 1
    with pytest.raises(typer.Exit) as end, mistakes():
        fail()
    assert end.value.exit_code == FAILED
    with pytest.raises(typer.Exit) as end, mistakes():
        fail("mine.toml")
    assert end.value.exit_code == USAGE


def test_a_result_on_a_full_disk_is_named(tmp_path: Path) -> None:
    full = 'ulimit -f 8; trap "" XFSZ; exec "$@"'
    command = ["sh", "-c", full, "sh", *command_line.COMMAND, "run", str(SCENARIOS / "first.toml")]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "-o", tmp_path / "out"], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (2, f"{tmp_path / 'out'}: File too large\n")


@pytest.mark.parametrize(("option", "name"), [("--pcap", "frames"), ("--trace", "ranks.json")])
def test_a_file_of_an_option_whose_reader_stops_is_a_line(
    option: str, name: str, tmp_path: Path
) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    value = f"host0={pipe}" if option == "--pcap" else pipe
    command = [*command_line.COMMAND, "run", SCENARIOS / "first.toml", option, value]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with pipe.open("rb") as reader:
            reader.read(1)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (2, f"{pipe}: Broken pipe\n")


def test_each_capture_has_its_own_file_with_its_host_in_it(tmp_path: Path) -> None:
    files = {host: tmp_path / f"{host}.pcapng" for host in ("host0", "host1")}
    captures = [part for host in files for part in ("--pcap", f"{host}={files[host]}")]
    here("run", SCENARIOS / "first.toml", "--threads", "2", *captures, code=0)
    for host, file in files.items():
        assert host.encode() in file.read_bytes()[:100]
        assert file.stat().st_size > 100_000


@pytest.mark.usefixtures("workers_of_this_process")
@pytest.mark.slow
def test_a_part_of_a_study_lists_what_did_not_run(tmp_path: Path) -> None:
    words = ["study", "sandia-2020", "-o", str(tmp_path), "--only", "p2p.roce_v2.*"]
    done = command_line.invoke(*words, code=0)
    assert "2 of 2 figures pass. Predicted figures are off by " in done.stdout
    assert "in the median of 2.\nNot checked, for an experiment that --only" in done.stdout
    assert "  p2p.roce_v1.bandwidth: p2p.roce_v1.bandwidth" in done.stdout
    assert "Assumed where" not in done.stdout
    facts = json.loads(command_line.invoke(*words, "--json").stdout)
    assert len(facts["checks"]) == 2
    assert "halo3d.roce.iteration" in facts["not_run"]
    wrong = command_line.invoke(*words[:-1], "x.*", code=2)
    assert wrong.stderr.count("\n") == 1
    assert "no experiment 'x.*'; known: p2p.*, incast.*" in wrong.stderr


def test_a_file_without_text_and_a_directory_without_a_result_are_mistakes(tmp_path: Path) -> None:
    scenario = tmp_path / "latin.toml"
    scenario.write_bytes(b"name = '\xff'")
    assert here("run", scenario).stderr == f"{scenario}: byte 8: expected UTF-8 text\n"
    done = here("report", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no result here" in done.stderr


def test_a_value_needs_no_quotes_when_it_can_be_nothing_but_text() -> None:
    shown = here("show", SCENARIOS / "first.toml", "-s", "switch.latency=1us", "-s", "seed=3")
    assert 'latency = "1us"' in shown.stdout
    assert "seed = 3" in shown.stdout


def rest(terminal: int) -> bytes:
    """Read all that a terminal still holds; without a writer it ends with EIO."""
    seen = b""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            seen += piece
    return seen


def test_ctrl_c_removes_the_bar_and_saves_a_result_that_is_marked_partial(tmp_path: Path) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(
        "[topology.single_switch]\nhosts = 2\n"
        "[[job]]\nname = 'j'\nworkload.osu_latency = { iterations = 10000000 }\n"
    )
    words = [*command_line.COMMAND, "run", str(scenario), "-o", str(tmp_path / "result"), "--json"]
    terminal, its_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=its_end, env=environment) as done:
        # Only the command writes then: should it end early, reading ends with an error.
        os.close(its_end)
        seen = b""
        while b"packet-hops/s" not in seen:
            seen += os.read(terminal, 4096)
        done.send_signal(signal.SIGINT)
        assert done.stdout is not None
        assert json.load(done.stdout)["finished"] == "interrupted"
    assert done.returncode == 130
    assert b"Interrupted: the result in " in rest(terminal)
    assert Result.load(tmp_path / "result").is_partial


def test_losses_in_a_lossless_priority_are_reported_by_port() -> None:
    done = here("run", SCENARIOS / "incast_roce.toml", "-s", "switch.headroom=0B", "--json")
    text = r"^WARNING: \w+ port \d+ \(from \w+\) lost (\d+) packets, \d+ B, in lossless priority 0"
    lost = [int(packets) for packets in re.findall(text, done.stderr, re.MULTILINE)]
    assert sum(lost) == json.loads(done.stdout)["packets_dropped"] > 0


def test_links_that_are_faster_than_the_default_nic_are_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "fast.toml"
    fabric = '[topology.single_switch]\nhosts = 2\nrate = "400Gb/s"\n'
    file.write_text(f'{fabric}[[job]]\nname = "a"\nworkload.osu_bw = {{}}\n')
    warning = "WARNING: nic.drain_rate: 107Gb/s, the default, behind links of hosts of 400Gb/s"
    for verb in ("run", "show"):
        assert warning in here(verb, file).stderr
    for other in ("nic.drain_rate=428Gb/s", "transport={tcp={}}"):
        assert "drain_rate" not in here("show", file, "--set", other).stderr


def test_a_nic_slower_than_its_link_is_a_warning_in_flow_level_mode(tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    head = "topology.single_switch = { hosts = 2 }\nnic.drain_rate = '40Gb/s'\n"
    file.write_text(f'{head}[[job]]\nname = "a"\nworkload.osu_bw = {{}}\n')
    warning = "WARNING: nic.drain_rate: 40Gb/s behind links of hosts of 100Gb/s"
    assert warning in here("show", file, "--set", "run.fidelity=flow").stderr
    assert "drain_rate" not in here("show", file).stderr


def test_threads_that_flow_level_mode_does_not_use_are_a_note() -> None:
    words = ("run", SCENARIOS / "first.toml", "--set", "run.fidelity=flow")
    note = "--threads: 3, of which 1 is used: flow-level mode has one"
    assert note in here(*words, "--threads", "3").stderr
    assert "--threads" not in here(*words).stderr + here(*words, "--threads", "1").stderr


def test_packets_damaged_on_a_bad_cable_are_reported_without_a_warning() -> None:
    done = here("run", SCENARIOS / "degraded_link.toml")
    assert re.search(r" 0 packets dropped, [1-9]\d* damaged$", done.stdout, re.MULTILINE)
    assert "WARNING" not in done.stderr


def test_a_stuck_run_reports_which_rank_waits_and_fails(tmp_path: Path) -> None:
    scenario = tmp_path / "stuck.toml"
    links = "".join(f"h{i},s{i},100Gb/s,3m\\ns{i},s{(i + 1) % 5},40Gb/s,20m\\n" for i in range(5))
    # Every host sends two switches on, through buffers that others fill: a cyclic dependency.
    scenario.write_text(
        'routing = "shortest_path"\n[topology.custom]\nhosts = 5\n'
        f'links = "{links}"\n[switch]\nbuffer = "150kB"\nreserve = "0B"\n'
        "ingress_threshold.alpha = 0.25\n[[job]]\nname = 'cycle'\n"
        "workload.permutation_streams = { ranks = 5, message = '10MB', partner.shift = 2 }\n"
    )
    assert "priority 0 is paused by s" in etherweave("run", scenario, code=3).stderr


@pytest.mark.parametrize("verb", ["run", "show", "schema", "report", "study", "calibrate"])
def test_help_of_every_verb_has_an_example(verb: str) -> None:
    page = here(verb, "--help").stdout
    assert f"etherweave {verb}" in page.partition("Example")[2]


def test_every_parameter_of_every_verb_has_a_help() -> None:
    silent = [
        (verb, param.name)
        for verb, it in commands()
        for param in it.params
        if not (param.help or param.hidden)
    ]
    assert not silent


def test_an_empty_table_in_a_file_of_overrides_counts(tmp_path: Path) -> None:
    overrides = tmp_path / "dcqcn.toml"
    overrides.write_text(
        "transport.roce.dcqcn = {}\n"
        'switch.ecn = { queue_min = "50kB", queue_max = "200kB", share_max = 0.1 }\n'
    )
    done = command_line.invoke("show", SCENARIOS / "first.toml", "--set", f"@{overrides}", code=0)
    assert "[transport.roce.dcqcn]" in done.stdout


def test_a_setting_without_a_value_takes_a_key_out() -> None:
    """A run with a table and one without it need no second file."""
    faults = SCENARIOS / "degraded_link.toml"
    assert "[[faults.degraded]]" in command_line.invoke("show", faults, code=0).stdout
    done = command_line.invoke("show", faults, "--set", "faults.degraded=", code=0)
    assert "[[faults.degraded]]" not in done.stdout
    assert resolve(faults, {"faults.degraded": None}) == done.stdout
