"""Options of the programs themselves: declared by adapters, checked, and passed on."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.campaigns.campaign import (
    Campaign,
    CampaignOptions,
    Network,
    adapter_of,
    every_program,
    experiments,
)
from etherweave.bench.campaigns.points import point_of
from etherweave.bench.programs.plans import (
    BenchmarkPlan,
    BenchmarkPlanError,
    BenchmarkRequest,
    FabricEstimate,
    scaled,
)
from etherweave.bench.programs.program_options import KINDS, MAXIMA, ProgramOption
from etherweave.bench.texts.document import parse
from support import command_line
from support.captured_texts import report, value

FABRIC = FabricEstimate(rate=1.25e9, latency=20e-6)
LAN = Network("lan")
FREE = ("NAME", "DEVICE", "FILE", "HEADER", "TRANSPORT")
"""Values of the user's own system, of which every text is one."""


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
        ("ib_read_bw --use_cuda=foo", "--use_cuda foo of ib_read_bw: expected a whole number"),
        ("ib_read_lat -b", "unknown option -b of ib_read_lat"),
        ("ib_send_bw --rate_limit fast", "--rate_limit fast of .*: expected a number, such as 2.5"),
        ("redis-benchmark -t nosuch", "-t nosuch of redis-benchmark: expected one of ping, "),
        ("redis-benchmark -t get,sett", r"-t sett of redis-benchmark: .*did you mean set\?"),
        ("ucx_perftest -t UDP_RR", "-t UDP_RR of ucx_perftest: expected one of am_lat, "),
        ("ucx_perftest -D wide", "-D wide of ucx_perftest: expected one of short, bcopy"),
        ("fi_pingpong -p tpc", r"-p tpc of fi_pingpong: .*did you mean tcp\?"),
        ("osu_latency -W 8", "unknown option -W of osu_latency; nearest: "),
        ("osu_bw -f", "unknown option -f of osu_bw"),
        ("osu_allreduce -k rotate", "unknown option -k of osu_allreduce"),
        ("osu_reduce -k 3", "-k 3 of osu_reduce: expected fixed:RANK or rotate"),
        ("osu_bw -T mpi_char,mpi_double", "-T mpi_double of osu_bw: expected one of all, mpi_char"),
        ("osu_latency -zmost", "-z most of osu_latency: expected percentiles, such as 99,90"),
        ("osu_mbw_mr -p 2", "-p of osu_mbw_mr: expected at most a pair of each two ranks"),
        ("netperf -t UDP_STREAM -r 1,1", "-r of UDP_STREAM: expected a test such as -t TCP_RR"),
        ("netperf -I 90,5", "-I 90,5 of netperf: expected a level of 95 or 99"),
        ("iperf3 --dscp gold", "--dscp gold of iperf3: expected a code point, such as 26"),
        ("iperf -B group", "-B group of iperf: expected a multicast group of IPv4, such as 239."),
        ("iperf -u -B 10.1.1.1", "-B 10.1.1.1 of iperf: expected a multicast group"),
        ("iperf -B 239.1.1.1", "-B of iperf: only UDP reaches a group; expected -u -B 239.1.1.1"),
        ("iperf -u -B 239.1.1.1 -d", "-B and -d of iperf exclude each other"),
        ("IMB-MPI1 -include PingPng", r"-include PingPng of IMB-MPI1: .*did you mean PingPong\?"),
        ("qperf -sr fast rc_bw", "-sr fast of qperf: expected one of 2.5, 5"),
        ("fio --ioengine uring", r"--ioengine uring of fio: .*did you mean io_uring\?"),
        ("comms.py --collective all_redcue", r"all_redcue of .*did you mean all_reduce\?"),
        ("spdk_nvme_perf -c all", "-c all of spdk_nvme_perf: expected a mask of cores"),
        ("ycsb -p operationcount=many", "-p operationcount=many of ycsb: expected a whole number"),
        ("ycsb -p operationcont=100", "unknown property operationcont .*; nearest: operationcount"),
        ("ycsb -p threadcount=8", "-p threadcount of ycsb: set by -threads"),
        ("iperf3 -u --sctp", "-u and --sctp of iperf3 exclude each other; expected one"),
        ("iperf3 --bidir --reverse", "--bidir and -R of iperf3 exclude each other"),
        ("iperf -r --full-duplex", "-r and --full-duplex of iperf exclude each other"),
        ("iperf -R -Z cubic", "-R and -Z of iperf exclude each other"),
        ("ib_send_bw --use_cuda=0 --use_rocm=0", "--use_cuda and --use_rocm of ib_send_bw exclude"),
        ("nuttcp -N 4", "-N of nuttcp: set by --streams"),
        (
            "sockperf --sender-affinity last",
            "--sender-affinity last of sockperf: expected a number",
        ),
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
        ("osu_oshm_put -f", "unknown option -f of osu_oshm_put; "),
        ("xhpl -x", "unknown option -x of xhpl; expected none"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(command: str, message: str) -> None:
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


def test_a_client_of_iperf_2_sends_to_the_group_that_its_server_joins() -> None:
    command = planned("iperf2", "-u", "-b10M", "-B", "239.1.1.1%eth0").command
    client, server = " ".join(command.arguments), " ".join(command.server)
    assert client == "iperf -c 239.1.1.1 -p {port} -t 10 -e -u -b 10M"
    assert server == "iperf -s -e -p {port} -u -B 239.1.1.1%eth0"


def test_datagrams_are_as_large_as_they_can_be() -> None:
    assert planned("ib_send_bw", "-c", "UD", "-a", "-m", "1024").sizes[-1] == 1024
    assert planned("ib_send_bw", "-a").sizes == tuple(2**n for n in range(1, 24))
    assert "msg_size:1:2048:*2" in planned("qperf", "ud_lat").command.arguments
    with pytest.raises(BenchmarkPlanError, match="at most its MTU of 4096 B"):
        planned("ib_send_bw", "-c", "UD", size=8192)
    with pytest.raises(BenchmarkPlanError, match="send at most 2048 B"):
        planned("qperf", "ud_lat", size=4096)


def test_latency_tests_of_qperf_send_a_message_a_round_trip() -> None:
    sizes = [2**at for at in range(17)]
    for test, ways in (("tcp_lat", 2), ("rc_rdma_read_lat", 1)):
        sent = sum(2 * size / (ways * size / FABRIC.rate + 2 * FABRIC.latency) for size in sizes)
        assert planned("qperf", test).forecast.bytes == pytest.approx(sent)


def test_options_of_a_netperf_test_stand_behind_its_own_dashes() -> None:
    words = planned("netperf", "-t", "TCP_RR", "-c", "-r", "64,64").command.arguments
    assert words.index("-c") < words.index("--") < words.index("-r")
    sized = planned("netperf", "-t", "UDP_RR", size=64).command.arguments
    assert sized[sized.index("-r") + 1] == "64,64"


QUANTITIES = {
    "netperf": ("-t TCP_RR -r 64", "-t TCP_RR -b 1", "-i 5"),
    "perftest": ("ib_send_bw --rate_limit 1", "ib_read_bw --perform_warm_up -t 128"),
    "osu": (
        *("osu_bw -W 32", "osu_latency -x 1000", "osu_allreduce -c -u 5"),
        "osu_neighbor_allgather -N cart:1:1",
    ),
    "imb": ("IMB-MPI1 Biband -iter_policy off -time 1", "IMB-MPI1 Biband -window_size 16"),
    "iperf3": ("-b 1M", "-u -b 1M", "--fq-rate 1M"),
    "iperf2": ("-b 1M", "-u -b 10pps"),
    "qperf": ("-n 1000",),
    "nccl_tests": tuple(f"all_reduce_perf {name} 2" for name in ("-m", "-G", "-c", "-t", "-g")),
    "ucx_perftest": ("-w 5000", "-T 2"),
    "sockperf": ("--mps 100", "--burst 4", "--pre-warmup-wait 5"),
    "redis_benchmark": ("-c 1", "-P 1"),
    "ycsb": ("-p fieldlength=100", "-p operationcount=1000", "-target 50", "-threads 1"),
    "fio": ("--ramp_time 5", "--size 1g", "--numjobs 2"),
    "spdk_perf": ("-a 5",),
    "param": ("--w 50",),
}
"""Options of each adapter that change what its programs send, or how long they take."""
NEUTRAL = {
    "netperf": "-M -s -S -c -C -D",  # Buffers.
    "perftest": "-x -i -S -T --tclass -r -l -Q -I -u -o --use_cuda --use_rocm --burst_size -t",
    "osu": "-a -p",  # Memory of a device; with a rank each there is one pair.
    "imb": "-off_cache",
    "iperf3": "--nstreams -w -M -S -L --pacing-timer --cport",
    "iperf2": "-w -M -S -T -i",
    "qperf": "-mt -sl -nr -sb",
    "nccl_tests": "-r",
    "ucx_perftest": "-O",
    "nuttcp": "-w -M",
    "sockperf": "--tos",
    "redis_benchmark": "-r --threads",
    "wrk": "-c --timeout",  # Its time is fixed, in which the link is full.
    "fio": "--rwmixread --iodepth --fsync",
    "spdk_perf": "-q -M -P",
    "gloo": "--elements --inputs --threads",
    "param": "--num-tpu-cores",
}
"""Options with numbers that change neither."""
OTHER_AMOUNTS = [
    *(("iperf3", "--bidir", 2), ("iperf2", "--full-duplex", 2), ("iperf2", "-r", 2)),
    *(("ib_send_bw", "-b", 2), ("osu_bw", "-T all", 3), ("osu_bw", "-c", 6)),
    *(("qperf rc_bw", "rc_bi_bw", 3), ("all_reduce_perf", "-d all", 10)),
    *(("redis-benchmark", "-t get,set,ping_inline", 1.5), ("gloo", "--elements 100", 1 / 14)),
    *(("ib_send_bw -a", "-m 256 -c UD", 510 / (2**24 - 2)), ("iozone", "-i 2", 1.5)),
    *(("IMB-MPI1 PingPong", "PingPing Exchange", 3), ("netperf", "-I 99,5", 10)),
]


def forecast(command: str) -> tuple[float, float]:
    program, *words = command.split()
    predicted = planned(program, *words).forecast
    return predicted.bytes, predicted.seconds


@pytest.mark.parametrize("name", [name for name in ADAPTERS if ADAPTERS[name].options.options])
def test_quantities_of_a_program_reach_its_forecast(name: str) -> None:
    """An option with a number changes bytes or time, or stands among those that do not."""
    adapter = ADAPTERS[name]
    programs = (*adapter.programs, *adapter.rarer)
    commands = [
        command if command.split()[0] in programs else f"{name} {command}"
        for command in QUANTITIES.get(name, ())
    ]
    for command in commands:
        *_, number = re.finditer(r"\d+", command)
        twice = f"{command[: number.start()]}{2 * int(number[0])}{command[number.end() :]}"
        assert forecast(command) != forecast(twice), command
    known = {*NEUTRAL.get(name, "").split(), *" ".join(commands).split()}
    for option in adapter.options.options:
        is_number = option.value in ("N", "COUNT", "SIZE", "RATE", "SECONDS", "AMOUNT")
        assert not is_number or option.setter or known & {*option.names}, option


@pytest.mark.parametrize(("command", "words", "factor"), OTHER_AMOUNTS)
def test_kinds_of_a_program_multiply_its_forecast(command: str, words: str, factor: float) -> None:
    (usual, _), (sent, _) = forecast(command), forecast(f"{command} {words}")
    assert sent == pytest.approx(factor * usual, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "kilo", "value"),
    [("10pps", 1000, 10), ("8B", 1024, 8), ("64KiB", 1024, 65536), ("1.5g/8", 1000, 1.5e9)],
)
def test_a_number_is_read_as_the_program_reads_it(text: str, kilo: int, value: float) -> None:
    assert scaled(text, kilo) == value


