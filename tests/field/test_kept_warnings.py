"""Every warning that a run prints is kept with its result."""

import json
from pathlib import Path

import pyarrow

import etherweave
from support.command_line import invoke

LIMIT = Path(__file__).parent / "cases" / "27-deadlock-at-the-time-limit" / "limit.toml"
SONIC = Path(__file__).parents[2] / "scenarios" / "sonic"
SPRAYED = """
routing = "spray"
[topology.fat_tree]
leaves = 4
hosts_per_leaf = 8
cores = 8
links_per_core = 1
[transport.roce]
reliability = "selective_repeat"
[[job]]
name = "p"
workload.permutation = { ranks = 32, bytes = "500kB" }
"""


def printed(errors: str) -> list[str]:
    return [line.removeprefix("WARNING: ") for line in errors.splitlines() if "WARNING: " in line]


def test_warnings_before_and_after_a_run_are_in_its_summary_and_on_its_page(tmp_path: Path) -> None:
    output = tmp_path / "result"
    done = invoke("run", LIMIT, "--json", "-o", output)
    warnings = json.loads(done.stdout)["warnings"]
    assert [warning.split(":")[0] for warning in warnings] == ["routing", "deadlock"]
    assert printed(done.stderr) == warnings
    assert json.loads((output / "summary.json").read_text())["summary"]["warnings"] == warnings
    assert etherweave.Result.load(output).summary["warnings"] == warnings
    assert invoke("report", output).exit_code == 0
    page = (output / "report.html").read_text()
    assert all(warning in page for warning in warnings)


def lone_pair(tmp_path: Path, goal: str, eager_max: str) -> list[str]:
    """Warnings of a run of two ranks on two hosts."""
    (tmp_path / "two.goal").write_text(goal)
    file = tmp_path / "two.toml"
    file.write_text(
        """
        [topology.single_switch]
        hosts = 2
        [[job]]
        name = "flows"
        workload.goal = { file = "two.goal" }
        """
    )
    return list(etherweave.run(file, {"host.mpi_roce.eager_max": eager_max}).summary["warnings"])


def flows(size: int) -> str:
    """Write a message that rank 0 sends to rank 1, and eight of 1 kB while it is sent, as GOAL."""
    small = range(1, 9)
    sends = [f"l0: send {size}b to 1 tag 0 cpu 0"]
    sends += [f"c{tag}: calc 50000 cpu {tag}" for tag in small]
    sends += [f"l{tag}: send 1000b to 1 tag {tag} cpu {tag}" for tag in small]
    sends += [f"l{tag} requires c{tag}" for tag in small]
    receives = [f"l0: recv {size}b from 0 tag 0 cpu 0"]
    receives += [f"l{tag}: recv 1000b from 0 tag {tag} cpu {tag}" for tag in small]
    ranks = "\n}\nrank 1 {\n".join("\n".join(lines) for lines in (sends, receives))
    return f"num_ranks 2\nrank 0 {{\n{ranks}\n}}\n"


def test_small_messages_behind_a_large_one_of_their_pair_are_warned_of(tmp_path: Path) -> None:
    """4 MB take 320 us at 100 Gb/s; after 50 us the same pair of ranks sends eight small ones.

    They go between the packets of an answer to a READ, by which rendezvous moves a large message.
    """
    [warning] = lone_pair(tmp_path, flows(4_000_000), "8MiB")
    assert warning.startswith("8 of 9 messages began behind one of at least eight times")
    assert lone_pair(tmp_path, flows(4_000_000), "1KiB") == []
    assert lone_pair(tmp_path, flows(1_000), "8MiB") == []


def test_packets_overtaken_and_sent_again_are_warned_of_with_their_share(tmp_path: Path) -> None:
    file = tmp_path / "sprayed.toml"
    file.write_text(SPRAYED)
    default = etherweave.run(file)
    assert default.summary["warnings"] == []
    assert 'loss_detection = "timeout"' in default.resolved
    by_time = etherweave.run(file, {"transport.roce.loss_detection": "time"})
    flows = pyarrow.table(by_time.tables["flows"]).to_pylist()
    share = sum(row["retransmissions"] for row in flows) / sum(row["packets"] for row in flows)
    assert share > 0.01
    [warning] = by_time.summary["warnings"]
    assert warning.startswith(f"{share:.1%} of data packets".replace("%", " %"))
    assert "were sent again that were not lost: others overtook them" in warning


def test_packets_that_a_paused_sender_repeats_were_not_overtaken() -> None:
    [warning] = etherweave.run(SONIC / "pfc_pause.toml").summary["warnings"]
    assert warning.endswith("retransmission_timeout is shorter than their wait in queues")


def test_a_deadlock_that_a_watchdog_ends_after_the_time_limit_is_warned_of() -> None:
    summary = etherweave.run(SONIC / "watchdog_deadlock.toml", {"run.end": "250us"}).summary
    assert summary["finished"] == "time_limit"
    warning = summary["warnings"][-1]
    assert warning.startswith("deadlock: s0 port 1 (priority 0), s1 port 2 (priority 0), s2 port")
    assert "flow_control.pfc.watchdog ends that after a detection time of 200us" in warning


def test_losses_behind_a_watchdog_that_forwards_are_warned_of_as_such() -> None:
    action = {"flow_control.pfc.watchdog.action": "forward"}
    summary = etherweave.run(SONIC / "watchdog_deadlock.toml", action).summary
    losses = [warning for warning in summary["warnings"] if "lossless priority 0" in warning]
    assert losses and all("the watchdog of s" in warning for warning in losses)


def test_losses_that_wait_for_the_timer_alone_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "damaged.toml"
    file.write_text(
        """
        [topology.fat_tree]
        leaves = 2
        cores = 1
        hosts_per_leaf = 2
        [transport.roce]
        reliability = "selective_repeat"
        [[faults.degraded]]
        link = "leaf0 - core0"
        bit_error_rate = 1e-7
        [[job]]
        name = "p"
        workload.permutation_streams = { ranks = 4, message = "8MB", partner.shift = 2 }
        """
    )
    assert etherweave.run(file).summary["warnings"] == []
    slow = etherweave.run(file, {"transport.roce.loss_detection": "timeout"})
    [warning] = slow.summary["warnings"]
    assert warning.startswith('transport.roce.loss_detection: "timeout" leaves losses to')
