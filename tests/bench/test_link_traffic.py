"""Whether traffic crossed the tested link of each host: what is expected, and of which hosts."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from etherweave.bench.campaigns.campaign import CampaignOptions, Network, experiments
from etherweave.bench.campaigns.points import JudgedLaunch, LaunchVerdict
from etherweave.bench.campaigns.store import LaunchRecord
from etherweave.bench.environment.findings import EnvironmentFinding
from etherweave.bench.environment.snapshot import FORMAT, NetworkInterface, Snapshot
from etherweave.bench.telemetry.epochs import Epoch
from etherweave.bench.telemetry.link_traffic import expected, findings
from etherweave.measurements.benchmark_report import BenchmarkReport, Completeness, Measurement
from etherweave.measurements.metrics import BANDWIDTH

RATE = 1e9 / 8  # Rate of each link [bytes/s].


def planned(program: str) -> JudgedLaunch:
    """Make a launch of a second; a benchmark with sizes is planned to send 1 MB."""
    network = Network("lan", rate=RATE)
    (plan,) = experiments(
        [program], [network], CampaignOptions(("n1", "n2"), sizes=((1024, 1024),))
    )
    experiment = replace(plan, bytes=1e6)
    record = LaunchRecord(
        experiment.name, 1, "done", "", "", (), 0, 10**9, "fake", 1, "1", "campaign"
    )
    return JudgedLaunch(record, experiment, LaunchVerdict((), ()))


def test_all_bytes_of_planned_messages_are_expected() -> None:
    assert expected(planned("osu_latency")) == 1e6


def test_a_timed_run_without_a_bandwidth_is_not_examined() -> None:
    assert expected(planned("netperf")) is None


def crossing(*counts: int, where: str = "lo") -> list[EnvironmentFinding]:
    """Examine a launch that sent 1 MB, with hosts whose link counted so many bytes."""
    own = planned("osu_latency")
    kept = [
        Epoch(
            own.record.name, f"n{at}", "eth0", "", before=counting(0, {}),
            after=counting(count, {where: 2_000_000}),
        )
        for at, count in enumerate(counts, 1)
    ]  # fmt: skip
    return findings([own], kept)


def counting(count: int, traffic: dict[str, int]) -> Snapshot:
    card = NetworkInterface(counters={"rx_bytes": count, "tx_bytes": 0})
    return Snapshot(FORMAT, "n", "b", 1.0, interfaces={"eth0": card}, traffic=traffic)


@pytest.mark.parametrize(
    ("counts", "hosts"),
    [
        ((1_100_000, 1_100_000), []),
        ((1_100_000, 10_000), ["n2 eth0, osu_latency"]),
        # Of more than two, only the busiest must carry what was predicted for it.
        ((1_100_000, 10_000, 10_000), []),
        ((9_000, 10_000, 10_000), [f"n{at} eth0, osu_latency" for at in (1, 2, 3)]),
    ],
)
def test_hosts_with_bytes_elsewhere_are_named(counts: Sequence[int], hosts: list[str]) -> None:
    assert [finding.where for finding in crossing(*counts)] == hosts


def test_a_run_by_the_clock_moved_its_own_bandwidth_for_half_of_its_time() -> None:
    """A share of 100 MB/s for the planned second, but never more than was predicted."""
    own = planned("netperf")
    rate = Measurement(BANDWIDTH, 100e6, "mean", None, (), "100 MB/s", 1)
    report = BenchmarkReport(
        "netperf", "netperf", None, 1, (rate,), Completeness.OPEN, None, (), (), ()
    )
    reported = own._replace(
        experiment=replace(own.experiment, seconds=1.0, bytes=125e6),
        verdict=LaunchVerdict((report,), ()),
    )
    assert expected(reported) == 50e6
    assert expected(reported._replace(experiment=replace(reported.experiment, bytes=1e6))) == 1e6
    assert expected(reported._replace(verdict=LaunchVerdict((report,), ("failed",)))) is None