def test_a_traffic_limit_holds_for_options_of_the_program(tmp_path: Path) -> None:
    words = ("bench", "run", "netperf", "-o", str(tmp_path / "x"), "--traffic-limit", "10MB")
    done = command_line.invoke(*words, "--", "-t", "TCP_RR", "-r", "1M", code=2)
    assert "expected within --traffic-limit" in done.stderr
    unknown = command_line.invoke("bench", "run", "rpc_perf", "-o", str(tmp_path / "y"), code=2)
    assert "rpc-perf: how long it runs, and how fast, stands in rpc-perf.toml" in unknown.stderr


@pytest.mark.parametrize(
    ("command", "setter"),
    [
        *(("netperf -t TCP_RR -r 1,1", "--size"), ("ib_send_bw -a", "--size")),
        *(("ib_send_bw -a", "--duration"), ("qperf -n 100", "--duration")),
        *(("gloo --elements 10", "--size"), ("ycsb -p operationcount=10", "--iterations")),
        ("redis-benchmark -c 4", "--streams"),
    ],
)
def test_a_quantity_is_set_once(command: str, setter: str) -> None:
    program, *words = command.split()
    amount = {"--size": "64B", "--duration": "10s", "--iterations": "10", "--streams": "8"}[setter]
    done = command_line.invoke("bench", "plan", program, setter, amount, "--", *words, code=2)
    assert re.search(f"{setter} and -.* set the same quantity; expected one", done.stderr)


