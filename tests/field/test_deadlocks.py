"""Deadlocks end a run as stuck, and the ports that wait for each other are named."""

import json
from pathlib import Path

import pytest

from support.command_line import invoke

CASES = Path(__file__).parent / "cases"
LIMIT = CASES / "27-deadlock-at-the-time-limit" / "limit.toml"
DEAD = CASES / "41-deadlock-that-never-ends" / "dead.toml"
STUCK = 3  # Exit code of a run in which no event could make progress.
RING = ", ".join(f"s{i} port {1 if i == 0 else 2} (priority 0)" for i in range(5))
"""Every switch waits for the next one: s0 by its second link, the others by their third."""


@pytest.mark.parametrize(
    "keys",
    [
        (),
        ("flow_control={ global_pause = {} }",),
        ("flow_control={ credits = { buffer = '64KiB' } }",),
        ("flow_control={ credits = {} }", "switch={ model = 'input_queued' }"),
    ],
    ids=["pfc", "global pause", "credits", "input-queued"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_deadlock_at_the_time_limit_is_a_deadlock(keys: tuple[str, ...], threads: int) -> None:
    settings = [word for key in keys for word in ("--set", key)]
    done = invoke("run", LIMIT, "--json", "--threads", threads, *settings, code=STUCK)
    summary = json.loads(done.stdout)
    # Pauses are refreshed: the deadlock is found a millisecond after the last progress. Credits are
    # not, and nothing happens until the limit.
    is_refreshed = not any("credits" in key for key in keys)
    assert summary["finished"] == "stuck"
    assert (summary["end_ns"] < 5e6) if is_refreshed else (summary["end_ns"] == 20e6)
    assert summary["stuck_report"].startswith(f"Deadlock: {RING} wait for each other\n")
    assert f"deadlock: {RING} wait for each other" in summary["warnings"]
    assert f"WARNING: deadlock: {RING} wait for each other\n" in done.stderr


def test_routing_that_cannot_deadlock_reaches_the_time_limit() -> None:
    done = invoke("run", LIMIT, "--json", "--set", "routing=up_down", "--set", "run.end=1ms")
    summary = json.loads(done.stdout)
    assert (done.exit_code, summary["finished"]) == (0, "time_limit")
    assert not any("deadlock" in warning for warning in summary["warnings"])


def test_retransmissions_that_arrive_do_not_hide_a_deadlock() -> None:
    """Nothing new arrives after the first milliseconds; the limit is 10 s of simulated time."""
    summary = json.loads(invoke("run", DEAD, "--json", code=STUCK).stdout)
    assert summary["end_ns"] < 11e9
    assert summary["stuck_report"].startswith("Deadlock: group0.switch1 port 3 (priority 0), ")


def test_a_long_message_of_flow_level_mode_is_not_stuck(tmp_path: Path) -> None:
    """20 GB at 10 Gb/s take 16 s, longer than the limit of 10 s without an event."""
    file = tmp_path / "long.toml"
    file.write_text(
        """
        [topology.single_switch]
        hosts = 2
        rate = "10Gb/s"
        [run]
        fidelity = "flow"
        [[job]]
        name = "w"
        workload.permutation_streams = { ranks = 2, message = "20GB", messages = 1 }
        """
    )
    assert json.loads(invoke("run", file, "--json", code=0).stdout)["finished"] == "complete"
