"""Field cases of flow-level mode, of hybrid runs, and of what `show` and `run` refuse."""

import json
from pathlib import Path

import pytest

from support.command_line import invoke

CASES = Path(__file__).parent / "cases"
PAYLOAD_GBPS = 100 * 4096 / 4184  # Payload of a cable of 100 Gb/s in full packets of RoCE.


def _summary(case: str, *words: str) -> dict[str, object]:
    done = invoke("run", CASES / case, "--json", *words, code=0)
    summary: dict[str, object] = json.loads(done.stdout)
    return summary


@pytest.mark.parametrize(
    ("case", "finished"),
    [
        ("40-hybrid-with-credits/credits.toml", "complete"),
        ("52-credits-flow-level-end/limit.toml", "time_limit"),
    ],
)
def test_credits_are_counted_to_the_end_in_flow_level_mode(case: str, finished: str) -> None:
    assert _summary(case)["finished"] == finished


@pytest.mark.parametrize("more", ["run.end=20us", "job.1.fidelity=flow", "run.fidelity=flow"])
def test_credits_are_counted_in_hybrid_runs_that_end_early_or_have_other_jobs(more: str) -> None:
    words = ("--set", more, "--set", 'job.0.fidelity="packet"')
    assert _summary("40-hybrid-with-credits/credits.toml", *words)["packets_dropped"] == 0


@pytest.mark.parametrize(("begin", "end"), [("0s", "500us"), ("500us", "1ms"), ("1ms", "2ms")])
def test_packets_and_messages_carry_no_more_than_their_cable(begin: str, end: str) -> None:
    words = ("--set", f"run.warm_up={begin}", "--set", f"run.end={end}")
    streams = _summary("42-hybrid-over-capacity/cable.toml", *words)["streams"]
    rates = {job: figures["goodput_gbps"] for job, figures in streams.items()}  # type: ignore[attr-defined]
    packets = rates["first"] + rates["second"]
    # Twelve streams of messages, six of them the other way, where nothing else is.
    assert packets + rates["messages"] <= 2 * 1.005 * PAYLOAD_GBPS
    assert packets <= 1.1 * PAYLOAD_GBPS / 4


def test_show_refuses_what_run_refuses() -> None:
    case = CASES / "63-show-accepts-run-refuses/headroom.toml"
    run, show = (invoke(verb, case) for verb in ("run", "show"))
    assert (run.exit_code, show.exit_code) == (2, 2)
    assert "switch.buffer: reserves and headroom of switch0 take" in run.stderr
    assert show.stderr == run.stderr


def test_flow_level_mode_asks_for_no_headroom() -> None:
    case = "63-show-accepts-run-refuses/headroom.toml"
    assert _summary(case, "--set", 'run.fidelity="flow"')["finished"] == "complete"
    invoke("show", CASES / case, "--set", 'run.fidelity="flow"', code=0)