def test_a_program_of_a_single_size_refuses_a_range() -> None:
    options = CampaignOptions(("a", "b"), sizes=((64, 1024),))
    with pytest.raises(BenchmarkPlanError, match="64:1024: netperf sends a single size"):
        experiments(["osu_bw", "netperf"], [LAN], options)
    for size, code in (("64B:1KiB", 2), ("1KiB:1KiB", 0), ("1KiB", 0)):
        command_line.invoke("bench", "plan", "netperf", "--size", size, code=code)
    command_line.invoke("bench", "plan", "qperf", "--size", "64B:1KiB", code=0)


@pytest.mark.parametrize("size", ["0B", "0B:0B"])
def test_a_program_that_sends_no_empty_messages_refuses_them(size: str) -> None:
    for program in ("osu_latency", "osu_bw", "iperf3", "ib_send_bw", "qperf"):
        done = command_line.invoke("bench", "plan", program, "--size", size, code=2)
        assert f"{program} sends no empty messages" in done.stderr
        assert "expected --size 1B or more" in done.stderr
    options = CampaignOptions(("a", "b"), sizes=((0, 0),))
    with pytest.raises(BenchmarkPlanError, match="osu_bw sends no empty messages"):
        experiments(["osu_bw"], [LAN], options)


@pytest.mark.parametrize("program", ["osu_barrier", "osu_cas_latency"])
def test_a_program_without_sizes_refuses_them(program: str) -> None:
    for size in ("0B", "8B", "8B:64B"):
        done = command_line.invoke("bench", "plan", program, "--size", size, code=2)
        assert "--size: none of the programs uses it" in done.stderr


