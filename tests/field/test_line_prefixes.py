"""Launchers, logs and letters put a prefix before every line of a benchmark's output."""

from collections.abc import Callable
from pathlib import Path

import pytest

from etherweave.bench.texts.document import parse
from support.captured_texts import captured, figures_of, value

CASES = Path(__file__).parent / "cases"


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
    captureds = [captured(text) for text in TEXTS]
    captureds.append((CASES / "08-launcher-prefixes/alltoall.txt").read_text())
    for text in captureds:
        (alone,), (mailed,) = parse(text).reports, parse(prefixed(text, PREFIXES[name])).reports
        assert mailed.measurements == alone.measurements
        assert mailed.completeness == alone.completeness


def test_ranks_without_a_benchmark_are_in_the_same_text() -> None:
    text = prefixed(captured(TEXTS[0]), lambda line: "0: ")
    (report,) = parse(text.replace("0: 4 ", "3: NCCL INFO cpu affinity\n1: \n0: 4 ")).reports
    assert value(report, "latency", size=4) == value(parse(text).reports[0], "latency", size=4)
    (failed,) = parse(text + "1: Segmentation fault (core dumped)\n").reports
    assert not failed.is_sound


def test_hosts_that_run_a_benchmark_each_are_read_apart() -> None:
    first = captured(TEXTS[0]).splitlines()
    pairs = zip(first, captured("osu-micro-benchmarks/osu_bw-7.4.txt").splitlines(), strict=False)
    text = "".join(f"node1: {first}\nnode2: {other}\n" for first, other in pairs)
    assert {report.program for report in parse(text).reports} == {"osu_latency", "osu_bw"}
    assert not parse(text).failures


def test_blocks_within_a_letter_lose_their_indent() -> None:
    text = captured("hpl/xhpl-4ranks.txt")
    letter = "We ran this:\n\n" + prefixed(text, lambda line: "    ") + "\nThe network is 25 GbE.\n"
    assert figures_of(letter) == figures_of(text)


def test_ranks_behind_a_prefix_of_no_known_form_are_read_apart() -> None:
    texts = [captured(TEXTS[0]), captured("osu-micro-benchmarks/osu_bw-7.4.txt")]
    merged = "".join(
        f"<{rank}> {line}\n" for rank, text in enumerate(texts) for line in text.splitlines()
    )
    assert [report.program for report in parse(merged).reports] == ["osu_latency", "osu_bw"]
