"""Jobs of two transports on the same hosts."""

from pathlib import Path

import polars as pl
import pytest

import etherweave

BOTH = """
[topology.single_switch]
hosts = 2
rate = "10Gb/s"

[flow_control.pfc]
priorities = [1]

[ets]
weights = [{roce}, {tcp}, 0, 0, 0, 0, 0, 0]

[run]
warm_up = "4ms"
end = "12ms"

[[job]]
name = "mpi"
priority = 1
workload.incast = {{ sources = 1 }}

[[job]]
name = "storage"
{shared}
transport.tcp = {{}}
workload.incast = {{ sources = 1 }}
"""


def scenario(tcp: int, shared: str = "shared_hosts = true") -> str:
    """Both jobs between the same two hosts, with these percent of their link for TCP."""
    return BOTH.format(roce=tcp, tcp=100 - tcp, shared=shared)


@pytest.mark.parametrize("tcp", [50, 30])
def test_jobs_over_roce_and_tcp_share_a_link_by_ets(tmp_path: Path, tcp: int) -> None:
    """Payload of 10 Gb/s: 4,096 B of 4,182 over RoCE, 4,448 of 4,542 over TCP, by shares."""
    (tmp_path / "both.toml").write_text(scenario(tcp))
    result = etherweave.run(tmp_path / "both.toml")
    rates = dict(result.to_polars("streams").select("job", "goodput_gbps").iter_rows())
    assert rates["mpi"] == pytest.approx((100 - tcp) / 10 * 4096 / 4182, rel=0.01)
    assert rates["storage"] == pytest.approx(tcp / 10 * 4448 / 4542, rel=0.01)
    flows = result.to_polars("flows").group_by("transport").agg(pl.col("bytes").sum())
    assert set(flows["transport"]) == {"roce", "tcp"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (scenario(50, ""), "job.1.placement.linear: .*shared_hosts"),
        (
            scenario(50).replace("[run]", '[run]\nfidelity = "flow"'),
            "job.transport: jobs of several",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused_by_its_key(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "both.toml").write_text(text)
    with pytest.raises(etherweave.ScenarioError, match=key):
        etherweave.run(tmp_path / "both.toml")
