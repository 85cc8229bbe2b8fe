"""Snapshots of made-up hosts, and what checks find on them."""

import json
import os
import random
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from etherweave.bench.environment.checks import CHECKS, examine
from etherweave.bench.environment.checks.links import slot_rate
from etherweave.bench.environment.findings import (
    EnvironmentFinding,
    Evidence,
    Run,
    Severity,
    cpus,
    risen,
)
from etherweave.bench.environment.readers import take
from etherweave.bench.environment.readers.files import HostFiles, ToolResult, Tools, run_tool
from etherweave.bench.environment.snapshot import (
    Load,
    NetworkInterface,
    NetworkPath,
    NumaMemory,
    Pcie,
    Processor,
    ProcessPlacement,
    RdmaDevice,
    RdmaPort,
    Snapshot,
    snapshot,
)
from support import command_line

HOST = tomllib.loads((Path(__file__).parents[1] / "data" / "made_up_host.toml").read_text())
FILES: dict[str, str] = HOST["files"] | {
    f"sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}": value
    for cpu in range(8)
    for name, value in {
        "scaling_governor": "powersave" if cpu < 3 else "performance",
        "scaling_cur_freq": "1200000",
        "cpuinfo_max_freq": "3500000",
    }.items()
}
ANSWERS: dict[str, str] = HOST["answers"]


def tools(answers: Mapping[str, str]) -> Tools:
    def start(words: Sequence[str]) -> ToolResult:
        if " ".join(words) not in answers:
            raise FileNotFoundError(words[0])
        return ToolResult(0, answers[" ".join(words)], "")

    return start


def tree(root: Path, files: Mapping[str, str] = FILES) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return root


@pytest.fixture
def made_up(tmp_path: Path) -> Snapshot:
    return take(tree(tmp_path), tools=tools(ANSWERS), variables={"UCX_TLS": "rc", "HOME": "/"})


def host(**words: object) -> Snapshot:
    return replace(Snapshot(1, "n1", "b1", 0.0), **words)  # type: ignore[arg-type]


def link(**words: object) -> dict[str, NetworkInterface]:
    return {"eth2": replace(NetworkInterface(), **words)}  # type: ignore[arg-type]


def found(evidence: Evidence | Snapshot, check: str) -> list[EnvironmentFinding]:
    seen = examine(evidence if isinstance(evidence, Evidence) else Evidence(evidence))
    return [row for row in seen if row.check == check and row.severity is not Severity.GAP]


def only(evidence: Evidence | Snapshot, check: str) -> EnvironmentFinding:
    (finding,) = found(evidence, check)
    return finding


def test_a_host_is_read_from_its_files_and_tools(made_up: Snapshot) -> None:
    assert (made_up.host, made_up.boot, made_up.kernel) == ("n1", "7f-1", "6.1.0")
    assert made_up.processor == Processor(
        "Paper CPU", "0-7", {"powersave": 3, "performance": 5}, 1.2e9, 3.5e9, True
    )
    assert made_up.memory == NumaMemory({"0": "0-3", "1": "4-7"}, True)
    assert made_up.load == Load(0.42, {"hpl (x) y": 1})
    assert made_up.placement == ProcessPlacement("0-7", {"UCX_TLS": "rc"})
    assert made_up.tcp_counters == {"RtoAlgorithm": 1, "OutSegs": 1000, "RetransSegs": 2}
    assert made_up.traffic == {"lo": 80, "eth2": 3000}
    assert made_up.tcp["ipv4.tcp_rmem"] == "4096 131072 6291456"
    assert made_up.gaps == ()