def test_long_durations_are_written_in_full() -> None:
    """A program in C reads 1.08e+06 as 1."""
    durations = 0
    for name in every_program():
        try:
            adapter, program = adapter_of(name)
            plan = adapter.plan(BenchmarkRequest(program, nodes=2, seconds=1_080_000), FABRIC)
        except BenchmarkPlanError:
            continue
        words = " ".join(plan.command.arguments)
        assert not re.search(r"\de\+\d", words), words
        durations += "1080000" in words
    assert durations >= 8


def test_iperf3_lasts_a_day_at_most() -> None:
    command_line.invoke("bench", "plan", "iperf3", "--duration", "24h", code=0)
    done = command_line.invoke("bench", "plan", "iperf3", "--duration", "300h", code=2)
    assert "iperf3 for 1080000 s: expected at most 86400 s, a day" in done.stderr


def test_files_that_fio_reads_are_written_first() -> None:
    read, written = (planned("fio", "--size=1T", "--rw", rw).forecast for rw in ("read", "write"))
    assert (read.bytes, written.bytes) == (2**40 + 30 * FABRIC.rate, 30 * FABRIC.rate)
    assert planned("fio", "--size=1T").command.arguments.count("--size=256m") == 0


def test_an_option_that_no_program_uses_is_refused(tmp_path: Path) -> None:
    unused = command_line.invoke("bench", "plan", "netperf", "--streams", "4", code=2)
    assert "--streams: none of the programs" in unused.stderr
    words = ("bench", "run", "osu_latency", "-o", str(tmp_path / "x"), "--duration", "5s")
    assert "--duration: none of the programs uses it" in command_line.invoke(*words).stderr
    options = CampaignOptions(("a", "b"), seconds=5)
    assert experiments(["osu_latency", "iperf3"], [LAN], options)


