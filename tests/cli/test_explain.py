"""The verb ``explain``: what limits a job, and what it takes without that."""

import gzip
import html
import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.api.limits import BAR, JobLimits, Stretch, difference, limits, time_words
from etherweave.api.path_shares import by_call, by_collective, by_iteration
from etherweave.api.what_if import Answer, what_if
from etherweave.cli.explain import explanation
from etherweave.pages import write_report
from support import command_line

SCENARIOS = Path(__file__).parents[2] / "scenarios"
COPIES = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 1, "links_per_core": 1}},
    "transport": {"tcp": {}},
    "observe": {"ranks": True},
    "host": {"cpu": {"send_per_kib": "2us", "receive_per_kib": "2us"}},
    "job": [
        {
            "name": "pair",
            "placement": {"hosts": [0, 2]},
            "workload": {"osu_latency": {"bytes": "64KiB", "iterations": 3, "warm_up": 0}},
        }
    ],
}
"""Two hosts whose kernels copy a KiB in as long as the link takes for 25."""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "copies.toml"
    path.write_text(etherweave.resolve(COPIES))
    return path


def explained(*arguments: str | Path) -> dict[str, Any]:
    done = command_line.run_here("explain", *arguments, "--json", code=0)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize(
    ("words", "is_terminal", "is_asked"),
    [
        ((), True, True),
        ((), False, False),
        (("--json",), True, False),
        (("-s", "observe.ranks=true"), True, False),
        (("-s", "job.0.workload={incast={sources=1}}"), True, False),
        (("-s", "run.end=1us"), True, False),
    ],
)
def test_run_says_on_a_terminal_how_to_learn_what_limits_jobs_with_ranks(
    words: tuple[str, ...], is_terminal: bool, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of streams, nor of a run that was cut, nor where it is printed already."""
    monkeypatch.setattr("etherweave.cli.run.on_terminal", lambda: is_terminal)
    done = command_line.run_here("run", SCENARIOS / "first.toml", *words)
    options = "-s observe.ranks=true -s observe.waits=true"
    hint = f"run with `{options}`, or ask `etherweave explain`."
    assert (hint in done.stderr) == is_asked
    assert "observe.ranks" not in done.stdout


def test_a_job_is_limited_by_what_its_hosts_copy_and_parts_add_up() -> None:
    (job,) = limits(etherweave.run(COPIES))
    assert sum(job.parts_ns.values()) == pytest.approx(job.time_ns, rel=1e-12)
    assert next(iter(job.parts_ns)) == "socket_copy"
    assert job.parts_ns["socket_copy"] > 0.8 * job.time_ns
    assert job.sentence().startswith("pair: limited by the host, ")
    assert all(own.end_ns == two.start_ns for own, two in zip(job.path, job.path[1:], strict=False))


def picoseconds(job: JobLimits) -> int:
    return sum(round(step.end_ns * 1e3) - round(step.start_ns * 1e3) for step in job.path)


def test_iterations_and_collectives_add_up_to_the_job_to_the_picosecond(tmp_path: Path) -> None:
    done = etherweave.run(SCENARIOS / "collectives.toml", {"observe.ranks": True})
    for job in limits(done):
        assert {number for number in by_iteration(job) if number is not None} == {0, 1, 2}
        kinds = {call.collective for call in by_call(job) if call}
        assert len(kinds) == 2
        assert "barrier" in kinds
        for portions in (by_iteration(job), by_call(job), by_collective(job)):
            own = [picoseconds(portion) for portion in portions.values()]
            assert sum(own) == picoseconds(job)
    done.save(tmp_path / "result")
    figures = explained(tmp_path / "result")["jobs"][0]
    for portions in (figures["iterations"], figures["collectives"]):
        times = [portion["time_us"] for portion in portions]
        assert math.fsum(times) == pytest.approx(figures["time_us"], rel=1e-12)
    text = command_line.run_here("explain", tmp_path / "result", "--job", "ring").stdout
    assert "  of 3 iterations:\n    first        0 " in text
    assert "  of collectives:\n" in text
    assert " us  97.5%  allreduce, messages up to 16,384 B, 4 on the path: " in text


def test_parts_of_a_graph_belong_to_what_their_messages_are_for(tmp_path: Path) -> None:
    """A job before it does not run."""
    step = {
        "topology": {"single_switch": {"hosts": 6}},
        "observe": {"ranks": True},
        "run": {"jobs": ["step"]},
        "job": [
            {"name": "all", "workload": {"nccl_tests": {"ranks": 2, "node": {"accelerators": 1}}}},
            {
                "name": "step",
                "workload": {
                    "training": {
                        "ranks": 4,
                        "batch": 4,
                        "micro_batch": 1,
                        "node": {"accelerators": 1},
                        "model": {"layers": 4, "hidden": 256, "key_value": 256},
                        "parallel": {"pipeline": 2, "tensor": 1, "sequence": False},
                    }
                },
            },
        ],
    }
    done = etherweave.run(step)
    (job,) = limits(done)
    portions = by_collective(job)
    names = {kind[0] for kind in portions if kind}
    assert {"pipeline", "data-parallel allreduce"} <= names
    assert {call.call for call in by_call(job) if call} == {None}
    assert sum(map(picoseconds, portions.values())) == picoseconds(job)
    done.save(tmp_path / "result")
    text = command_line.run_here("explain", tmp_path / "result").stdout
    assert "  of messages by purpose:\n" in text
    assert "  data-parallel allreduce, messages up to " in text
    assert "on the path" not in text


def test_messages_of_chakra_have_the_names_of_their_nodes_on_one_line(tmp_path: Path) -> None:
    for trace in (SCENARIOS / "chakra").iterdir():
        nodes = gzip.decompress(trace.read_bytes()).replace(b"\x12\x04send", b"\x12\x04s\x1b[J")
        (tmp_path / trace.stem).write_bytes(nodes)
    file = tmp_path / "chakra.toml"
    file.write_text(
        "topology.single_switch.hosts = 4\ntransport.roce = {}\n[[job]]\nname = 'step'\n"
        "workload.chakra.file = 'step.{rank}.et'\n"
    )
    text = command_line.run_here("explain", file, "--no-ports").stdout
    assert "  of messages by purpose:\n" in text
    assert "  s\\u{1b}[J, messages up to 9,412,608 B: " in text


def test_waits_of_flow_level_mode_have_no_port_and_say_so() -> None:
    (job,) = limits(
        etherweave.run(
            {**INCAST, "run": {"fidelity": "flow"}}, {"observe.ranks": True, "observe.waits": True}
        )
    )
    assert list(job.kinds_ns) == ["flow"]
    text = "\n".join(explanation([job], [], 0))
    assert "  rates below those of the hosts' links, and headers, in flow-level mode\n" in text


def test_without_copies_the_job_takes_as_much_less_as_the_path_says(scenario: Path) -> None:
    result = explained(scenario, "--what-if")
    (job,) = result["jobs"]
    answers = {answer["without"]: answer for answer in result["what_if"]}
    base = answers["copies"]["base_us"]
    assert 1 - answers["copies"]["time_us"] / base == pytest.approx(
        job["parts_us"]["socket_copy"] / job["time_us"], abs=0.1
    )
    assert answers["rate"]["time_us"] == pytest.approx(base, rel=0.05)
    assert answers["fabric"]["time_us"] < base
    reason = "TCP takes packets that overtake each other for losses"
    assert (answers["paths"]["time_us"], answers["paths"]["reason"]) == (None, reason)
    assert answers["taper"]["time_us"] is not None
    text = command_line.run_here("explain", scenario, "--what-if").stdout
    assert f"not known: {reason}" in text
    assert "no difference: ranks are on hosts in order" not in text, "they are on given hosts"


def test_nothing_is_saved_where_a_program_takes_all_of_the_time(tmp_path: Path) -> None:
    file = tmp_path / "computation.toml"
    program = "num_ranks 2\nrank 0 {\na: calc 500000\nb: send 8b to 1 tag 1\nb requires a\n}\n"
    file.write_text(
        "topology.single_switch.hosts = 4\ntransport.roce = {}\n[[job]]\nname = 'computation'\n"
        f'[job.workload.goal]\ntext = """{program}rank 1 {{\na: recv 8b from 0 tag 1\n}}\n"""\n'
    )
    text = command_line.run_here("explain", file, "--what-if", code=0).stdout
    assert "what if" in text and "most is saved" not in text


def test_a_result_is_explained_without_running_again(scenario: Path, tmp_path: Path) -> None:
    etherweave.run(scenario).save(tmp_path / "result")
    assert explained(tmp_path / "result") == explained(scenario, "--no-ports")
    assert explained(tmp_path / "result", "--ports") == explained(scenario)
    text = command_line.run_here("explain", tmp_path / "result", "--longest", "1").stdout
    assert "copies between sockets and the program" in text
    assert text.count(" on host") == 1


def test_run_and_report_begin_with_what_limits_a_job(scenario: Path, tmp_path: Path) -> None:
    done = command_line.run_here("run", scenario, "-o", tmp_path / "result")
    assert done.stdout.splitlines()[1].startswith("pair: limited by the host, ")
    assert "What limits each job" in write_report(tmp_path / "result", tmp_path).read_text()
    assert (tmp_path / "limits.svg").exists()


def test_a_report_of_two_results_says_which_part_differs(scenario: Path, tmp_path: Path) -> None:
    etherweave.run(scenario).save(tmp_path / "slow")
    etherweave.run(scenario, {"host.cpu.receive_per_kib": "1us"}).save(tmp_path / "fast")
    page = write_report(tmp_path / "slow", tmp_path, [tmp_path / "fast"]).read_text()
    assert "pair takes " in page
    assert ": copies between sockets and the program " in page
    assert "of its path; what the network is worth is what" in page
    assert "hide the network" not in page, "times differ"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((SCENARIOS / "two_planes.toml", "--job", "fft"), "--job: fft; expected one of "),
        ((SCENARIOS / "dcqcn.toml",), "no rank took any time; expected a job with ranks"),
    ],
)
def test_what_is_not_explained_says_why(arguments: tuple[str | Path, ...], expected: str) -> None:
    assert expected in command_line.run_here("explain", *arguments, code=2).stderr


def test_streams_are_left_out_by_name_and_have_answers(tmp_path: Path) -> None:
    file = tmp_path / "mixed.toml"
    ping = '[[job]]\nname = "ping"\nworkload.osu_latency = { bytes = "8B", iterations = 2 }\n'
    streams = "{ sources = 2, messages = 4 }"
    bulk = f'[[job]]\nname = "bulk"\nworkload.incast = {streams}\n'
    file.write_text(f"topology.single_switch.hosts = 5\ntransport.roce = {{}}\n{ping}{bulk}")
    assert "bulk: left out: no rank takes time" in command_line.run_here("explain", file).stdout
    result = explained(file, "--what-if", "--job", "bulk")
    assert (result["jobs"], result["left_out"]) == ([], ["bulk"])
    answers = {answer["without"]: answer for answer in result["what_if"]}
    assert answers["rate"]["time_us"] < 0.6 * answers["rate"]["base_us"]
    text = command_line.run_here("explain", file, "--what-if").stdout
    assert "no difference: all hosts are on one switch" in text


def test_streams_without_an_end_have_no_answer_and_say_why() -> None:
    file = SCENARIOS / "incast_roce.toml"
    text = command_line.run_here("explain", file, "--what-if", "--set", "run.end=2.1ms").stdout
    assert "\n  what if: not known: no stream ends before the run does" in text


@pytest.mark.parametrize(
    ("run", "skips"), [({}, ""), ({"fast_forward": {}}, " -s run.fast_forward=")]
)
def test_a_result_without_ranks_says_which_key_is_missing(
    tmp_path: Path, run: dict[str, object], skips: str
) -> None:
    ping = {"name": "ping", "workload": {"osu_latency": {"iterations": 20}}}
    scenario = {"topology": {"single_switch": {"hosts": 2}}, "job": [ping], "run": run}
    etherweave.run(scenario).save(tmp_path / "result")
    text = command_line.run_here("explain", tmp_path / "result", code=2).stderr
    expected = f"-s observe.ranks=true -s observe.waits=true{skips}"
    problem = "the run did not observe its ranks"
    assert text == f"{tmp_path}/result: {problem}; expected {expected}\n"


INCAST = {
    "topology": {"single_switch": {"hosts": 4}},
    "transport": {"roce": {}},
    "host": {"mpi_roce": {"eager_max": "1MiB"}},
    "job": [
        {
            "name": "gather",
            "workload": {
                "osu_collective": {
                    "ranks": 4,
                    "operation": {"gather": {"root": 0, "bytes": "64KiB"}},
                    "algorithm": "linear",
                    "warm_up": 0,
                    "iterations": 1,
                }
            },
        }
    ],
}
"""Three hosts send to a fourth, at once."""


def test_waits_in_the_network_are_named_by_ports_and_whose_packets_go_first(tmp_path: Path) -> None:
    (job,) = limits(etherweave.run(INCAST, {"observe.ranks": True, "observe.waits": True}))
    waits = job.parts_ns.get("network", 0.0) + job.parts_ns.get("rendezvous", 0.0)
    assert sum(job.causes_ns.values()) == pytest.approx(waits, rel=1e-12)
    cause = next(iter(job.causes_ns))
    assert cause.words == "incast at switch0 to host0"
    assert "gather rank " in job.first_in_line(cause)
    assert "; longest wait at one place: incast at switch0 to host0, " in job.sentence()
    path = tmp_path / "incast.toml"
    path.write_text(etherweave.resolve(INCAST))
    text = command_line.run_here("explain", path).stdout
    assert "incast at switch0 to host0, behind packets of gather rank " in text


@pytest.mark.parametrize("nic", [{"drain_rate": "10Gb/s"}, {"pcie": {"width": 1}}])
def test_a_receiver_that_is_slower_than_its_link_limits_as_a_host(nic: dict[str, object]) -> None:
    slow = {
        "topology": {"single_switch": {"hosts": 2}},
        "transport": {"roce": {}},
        "nic": nic,
        "job": [{"name": "bw", "workload": {"osu_bw": {"bytes": "1MiB", "iterations": 5}}}],
    }
    (job,) = limits(etherweave.run(slow, {"observe.ranks": True, "observe.waits": True}))
    assert sum(job.parts_ns.values()) == pytest.approx(job.time_ns, rel=1e-12)
    assert job.parts_ns["bus"] > 0.85 * job.time_ns
    assert "bw: limited by the host, " in job.sentence() and "slow receiver host1" in job.sentence()
    resolved = etherweave.resolve(slow)
    answers = {own.name: own for own in what_if(resolved, etherweave.run(slow), etherweave.run)}
    assert (answers["bus"].saved or 0.0) > 0.85


MARKS = {"queue_min": "0B", "queue_max": "0B", "share_max": 1.0}
SWIFT = {"reliability": "selective_repeat", "ack_every": 1, "swift": {"base_target": "1us"}}


@pytest.mark.parametrize(
    ("scenario", "kind"),
    [
        ({"transport": {"roce": {}}}, "link"),
        ({"transport": {"uet": {}}}, "link"),
        # A round trip takes 20 times its target: the link is busy for a thirtieth of the time.
        (
            {
                "transport": {"roce": SWIFT},
                "topology": {"single_switch": {"hosts": 2, "cable": "1km"}},
            },
            "window",
        ),
        # All packets are marked, and the link is busy for two thirds of the time.
        (
            {"transport": {"uet": {"nscc": {"base_round_trip": "2us"}}}, "switch": {"ecn": MARKS}},
            "window",
        ),
    ],
)
def test_a_link_or_the_congestion_control_of_its_sender_is_named(
    scenario: dict[str, Any], kind: str
) -> None:
    bandwidth = {"bytes": "1MiB", "window": 16, "iterations": 2, "warm_up": 0}
    base = {
        "topology": {"single_switch": {"hosts": 2}},
        "host": {"mpi_roce": {"eager_max": "16MiB"}},
        "observe": {"ranks": True, "waits": True},
        "job": [{"name": "bw", "workload": {"osu_bw": bandwidth}}],
    }
    (job,) = limits(etherweave.run({**base, **scenario}))
    assert next(iter(job.kinds_ns)) == kind
    assert job.kinds_ns[kind] > 0.9 * job.time_ns


def test_ports_are_divided_only_where_ranks_are_observed() -> None:
    with pytest.raises(etherweave.ScenarioError, match=r"observe\.waits: true; expected false, or"):
        etherweave.run(INCAST, {"observe.waits": True})


def answers_of(topology: dict[str, Any], **others: Any) -> dict[str, Answer]:
    scenario = {
        "topology": topology,
        "transport": {"roce": {}},
        "job": [
            {
                "name": "a2a",
                "workload": {"all_to_all": {"ranks": 8, "bytes": "64KiB", "iterations": 1}},
                "placement": {"random": {}},
            }
        ],
        **others,
    }
    base = etherweave.run(scenario)
    answers = what_if(base.resolved, base, etherweave.run)
    return {answer.name: answer for answer in answers}


def test_a_taper_is_removed_where_a_fabric_has_one() -> None:
    answers = answers_of({"folded_clos": {"radix": 8, "hosts": 24, "uplinks": [{"ports": 2}]}})
    assert (answers["taper"].saved or 0) > 0
    assert answers["paths"].time_us is not None
    tapered = {
        "leaves": 2,
        "hosts_per_leaf": 4,
        "cores": 1,
        "links_per_core": 2,
        "as_built": {"radix": 6},
    }
    links = answers_of({"fat_tree": {**tapered, "links_per_core": 4, "as_built": {}}})["taper"]
    assert answers_of({"fat_tree": tapered})["taper"].time_us == links.base_us, "links are added"
    tree = {"leaves": 2, "hosts_per_leaf": 4, "cores": 2, "links_per_core": 2}
    reason = answers_of({"fat_tree": tree})["taper"].reason
    assert reason == "uplinks carry all that comes from below"


def test_a_question_that_does_not_apply_says_why() -> None:
    answers = answers_of({"dragonfly": {}})
    assert answers["taper"].reason == "dragonfly has no uplinks of leaves"
    assert answers["paths"].time_us is not None
    answers = answers_of({"single_switch": {"hosts": 8}})
    for name in ("fabric", "paths"):
        assert answers[name].reason == "all hosts are on one switch"


@pytest.mark.parametrize(
    ("transport", "reason"),
    [
        ({"uet": {}}, "Ultra Ethernet spreads packets over paths by their entropy values"),
        (
            {"roce": {"reliability": "selective_repeat", "load_balancing": "oblivious"}},
            "RoCE spreads packets over paths by their entropy values",
        ),
        (
            {"uet": {"delivery": "rod"}},
            "ordered delivery of Ultra Ethernet discards packets that overtake others",
        ),
    ],
)
def test_a_transport_says_by_itself_why_its_packets_keep_their_paths(
    transport: dict[str, Any], reason: str
) -> None:
    tree = {"leaves": 2, "hosts_per_leaf": 4, "cores": 2, "links_per_core": 1}
    own = answers_of({"fat_tree": tree}, transport=transport, routing="ecmp")["paths"]
    assert (own.reason, own.is_as_it_is) == (reason, "rod" not in str(transport))


def test_packets_of_ultra_ethernet_that_have_one_path_are_sprayed() -> None:
    tree = {"leaves": 2, "hosts_per_leaf": 4, "cores": 2, "links_per_core": 1}
    answer = answers_of({"fat_tree": tree}, transport={"uet": {}}, routing="up_down")["paths"]
    assert answer.time_us is not None


def test_hosts_keep_their_planes_on_one_switch() -> None:
    tree = {"leaves": 2, "hosts_per_leaf": 4, "cores": 1, "links_per_core": 1}
    assert (answers_of({"fat_tree": tree}, host_ports={"planes": 2})["fabric"].saved or 0) > 0


def taper(links: int) -> dict[str, Any]:
    """Describe two leaves of three hosts: all of the first send to all of the second, at once."""
    tree = {"leaves": 2, "hosts_per_leaf": 3, "cores": 1, "links_per_core": links}
    workload = {"all_to_all": {"ranks": 6, "bytes": "256KiB", "iterations": 1}}
    return {
        "topology": {"fat_tree": tree},
        "transport": {"roce": {}},
        "observe": {"ranks": True, "waits": True},
        "job": [{"name": "halo", "workload": workload}],
    }


def test_the_cost_of_a_taper_is_named_by_uplinks_and_whose_packets_go_first(tmp_path: Path) -> None:
    results = [etherweave.run(taper(links), {"name": f"x{links}"}) for links in (1, 3)]
    (slow,), (fast,) = map(limits, results)
    more = slow.kinds_ns["uplinks"] - fast.kinds_ns.get("uplinks", 0.0)
    assert more > 0.3 * (slow.time_ns - fast.time_ns)
    words = difference(slow, fast)
    assert f"taper at uplinks {time_words(more)}, most at leaf" in words
    assert "'s uplinks, behind packets of halo" in words
    for number, result in enumerate(results):
        result.save(tmp_path / str(number))
    page = html.unescape(write_report(tmp_path / "1", tmp_path, [tmp_path / "0"]).read_text())
    time = time_words(slow.time_ns - fast.time_ns)
    assert f"halo takes {time} more in simulated x1 than in simulated x3: " in page
    assert "'s uplinks, behind packets of halo" in page


def test_a_queue_at_the_only_uplink_of_a_leaf_is_no_collision() -> None:
    [job] = limits(etherweave.run(taper(1), {"observe.ranks": True, "observe.waits": True}))
    uplinks = {f"taper at {leaf}'s uplinks" for leaf in ("leaf0", "leaf1")}
    assert next(iter(job.groups_ns)) in uplinks
    assert "taper at leaf0 to core0" in {cause.words for cause in job.causes_ns}


def test_a_queue_of_a_leaf_with_too_few_uplinks_may_be_the_taper() -> None:
    words = {2: "taper or collisions at leaf", 3: "collisions at leaf"}
    for links, expected in words.items():
        [job] = limits(etherweave.run(taper(links)))
        queues = {cause.words for cause in job.causes_ns if cause.kind == "uplinks"}
        assert queues and all(own.startswith(expected) for own in queues)


def limits_of(parts: list[tuple[str, float, float]]) -> JobLimits:
    return JobLimits("job", [Stretch(0, "host0", part, 0, at, end) for part, at, end in parts])


def test_parts_that_are_longer_than_the_difference_say_that_others_are_shorter() -> None:
    fast = limits_of([("computation", 0, 5_000), ("latency", 5_000, 7_000)])
    slow = limits_of([("computation", 0, 2_000), ("latency", 2_000, 10_000)])
    assert difference(slow, fast) == "latency of the path 6.0 us (other parts are shorter in total)"
    longer = limits_of([("computation", 0, 5_000), ("latency", 5_000, 13_000)])
    assert difference(longer, fast) == "latency of the path 6.0 us"


@pytest.mark.parametrize(
    ("time_us", "drops", "expected"),
    [
        (9.96, 0, "  nothing alone saves 1%"),
        (8.0, 0, "  most is saved where all links are twice as fast: 20%"),
        (26.0, 271, "26.000 us +160.0%; 271 packets dropped"),
    ],
)
def test_answers_say_what_is_saved_and_what_is_dropped(
    time_us: float, drops: int, expected: str
) -> None:
    job = limits_of([("computation", 0, 9_000), ("latency", 9_000, 10_000)])
    words = "all links are twice as fast"
    answer = Answer("rate", words, "network", "job", 10.0, time_us, drops=drops)
    assert expected in "\n".join(explanation([job], [answer], 0))


def test_the_first_line_says_that_another_place_is_busy_at_the_same_time() -> None:
    answers = [
        Answer(name, name, place, "job", 10.0, time_us)
        for name, place, time_us in (("calls", "host", 9.5), ("fabric", "network", 8.0))
    ]
    job = limits_of([("mpi_copy", 0, 7_000), ("latency", 7_000, 10_000)])
    first, *_, last = explanation([job], answers, 0)
    assert first.endswith("; the network is busy at the same time")
    assert last.endswith("of the host nothing alone saves more than 5%")


def test_the_longest_parts_are_in_json(scenario: Path) -> None:
    [job] = explained(scenario, "--no-ports", "--longest", "2")["jobs"]
    first, second = job["longest_parts"]
    assert first["time_us"] >= second["time_us"] > 0
    assert first["host"].startswith("host")


def test_a_longest_part_has_its_iteration_and_its_collective(
    scenario: Path, tmp_path: Path
) -> None:
    text = command_line.run_here("explain", scenario, "--no-ports", "--longest", "40").stdout
    assert re.search(r"rank 1 on host2: .* from rank 0; iteration 2\n", text)
    file = tmp_path / "gather.toml"
    file.write_text(
        'topology.single_switch.hosts = 3\ntransport.roce = {}\n[[job]]\nname = "sum"\n'
        "[job.workload.osu_collective]\nranks = 3\niterations = 2\nwarm_up = 0\n"
        'operation.gather = { root = 0, bytes = "64KiB" }\nalgorithm = "linear"\n'
    )
    text = command_line.run_here("explain", file, "--no-ports", "--longest", "40").stdout
    assert "; iteration 1, gather 1 (messages up to 65,536 B)\n" in text


def test_a_bar_has_its_places_in_the_order_of_their_shares(scenario: Path, tmp_path: Path) -> None:
    done = command_line.run_here("run", scenario, "-o", tmp_path / "result")
    bar, words = done.stdout.splitlines()[2].strip().removeprefix("[").split("] ")
    assert len(bar) == BAR
    assert bar == "".join(sorted(bar))
    share = int(words.removeprefix("host ").partition("%")[0]) / 100
    assert bar.count("h") / BAR == pytest.approx(share, abs=1 / BAR)


def test_switches_with_more_ports_have_as_much_more_memory() -> None:
    """Headroom of 640 ports exceeds the memory of a switch of 80."""
    base = etherweave.run(
        {
            "interconnect": {"profile": "ethernet-100-roce"},
            "topology": {
                "fat_tree": {"leaves": 20, "hosts_per_leaf": 32, "cores": 2, "links_per_core": 4}
            },
            "job": [{"name": "halo3d", "workload": {"halo3d": {"iterations": 1}}}],
        }
    )
    answers = {own.name: own for own in what_if(base.resolved, base, etherweave.run)}
    assert answers["fabric"].time_us and answers["taper"].time_us


def test_a_what_if_that_a_scenario_refuses_names_the_key_alone() -> None:
    base = etherweave.run(COPIES)
    refused = {"topology": {"single_switch": {"hosts": -4}}}
    answers = list(what_if(base.resolved, base, lambda _: etherweave.run(refused)))
    reasons = [own.reason for own in answers if own.reason.startswith("topology.")]
    assert reasons and all(own.startswith("topology.single_switch.hosts: -4") for own in reasons)


def test_the_guide_says_of_its_taper_what_the_report_does(tmp_path: Path) -> None:
    """Windows are held up by the queue at an uplink, which is named, not the hosts' own links."""
    guide = (Path(__file__).parents[2] / "docs/guide/explain.md").read_text()
    (text,) = re.findall(r'```toml title="taper.toml"\n(.*?)```', guide, flags=re.DOTALL)
    (said,) = re.findall(r"^> (halo takes .*)\.$", guide, flags=re.MULTILINE)
    keys = {"observe.ranks": True, "observe.waits": True}
    scenario = tomllib.loads(text)
    slow = etherweave.run(scenario, keys)
    fast = etherweave.run(scenario, {**keys, "topology.fat_tree.links_per_core": 6})
    (words,) = map(difference, limits(slow), limits(fast))
    assert said.endswith(f": {words}")
    assert "most because of queues at leaf1 to core0" in words