def test_an_interface_is_read_with_all_that_tools_say(made_up: Snapshot) -> None:
    assert made_up.interfaces == {
        "eth2": NetworkInterface(
            state="up",
            mtu=1500,
            rate=100e9,
            duplex="full",
            driver="mlx5_core",
            firmware="16.35.2000",
            node=1,
            pcie=Pcie(8, 16, 8.0, 16.0),
            counters={"rx_bytes": 1000, "rx_crc_errors": 3},
            driver_counters={"rx_prio3_pause": 7, "rx_discards_phy": 2},
            offloads={
                "rx-checksumming": True,
                "tcp-segmentation-offload": False,
                "tx-tcp-segmentation": False,
            },
            pause_received=True,
            pause_sent=False,
            fec="RS",
            pfc=(6, 7),
            ecn=(6,),
            classes={str(priority): priority for priority in range(8)},
            dscp={"0": 0, "24": 3, "48": 6},
            qdiscs=("tbf", "fq_codel"),
        )
    }


def test_an_rdma_port_is_read_with_the_types_of_its_addresses(made_up: Snapshot) -> None:
    port = RdmaPort(
        "4: ACTIVE",
        "Ethernet",
        "eth2",
        {"0": "IB/RoCE v1", "1": "RoCE v2"},
        {"port_rcv_data": 100},
        {"out_of_sequence": 0},
    )
    assert made_up.rdma == {"mlx5_0": RdmaDevice("16.35.2000", {"1": port})}


def test_a_snapshot_goes_through_json_unchanged(made_up: Snapshot) -> None:
    assert snapshot(json.dumps(made_up.facts())) == made_up


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "Expecting value"),
        ("[1]", "no snapshot of format 1"),
        ('{"format": 2}', "no snapshot of format 1"),
        ('{"format": 1}', "snapshot: host is missing"),
        ('{"format": 1, "evil": 1}', "unknown key 'evil'"),
        ("[" * 100_000, "nests too deeply"),
        (
            '{"snapshot": {"format": 1, "boot": "b", "taken_s": 0, "host": 5}}',
            "snapshot.host: 5; expected text",
        ),
        ('{"format":1,"host":"a","boot":"b","taken_s":1e999}', "expected a finite number"),
        ('{"format":1,"host":"a","boot":"b","taken_s":1,"gaps":[{"topic":1}]}', r"gaps\[0\]"),
        ('{"format":1,"host":"a","boot":"b","taken_s":1,"interfaces":{"e":{"mtu":true}}}', "mtu"),
    ],
)
def test_what_is_no_snapshot_is_rejected(text: str, reported: str) -> None:
    with pytest.raises(ValueError, match=reported):
        snapshot(text)


def test_damaged_snapshots_are_refused_or_examined(made_up: Snapshot) -> None:
    chance = random.Random(3)
    text = json.dumps(made_up.facts())
    read = 0
    for _ in range(2_000):
        letters = list(text)
        for _ in range(chance.randint(1, 4)):
            letters[chance.randrange(len(letters))] = chance.choice('0129-{}[]",:xe.')
        try:
            taken = snapshot("".join(letters))
        except ValueError:
            continue
        examine(Evidence(taken, made_up, (taken,), Run("eth2", 1e6)))
        read += 1
    assert read > 50


def test_a_missing_tool_narrows_the_checks_that_want_it(tmp_path: Path) -> None:
    findings = examine(Evidence(take(tree(tmp_path), tools=tools({}), variables={})))
    gaps = {finding.check: finding.what for finding in findings if finding.severity is Severity.GAP}
    assert "ethtool is not installed" in gaps["offloads"]
    assert "dcb is not installed" in gaps["lossless"]
    assert set(gaps) == {
        "offloads", "lossless", "pauses", "errors", "drops", "fec", "firmware", "qdisc",
        "wrong interface", "traffic classes",
    }  # fmt: skip


def test_a_tool_that_fails_or_hangs_leaves_a_gap() -> None:
    def hang(words: Sequence[str]) -> ToolResult:
        raise TimeoutError("took longer than 5 s")

    def fail(words: Sequence[str]) -> ToolResult:
        return ToolResult(1, "", "netlink error: Operation not permitted\n")

    for start, reason in ((hang, "longer than 5 s"), (fail, "not permitted")):
        files = HostFiles(Path("/nowhere"), start)
        assert files.tool("fec", "ethtool", "x") is None
        (gap,) = files.gaps
        assert gap.source == "ethtool x" and reason in gap.reason


