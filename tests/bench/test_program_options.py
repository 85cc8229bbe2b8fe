"""Options of the programs themselves: declared by adapters, checked, and passed on."""

import re
import subprocess

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.campaign import (
    Campaign,
    CampaignOptions,
    Network,
    adapter_of,
    every_program,
    experiments,
)
from etherweave.bench.document import parse
from etherweave.bench.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
)
from etherweave.bench.points import point_of
from support import command_line
from support.captured_texts import report, value

FABRIC = FabricEstimate(rate=1.25e9, latency=20e-6)
LAN = Network("lan")


def planned(program: str, *words: str, size: int | None = None) -> BenchmarkPlan:
    adapter, name = adapter_of(program)
    own = adapter.options.read(name, words)
    return adapter.plan(BenchmarkRequest(name, size_max=size, options=own), FABRIC)


SECTION_5 = [
    *("ib_send_lat", "ib_write_lat", "ib_read_lat", "netperf -t TCP_RR"),
    *("ib_send_bw -a", "ib_write_bw -a", "ib_read_bw -a", "netperf -t TCP_STREAM"),
    *("osu_latency", "osu_multi_lat", "osu_bw", "osu_mbw_mr"),
    *("osu_oshm_put", "osu_oshm_get", "osu_oshm_broadcast", "osu_oshm_fcollect"),
]
"""Experiments of section 5 of Li et al., *Understanding hot interconnects with an extensive
benchmark survey* (2022); its all-to-all over OpenSHMEM is in no published version."""
OTHERS = [
    *("netperf -t UDP_RR", "netperf -t UDP_STREAM", "netperf -t SCTP_RR -r 1,1"),
    *(f"ib_send_bw -c {service}" for service in ("RC", "UC", "UD", "XRC", "DC", "SRD")),
    *("ib_send_lat -a -c UD", "ib_write_bw -c UC -x 3 -b", "ib_read_bw -c DC --use_cuda=0"),
    *("qperf rc_lat rc_rdma_write_bw", "qperf uc_bw ud_lat", "qperf udp_lat sctp_bw"),
    *("iperf3 -u -b 0", "iperf3 --sctp", "iperf3 --bidir", "iperf2 -u -b 1G"),
    *("IMB-MPI1 PingPing Exchange", "IMB-NBC Iallreduce", "IMB-RMA Unidir_put"),
    *("osu_bw -d cuda D D", "osu_latency -z", "osu_latency -z99,50", "osu_oshm_put global"),
    *("gloo alltoall", "fi_pingpong -p efa -e rdm", "all_reduce_perf -d bfloat16 -c 0"),
]


@pytest.mark.parametrize("command", [*SECTION_5, *OTHERS])
def test_options_are_passed_on_as_they_are_written(command: str) -> None:
    program, *words = command.split()
    arguments = planned(program, *words).command.arguments
    assert set(words) <= set(arguments)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("netperf -t UDP_STREM", r"-t UDP_STREM of netperf: .*did you mean UDP_STREAM\?"),
        ("netperf -q", r"unknown option -q of netperf; nearest: -"),
        ("netperf -t", "-t of netperf: expected TCP_STREAM|"),
        ("netperf -l 5", "-l of netperf: set by --duration"),
        ("netperf fast", "unknown argument fast of netperf; expected none"),
        ("ib_send_bw --conection UD", "unknown option --conection of ib_send_bw; .*--connection"),
        ("ib_write_bw -c UD", "-c UD of ib_write_bw: expected one of RC, UC, XRC, DC, SRD"),
        ("ib_read_lat -c UC", "expected one of RC, XRC, DC, SRD"),
        ("ib_atomic_bw -c SRD", "expected one of RC, XRC, DC"),
        ("ib_send_bw -x first", "-x first of ib_send_bw: expected a whole number"),
        ("osu_bw -W 0", "-W 0 of osu_bw: expected a whole number from 1 on"),
        ("netperf -t TCP_RR -r -5,5", "-r -5,5 of netperf: expected two sizes, such as 1,1"),
        ("iperf3 -b 10X", "-b 10X of iperf3: expected a rate, such as 10G"),
        ("iperf3 -w -3", "-w -3 of iperf3: expected a size, such as 64K"),
        ("fio --ramp_time soon", "--ramp_time soon of fio: expected seconds, such as 2.5"),
        ("ib_send_bw -b=1", "-b=1 of ib_send_bw: expected no value"),
        ("qperf rc_rmda_write_bw", "unknown argument .*; nearest: rc_rdma_write_bw"),
        ("iperf3 --upd", "unknown option --upd of iperf3; nearest: "),
        ("IMB-MPI1 PingPng", "unknown argument PingPng of IMB-MPI1; nearest: PingPong"),
        ("osu_bw X", "unknown argument X of osu_bw; known: D, H, M, MD, MH"),
        ("osu_oshm_put -i 5", "-i of osu_oshm_put: set by --iterations"),
        ("osu_oshm_put -f", "unknown option -f of osu_oshm_put; known: heap, global"),
        ("xhpl -x", "unknown option -x of xhpl; expected none"),
    ],
)
def test_an_option_that_is_not_known_is_refused_with_the_nearest(
    command: str, message: str
) -> None:
    program, *words = command.split()
    with pytest.raises(BenchmarkPlanError, match=message):
        planned(program, *words)


