"""The number of threads changes how long a run takes, and nothing else."""

from pathlib import Path

import pyarrow
import pytest

import etherweave

CASE = Path(__file__).parent / "cases" / "51-threads-change-the-result" / "all_to_all.toml"
ROUTINGS = ["valiant_group", "ugal_local", "ugal_global", "progressive_adaptive"]
PROFILES = ["infiniband-edr", "infiniband-hdr", "infiniband-ndr", "omni-path-100"]


def assert_same_on_any_threads(changes: dict[str, object], counts: tuple[int, ...]) -> int:
    """Compare all tables; returns how often a timer expired."""
    results = [etherweave.run(CASE, changes, threads=threads) for threads in counts]
    tables = [{name: pyarrow.table(table) for name, table in run.tables.items()} for run in results]
    for other in tables[1:]:
        assert [name for name in other if not other[name].equals(tables[0][name])] == []
    assert len({str(result.summary["fingerprint"]) for result in results}) == 1
    return sum(row["timeouts"] for row in tables[0]["flows"].to_pylist())


@pytest.mark.parametrize("routing", ROUTINGS)
def test_an_all_to_all_whose_timers_expire_is_the_same_on_any_threads(routing: str) -> None:
    """Input-queued switches, credits and go-back-N; the timeout is a round trip under load."""
    changes: dict[str, object] = {
        "routing": routing,
        "transport.roce.retransmission_timeout": "30us",
        "job.0.workload.all_to_all.iterations": 1,
    }
    assert assert_same_on_any_threads(changes, (1, 2, 3)) > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_nics_that_write_packets_whole_are_the_same_on_any_threads(profile: str) -> None:
    """A packet without payload is written at the time of the one before it."""
    assert_same_on_any_threads({"interconnect.profile": profile}, (1, 2))