def test_a_tool_of_this_machine_is_given_up_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etherweave.bench.environment.readers.files.LIMIT_S", 0.2)
    with pytest.raises(TimeoutError, match=r"longer than 0\.2 s"):
        run_tool(["sleep", "5"])
    assert run_tool(["printf", "%s", "a b"]) == ToolResult(0, "a b", "")


def test_a_missing_right_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def guarded(path: Path, mode: str) -> object:
        if path.name == "mtu":
            raise PermissionError
        return opened(path, mode)

    tree(tmp_path)
    monkeypatch.setattr(Path, "open", guarded)
    gaps = take(tmp_path, tools=tools(ANSWERS), variables={}).gaps
    assert [(gap.topic, gap.reason) for gap in gaps] == [("link", "no permission")]


def test_an_empty_root_is_a_host_of_which_nothing_is_known(tmp_path: Path) -> None:
    nothing = take(tmp_path, interfaces=["eth9", "../x", "-S"], tools=None, variables={})
    assert all(interface == NetworkInterface() for interface in nothing.interfaces.values())
    assert all(finding.severity is Severity.GAP for finding in examine(Evidence(nothing)))


def test_every_check_has_a_name_and_a_topic_that_readers_fill() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    readers = Path(take.__code__.co_filename).parent
    source = "".join(path.read_text() for path in sorted(readers.glob("*.py")))
    for topic in {topic for check in CHECKS for topic in check.reads}:
        assert re.search(rf'\(\s*"{topic}",|\(place, "{topic}"', source), topic


def test_the_made_up_host_has_what_it_was_made_up_with(made_up: Snapshot) -> None:
    checks = {finding.check for finding in examine(Evidence(made_up, run=Run("eth2", processes=9)))}
    assert checks == {
        "governor", "smt", "numa", "pinning", "oversubscription", "load", "mtu", "errors", "drops",
        "pcie", "offloads", "qdisc", "lossless", "gid", "tcp buffers",
    }  # fmt: skip
    assert "3 on powersave" in only(made_up, "governor").what


def test_a_host_in_order_has_no_findings() -> None:
    quiet = host(
        processor=Processor("x", "0-7", {"performance": 8}, 3.4e9, 3.5e9, False),
        memory=NumaMemory({"0": "0-3", "1": "4-7"}, False),
        load=Load(0.1, {}),
        placement=ProcessPlacement("4-7", {"UCX_TLS": "rc,self"}),
        interfaces=link(
            state="up", mtu=9000, rate=100e9, duplex="full", node=1, pcie=Pcie(16, 16, 16.0, 16.0),
            fec="RS", pfc=(3,), pause_received=False, pause_sent=False, qdiscs=("mq",),
            offloads={"rx-checksumming": True}, counters={"rx_bytes": 5, "rx_crc_errors": 0},
        ),
        tcp={"ipv4.tcp_rmem": "4096 131072 67108864"},
    )  # fmt: skip
    assert examine(Evidence(quiet, quiet, (quiet,), Run("eth2", 0.0, 4))) == []


def test_a_slow_processor_under_the_right_governor_is_noted() -> None:
    slow = Processor(governors={"performance": 2}, frequency_hz_min=2e9, frequency_hz_max=3.5e9)
    assert (
        "CPU frequency is not max: 2.00 of 3.50 GHz" in only(host(processor=slow), "frequency").what
    )


def test_processes_on_another_numa_node_than_the_nic_are_reported() -> None:
    nodes = NumaMemory({"0": "0-3", "1": "4-7"})
    far = host(memory=nodes, placement=ProcessPlacement("2-5"), interfaces=link(node=1))
    assert only(far, "numa").do == "numactl --cpunodebind=1 --membind=1"
    assert found(replace(far, placement=ProcessPlacement("4,5-6")), "numa") == []