def test_values_are_of_a_kind_that_is_checked() -> None:
    """Any text is only what the user's own system names."""
    for name, adapter in ADAPTERS.items():
        for option in adapter.options.options:
            kind = option.value.strip("[]")
            is_checked = not kind or option.setter or option.alternatives or kind in KINDS
            assert is_checked or kind in FREE, (name, option)


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


SAMPLES = {"LEVEL,WIDTH": "99,5", "LAYOUT": "cont", "NEIGHBOURS": "cart:1:1", "ROOT": "rotate"}
SAMPLES |= {"PxQ": "2x4", "NAME=VALUE": "fieldcount=1", "GROUP": "239.1.1.1"}


def declared_options() -> Iterator[tuple[str, ProgramOption, list[str]]]:
    """List programs with each option that a user may set, and its words."""
    for adapter in ADAPTERS.values():
        for option in adapter.options.options:
            sample = (
                option.alternatives[0] if option.alternatives else SAMPLES.get(option.value, "1")
            )
            words = [option.names[0], sample] if option.needs_value else [option.names[0]]
            if not option.setter:
                programs = (*adapter.programs, *adapter.rarer)
                program = next(
                    binary for binary in programs if re.fullmatch(option.programs or ".*", binary)
                )
                yield program, option, words


LARGEST = {"REQUEST,RESPONSE": "1,{}", "DSCP": "{}", "SIZE": "{}", "RATE": "{}"}


@pytest.mark.parametrize("name", [name for name in ADAPTERS if ADAPTERS[name].options.options])
def test_numbers_beyond_the_largest_that_a_program_accepts_are_refused(name: str) -> None:
    for program, option, _ in declared_options():
        if adapter_of(program)[0].name != name or option.value not in MAXIMA:
            continue
        table, first = adapter_of(program)[0].options, option.names[0]
        form = LARGEST.get(option.value, "{}")
        most = int(option.most)
        assert table.read(program, [first, form.format(most)]).has(first)
        for beyond in (most + 1, 10**17):
            with pytest.raises(BenchmarkPlanError, match=f"of {re.escape(program)}: expected "):
                table.read(program, [first, form.format(beyond)])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in MAXIMA])
