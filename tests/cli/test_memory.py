"""Expected and measured memory of a simulation, and the refusal of one that does not fit."""

import json
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import etherweave
from etherweave.cli.app import app
from support import hostile
from support.command_line import COMMAND

SCENARIOS = Path(__file__).parents[2] / "scenarios"

MEASURE = """
import ctypes, gc, json, pathlib, re, sys
import etherweave, polars, pyarrow

def peak():
    # Not that of getrusage, which begins with the memory of the process that started this one.
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", status)[1]) * 1024

# What Python and its libraries take by themselves is no part of an estimate.
small = etherweave.run(sys.argv[4])
read = [small.tables[name] for name in small.tables]
# Nor is what they took for a while: give it back and begin the peak anew; see proc(5), clear_refs.
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
pathlib.Path("/proc/self/clear_refs").write_text("5")
before, estimate = peak(), {}
verb, path, changes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
done = getattr(etherweave, verb)(path, changes, on_start=estimate.update)
tables = [done.tables[name] for name in done.tables] if verb == "run" else done
print(json.dumps([estimate["memory_bytes"], peak() - before]))
"""

MEASURED = [
    (
        "run",
        "permutation.toml",
        {
            "topology.k_ary_fat_tree.k": 20,
            "job.0.workload.permutation.ranks": 2000,
            "job.0.workload.permutation.bytes": "64KiB",
        },
    ),
    ("run", "fft_roce.toml", {"job.0.workload.fft.iterations": 300}),
    (
        "run",
        "incast_tcp.toml",
        {
            "job.0.workload.incast.streams_per_source": 1000,
            "run.end": "50us",
            "run.warm_up": "10us",
        },
    ),
    (
        "curve",
        "open_loop/dragonfly_1056.toml",
        {
            "open_loop.loads": [0.9],
            "open_loop.routings": ["valiant_group"],
            "open_loop.patterns": ["uniform"],
            "open_loop.longest": "60us",
        },
    ),
    (
        "curve",
        "open_loop/dragonfly_1056.toml",
        {
            "open_loop.loads": [0.9],
            "open_loop.routings": ["minimal"],
            "open_loop.patterns": ["adversarial"],
        },
    ),
    ("observe", "open_loop/dragonfly_turn.toml", {}),
    ("design", "design/dragonfly_300k.toml", {"topology.dragonfly.groups": 60}),
]

SATURATED = MEASURED[4:6]
"""Their queues are taken as full, which is a bound: how far it is too high is not asserted."""


def memory(verb: str, name: str, changes: dict[str, object]) -> tuple[int, int]:
    """Give the estimate of a command and what it takes."""
    arguments = [verb, str(SCENARIOS / name), json.dumps(changes), str(SCENARIOS / "first.toml")]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True
    )
    estimated, peak = json.loads(done.stdout)
    return estimated, peak


@pytest.mark.parametrize(("verb", "name", "changes"), MEASURED)
def test_an_estimate_is_at_least_a_half_of_what_is_taken_and_at_most_twice_unless_saturated(
    verb: str, name: str, changes: dict[str, object]
) -> None:
    estimated, peak = memory(verb, name, changes)
    # Pages that libraries touch for the first time are a few megabytes beside it.
    assert estimated >= 0.5 * (peak - (8 << 20)), (estimated, peak)
    if (verb, name, changes) not in SATURATED:
        assert estimated <= 2 * (peak + (4 << 20)), (estimated, peak)


FABRICS: list[dict[str, object]] = [
    {"k_ary_fat_tree": {"k": 16}},
    {"dragonfly": {"p": 4, "a": 8, "h": 4}},
    {"fat_tree": {"leaves": 32, "hosts_per_leaf": 32, "cores": 8, "links_per_core": 2}},
    {"torus": {"dimensions": [{"size": 10}] * 3}},
]
"""Fabrics of 1,000 hosts and more."""


def large(chance: random.Random) -> dict[str, object]:
    """Draw a fabric, traffic that keeps much in memory, and a transport."""
    ranks = chance.randrange(200, 1000)
    traffic: list[dict[str, object]] = [
        {"permutation": {"ranks": ranks, "bytes": f"{chance.randrange(8, 256)}KiB"}},
        {"all_to_all": {"ranks": ranks // 4, "bytes": "1kB", "iterations": 1}},
        {"permutation_streams": {"ranks": ranks, "message": "4kB", "messages": 20}},
        {"incast": {"sources": ranks, "messages": 1, "streams_per_source": 20, "message": "1kB"}},
    ]
    return {
        "topology": chance.choice(FABRICS),
        "job.0.workload": chance.choice(traffic),
        "transport": chance.choice([{"tcp": {}}, {"roce": {}}]),
        "run": {"end": "200us"},
    }


@pytest.mark.fuzz
@pytest.mark.slow
def test_an_estimate_of_random_traffic_is_within_a_factor_of_two() -> None:
    for chance in hostile.rounds(1):
        changes = large(chance)
        estimated, peak = memory("run", "permutation.toml", changes)
        assert 0.5 * (peak - (8 << 20)) <= estimated <= 2 * (peak + (4 << 20)), (
            changes,
            estimated,
            peak,
        )


def test_a_run_that_needs_more_than_the_limit_is_refused_before_it_is_built() -> None:
    scenario = str(SCENARIOS / "permutation.toml")
    result = CliRunner().invoke(app, ["run", scenario, "--memory-limit", "1MiB"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "about " in result.stderr
    assert "at most 1.0 MiB, as --memory-limit says: " in result.stderr


@pytest.mark.parametrize("verb", ["curve", "observe", "design"])
def test_what_needs_more_than_the_limit_is_refused(verb: str) -> None:
    scenario = str(SCENARIOS / "open_loop" / "dragonfly_turn.toml")
    result = CliRunner().invoke(app, [verb, scenario, "--memory-limit", "64KiB"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "at most 64.0 KiB, as --memory-limit says: " in result.stderr


def test_a_limit_that_is_no_size_is_a_mistake() -> None:
    run = CliRunner().invoke(app, ["run", str(SCENARIOS / "first.toml"), "--memory-limit", "much"])
    assert run.exit_code == 2
    assert "--memory-limit: " in run.stderr


def test_a_run_without_memory_ends_with_a_sentence() -> None:
    limit = 1500 * 2**20
    scenario = str(SCENARIOS / "permutation.toml")
    incast = "{ incast = { sources = 3000, streams_per_source = 340 } }"
    settings = ("topology.k_ary_fat_tree.k=24", f"job.0.workload={incast}", "run.end='1us'")
    options = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [*COMMAND, "run", scenario, "--memory-limit", "900GiB", *options],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "memory: the system gives no " in done.stderr
    assert done.stderr.endswith("`etherweave show` says what takes how much\n")


def test_show_prints_the_estimate_beside_the_scenario() -> None:
    result = CliRunner().invoke(app, ["show", str(SCENARIOS / "first.toml")])
    assert result.stdout == etherweave.resolve(SCENARIOS / "first.toml")
    assert result.stderr.startswith("first: expected to take about ")


def test_a_routing_that_may_deadlock_is_named_before_the_first_event() -> None:
    scenario = {
        "topology": {"torus": {"dimensions": [{"size": 5}]}},
        "routing": "shortest_path",
        "job": [{"name": "ping", "workload": {"osu_latency": {"iterations": 1}}}],
    }
    texts: list[str] = []
    etherweave.run(scenario, on_start=lambda estimate: texts.extend(estimate["warnings"]))
    assert texts[0].startswith("routing: shortest_path may deadlock on this fabric: switch")