def test_a_load_is_a_warning_and_a_program_that_happens_to_run_a_note() -> None:
    passing = only(host(load=Load(0.2, {"cron": 1})), "load")
    assert passing.severity is Severity.NOTE and passing.what.endswith("1 other programs ran: cron")
    assert only(host(load=Load(1.5, {})), "load").severity is Severity.WARNING
    # After a run the average is its own.
    assert found(Evidence(host(load=Load(0.1, {})), host(load=Load(8.0, {}))), "load") == []


def test_a_binding_by_the_launcher_counts_as_pinned() -> None:
    free = host(processor=Processor(online="0-1"), placement=ProcessPlacement("0-1"))
    assert only(free, "pinning").severity is Severity.NOTE
    policy = {"OMPI_MCA_hwloc_base_binding_policy": "core"}
    assert found(replace(free, placement=ProcessPlacement("0-1", policy)), "pinning") == []


def test_latencies_of_milliseconds_among_microseconds_are_slices() -> None:
    # The signature seen with pollers that share a core: about 6 ms now and then, 15 us else.
    times = (*[15e-6] * 990, *[6.0e-3] * 10)
    finding = only(Evidence(host(), run=Run(times_s=times)), "slices")
    assert finding.what.startswith("10 of 1000 latencies cluster at 6.0 ms, the others at 15.0 us")
    assert only(Evidence(host(), run=Run(times_s=(5e-3,) * 3)), "slices")
    for honest in ([15e-6] * 999 + [6e-3], [15e-6] * 900 + [0.4e-3] * 100, [60e-3] * 9):
        assert found(Evidence(host(), run=Run(times_s=tuple(honest))), "slices") == []


def test_another_mtu_or_rate_on_another_host_is_found() -> None:
    here = host(interfaces=link(mtu=9000, rate=100e9, fec="RS", firmware="2", driver="d", pfc=(3,)))
    there = replace(
        here,
        host="n2",
        interfaces=link(mtu=1500, rate=25e9, fec="Off", firmware="1", driver="d", pfc=(4,)),
    )
    both = Evidence(here, others=(there,))
    assert only(both, "mtu").what == "MTU 9000; n2 has 1500"
    assert only(both, "link").what == "link rate 100 Gbit/s; n2 has 25 Gbit/s"
    assert only(both, "fec").what == "FEC RS; n2 has Off"
    assert only(both, "firmware").what == "firmware 2 (d); n2 has 1"
    assert only(both, "lossless").what == "PFC on priorities 3; n2 has 4"
    assert found(Evidence(here, others=(here,)), "mtu") == []


def test_packets_in_other_queues_on_another_host_are_found() -> None:
    here, there = host(interfaces=link(dscp={"26": 3})), host(interfaces=link(dscp={"26": 4}))
    finding = only(Evidence(here, others=(replace(there, host="n2"),)), "traffic classes")
    assert finding.what.endswith("differ from n2: none / none; 26:3 / 26:4")
    assert found(Evidence(here, others=(here, host())), "traffic classes") == []


def test_a_path_that_swallows_large_packets_is_found() -> None:
    path = NetworkPath("eth2", 9000, False, "1 packets transmitted, 0 received, 100% packet loss")
    finding = only(host(paths={"n2": path}), "mtu")
    assert finding.where == "n1 eth2 to n2" and "9000 bytes, do not arrive" in finding.what


def test_counters_are_warnings_if_they_rise_during_a_run_and_notes_if_they_did_before() -> None:
    before = host(interfaces=link(counters={"rx_crc_errors": 5, "rx_dropped": 1}))
    after = host(interfaces=link(counters={"rx_crc_errors": 9, "rx_dropped": 1}))
    assert only(before, "errors").severity is Severity.NOTE
    finding = only(Evidence(before, after), "errors")
    assert finding.severity is Severity.WARNING
    assert finding.what == "damaged frames during the run: rx_crc_errors 4"
    assert found(Evidence(before, after), "drops") == []