def test_both_sides_get_the_options_that_both_must_know() -> None:
    for command in ("ib_send_bw -c UD -a", "fi_pingpong -e rdm", "iperf2 -u -B 239.1.1.1"):
        program, *words = command.split()
        plan = planned(program, *words)
        assert set(words) <= set(plan.command.server), command
    # The server of iperf3 learns them from its client.
    assert "-u" not in planned("iperf3", "-u").command.server


def test_datagrams_are_as_large_as_they_can_be() -> None:
    assert planned("ib_send_bw", "-c", "UD", "-a", "-m", "1024").sizes[-1] == 1024
    assert planned("ib_send_bw", "-a").sizes == tuple(2**n for n in range(1, 24))
    assert "msg_size:1:2048:*2" in planned("qperf", "ud_lat").command.arguments
    with pytest.raises(BenchmarkPlanError, match="at most its MTU of 4096 B"):
        planned("ib_send_bw", "-c", "UD", size=8192)
    with pytest.raises(BenchmarkPlanError, match="send at most 2048 B"):
        planned("qperf", "ud_lat", size=4096)
    with pytest.raises(BenchmarkPlanError, match="-a of ib_send_bw: expected no --size"):
        planned("ib_send_bw", "-a", size=64)


def test_options_of_a_netperf_test_stand_behind_its_own_dashes() -> None:
    words = planned("netperf", "-t", "TCP_RR", "-c", "-r", "64,64").command.arguments
    assert words.index("-c") < words.index("--") < words.index("-r")
    sized = planned("netperf", "-t", "UDP_RR", size=64).command.arguments
    assert sized[sized.index("-r") + 1] == "64,64"


def test_a_round_trip_sends_two_messages_in_two_latencies() -> None:
    forecast = planned("netperf", "-t", "TCP_RR").forecast
    # 10 s of transactions of 1 B each way, 2 * 20 us each.
    assert forecast.bytes == pytest.approx(10 / 40e-6, rel=1e-4)


def test_imb_predicts_the_named_benchmarks_only() -> None:
    pair = planned("IMB-MPI1", "PingPing", "Exchange").forecast
    assert pair.seconds == pytest.approx(2 * planned("IMB-MPI1", "PingPing").forecast.seconds)
    assert planned("IMB-MPI1", "Barrier").sizes == ()


def test_braces_of_a_user_are_no_places_to_fill_in() -> None:
    command = planned("wrk", "-H", "A: {b}").command
    assert "A: {b}" in command.filled({"server": "n1", "port": "80"}).arguments


def test_every_declared_option_is_read_and_explained() -> None:
    for name, adapter in ADAPTERS.items():
        for option in adapter.options.options:
            assert option.meaning or option.setter, (name, option)
            sample = option.alternatives[0] if option.alternatives else "1"
            words = [option.names[0], sample] if option.needs_value else [option.names[0]]
            if not option.setter:
                given = adapter.options.read(adapter.programs[0], words)
                assert given.has(option.names[0]), (name, option)


