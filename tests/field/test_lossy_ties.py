"""Senders that arrive at the same picosecond share the losses of a full buffer."""

from pathlib import Path

import pyarrow
import pytest

import etherweave

TWO = Path(__file__).parent / "cases" / "25-lossy-incast" / "two.toml"
SELECTIVE = {"transport.roce.reliability": "selective_repeat"}


def shares(changes: dict[str, object]) -> tuple[list[int], list[float]]:
    """Retransmissions of each sender, and the times at which their messages end [ms]."""
    result = etherweave.run(TWO, changes)
    assert result.summary["finished"] == "complete"
    flows: list[dict[str, int]] = pyarrow.table(result.tables["flows"]).to_pylist()
    senders = [row["retransmissions"] for row in flows if row["bytes"] > 0]
    ends: list[float] = result.values("streams", "end_ns")
    return senders, [end / 1e6 for end in ends]


@pytest.mark.parametrize("seed", [1, 7])
def test_two_equal_senders_of_go_back_n_lose_as_much_and_end_together(seed: int) -> None:
    """One sender has all losses but one if inputs take no turns, and ends 24 times as late."""
    resent, ends = shares({"seed": seed})
    assert max(resent) < 1.1 * min(resent)
    assert max(ends) < 1.05 * min(ends)


@pytest.mark.parametrize("seed", [3, 12])
def test_senders_whose_windows_do_not_fill_end_within_half_a_percent(seed: int) -> None:
    """The measured switch splits losses as evenly; a window that is full does not let it."""
    wide = {"transport.roce.window": "64MiB", "transport.roce.psn_range": 4096}
    _, ends = shares({"seed": seed, **SELECTIVE, **wide})
    assert max(ends) < 1.005 * min(ends)


def test_two_equal_senders_of_selective_repeat_end_together_on_average() -> None:
    """A sender that waits at the end of its window leaves single seeds further apart."""
    runs = [shares({"seed": seed, **SELECTIVE}) for seed in range(1, 13)]
    ratios = [max(ends) / min(ends) for _, ends in runs]
    assert sum(ratios) / len(ratios) < 1.05
    losses = [sum(sender) for sender in zip(*(resent for resent, _ in runs), strict=True)]
    assert max(losses) < 1.05 * min(losses)


@pytest.mark.parametrize("seed", [1, 7])
def test_eight_equal_senders_share_the_link(seed: int) -> None:
    """256 MiB and headers at 100 Gb/s take 22 ms; none waits for a timeout of 67 ms."""
    eight = {"topology.single_switch.hosts": 9, "job.0.workload.incast.sources": 8}
    resent, ends = shares({"seed": seed, **SELECTIVE, **eight})
    assert max(resent) < 1.4 * min(resent)
    assert max(ends) < 1.1 * min(ends)
    assert max(ends) < 25


def test_clocks_and_starts_of_nics_may_differ() -> None:
    resent, ends = shares({**SELECTIVE, **{"nic.clock_ppm": 100, "host.start_jitter": "2us"}})
    assert max(resent) < 1.1 * min(resent)
    assert max(ends) < 1.05 * min(ends)