def test_pause_frames_count_during_a_run_only() -> None:
    before = host(interfaces=link(driver_counters={"rx_prio3_pause": 5}))
    after = host(interfaces=link(driver_counters={"rx_prio3_pause": 25}))
    assert found(before, "pauses") == []
    assert "rx_prio3_pause 20" in only(Evidence(before, after), "pauses").what


def test_pauses_at_odds_with_each_other_are_found() -> None:
    both = host(interfaces=link(pfc=(3,), pause_received=True))
    assert only(both, "lossless").do == "ethtool -A eth2 rx off tx off"
    every = host(interfaces=link(pfc=tuple(range(8))))
    assert "all eight priorities" in only(every, "lossless").what
    port = RdmaPort(link_layer="Ethernet", interface="eth2")
    lossy = host(interfaces=link(pfc=()), rdma={"mlx5_0": RdmaDevice(ports={"1": port})})
    assert "RoCE without PFC" in only(lossy, "lossless").what
    assert found(replace(lossy, interfaces=link(pfc=(), ecn=(3,))), "lossless") == []
    halved = host(interfaces=link(pfc=(3, 4), ecn=(3,)))
    assert only(halved, "lossless").what == "PFC on priorities 3, 4, ECN on 3"
    assert found(replace(lossy, interfaces=link(pfc=None)), "lossless") == []


def test_what_a_slot_carries() -> None:
    # 3.0 x16 is known for 126 Gbit/s, 2.0 x8 for 32 Gbit/s.
    assert slot_rate(16, 8.0) == pytest.approx(126.03e9, rel=1e-4)
    assert slot_rate(8, 5.0) == 32e9
    narrow = host(interfaces=link(rate=200e9, pcie=Pcie(16, 16, 8.0, 8.0)))
    assert only(narrow, "pcie").what == "PCIe carries 126 Gbit/s at most, the link 200"


def test_a_gid_of_the_first_version_or_of_nobody_is_found(made_up: Snapshot) -> None:
    old = only(Evidence(made_up, run=Run(gid_index=0)), "gid")
    assert "GID index 0 is IB/RoCE v1" in old.what and "1 RoCE v2" in old.do
    assert "GID index 2 is not set" in only(Evidence(made_up, run=Run(gid_index=2)), "gid").what
    assert found(Evidence(made_up, run=Run(gid_index=1)), "gid") == []
    reported = replace(made_up, placement=ProcessPlacement("0", {"UCX_IB_GID_INDEX": "0"}))
    assert "UCX_IB_GID_INDEX 0 is IB/RoCE v1" in only(reported, "gid").what


def test_rdma_losses_warn_and_marks_are_noted() -> None:
    def device(**counters: int) -> dict[str, RdmaDevice]:
        port = RdmaPort(link_layer="Ethernet", interface="eth2", hardware_counters=counters)
        return {"mlx5_0": RdmaDevice(ports={"1": port})}

    before, after = (
        host(rdma=device(out_of_sequence=1, np_cnp_sent=0)),
        host(rdma=device(out_of_sequence=8, np_cnp_sent=3)),
    )
    assert only(Evidence(before, after), "roce").what.endswith("during the run: out_of_sequence 7")
    assert only(Evidence(before, after), "congestion marks").severity is Severity.NOTE
    assert found(before, "roce") == []


def test_a_window_below_what_a_millisecond_sends_is_found() -> None:
    # 100 Gbit/s x 1 ms = 12.5 MB.
    fast = host(interfaces=link(rate=100e9), tcp={"ipv4.tcp_rmem": "4096 131072 6291456"})
    assert "6,291,456 bytes, is below the 12,500,000 bytes" in only(fast, "tcp buffers").what
    assert found(replace(fast, interfaces=link(rate=10e9)), "tcp buffers") == []


