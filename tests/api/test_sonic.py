"""Scenarios after the test plans of sonic-mgmt: what passes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import etherweave

if TYPE_CHECKING:
    from collections.abc import Callable

    from etherweave import Result

SONIC = Path(__file__).parents[2] / "scenarios" / "sonic"
DETECTION, RESTORATION, POLL = 200_000, 200_000, 100_000
"""Times of the watchdog in all of them [ns]."""


def storms(result: Result) -> list[dict[str, Any]]:
    return result.to_polars("storms").to_dicts() if "storms" in result.tables else []


def streams(result: Result, job: str) -> list[dict[str, Any]]:
    return [row for row in result.to_polars("streams").to_dicts() if row["job"] == job]


def ports(result: Result, node: str, priority: int = 3) -> list[dict[str, Any]]:
    rows = result.to_polars("ports").to_dicts()
    return [row for row in rows if row["node"] == node and row["priority"] == priority]


def dropped(result: Result) -> int:
    return result.summary["packets_dropped"]


def discarded(result: Result) -> int:
    return sum(row["tx_drops_packets"] + row["rx_drops_packets"] for row in storms(result))


def is_complete(result: Result) -> bool:
    return result.summary["finished"] == "complete"


def rate(result: Result, job: str) -> float:
    return math.fsum(row["goodput_gbps"] for row in streams(result, job))


def drop(result: Result) -> None:
    """The flow of the storm arrives after the storm alone, that behind it at once."""
    (storm,) = storms(result)
    (during,), (after,) = streams(result, "during"), streams(result, "after")
    assert storm["tx_drops_packets"] > 0
    assert storm["tx_ok_packets"] == storm["rx_ok_packets"] == 0
    assert during["end_ns"] > storm["restored_ns"] and is_complete(result)
    # Two flows of 1.6 MB at 100 Gb/s end within 300 us, as on an idle port.
    assert after["end_ns"] < 1_500_000 + 300_000


def short_storm(result: Result) -> None:
    assert storms(result) == [] and dropped(result) == 0 and is_complete(result)


def two_pairs(result: Result) -> None:
    (storm,) = storms(result)
    assert dropped(result) == discarded(result) > 0
    assert storm["peer"] == "host1" and storm["rx_drops_packets"] > 0
    for job in ("beside", "beside_back", "lossy"):
        (row,) = streams(result, job)
        assert row["bytes"] == 40 * 81_920, job


def two_pairs_short(result: Result) -> None:
    assert storms(result) == [] and dropped(result) == 0
    (stormed,) = streams(result, "to_stormed")
    assert is_complete(result) and stormed["end_ns"] > 300_000


def bursts(result: Result) -> None:
    outcome = storms(result)
    assert len(outcome) == 15 and not any(math.isnan(row["restored_ns"]) for row in outcome)
    assert dropped(result) == discarded(result)


def all_to_all(result: Result) -> None:
    (storm,) = storms(result)
    assert storm["peer"] == "host1" and dropped(result) == discarded(result) > 0
    for job in ("to_host0", "to_host2", "to_host3"):
        others = [row for row in streams(result, job) if row["source_host"] != "host1"]
        assert len(others) == 2 and all(row["end_ns"] < 900_000 for row in others), job


def many_to_one(result: Result) -> None:
    (storm,) = storms(result)
    assert storm["peer"] == "host0" and dropped(result) == discarded(result) > 0
    assert is_complete(result)


def timers(result: Result) -> None:
    outcome = storms(result)
    assert len(outcome) == 7
    for row in outcome:
        number = int(row["peer"].removeprefix("host"))
        begin, end = (float(f"{first}{13 * number}.5") * 1e3 for first in (1, 9))
        # A pause takes effect and ends up to 2 us after its frame was sent.
        assert DETECTION < row["detected_ns"] - begin < DETECTION + POLL, row
        assert RESTORATION - 2_000 < row["restored_ns"] - end < RESTORATION + POLL, row


def drop_lossy(result: Result) -> None:
    (storm,) = storms(result)
    (lossy,) = streams(result, "lossy")
    assert dropped(result) == discarded(result) and storm["priority"] == 3
    assert lossy["end_ns"] < storm["restored_ns"]


def forward(result: Result) -> None:
    (storm,) = storms(result)
    assert dropped(result) == 0 and is_complete(result)
    assert storm["tx_ok_packets"] > 0 and storm["rx_ok_packets"] > 0
    assert storm["tx_drops_packets"] == storm["rx_drops_packets"] == 0
    assert all(row["end_ns"] > storm["detected_ns"] for row in streams(result, "lossless"))


def throttling(result: Result) -> None:
    assert storms(result) == [] and dropped(result) == 0 and is_complete(result)


def false_alarm(result: Result) -> None:
    assert storms(result) and discarded(result) > 0


def deadlock(result: Result) -> None:
    """Each switch of the ring discards once, and nothing but that is lost."""
    outcome = storms(result)
    assert {(row["node"], row["peer"]) for row in outcome} == {
        (f"s{number}", f"s{(number + 1) % 4}") for number in range(4)
    }
    assert len(outcome) == 4 and is_complete(result)
    assert dropped(result) == discarded(result) > 0


def pause(result: Result) -> None:
    (paused,), (background,) = streams(result, "paused"), streams(result, "background")
    assert dropped(result) == 0
    assert paused["end_ns"] > 600_000
    assert background["end_ns"] < 600_000


def pause_lossy(result: Result) -> None:
    """The port counts pause frames, and holds nothing."""
    (row,) = [row for row in ports(result, "switch0", 0) if row["peer"] == "host0"]
    assert row["rx_pause_xoff_packets"] > 0 and row["rx_pause_duration_ns"] == 0
    assert dropped(result) == 0
    for job in ("paused", "background"):
        assert all(row["end_ns"] < 600_000 for row in streams(result, job)), job


def global_pause(result: Result) -> None:
    assert all(row["rx_pause_packets"] == 0 for row in ports(result, "switch0"))
    assert dropped(result) == 0
    for job in ("paused", "background"):
        assert all(row["end_ns"] < 600_000 for row in streams(result, job)), job


def delay_short(result: Result) -> None:
    assert dropped(result) == 0 and is_complete(result)


def delay_long(result: Result) -> None:
    """Loses the bytes of 140 us at 100 Gb/s beyond threshold and headroom."""
    (row,) = [row for row in ports(result, "switch0") if row["peer"] == "host0"]
    assert row["drops_bytes"] == pytest.approx(140e-6 * 100e9 / 8 - 600e3, rel=0.05)
    assert row["drops_packets"] == dropped(result) and is_complete(result)


def rate_step(result: Result) -> None:
    assert not result.summary["warnings"]
    (lossless,) = streams(result, "lossless")
    assert is_complete(result) and lossless["bytes"] > 0
    to_host = ports(result, "s0")
    assert sum(row["drops_packets"] for row in to_host) == 0
    assert sum(row["tx_pause_packets"] for row in to_host) > 0


def two_to_one(result: Result) -> None:
    """Both senders are paused."""
    assert dropped(result) == 0 and is_complete(result)
    for host in ("host1", "host2"):
        assert sum(row["rx_pause_xoff_packets"] for row in ports(result, host)) > 0, host


def congestion(result: Result) -> None:
    lost = {row["priority"] for row in result.to_polars("ports").to_dicts() if row["drops_packets"]}
    assert lost == {0}
    for job in ("three", "four"):
        first, second = (row["goodput_gbps"] for row in streams(result, job))
        assert first == pytest.approx(second, rel=0.05)


def equal(result: Result) -> None:
    """Both senders are paused in the lossless class, which has as much as the lossy one."""
    for host in ("host1", "host2"):
        assert sum(row["rx_pause_xoff_packets"] for row in ports(result, host)) > 0, host
    assert sum(row["drops_packets"] for row in ports(result, "switch0")) == 0
    sent = {
        level: sum(row["tx_bytes"] for row in ports(result, "switch0", level)) for level in (0, 3)
    }
    assert sent[3] == pytest.approx(sent[0], rel=0.05)


def lossy(result: Result) -> None:
    assert sum(row["drops_packets"] for row in ports(result, "switch0")) == 0
    assert sum(row["drops_packets"] for row in ports(result, "switch0", 0)) > 0
    assert rate(result, "lossless") > 10


def lossless(result: Result) -> None:
    """Lossless flows of 20 and 10 % are as alone, lossy ones share 70 % of 50 Gb/s."""
    first, second = (row["goodput_gbps"] for row in streams(result, "lossless"))
    assert first == pytest.approx(2 * second, rel=0.01) and first > 0.97 * 10
    assert all(row["drops_packets"] == 0 for row in ports(result, "s0"))
    assert all(row["tx_pause_packets"] == 0 for row in ports(result, "s0"))
    (row,) = [row for row in ports(result, "s0", 0) if row["peer"] == "host0"]
    assert row["drops_packets"] > 0
    assert row["tx_bytes"] * 8 / 60e-3 == pytest.approx(0.7 * 50e9, rel=0.01)
    shares = [row["goodput_gbps"] for row in streams(result, "lossy")]
    assert shares == pytest.approx([math.fsum(shares) / 4] * 4, rel=0.1)


def without_watchdog(result: Result) -> None:
    (paused,), (background,) = streams(result, "paused"), streams(result, "background")
    assert dropped(result) == 0 and paused["end_ns"] > 700_000
    assert background["end_ns"] < 700_000


def ecn_dequeue(result: Result) -> None:
    """Three messages of 20 packets: the queue behind a packet is above 100 kB for the first 36."""
    (row,) = [row for row in ports(result, "switch0") if row["peer"] == "host1"]
    assert row["ecn_marked_packets"] == 36


def ecn_ramp(result: Result) -> None:
    """Twelve messages of 20 packets: all above the ramp are marked, on it 5 % to none."""
    (row,) = [row for row in ports(result, "switch0") if row["peer"] == "host1"]
    packet = row["occupancy_bytes_max"] / 240
    above, on_ramp = (240 - 800_000 / packet), 600_000 / packet
    mean = 0.025 * on_ramp
    assert abs(row["ecn_marked_packets"] - above - mean) < 3 * math.sqrt(mean) + 1


def ecn_after_storm(result: Result) -> None:
    (row,) = [row for row in ports(result, "switch0") if row["peer"] == "host0"]
    assert row["ecn_marked_packets"] > 0 and is_complete(result)


@dataclass(frozen=True)
class Trimmed:
    """Packets that a switch trimmed, and those that it then sent and dropped in their queue."""

    trimmed: int
    sent: int
    dropped: int
    bytes: int


def trims(result: Result) -> Trimmed:
    """All that were trimmed were sent or dropped, nothing else was dropped, and all arrived."""
    (data,) = [row for row in ports(result, "switch0", 0) if row["peer"] == "host0"]
    (queue,) = [row for row in ports(result, "switch0", 6) if row["peer"] == "host0"]
    sent, lost = queue["tx_packets"], queue["drops_packets"]
    assert data["trimmed_packets"] == sent + lost > 0
    assert dropped(result) == lost and data["drops_packets"] == 0 and is_complete(result)
    return Trimmed(data["trimmed_packets"], sent, lost, queue["tx_bytes"])


WIRE = 20  # Preamble and gap of a frame on the wire [B].


def trimming_size(result: Result) -> None:
    counts = trims(result)
    assert counts.dropped == 0 and counts.bytes == counts.sent * (256 + WIRE)


def trimming_jumbo(result: Result) -> None:
    counts = trims(result)
    assert counts.bytes == counts.sent * (4_084 + WIRE)


def trimming_short(result: Result) -> None:
    """Headers of 106 B and 100 B of a message are less than 256 B."""
    counts = trims(result)
    assert counts.bytes == counts.sent * (106 + 100 + WIRE)


def trimming_full(result: Result) -> None:
    assert trims(result).dropped > 0


def trimming_off(result: Result) -> None:
    (row,) = [row for row in ports(result, "switch0", 0) if row["peer"] == "host0"]
    assert row["trimmed_packets"] == 0 and row["drops_packets"] == dropped(result) > 0
    # A lost end is sent again after a round trip, long before the timer of 1 ms.
    assert is_complete(result) and result.summary["end_ns"] < 1_000_000


PASSES: dict[str, Callable[[Result], None]] = {
    "watchdog_drop": drop,
    "watchdog_short_storm": short_storm,
    "watchdog_two_pairs": two_pairs,
    "watchdog_two_pairs_short": two_pairs_short,
    "watchdog_bursts": bursts,
    "watchdog_all_to_all": all_to_all,
    "watchdog_many_to_one": many_to_one,
    "watchdog_timers": timers,
    "watchdog_drop_lossy": drop_lossy,
    "watchdog_forward": forward,
    "watchdog_throttling": throttling,
    "watchdog_false_alarm": false_alarm,
    "watchdog_deadlock": deadlock,
    "pfc_pause": pause,
    "pfc_pause_lossy": pause_lossy,
    "pfc_global_pause": global_pause,
    "pfc_delay_short": delay_short,
    "pfc_delay_long": delay_long,
    "pfc_rate_step": rate_step,
    "pfc_two_to_one": two_to_one,
    "pfc_congestion": congestion,
    "oversubscription_equal": equal,
    "oversubscription_lossy": lossy,
    "oversubscription_lossless": lossless,
    "storm_without_watchdog": without_watchdog,
    "trimming_size": trimming_size,
    "trimming_jumbo": trimming_jumbo,
    "trimming_short": trimming_short,
    "trimming_full": trimming_full,
    "trimming_off": trimming_off,
    "ecn_dequeue": ecn_dequeue,
    "ecn_ramp": ecn_ramp,
    "ecn_after_storm": ecn_after_storm,
}


def test_every_scenario_has_a_criterion() -> None:
    assert {path.stem for path in SONIC.glob("*.toml")} == set(PASSES)


COUNTERS = {
    "watchdog": "rx_pause_duration_ns",
    "storm": "rx_pause_duration_ns",
    "pfc": "rx_pause_xoff_packets",
    "ecn": "ecn_marked_packets",
    "trimming": "trimmed_packets",
    "trimming_off": "drops_packets",
    "oversubscription": "drops_packets",
    "oversubscription_equal": "rx_pause_xoff_packets",
}
"""Counters of ports that are not zero where a scenario exercises its name: by name, or by its
first word."""


def is_exercised(name: str, result: Result) -> bool:
    counter = COUNTERS.get(name, COUNTERS[name.partition("_")[0]])
    return any(row[counter] > 0 for row in result.to_polars("ports").to_dicts())


@pytest.mark.parametrize("name", PASSES)
def test_a_scenario_passes_and_exercises_what_it_is_named_after(name: str) -> None:
    file = SONIC / f"{name}.toml"
    result = etherweave.run(file)
    PASSES[name](result)
    if name == "pfc_global_pause":
        # Such frames stop ports where they are not ignored.
        result = etherweave.run(file, {"flow_control": {"global_pause": {}}})
    assert is_exercised(name, result), name


@pytest.mark.parametrize("name", ["pfc_two_to_one", "oversubscription_equal"])
def test_without_pauses_a_lossless_scenario_loses_packets(name: str) -> None:
    result = etherweave.run(SONIC / f"{name}.toml", {"flow_control": {"none": {}}})
    assert sum(row["drops_packets"] for row in ports(result, "switch0")) > 0
