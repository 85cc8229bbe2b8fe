"""Outputs of benchmarks as people post them: other versions, prefixes, excerpts, runs that died."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from etherweave.bench.document import UnrecognisedError, parse
from support import command_line
from support.captured_texts import captured, failure, figures_of, value, values

CASES = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """A text, how `bench parse` ends, and what it prints."""

    name: str
    exit_code: int
    figures: tuple[tuple[str, float], ...] = ()
    """Metric, with size and labels where several are of it, and its value in base units."""
    words: tuple[str, ...] = ()
    """Texts on standard output or standard error."""
    absent: tuple[str, ...] = ()


TABLE = (
    # 93,130.52 MB/s at 32 MiB; `# Size` precedes `# Datatype`.
    Case(
        "01-osu-7.2-gpu-header/osu_bw.txt",
        0,
        (("bandwidth mean 33554432", 93_130.52e6), ("bandwidth mean 1", 1.01e6)),
        ("osu_bw 7.2", "device: CUDA"),
    ),
    # 5e-04 is normal for half: the text says that nothing is out of bounds.
    Case(
        "02-nccl-relative-error-of-half/all_reduce-half.txt",
        0,
        (("bandwidth_bus mean 4194304 out_of_place", 12.01e9),),
        ("verified",),
    ),
    Case(
        "03-nccl-all-wrong-called-cut/all_wrong.txt",
        1,
        (),
        ("its own verification FAILED", "2 values are out of bounds", "4 wrong values"),
        ("measurement: cut", "nothing was measured"),
    ),
    Case(
        "04-nccl-unvalidated-called-verified/new.txt",
        0,
        (("call_time mean 1024 out_of_place", 95.40e-6),),
        (),
        ("verified",),
    ),
    Case(
        "04-nccl-unvalidated-called-verified/old.txt",
        0,
        (("bandwidth_bus mean 1048576 in_place", 4.52e9),),
        (),
        ("verified",),
    ),
    Case("05-nccl-one-rank/all_reduce.txt", 1, (), ("one rank sends nothing",), ("too small",)),
    Case("05-nccl-one-rank/broadcast.txt", 1, (), ("one rank sends nothing",), ("too small",)),
    Case(
        "06-nccl-two-singles/two.txt",
        1,
        (),
        ("a second header: two runs are mixed",),
        ("not understood: '#",),
    ),
    Case(
        "07-rccl-algo-columns/all_reduce.txt",
        0,
        (
            ("bandwidth_bus mean 33554432 out_of_place float sum -1 TREE LL128 64", 127.38e9),
            ("bandwidth_bus mean 134217728 in_place float sum -1 RING SIMPLE 64", 229.85e9),
        ),
        ("all_reduce_perf", "verified"),
    ),
    # The rank stands before each piece of a row.
    Case(
        "08-launcher-prefixes/all_reduce.txt",
        0,
        (
            ("bandwidth_bus mean 4194304 out_of_place", 12.91e9),
            ("bandwidth_bus mean 2097152 in_place", 9.65e9),
        ),
    ),
    *(
        Case(
            f"09-crash-after-rows/{name}.txt",
            1,
            ((f"{metric} mean {size}", figure),),
            ("INCOMPLETE", f"the run failed: line {line}: "),
            ("it may be cut",),
        )
        for name, metric, size, figure, line in (
            ("assertion", "bandwidth", 16384, 3815.50e6, 19),
            ("segmentation_fault", "latency", 8, 1.28e-6, 8),
            ("signal", "latency", 8, 1.28e-6, 9),
        )
    ),
    Case(
        "10-sockperf-full-rtt/ping_pong.txt",
        0,
        (
            ("round_trip mean", 1892.6e-6),
            ("round_trip stdev", 422.741e-6),
            ("round_trip p99.999", 11533.498e-6),
        ),
    ),
    # 2,552,320 KiB in 16.637 s are 157.1 MB/s; 153,412 KiB/s is what fio says of it.
    Case(
        "11-python-errors-in-messages/fio-2.15.json",
        0,
        (
            ("storage_bandwidth mean 524288 t2 read", 153_412 * 1024),
            ("round_trip p99 524288 t2 read", 60_160e-6),
        ),
        ("fio 2.15",),
        ("verified",),
    ),
    Case(
        "11-python-errors-in-messages/iperf3.json",
        0,
        (("bandwidth mean receiver forward", 1773148098.7995286 / 8),),
    ),
    Case(
        "12-iperf3-receiver-got-nothing/tcp.txt",
        1,
        (("bandwidth mean sender forward", 69.5e3 / 8),),
        ("the receiver got nothing: 0.00 Bytes", "the sender retransmitted 5 segments"),
        ("too small",),
    ),
    Case(
        "14-table-without-title/nccl_tests.txt",
        0,
        (("bandwidth_bus mean 32768 in_place", 0.41e9),),
        ("the line with the title is missing",),
        ("verified",),
    ),
    Case(
        "14-table-without-title/imb.txt",
        0,
        (
            ("bandwidth_both mean 1048576 Sendrecv", 8107.16e6),
            ("call_time max 524288 Exchange", 169.20e-6),
        ),
        ("title of IMB",),
    ),
    Case(
        "15-perftest-facts/ib_write_lat.txt",
        1,
        (),
        ("cycles of the processor (-C) below a header that says usec",),
        ("3.118 ms",),
    ),
    Case(
        "15-perftest-facts/ib_atomic_bw.txt",
        0,
        (("bandwidth mean 8", 1.67 * 2**20),),
        (
            "  Dual-port: OFF\n  Device: pib_1\n",
            "  rdma_cm QPs: OFF",
            "  Data ex. method: Ethernet",
        ),
    ),
    # Eight ranks: 7 x 262,144 B in 76.46 us are 24.00 GB/s on the bus.
    Case(
        "16-unknown-programs/ucc_perftest.txt",
        0,
        (
            ("call_time mean 262144", 76.46e-6),
            ("bandwidth_bus mean 262144", 24.00e9),
            ("bandwidth_bus max 262144", 25.27e9),
        ),
        ("ucc_perftest", "Collective: Alltoall"),
    ),
    Case(
        "16-unknown-programs/gloo.txt",
        0,
        (("call_time p99 allreduce_ring_chunked 100", 254e-6),),
        ("processes: 2",),
    ),
    # 2/3 264,192^3 operations in 18.77 s are 654,949 Gflop/s.
    Case(
        "31-hpl-nvidia/xhpl.txt",
        0,
        (("flop_rate mean 264192 1024 4x2 WC0", 6.550e14),),
        ("verified", "HPL-NVIDIA: 23.5.0"),
    ),
)


def figures(reports: list[dict[str, Any]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for report in reports:
        for one in report["measurements"]:
            words = [one["metric"], one["statistic"], one["size_bytes"], *one["labels"].values()]
            name = " ".join(str(word) for word in words if word is not None)
            found.setdefault(name, []).append(one["value"])
    return found


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_a_posted_text_is_read_or_the_reason_is_the_right_one(case: Case) -> None:
    done = command_line.invoke("bench", "parse", CASES / case.name)
    assert done.exit_code == case.exit_code, done.output
    for word in case.words:
        assert word in done.output
    for word in ("Error(", "NoneType", *case.absent):
        assert word not in done.output
    as_json = command_line.invoke("bench", "parse", CASES / case.name, "--json")
    found = figures(json.loads(as_json.stdout)["reports"])
    for name, expected in case.figures:
        (near,) = {key for key in found if key == name or key.startswith(f"{name} ")}
        assert found[near] == [pytest.approx(expected)], name


def test_runs_of_several_titles_are_read_apart() -> None:
    text = (CASES / "13-iperf3-titles/tcp.txt").read_text()
    document = parse(text)
    assert not document.failures and not document.unknown_lines
    rates = [value(one, "bandwidth", side="receiver") * 8 for one in document.reports]
    assert rates == [3.27e9, 3.27e9, 3.36e9]
    assert all(one.completeness == "complete" for one in document.reports)


def test_titles_of_several_words_are_read_apart() -> None:
    text = (CASES / "13-iperf3-titles/tcp.txt").read_text()
    document = parse(text.replace("s1:", "first run:"))
    assert document.reports == parse(text).reports and not document.unknown_lines


def test_tables_without_a_title_that_follow_each_other_are_runs() -> None:
    text = (CASES / "14-table-without-title/perftest.txt").read_text()
    rates = [value(one, "bandwidth", size=1024) / 2**20 for one in parse(text).reports]
    assert rates == [pytest.approx(5544.28), pytest.approx(920.13)]


PREFIXES: dict[str, Callable[[int], str]] = {
    "srun --label": lambda line: "0: ",
    "srun --label, padded": lambda line: "  3: ",
    "srun --label, with zeros": lambda line: "003: ",
    "mpiexec -prepend-rank": lambda line: "[0] ",
    "mpiexec -prepend-rank, without a blank": lambda line: "[12]",
    "mpirun --tag-output": lambda line: "[1,0]<stdout>:",
    "prterun --tag-output": lambda line: "[prterun-n1-1234@1,0]<stdout>: ",
    "mpirun --timestamp-output": lambda line: "Thu Nov 20 10:11:12 2025[1,0]<stdout>:",
    "torchrun --tee": lambda line: "[default0]:",
    "pdsh": lambda line: "node1: ",
    "clush": lambda line: "gpu-01.example.org: ",
    "ansible": lambda line: "node1 | ",
    "Jenkins": lambda line: f"10:11:{line % 60:02}  ",
    "Jenkins, ISO": lambda line: f"[2025-11-20T10:11:{line % 60:02}.123Z] ",
    "TeamCity": lambda line: f"[10:11:{line % 60:02}]W: ",
    "GitLab": lambda line: f"2025-11-20T10:11:{line % 60:02}.123456Z 00O ",
    "GitHub": lambda line: f"2025-11-20T10:11:{line % 60:02}.1234567Z ",
    "GitHub and srun": lambda line: f"2025-11-20T10:11:{line % 60:02}.1234567Z 0: ",
    "kubectl --timestamps": lambda line: f"2025-11-20T10:11:{line % 60:02}.123456789Z ",
    "kubectl --prefix": lambda line: "[pod/osu-launcher-x7k2p/launcher] ",
    "kubetail": lambda line: "[osu-launcher-x7k2p] ",
    "stern": lambda line: "osu-launcher-x7k2p launcher ",
    "docker compose": lambda line: "\x1b[36mlauncher-0  |\x1b[0m ",
    "docker compose --timestamps": lambda line: "launcher-0  | 2025-11-20T10:11:12.123456789Z ",
    "journal": lambda line: "Nov 20 10:11:12 node1 osu_bw[912]: ",
    "journal, ISO": lambda line: "2025-11-20T10:11:12+0000 node1 bash[77]: ",
    "ts": lambda line: f"Nov 20 10:11:{line % 60:02} ",
    "log": lambda line: "2025-11-20 10:11:12,123 ",
    "kernel": lambda line: "[   12.345678] ",
    "parallel --tag": lambda line: "node1\t",
    "grep -n": lambda line: f"out.txt:{line + 1}:",
    "cat -n": lambda line: f"{line + 1:6}\t",
    # Of no known form: further lines begin alike but for their numbers.
    "nl": lambda line: f"{line + 1:6}  ",
    "klog": lambda line: f"I1120 10:11:{line % 60:02}.123456   912 main.go:12] ",
    "loguru": lambda line: f"2025-11-20 10:11:{line % 60:02}.1 | INFO     | __main__:run:12 - ",
    "logging": lambda line: f"2025-11-20 10:11:{line % 60:02},123 - root - INFO - ",
    "clock of 12 hours": lambda line: f"11/20/2025 10:11:{line % 60:02} AM ",
    "seconds since 1970": lambda line: f"{1_732_097_123 + line} ",
    "seconds since the start": lambda line: f"[{line + 0.5:9.3f}s] ",
    "syslog of RFC 5424": lambda line: f"<13>1 2025-11-20T10:11:{line % 60:02}.123Z n1 osu 12 - - ",
    "CloudWatch": lambda line: "2025-11-20T10:11:12.123000+00:00 osu/main/abc123 ",
    "GitHub's client": lambda line: f"build\tRun it\t2025-11-20T10:11:{line % 60:02}.1234567Z ",
    "SageMaker": lambda line: "[1,mpirank:0,algo-1]<stdout>:",
    "Drone": lambda line: f"[osu:{line}] ",
    "PALS": lambda line: "nid001234 3: ",
    "diff": lambda line: "+",
    "pytest": lambda line: "E   ",
    "Markdown": lambda line: "    ",
    "a tabulator": lambda line: "\t",
    "blanks of a web page": lambda line: "\u00a0\u00a0",
    "braces": lambda line: "{0} ",
    "colours of SageMaker": lambda line: "#033[34m",
}
TEXTS = (
    *("osu-micro-benchmarks/osu_latency-7.4.txt", "osu-micro-benchmarks/osu_mbw_mr-5.3.txt"),
    *("intel-mpi-benchmarks/IMB-MPI1-PingPong.txt", "perftest/ib_write_bw-all.txt"),
    *("npb/cg.A.4.txt", "iperf3/tcp-1stream-omit1.json", "iperf3/tcp-2streams.txt"),
    *("gpcnet/network_test.txt", "hpl/xhpl-4ranks.txt", "ucx_perftest/tag_lat-8.txt"),
    *("sockperf/pp-tcp-64.txt", "qperf/tcp-udp.txt", "iozone/auto-4M.txt"),
)


def prefixed(text: str, prefix: Callable[[int], str]) -> str:
    return "".join(f"{prefix(place)}{line}\n" for place, line in enumerate(text.splitlines()))


@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_of_every_line_changes_no_number(name: str) -> None:
    whole = [captured(text) for text in TEXTS]
    whole.append((CASES / "08-launcher-prefixes/alltoall.txt").read_text())
    for text in whole:
        (alone,), (mailed,) = parse(text).reports, parse(prefixed(text, PREFIXES[name])).reports
        assert mailed.measurements == alone.measurements
        assert mailed.completeness == alone.completeness


def test_ranks_without_a_benchmark_are_in_the_same_text() -> None:
    text = prefixed(captured(TEXTS[0]), lambda line: "0: ")
    noisy = text.replace("0: 4 ", "3: NCCL INFO cpu affinity\n1: \n0: 4 ")
    (report,) = parse(noisy).reports
    assert value(report, "latency", size=4) == value(parse(text).reports[0], "latency", size=4)
    (failed,) = parse(text + "1: Segmentation fault (core dumped)\n").reports
    assert not failed.is_sound


def test_hosts_that_run_a_benchmark_each_are_read_apart() -> None:
    first = captured(TEXTS[0]).splitlines()
    second = captured("osu-micro-benchmarks/osu_bw-7.4.txt").splitlines()
    pairs = zip(first, second, strict=False)
    text = "".join(f"node1: {one}\nnode2: {other}\n" for one, other in pairs)
    assert {one.program for one in parse(text).reports} == {"osu_latency", "osu_bw"}
    assert not parse(text).failures


DEATHS = (
    "Segmentation fault (core dumped)",
    "./run.sh: line 3: 12345 Killed                  ./osu_bw",
    "[node1:12345] *** Process received signal ***",
    "[node1:12345:0:12345] Caught signal 11 (Segmentation fault: address not mapped)",
    "osu_bw: osu_bw.c:123: main: Assertion `size > 0' failed.",
    "terminate called after throwing an instance of 'std::runtime_error'",
    "double free or corruption (!prev)",
    "Traceback (most recent call last):",
    "forrtl: severe (174): SIGSEGV, segmentation fault occurred",
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
    "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
    "Abort(740946959) on node 1 (rank 1 in comm 0): Fatal error in internal_Waitall: Other",
    "internal ABORT - process 1",
    "[node1:12345] *** An error occurred in MPI_Allreduce",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",
    "=   KILLED BY SIGNAL: 9 (Killed)",
    "[proxy:0:0@node1] HYD_pmcd_pmip_control_cmd_cb (proxy/pmip_cb.c:480): assert (!closed) failed",
    "[node1:mpi_rank_0][error_sighandler] Caught error: Segmentation fault (signal 11)",
    "prterun noticed that process rank 1 with PID 12345 on node node2 exited on signal 11",
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "ORTE has lost communication with a remote daemon.",
    "srun: error: node2: task 1: Segmentation fault (core dumped)",
    "srun: error: node1: task 0: Exited with exit code 1",
    "slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT 2025-04-09 DUE TO TIME LIMIT ***",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been",
    "=>> PBS: job killed: walltime 3600 exceeded limit 3600",
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
    "5.003s: job.exception type=timeout severity=0 resource allocation expired",
    "flux-job: task(s) exited with exit code 137",
    "PE RANK 3 exit signal Segmentation fault",
    "[12345.678901] Out of memory: Killed process 12345 (osu_bw) total-vm:1234kB",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)",
    "node1: Test NCCL failure common.cu:958 'unhandled system error'",
    " .. node1 pid 12345: Test failure common.cu:1093",
    "node1:12:34 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion with error 12",
    "[1712657472.123] [node1:123:0] ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded",
    "command terminated with exit code 137",
    "##[error]Process completed with exit code 143.",
    "Command terminated by signal 9",
    "client_loop: send disconnect: Broken pipe",
    "n1:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1234> with status=12 opcode=0",
    "==12345==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014",
    "PMIX ERROR: PMIX_ERR_UNREACH in file server.c at line 123",
    "x1000c0s0b0n0.hsn: rank 3 died from signal 15 and dumped core",
    "rank 3 in job 1  node1_12345   caused collective abort of all ranks",
    "[node1:mpispawn_0][readline] Unexpected End-Of-File on file descriptor 5. MPI process died?",
    "It looks like MPI_INIT failed for some reason; your parallel process is",
    "The InfiniBand retry count between two MPI processes has been exceeded.",
    "[mpiexec@node1] Sending Ctrl-C to processes as requested",
    "srun: forcing job termination",
    "*** JOB 12 CANCELLED ***",
    "Application 123 exit codes: 137",
    "[NID 00012] 2025-11-20 10:11:12 Apid 123: initiated application termination",
    "Build timed out (after 60 minutes). Marking the build as aborted.",
    "Finished: ABORTED",
    "ssh: connect to host node2 port 22: Connection refused",
    "n1:1:2 [0] NCCL WARN socketProgress: Connection closed by remote peer n2<1234>",
    "Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f. Reason: Page not",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [osu_bw:123]",
    "Fortran runtime error: End of file",
    "tee: out.txt: No space left on device",
    "Disk quota exceeded",
    "Cannot allocate memory",
    "malloc_consolidate(): invalid chunk size",
    "received signal SIGTERM",
    "Process received SIGTERM",
    "^C",
    "rc=137",
    "Out of memory",
    "Time limit reached",
    "STOP 1",
    "00000000 00000000 00000000 00000000",
    "Host key verification failed.",
    "n1:1:2 [0] NCCL INFO transport/net.cc:1138 -> 6",
    "*** This is disallowed by the MPI standard.",
    "004 (123.000.000) 11/20 10:11:12 Job was evicted.",
    "job 12.1 exceeded hard wallclock time - initiate terminate via method 1",
    "jwe0019i-u The program was terminated abnormally with signal number SIGSEGV.",
    "java.lang.OutOfMemoryError: Java heap space",
    "FIO-F-217/list-directed read/unit=5/attempt to read past end of file.",
    "general protection fault, probably for non-canonical address",
    "The system is going down for reboot NOW!",
    "bash: osu_bw: command not found",
    "libfabric:1:ofi_rxm:cq:rxm_handle_comp_error():123<warn> fi_cq_readerr: err: 103",
)
DIED = (
    *("osu-micro-benchmarks/osu_latency-5.3.txt", "handmade/nccl_tests.txt"),
    *("perftest/ib_write_bw.txt", "intel-mpi-benchmarks/IMB-MPI1-PingPong.txt"),
    *("hpl/xhpl-4ranks.txt", "iperf3/tcp-reverse.json", "sockperf/tp-tcp-1400.txt"),
)


@pytest.mark.parametrize("name", DIED)
def test_a_run_that_died_is_incomplete_and_its_numbers_are_kept(name: str) -> None:
    (whole,) = parse(captured(name)).reports
    assert whole.is_sound
    for message in DEATHS:
        (report,) = parse(f"{captured(name)}{message}\n").reports
        assert not report.is_sound, message
        assert report.measurements == whole.measurements, message
        assert f"the run failed: line {captured(name).count(chr(10)) + 1}: " in report.warnings[-1]


@pytest.mark.parametrize(
    "line",
    [
        "I expected more than 12 GB/s and cannot see what failed",
        "Did we hit an error here?",
        "   timeout         =  5000000000 ns",
        "FFLAGS = -O2 -fallow-argument-mismatch",
        "srun: error: 0 errors",
    ],
)
def test_a_line_behind_the_rows_that_says_of_no_failure_fails_nothing(line: str) -> None:
    (report,) = parse(f"{captured(DIED[0])}{line}\n").reports
    assert report.is_sound


def test_one_rank_of_gloo_sends_nothing_in_either_format() -> None:
    new = captured("gloo/allreduce_ring_chunked-4.txt").replace("processes=4", "processes=1")
    old = (CASES / "16-unknown-programs/gloo.txt").read_text()
    for text in (new, old.replace("processes=2", "processes=1")):
        assert failure(text).reason == "one rank sends nothing"


@pytest.mark.parametrize(
    ("name", "lines", "family"),
    [
        ("netperf/tcp_stream.txt", 1, "netperf"),
        ("iperf2/tcp.txt", 2, "iperf2"),
        ("npb/cg.A.4.txt", 3, "npb"),
        ("gpcnet/network_test.txt", 1, "gpcnet"),
        ("fio/randread-4k.txt", 1, "fio"),
        ("ucx_perftest/tag_lat-8.txt", 2, "ucx_perftest"),
        ("wrk/latency.txt", 1, "wrk"),
        ("iozone/auto-4M.txt", 1, "iozone"),
        ("ember/halo3d-2x2x2.txt", 1, "ember"),
        ("ember/incast-4.txt", 1, "ember"),
        ("handmade/rpc_perf.txt", 2, "rpc_perf"),
        ("handmade/spdk_perf.txt", 2, "spdk_perf"),
        ("fi_pingpong/tcp-msg.txt", 1, "fi_pingpong"),
        ("netperf/tcp_rr-omni-csv.txt", 1, "netperf"),
        ("netperf/tcp_stream-omni-keyval.txt", 1, "netperf"),
        ("osu-micro-benchmarks/osu_init-7.4.txt", 1, "osu"),
    ],
)
def test_a_text_whose_first_lines_are_lost_is_named(name: str, lines: int, family: str) -> None:
    rest = "\n".join(captured(name).splitlines()[lines:]) + "\n"
    with pytest.raises(UnrecognisedError, match=f"a text of {family} without its first line: "):
        parse(rest)


@pytest.mark.parametrize(
    ("name", "total", "nothing", "reason"),
    [
        (
            "iperf2/udp-enhanced.txt",
            "175 MBytes   489 Mbits/sec   0.000 ms 2852/127555 (2.2%)",
            "0.00 Bytes  0.00 bits/sec   0.000 ms 127555/127555 (100%)",
            "stream 1 carried nothing",
        ),
        (
            "iperf2/tcp.txt",
            "685 MBytes  1.90 Gbits/sec",
            "0.00 Bytes  0.00 bits/sec",
            "stream 1 carried nothing",
        ),
        (
            "iperf3/udp-500M.txt",
            "156 MBytes   435 Mbits/sec  0.008 ms  16645/129380 (13%)",
            "0.00 Bytes  0.00 bits/sec  0.000 ms  129380/129380 (100%)",
            "the receiver got nothing",
        ),
        (
            "netperf/udp_stream.txt",
            "148535            871.10",
            "0              0.00",
            "the receiver got nothing",
        ),
        (
            "nuttcp/tcp.txt",
            "430.5679 MB /   2.01 sec = 1793.6667",
            "0.0000 MB /   2.01 sec =    0.0000",
            "the receiver got nothing",
        ),
        (
            "qperf/tcp-udp.txt",
            "recv_bw  =  104 MB/sec",
            "recv_bw  =  0 bytes/sec",
            "udp_bw carried nothing",
        ),
    ],
)
def test_a_transfer_of_nothing_is_a_run_that_failed(
    name: str, total: str, nothing: str, reason: str
) -> None:
    assert total in captured(name)
    (report,) = parse(captured(name).replace(total, nothing)).reports
    assert not report.is_sound
    assert any(reason in one for one in report.warnings)


def test_blocks_within_a_letter_lose_their_indent() -> None:
    text = captured("hpl/xhpl-4ranks.txt")
    letter = "We ran this:\n\n" + prefixed(text, lambda line: "    ") + "\nThe network is 25 GbE.\n"
    assert figures_of(letter) == figures_of(text)


def test_ranks_behind_a_prefix_of_no_known_form_are_read_apart() -> None:
    texts = [captured(TEXTS[0]), captured("osu-micro-benchmarks/osu_bw-7.4.txt")]
    merged = "".join(
        f"<{rank}> {line}\n" for rank, text in enumerate(texts) for line in text.splitlines()
    )
    assert [one.program for one in parse(merged).reports] == ["osu_latency", "osu_bw"]


def test_a_backtrace_is_no_row() -> None:
    crash = "[n1:1:0:1] Caught signal 11 (Segmentation fault)\n==== backtrace (tid: 1) ====\n"
    trace = (
        " 0  /usr/lib/libucs.so.0(ucs_handle_error+0x2e4) [0x7f0123]\n 1 0x42520 __sigaction()\n"
    )
    (report,) = parse(captured(DIED[0]) + crash + trace).reports
    assert report.measurements == parse(captured(DIED[0])).reports[0].measurements


def test_a_run_that_died_without_a_row_says_of_what() -> None:
    title = captured(DIED[0])[: captured(DIED[0]).index("\n", 1) + 1]
    assert "line 3: Killed" in failure(f"{title}# Size          Latency (us)\nKilled\n").reason
    with pytest.raises(ValueError, match=r"no benchmark that is known .*; the run failed: line 1"):
        parse("srun: error: node1: task 0: Exited with exit code 1\n")


@pytest.mark.parametrize(
    "line",
    [
        "[n1:12345] 1 more process has sent help message help-mpi-btl.txt / error in device init",
        "salloc: Relinquishing job allocation 1234",
        "node1:123:456 [0] NCCL INFO comm 0x7f destroyed - Destroy COMPLETE",
        "[1712657472.1] [node1:1:0] parser.c:2000 UCX  WARN  unused environment variable: UCX_X",
        "Exited with exit code 0",
        "real    0m3.105s",
        "The run on the old switch failed yesterday, as you know.",
        "Test finished: no errors",
        "STOP 0",
        "Connection to node1 closed.",
    ],
)
def test_what_launchers_print_behind_every_run_is_no_failure(line: str) -> None:
    for name in DIED:
        assert parse(f"{captured(name)}{line}\n").reports[0].is_sound, name


def test_rates_of_mixed_precision_are_of_the_factorisation_and_of_the_whole_solve() -> None:
    # 2/3 44,000^3 operations in 3.74 s are 15,184 Gflop/s.
    row = "HPL_AI   WR03L2L2   44000   288   1   1   3.74   1.517e+04   1.32214   1.121e+04\n"
    verdict = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=  1.450442E-03 ...... PASSED\n"
    (report,) = parse(f"HPLinpack 2.1  --  HPL-AI\n{row}{verdict}End of Tests.\n").reports
    assert report.program == "xhpl_ai"
    assert values(report, "flop_rate", N="44000") == [1.517e13, 1.121e13]


OSU = "# Size          Latency (us)\n1                       1.24\n2                       1.25\n"
BANDWIDTH = (
    "# Size      Bandwidth (MB/s)\n1                       1.24\n2                       2.50\n"
)
AVERAGE = (
    "# Size       Avg Latency(us)\n4                       2.24\n8                       2.25\n"
)


@pytest.mark.parametrize(
    ("title", "table", "program", "metric"),
    [
        ("MPI-ROCM Latency Test v7.2", OSU, "osu_latency", "latency"),
        ("MPI Latency Persistent Test v7.4", OSU, "osu_latency_persistent", "latency"),
        ("MPI-CUDA Bandwidth Persistent Test v7.4", BANDWIDTH, "osu_bw_persistent", "bandwidth"),
        ("MPI_Put-CUDA Latency Test v7.2", OSU, "osu_put_latency", "call_time"),
        ("MPI_Get Multi Latency Test v7.4", OSU, "osu_get_multi_lat", "call_time"),
        ("NCCL-CUDA Allreduce Latency Test v7.5", AVERAGE, "osu_xccl_allreduce", "call_time"),
        ("NCCL-CUDA Bandwidth Test v5.9", BANDWIDTH, "osu_nccl_bw", "bandwidth"),
        ("RCCL-ROCM Broadcast Latency Test v7.4", AVERAGE, "osu_xccl_bcast", "call_time"),
        (
            "MPI Allreduce Persistent Latency Test v7.4",
            AVERAGE,
            "osu_allreduce_persistent",
            "call_time",
        ),
        (
            "MPI Non-blocking Neighborhood Alltoallv Latency Test v7.4",
            AVERAGE,
            "osu_ineighbor_alltoallv",
            "call_time",
        ),
    ],
)
def test_osu_tests_are_known_by_their_titles(
    title: str, table: str, program: str, metric: str
) -> None:
    late = f"# OSU {title}\n{table.replace(chr(10), f'{chr(10)}# Datatype: MPI_CHAR.{chr(10)}', 1)}"
    for text in (f"# OSU {title}\n# Datatype: MPI_CHAR.\n{table}", late):
        (report,) = parse(text).reports
        assert (report.program, {one.metric.name for one in report.measurements}) == (
            program,
            {metric},
        )
        assert len(report.measurements) == 2


def test_tables_of_osu_are_read_without_title_and_bandwidth_is_no_latency() -> None:
    (report,) = parse(OSU).reports
    assert (report.program, value(report, "call_time", size=2)) == ("osu", 1.25e-6)
    (rates,) = parse(
        "# Size                  MB/s        Messages/s\n1    28.12    28118821.14\n"
    ).reports
    assert (rates.program, value(rates, "bandwidth_sum", size=1)) == ("osu_mbw_mr", 28.12e6)
    # osu_bw_fan_in prints bandwidth below the words of a latency: only its title says so.
    fan = "".join(f"{2**k:<10}{1.07 * 2**k:18.2f}\n" for k in range(9))
    assert "grow with their size" in failure(f"# Size       Avg Latency(us)\n{fan}").reason


def test_blanks_that_were_merged_by_a_page_are_no_missing_digits() -> None:
    (report,) = parse("# OSU MPI Latency Test v5.6.2\n" + re.sub(" +", " ", OSU)).reports
    assert value(report, "latency", size=1) == 1.24e-6


NCCL = (CASES / "02-nccl-relative-error-of-half/all_reduce-half.txt").read_text()


def test_an_error_counts_if_the_program_does_not_say_that_all_is_within_bounds() -> None:
    wrong = NCCL.replace("12.01  5e-04", "12.01  3e-01")
    assert parse(wrong).reports[0].valid is True, "only the program knows the bound of a type"
    (cut,) = parse(wrong.replace("# Out of bounds values : 0 OK\n", "")).reports
    assert not values(cut, "bandwidth_bus", size=4194304, placement="out_of_place")
    (failed,) = parse(NCCL.replace(": 0 OK", ": 7 FAILED")).reports
    assert failed.valid is False


def test_a_broadcast_of_one_rank_has_a_bandwidth_and_a_warning() -> None:
    lines = [line for line in NCCL.splitlines() if "Rank  1" not in line]
    (report,) = parse("\n".join(lines) + "\n").reports
    assert "one rank is listed, which sends nothing" in " ".join(report.warnings)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"fio version": "fio-3.28", "jobs": null}',
            "jobs: expected a list of objects, found null",
        ),
        ('{"fio version": "fio-3.28"}', "the JSON object has no key jobs"),
        ('{"start": [], "end": {}, "version": "iperf 3.1"}', "start: expected an object, found []"),
        ('{"start": {}, "sum_received": 1}', "the JSON object has no key end"),
        (
            '{"test_info": null, "results": {"n_iterations": 5}}',
            "test_info: expected an object, found null",
        ),
    ],
)
def test_an_object_of_another_shape_is_named_by_its_keys(text: str, reason: str) -> None:
    assert failure(f"{text}\n").reason == reason


def test_fio_3_with_the_names_of_fio_2_is_not_guessed() -> None:
    data = json.loads(captured("fio/randread-4k.json"))
    data["jobs"][0]["read"]["clat"] = data["jobs"][0]["read"].pop("clat_ns")
    text = json.dumps(data) + "\n"
    assert failure(text).reason == "the JSON object has no key jobs.0.read.clat_ns"


def test_a_receiver_that_got_nothing_is_reported_from_json_too() -> None:
    data = json.loads(captured("iperf3/tcp-1stream-omit1.json"))
    for total in (data["end"]["sum_received"], data["end"]["streams"][0]["receiver"]):
        total["bytes"] = total["bits_per_second"] = 0
    (report,) = parse(json.dumps(data) + "\n").reports
    assert not report.is_sound
    assert (
        "the receiver got nothing: 0 Bytes; the sender retransmitted 0 segments" in report.warnings
    )


def test_whole_times_of_perftest_are_cycles_without_its_command_too() -> None:
    text = (CASES / "15-perftest-facts/ib_write_lat.txt").read_text()
    bare = text[text.index("---") :]
    assert "are whole in every row: cycles" in failure(bare).reason


def test_elements_of_old_gloo_have_a_size_where_the_rate_says_so() -> None:
    text = (CASES / "16-unknown-programs/gloo.txt").read_text()
    head, _, _ = text.partition("elements")
    # 268,435,456 elements of 4 B in 1.443672 s are 0.693 x 2^30 B/s.
    names = "   elements   min (us)   p50 (us)   p99 (us)   max (us)   avg (GB/s)    samples\n"
    row = "  268435456    1443672    1443672    1443672    1443672        0.693          1\n"
    (report,) = parse(head + names + row).reports
    assert value(report, "bandwidth_call", size=2**30) == 0.693 * 2**30
    assert "one rank sends nothing" in failure(text.replace("processes=2", "processes=1")).reason


def test_columns_of_each_placement_are_labels_of_that_placement() -> None:
    text = (CASES / "07-rccl-algo-columns/all_reduce.txt").read_text()
    head = text[: text.index("#       size")]
    names = (
        "# size count type redop root time algbw busbw #wrong algo time algbw busbw #wrong algo\n"
    )
    row = "33554432 8388608 float sum -1 493.92 67.93 127.38 0 TREE 492.10 68.19 127.85 0 RING\n"
    (report,) = parse(f"{head}{names}{row}# Avg bus bandwidth    : 127.6\n").reports
    assert values(report, "bandwidth_bus", size=33554432, algo="TREE") == [127.38e9]
    assert values(report, "bandwidth_bus", size=33554432, algo="RING") == [127.85e9]


def test_the_end_of_a_text_of_iperf3_is_read_alone() -> None:
    text = captured("iperf3/tcp-1stream.txt")
    lines = [line for line in text.splitlines() if line.endswith(("sender", "receiver"))]
    (report,) = parse("\n".join(lines) + "\n").reports
    assert value(report, "bandwidth", side="receiver") == 1.81e9 / 8
    assert "the line `Connecting to host` is missing" in report.warnings


def test_null_where_a_number_may_be_missing_is_left_out() -> None:
    data = json.loads(captured("iperf3/udp-500M.json"))
    data["end"]["sum_received"]["jitter_ms"] = None
    (report,) = parse(json.dumps(data) + "\n").reports
    assert not values(report, "jitter") and values(report, "loss")
    data["end"]["sum_received"]["lost_packets"] = None
    reason = "end.sum_received.lost_packets: expected a number, found null"
    assert failure(json.dumps(data) + "\n").reason == reason


def test_mpigraph_of_one_rank_is_refused() -> None:
    text = (
        "START mpiGraph v1.5\nMsgSize\t4096\nTimes\t10\nWindow\t5\nProcs\t1\n"
        "Send max\t0.000000\nSend avg\t0.000000\nSend\tn1:0\nn1:0 to\t0.000\nEND mpiGraph\n"
    )
    assert failure(text).reason == "one rank sends nothing"


def test_a_client_that_was_interrupted_does_not_know_what_the_receiver_got() -> None:
    text = (CASES / "12-iperf3-receiver-got-nothing/tcp.txt").read_text()
    end = "iperf3: interrupt - the client has terminated"
    (report,) = parse(text.replace("iperf Done.", end)).reports
    said = " ".join(report.warnings)
    assert "the receiver's total is not known: 0.00 Bytes" in said
    assert f"the run failed: line 20: {end}" in said


def test_an_error_of_a_job_is_no_verification() -> None:
    text = captured("fio/randread-4k.json")
    assert parse(text).reports[0].valid is None
    wrong = re.sub(r'"error" : 0', '"error" : 5', text)
    assert failure(wrong).reason == "no measurement: job rr: error 5"