def test_segments_sent_again_are_counted_over_the_run() -> None:
    before = host(tcp_counters={"OutSegs": 1000, "RetransSegs": 500})
    after = host(tcp_counters={"OutSegs": 11_000, "RetransSegs": 520})
    assert "20 of 10,000 segments" in only(Evidence(before, after), "tcp losses").what
    assert (
        found(Evidence(before, replace(after, tcp_counters=before.tcp_counters)), "tcp losses")
        == []
    )


def test_traffic_over_another_interface_is_found() -> None:
    def moved(eth2: int, lo: int) -> Snapshot:
        traffic = {"eth2": eth2, "lo": lo}
        return host(interfaces=link(counters={"tx_bytes": eth2}), traffic=traffic)

    run = Run("eth2", 1e9)
    wrong = Evidence(moved(0, 0), moved(1000, 2_000_000_000), run=run)
    assert only(wrong, "wrong interface").what == (
        "1,000 bytes crossed it, at least 1,000,000,000 expected; lo carried 2,000,000,000"
    )
    nowhere = Evidence(moved(0, 0), moved(1000, 0), run=run)
    assert "no interface did: shared memory?" in only(nowhere, "wrong interface").what
    assert found(Evidence(moved(0, 0), moved(1_000_000_000, 0), run=run), "wrong interface") == []


def test_bytes_that_rdma_moved_past_the_kernel_count() -> None:
    def moved(words: int) -> Snapshot:
        port = RdmaPort("", "Ethernet", "eth2", {}, {"port_xmit_data": words}, {})
        return host(interfaces=link(), rdma={"mlx5_0": RdmaDevice(ports={"1": port})})

    run = Run("eth2", 1e9)
    assert found(Evidence(moved(0), moved(250_000_000), run=run), "wrong interface") == []
    assert found(Evidence(moved(0), moved(2_500_000), run=run), "wrong interface")


def test_hosts_of_one_boot_are_one_machine_to_ucx() -> None:
    here = host(placement=ProcessPlacement("", {"UCX_TLS": "all"}))
    twin = replace(here, host="n2")
    assert only(Evidence(here, others=(twin,)), "shared memory").severity is Severity.WARNING
    named = replace(here, placement=ProcessPlacement("", {"UCX_TLS": "tcp,self"}))
    assert found(Evidence(named, others=(twin,)), "shared memory") == []
    assert found(Evidence(here, others=(replace(twin, boot="b2"),)), "shared memory") == []


def test_what_changes_during_a_run_is_named() -> None:
    before = host(interfaces=link(mtu=9000, counters={"rx_bytes": 1}), boot="b1")
    after = replace(before, interfaces=link(mtu=1500, counters={"rx_bytes": 9}), boot="b2")
    assert only(Evidence(before, after), "changes").what == "changed during the run: boot, eth2 mtu"


def test_lists_of_processors_are_read_and_huge_ones_bounded() -> None:
    assert cpus("0-3,8") == {0, 1, 2, 3, 8}
    assert cpus("") == cpus("x,-1,9999999999") == frozenset()
    assert len(cpus("0-999999")) <= 65_537


def test_a_link_whose_arrival_the_kernel_has_not_noted_yet_is_up(tmp_path: Path) -> None:
    late = {"sys/class/net/eth1/carrier": "1", "sys/class/net/eth1/operstate": "down"}
    result = take(tree(tmp_path, FILES | late), tools=None)
    assert {name: interface.state for name, interface in result.interfaces.items()} == {
        "eth1": "up",
        "eth2": "up",
    }


def test_a_counter_that_was_reset_counts_from_zero() -> None:
    assert risen({"a": 10, "b": 1}, {"a": 4, "b": 1, "c": 2}) == {"a": 4, "c": 2}