def test_numbers_of_other_kinds_have_few_digits(kind: str) -> None:
    """No value of digits alone, or of digits where it has a number, is of any length."""
    for form in ("{}", "{}x{}", "{}:{}", "{},{}", "99,{}", "vect:{}:{}", "cart:{}:{}", "fixed:{}"):
        assert not re.fullmatch(KINDS[kind][0], form.format(*["9" * 300] * 2)), form


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("iperf3 --streams 129", "--streams 129 of iperf3: expected at most 128"),
        ("iperf3 --size 2MiB", "--size 2097152 of iperf3: expected at most 1048576"),
        ("ib_send_bw --streams 16385", "--streams 16385 of ib_send_bw: expected at most 16384"),
        ("ib_send_bw --iterations 200000000", "expected at most 100000000"),
        ("iperf3 -- -u -b 10000000G", "-b 10000000G of iperf3: expected at most 10000000000000"),
        ("netperf -- -t TCP_RR -r 999999999999999999", "of netperf: expected at most 2147483647"),
        ("osu_bw -- -W 99999999999999", "-W 99999999999999 of osu_bw: expected at most 2147"),
        ("osu_bw -- -W 2147483647", "; expected less than a year"),
        ("osu_bw -- D", "osu_bw: 1 places of buffers; expected those of both ranks, such as D D"),
        ("osu_latency -- D D D", "osu_latency: 3 places of buffers; expected those of both"),
    ],
)
def test_absurd_numbers_are_refused(words: str, message: str) -> None:
    assert message in command_line.invoke("bench", "plan", *words.split(), code=2).stderr


def test_every_declared_option_is_read_and_explained() -> None:
    for adapter in ADAPTERS.values():
        for option in adapter.options.options:
            assert option.meaning or option.setter, (adapter.name, option)
    for program, option, words in declared_options():
        settings = adapter_of(program)[0].options.read(program, words)
        assert settings.has(option.names[0]), (program, option)


def test_no_command_states_an_option_twice() -> None:
    twice = set()
    for program, row, words in declared_options():
        try:
            arguments = planned(program, *words).command.arguments
        except BenchmarkPlanError:
            continue  # It has no default, or asks for more than the sample.
        if row.value and not row.repeats and sum(word in row.names for word in arguments) > 1:
            twice.add((program, row.names[0]))
    assert twice == set()


def test_a_second_value_of_an_option_is_refused() -> None:
    for words in ("-c UD -c RC", "-c UD --connection=UD"):
        done = command_line.invoke("bench", "plan", "ib_send_bw", "--", *words.split(), code=2)
        assert "-c of ib_send_bw: given twice; expected one value" in done.stderr


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
    printed = json.loads(command_line.invoke("bench", "plan", "--all", "--json", code=0).stdout)
    assert {"bt-mz.C.x", "dt.C.x", "NPmpi"} <= printed["plans"].keys()
    assert all(plan["program"] == name for name, plan in printed["plans"].items())
    assert "no version for MPI" in printed["refused"]["ua.C.x"]
    for program in (
        "IMB-IO",
        "osu_oshm_alltoall",
        "rdma_bench",
        "osu_upc_memput",
        "bt.B.x.ep_io",
        "raw_ethernet_bw",
    ):
        with pytest.raises(BenchmarkPlanError, match="is not planned: "):
            adapter_of(program)
    assert command_line.invoke("bench", "plan").exit_code == 2
    assert command_line.invoke("bench", "plan", "osu_bw", "--all").exit_code == 2


def test_the_command_line_passes_on_what_follows_the_dashes() -> None:
    done = command_line.invoke(
        "bench", "plan", "netperf", "--json", "--", "-t", "TCP_RR", "-c", code=0
    )
    assert '"TCP_RR"' in done.stdout
    wrong = command_line.invoke(
        "bench", "run", "netperf", "-o", "x", "--", "--tset", "TCP_RR", code=2
    )
    assert wrong.stderr.count("\n") == 1
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


def test_a_campaign_keeps_its_identity() -> None:
    """Directories of earlier results are continued; another identity is a breaking change."""
    planned_experiments = experiments(["osu_bw"], [LAN], CampaignOptions(("a", "b")))
    campaign = Campaign("site", (LAN,), planned_experiments)
    assert campaign.identity[:12] == "8c3633e6b2ce"
    assert planned_experiments[0].name == "osu_bw-lan-c0076755ce"


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
