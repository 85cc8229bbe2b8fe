"""Misleading numbers in texts of benchmarks, besides those in the tests of each."""

import re

from etherweave.bench.texts.document import UnrecognisedError, parse
from etherweave.measurements.benchmark_report import Completeness
from support.captured_texts import DATA, captured, failure, report, value, values

READ_LAT = captured("handmade/perftest-read_lat.txt")
WRITE_BW = captured("handmade/perftest-write_bw.txt")


def test_perftest_with_priorities_has_a_column_more() -> None:
    text = re.sub(r"(#bytes.*)", r"\1  sl", WRITE_BW)
    (parsed,) = parse(re.sub(r"(0\.186386)", r"\1  3", text)).reports
    assert value(parsed, "bandwidth", size=65536, priority="3") == 97.72e9 / 8


def test_perftest_by_the_clock_prints_only_means() -> None:
    head, rule = READ_LAT.split("\n")[:2], "-" * 80
    table = (
        " #bytes  #iterations    t_avg[usec]    tps average\n 2       1000     1.49    671140.94"
    )
    (parsed,) = parse("\n".join([*head, rule, table, rule, ""])).reports
    assert [(m.statistic, m.value) for m in parsed.measurements] == [("mean", 1.49e-6)]


def test_iperf3_warns_when_it_measures_a_core() -> None:
    text = captured("iperf3/tcp-1stream-omit1.json")
    assert not any("core" in text for text in report("iperf3/tcp-1stream-omit1.json").warnings)
    (parsed,) = parse(text.replace("5.3970616968467731", "97.3970616968467731")).reports
    assert "remote: 97 % of a core: it may be the core that is measured" in parsed.warnings


def test_iperf3_counts_what_was_received_apart_from_what_was_sent() -> None:
    """Socket buffers swallow what never arrives."""
    parsed = report("iperf3/udp-500M.json")
    sent, received = (value(parsed, "bandwidth", side=side) for side in ("sender", "receiver"))
    assert received < 0.9 * sent


def test_iperf2_streams_of_a_table_of_values_have_no_sum() -> None:
    parsed = report("iperf2/tcp-3streams-csv.txt")
    assert sorted(values(parsed, "bandwidth")) == [617443957 / 8, 627038770 / 8, 655014087 / 8]
    assert not values(parsed, "bandwidth_sum")


def test_netperf_that_missed_its_confidence_says_so() -> None:
    text = captured("netperf/tcp_stream-confidence.txt")
    assert not report("netperf/tcp_stream-confidence.txt").warnings
    lines = text.splitlines(keepends=True)
    missed = (
        "!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n"
    )
    (parsed,) = parse("".join([lines[0], missed, *lines[1:]])).reports
    assert value(parsed, "bandwidth", size=16384) == 1797.99e6 / 8
    assert "confidence" in parsed.warnings[0]


def test_gpcnet_heads_may_run_into_the_first_table() -> None:
    text = captured("gpcnet/network_test.txt").replace("with barrier\n", "with barrier", 1)
    (parsed,) = parse(text).reports
    assert len(parsed.measurements) == len(report("gpcnet/network_test.txt").measurements)
    assert parsed.completeness is Completeness.COMPLETE


def test_gpcnet_slow_side_of_bandwidth_is_below_its_mean() -> None:
    parsed = report("gpcnet/network_test.txt")
    slow, mean = (
        value(parsed, "bandwidth_rank", size=131072, statistic=statistic, test="RR Two-sided BW")
        for statistic in ("p99", "mean")
    )
    assert slow < mean


def test_npb_of_which_some_processes_were_idle_says_so() -> None:
    text = captured("npb/is.A.4.txt").replace("Active processes=                        4", "")
    assert not parse(text).reports[0].warnings
    text = captured("npb/is.A.4.txt").replace("Total processes =                        4", "")
    assert "missing" in failure(text).reason
    text = captured("npb/is.A.4.txt").replace(
        "Total processes =                        4", "Total processes =                        8"
    )
    (parsed,) = parse(text).reports
    assert parsed.warnings == ("only 4 processes took part",)


def test_fio_rate_is_that_in_bytes() -> None:
    """``bw`` is in KiB/s, and nothing says so."""
    text = captured("fio/randread-4k.json")
    changed = re.sub(r'"bw" : \d+', '"bw" : 1', text)
    assert changed != text
    assert parse(changed).reports[0].measurements == report("fio/randread-4k.json").measurements


def test_redis_overwrites_its_line_and_only_the_last_counts() -> None:
    text = (DATA / "redis-benchmark/get-q.txt").read_bytes().decode()
    assert text.count("\r") > 5
    (parsed,) = parse(text).reports
    assert values(parsed, "transaction_rate") == [28280.54]


UNRECOGNISED = {
    *("fio/version.txt", "iperf2/version.txt", "iperf3/version.txt", "netperf/version.txt"),
    *("perftest/version.txt", "qperf/version.txt", "gpcnet/allnodes_congestion.dat"),
    *("gpcnet/congestors_nodes_congestion.dat", "gpcnet/network_nodes_congestion.dat"),
    "gpcnet/verbose/p2p_latency_baseline-first20lines.dat",
    "gpcnet/verbose/p2p_latency_baseline-first40lines.rec",
    "ycsb/redis-run-workloada-status.stderr.txt",
}
"""Versions, lists of hosts, histograms, progress: none is a result."""
REFUSED = {
    "fio/randread-4k-terse.txt": "use JSON",
    "iperf3/error-connect-refused.json": "iperf3 says: unable to connect to server: Connection "
    "refused",
    "osu-micro-benchmarks/osu_hello-7.4.txt": "no measurement",
    "osu-openshmem/osu_oshm_put-7.4-header-only-timeout.txt": "no measurement",
    "perftest/ib_send_bw-no-device.txt": "Did not detect devices",
    "qperf/rc_bw-no-rdma.txt": "failed to find any InfiniBand devices",
}


def test_every_captured_text_is_read_or_refused_for_the_right_reason() -> None:
    unrecognised: set[str] = set()
    refused: dict[str, str] = {}
    files = [path for path in sorted(DATA.rglob("*")) if path.is_file() and path.suffix != ".md"]
    for path in files:
        name = str(path.relative_to(DATA))
        try:
            document = parse(path.read_text(errors="replace"))
        except UnrecognisedError:
            unrecognised.add(name)
            continue
        assert document.reports or document.failures, name
        for own in document.failures:
            refused[name] = own.reason
    assert unrecognised == UNRECOGNISED
    assert refused.keys() == REFUSED.keys()
    assert all(reason in refused[name] for name, reason in REFUSED.items())


def test_nccl_cut_before_its_average_is_partial() -> None:
    text = captured("handmade/nccl_tests.txt")
    (parsed,) = parse(text[: text.index("# Out of")]).reports
    assert parsed.completeness == Completeness.PARTIAL
