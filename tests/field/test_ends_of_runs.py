"""Runs that died: their numbers are kept, and the output is incomplete."""

import pytest

from etherweave.bench.document import parse
from support.captured_texts import captured, failure

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