bench = partial(command_line.invoke, "bench", "environment")


def test_the_verb_prints_warnings_with_their_remedy_and_ends_with_1(tmp_path: Path) -> None:
    output = bench("--root", tree(tmp_path), "--interface", "eth2", code=1).stdout
    assert "warning: governor: n1: processors are not on the governor performance" in output
    assert "  cpupower frequency-set --governor performance" in output
    assert "gap: fec: n1: could not be checked in full (ethtool --show-fec eth2: no tool" in output


def test_what_the_verb_writes_it_reads_again(tmp_path: Path) -> None:
    output = bench("--root", tree(tmp_path / "a"), "--json", code=1).stdout
    earlier = tmp_path / "before.json"
    earlier.write_text(output)
    assert {"snapshot", "findings"} == set(json.loads(output))
    files = ("--before", earlier, "--other", earlier)
    done = bench("--root", tmp_path / "a", "-i", "eth2", *files, "--traffic", "1GB")
    assert done.stderr == ""
    assert "warning: wrong interface: n1 eth2: 0 bytes crossed it" in done.stdout


def test_a_file_that_is_no_snapshot_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    wrong = tmp_path / "x.json"
    wrong.write_text("{}")
    done = bench("--root", tmp_path, "--other", wrong, code=2)
    assert done.stdout == ""
    assert f"{wrong}: no snapshot of format 1; expected what" in done.stderr
    bench("--root", tmp_path, "--before", tmp_path / "missing", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-i", "eth9"), "--interface eth9: is not of this host; expected one of eth1, eth2, lo"),
        (("--traffic", "5GB"), "--traffic: counts since an earlier inspection; expected --before"),
        (("--root", "/no/such/place"), "--root /no/such/place: expected a directory"),
    ],
)
def test_what_cannot_be_inspected_is_the_users_mistake(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = bench("--root", tree(tmp_path), *words, code=2)
    assert done.stdout == ""
    assert message in done.stderr


def run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout


@contextmanager
def pair() -> Iterator[str]:
    """Two namespaces: the first sends packets of 9000 bytes, the second takes 1500."""
    names = [f"ew-stats-{os.getpid()}-{end}" for end in "ab"]
    try:
        for name in names:
            run("ip", "netns", "add", name)
        first, second = names
        run("ip", "-n", first, "link", "add", "v0", "type", "veth", "peer", "v0", "netns", second)
        for number, (name, mtu) in enumerate(zip(names, ("9000", "1500"), strict=True), 1):
            run("ip", "-n", name, "address", "add", f"10.199.7.{number}/24", "dev", "v0")
            run("ip", "-n", name, "link", "set", "v0", "mtu", mtu, "up")
        yield first
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


LOOK = """
import json
from etherweave.bench.environment.readers import take
print(json.dumps(take(interfaces=["v0"], to=["10.199.7.2"]).facts()))
"""


@pytest.mark.needs("namespaces", "ethtool", "ping")
def test_real_interfaces_are_read_and_a_real_path_of_too_small_an_mtu_is_found() -> None:
    with pair() as name:
        shaper = ("tbf", "rate", "1gbit", "burst", "128kb", "latency", "5ms")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("tc", "-n", name, "qdisc", "add", "dev", "v0", "root", *shaper)
        seen = snapshot(run("ip", "netns", "exec", name, sys.executable, "-c", LOOK))
    own = seen.interfaces["v0"]
    assert (own.state, own.mtu, own.driver, own.qdiscs) == ("up", 9000, "veth", ("tbf",))
    assert own.offloads["tcp-segmentation-offload"] and own.driver_counters["peer_ifindex"]
    path = seen.paths["10.199.7.2"]
    assert (path.interface, path.mtu, path.passes) == ("v0", 9000, False)
    assert "100% packet loss" in path.message
    assert only(seen, "qdisc").what == "packets are shaped or delayed by tbf"