@pytest.mark.parametrize(
    ("name", "helps"),
    [
        pytest.param(
            "qperf",
            (("qperf", "--help", "options"), ("qperf", "--help", "tests")),
            marks=pytest.mark.needs("qperf"),
        ),
        pytest.param("iperf3", (("iperf3", "--help"),), marks=pytest.mark.needs("iperf3")),
        pytest.param(
            "perftest",
            tuple((f"ib_{test}", "--help") for test in ("send_bw", "read_lat", "atomic_bw")),
            marks=pytest.mark.needs("perftest"),
        ),
    ],
)
def test_programs_know_the_declared_options(name: str, helps: tuple[tuple[str, ...], ...]) -> None:
    done = [subprocess.run(words, capture_output=True, text=True, check=False) for words in helps]
    text = "".join(run.stdout + run.stderr for run in done)
    newer = {"--use_cuda", "--use_cuda_dmabuf", "--use_rocm"}  # Where it was built for GPUs.
    for option in ADAPTERS[name].options.options:
        known = [name for name in option.names if re.search(rf"(?<![\w-]){name}(?!\w)", text)]
        assert known or newer & {*option.names}, option.names
    for word in ADAPTERS[name].options.words_of(name):
        assert word in text


def test_every_program_is_planned_or_has_a_reason() -> None:
    done = command_line.invoke("bench", "plan", "--all", code=0)
    count, refused = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert count + refused == len(every_program())
    for program in ("IMB-IO", "osu_oshm_alltoall", "rdma_bench", "osu_upc_memput", "bt.C.x.ep_io"):
        with pytest.raises(BenchmarkPlanError, match="is not planned: "):
            adapter_of(program)
    assert command_line.invoke("bench", "plan").exit_code == 2
    assert command_line.invoke("bench", "plan", "osu_bw", "--all").exit_code == 2


def test_the_command_line_passes_on_what_follows_the_dashes() -> None:
    done = command_line.invoke("bench", "plan", "netperf", "--json", "--", "-t", "TCP_RR", "-c")
    assert (done.exit_code, '"TCP_RR"' in done.stdout) == (0, True)
    wrong = command_line.invoke("bench", "run", "netperf", "-o", "x", "--", "--tset", "TCP_RR")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert "unknown option --tset of netperf" in wrong.stderr


def test_the_description_of_a_benchmark_lists_its_options() -> None:
    done = command_line.invoke("bench", "info", "qperf")
    assert "-nr, --rd_atomic" in done.stdout
    assert "rc_rdma_write_bw" in done.stdout
    assert "set by --duration" in done.stdout


def test_points_of_other_options_are_others() -> None:
    text = "udp_lat:\n    latency   =  5 us\n    msg_size  =  1 bytes\n"
    (printed,) = parse(text).reports
    points = []
    for words in ((), ("udp_lat",), ("udp_lat", "-cp0")):
        (experiment,) = experiments(["qperf"], [LAN], CampaignOptions(("a", "b"), options=words))
        points.append(point_of(experiment, printed.measurements[0]).labels)
    assert points == [
        "test=udp_lat",
        "test=udp_lat options=udp_lat",
        "test=udp_lat options=udp_lat,-cp0",
    ]


def test_a_campaign_without_options_keeps_its_identity() -> None:
    """Directories of earlier results are continued."""
    planned_experiments = experiments(["osu_bw"], [LAN], CampaignOptions(("a", "b")))
    campaign = Campaign("site", (LAN,), planned_experiments)
    assert campaign.identity.startswith("e25e17ff57a4")
    assert planned_experiments[0].name == "osu_bw-lan-3463e17628"


def test_a_stream_of_netperf_has_times_of_calls() -> None:
    head = "MIGRATED {} TEST from 0.0.0.0 () port 0 AF_INET to n1 () port 0 AF_INET\n"
    values = "THROUGHPUT={}\nTHROUGHPUT_UNITS={}\nMEAN_LATENCY=4.5\nLOCAL_TRANSPORT_RETRANS=-1\n"
    stream = head.format("TCP STREAM") + values.format("800.0", "10^6bits/s")
    (sent,) = parse(stream).reports
    assert value(sent, "call_time") == 4.5e-6
    assert {measured.metric.name for measured in sent.measurements} == {"bandwidth", "call_time"}
    pong = head.format("UDP REQUEST/RESPONSE") + values.format("800.0", "Trans/s")
    (answered,) = parse(pong).reports
    assert value(answered, "round_trip") == 4.5e-6


def test_the_overlap_of_openshmem_is_apart_from_its_puts() -> None:
    puts = report("handmade/osu_oshm_put_overlap-7.4.txt")
    assert puts.program == "osu_oshm_put_overlap"
    assert value(puts, "overlap", size=8) == pytest.approx(0.9172)
    assert value(puts, "call_time", size=8) == pytest.approx(1.93e-6)
