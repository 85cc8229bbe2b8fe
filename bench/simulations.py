"""Rows about the simulator: packet-hops per second, set-up, memory; a peer; the whole study."""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from counts import counts
from peers import caminos, uet_htsim
from rows import Row, child

HERE = Path(__file__).parent


class Case(NamedTuple):
    """A scenario, on how many threads, how often, and a smaller one of its kind to be counted."""

    name: str
    threads: int = 1
    repeats: int = 5
    counted: dict[str, Any] | None = None
    """Keys that are changed when valgrind counts it, which takes fifty times as long as the run."""
    work: tuple[str, int] | None = None  # Unit counted per second, and number of them.


def size_of_job(**keys: Any) -> dict[str, Any]:
    """Name the keys of a permutation, the only job."""
    return {f"job.0.workload.permutation.{key}": value for key, value in keys.items()}


SMALLER_1024 = size_of_job(bytes="64KiB")
SMALLER_8192 = size_of_job(bytes="16KiB")
SMALLER_65536 = size_of_job(bytes="4KiB")
SMALLER_SERVICES = {"job.0.workload.request_response.requests": 2500}
CASES = [
    Case("permutation_128", counted={}),
    Case("input_queued_128", counted=size_of_job(bytes="256KiB")),
    Case("input_queued_1056", counted=SMALLER_1024),
    Case("adaptive_1056", counted=SMALLER_1024),
    Case("permutation_1024", counted=SMALLER_1024),
    Case("permutation_1024", threads=2),
    Case("uet_1024", counted=SMALLER_1024),
    Case("permutation_8192", counted=SMALLER_8192),
    Case("permutation_8192", threads=2),
    Case("permutation_65536", repeats=3, counted=SMALLER_65536),
    Case("permutation_65536", threads=2, repeats=3),
    Case("all_to_all_1024", repeats=3, counted={"job.0.workload.all_to_all.ranks": 256}),
    Case("all_to_all_1024", threads=2, repeats=3),
    Case("allreduce_4096", repeats=3, counted={"job.0.workload.osu_collective.ranks": 512}),
    Case("allreduce_4096", threads=2, repeats=3),
    Case("flows_1000000", repeats=1),
    Case("services_1000000", repeats=1, counted=SMALLER_SERVICES),
    Case("inference_10000", repeats=3, work=("requests", 10_000)),
    Case("inference_experts_100", repeats=3, work=("requests", 100)),
    Case("moe_64", repeats=3, work=("layers", 2)),
    Case("flow_tree_65536", repeats=1),
    Case("flow_ring_65536", repeats=1),
    Case("flow_all_to_all_4096", repeats=1),
    Case("training_512", repeats=1),
    Case("training_16384", repeats=1),
    Case("hpcc_256", repeats=1),
    Case("halo3d_48", counted={}),
    Case("halo3d_96", counted={}),
]
RACE: dict[str, dict[str, Any]] = {
    "hpcc": {},
    "dcqcn": {
        "transport": {"roce": {"path_mtu": "1KiB", "ack_every": 1, "dcqcn": {}}},
        "switch.ecn": {"queue_min": "400kB", "queue_max": "1600kB", "share_max": 0.2},
    },
}
"""Keys that each congestion control of the race changes."""
CHILD = """
import ctypes, gc, json, pathlib, re, sys, etherweave
status = pathlib.Path("/proc/self/status")
peak_kib = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1])
# What Python took for a while is no part of the run: give it back and begin the peak anew; see
# proc(5), clear_refs.
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = peak_kib()
result = etherweave.run(sys.argv[1], threads=int(sys.argv[2]))
kib = peak_kib() - before
hosts = len({row for row in result.tables["flows"]["source_host"].to_pylist()})
print(json.dumps({**result.summary, "hosts": hosts, "kib": kib}))
"""
TRACE = """
import json, pathlib, re, sys, tempfile, etherweave
from etherweave import _core
file = sys.argv[1]
peak_kib = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
program = etherweave.run(file, threads=1).summary
with tempfile.TemporaryDirectory() as home:
    written = pathlib.Path(home) / "trace.goal"
    _core.schedules(pathlib.Path(file).read_text(), file, [], 0).jobs[0].write_goal(written)
    text = written.read_text()
before = peak_kib()
goal = etherweave.run(file, {"job.0.workload": {"goal": {"text": text}}}, threads=1).summary
assert goal["packets_created"] == program["packets_created"]
print(json.dumps({
    "operations": text.count(": "),
    "text_mib": round(len(text) / 2**20, 1),
    "wall_s": round(goal["wall_s"], 3),
    "setup_s": round(goal["setup_s"], 3),
    "run_peak_mib": round((peak_kib() - before) / 1024, 1),
    "program_wall_s": round(program["wall_s"], 3),
}))
"""
TRACE_IN_FILE = """
import ctypes, gc, json, pathlib, re, struct, sys, tempfile, etherweave
from etherweave import _core
file, iterations = sys.argv[1:]
status = pathlib.Path("/proc/self/status")
peak_kib = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1])
with tempfile.TemporaryDirectory() as home:
    binary = pathlib.Path(home) / "trace.bin"
    changed = [("job.0.workload.osu_collective.iterations", iterations)]
    made = _core.schedules(pathlib.Path(file).read_text(), file, changed, 0)
    made.jobs[0].write_goal_binary(binary)
    del made
    # Number of ranks, where each begins, and there its number of operations.
    operations = 0
    with binary.open("rb") as trace:
        (ranks,) = struct.unpack_from("<I", trace.read(14), 8)
        for start, _ in struct.iter_unpack("<QQ", trace.read(16 * ranks)):
            trace.seek(8 + start)
            operations += struct.unpack("<I", trace.read(4))[0]
    # What it took to write the trace is no part of the run; see proc(5), clear_refs.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = peak_kib()
    goal = {"job.0.workload": {"goal": {"file": str(binary)}}}
    goal = etherweave.run(file, goal, threads=1).summary
    print(json.dumps({
        "operations": operations,
        "file_mib": round(binary.stat().st_size / 2**20, 1),
        "wall_s": round(goal["wall_s"], 3),
        "setup_s": round(goal["setup_s"], 3),
        "run_peak_mib": round((peak_kib() - before) / 1024, 1),
    }))
"""
FROM_GOAL = """
import json, resource, sys, etherweave
file, text, threads = sys.argv[1:]
changed = {"job.0.workload": {"goal": {"file": text}}}
summary = etherweave.run(file, changed, threads=int(threads)).summary
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "messages": summary["packets_delivered"],
    "wall_s": round(summary["wall_s"], 3),
    "setup_s": round(summary["setup_s"], 3),
    "processor_s": round(used.ru_utime + used.ru_stime, 3),
    "peak_mib": round(used.ru_maxrss / 1024, 1),
}))
"""
COMPARED = """
import json, sys, etherweave
def run(changed):
    result = etherweave.run(sys.argv[1], overrides=changed, threads=1)
    rows = result.to_polars("iterations")
    first = rows.filter(rows["job"] == rows["job"][0])
    return result.summary["wall_s"], first["duration_ns"].mean()
(packets, slow), (flow, fast) = map(run, json.loads(sys.argv[2]))
error = fast / slow - 1
print(json.dumps({"packets_s": packets, "flow_s": flow, "times": packets / flow, "error": error}))
"""
PROTOTYPE = """
import functools, json, sys, etherweave
sys.path.append(sys.argv[2])
from support.prototypes import US, Swift
own = {"reliability": "selective_repeat", "ack_every": 1, "window": "128KiB"}
swift, seconds = {"base_target": "15us"}, []
for control, extend in (
    ({"swift": swift}, None),
    ({}, {"congestion": functools.partial(Swift, base_target=15 * US)}),
):
    changed = {"transport": {"roce": {**own, **control}}}
    runs = [etherweave.run(sys.argv[1], changed, extend=extend).summary for _ in range(3)]
    seconds.append(min(run["wall_s"] for run in runs))
    hops = runs[0]["packet_hops"]
print(json.dumps({
    "packet_hops": hops,
    "rust_s": round(seconds[0], 3),
    "python_s": round(seconds[1], 3),
    "times": round(seconds[1] / seconds[0], 2),
}))
"""


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    cases = [
        Row(f"{case.name} on {case.threads}", functools.partial(measure, case)) for case in CASES
    ]
    others = {
        "flow": flow,
        "hybrid": hybrid,
        **{f"race_128_{control}": functools.partial(race, control) for control in RACE},
        "prototype": prototype,
        "trace_64": trace,
        "trace_64_in_file": trace_in_file,
        "flow_dissemination_65536": dissemination,
        "caminos": peer,
        "uet_htsim": uet_htsim.compare,
        "study": study,
    }
    return [*cases, *(Row(name, of) for name, of in others.items())]


def measure(case: Case) -> dict[str, Any]:
    """Run a scenario several times; gives the figures of the fastest."""
    scenario = HERE / f"{case.name}.toml"
    runs = [child(CHILD, str(scenario), str(case.threads)) for _ in range(case.repeats)]
    best = min(runs, key=lambda run: run["wall_s"])
    hops, wall = best["packet_hops"], best["wall_s"]
    counted = {} if case.counted is None else counts(scenario, case.counted)
    done = {f"{case.work[0]}_per_s": round(case.work[1] / wall, 2)} if case.work else {}
    return {
        "row": case.name,
        "threads": best["threads"],
        "packet_hops": hops,
        "events_per_hop": round(best["events"] / hops, 3),
        "wall_s": round(wall, 4),
        "hops_per_s": round(hops / wall),
        "hops_per_s_and_core": round(hops / wall / best["threads"]),
        **done,
        "setup_s": round(min(run["setup_s"] for run in runs), 4),
        "bytes_per_host": round(best["kib"] * 1024 / best["hosts"]),
        "run_peak_mib": round(best["kib"] / 1024, 1),
        **counted,
    }


def trace() -> dict[str, Any]:
    """Run programs, and the graphs that GOAL makes of them."""
    runs = [child(TRACE, str(HERE / "trace_64.toml")) for _ in range(3)]
    best = min(runs, key=lambda run: run["wall_s"])
    return {
        "row": "trace_64",
        "threads": 1,
        **best,
        "operations_per_s_and_core": round(best["operations"] / best["wall_s"]),
    }


def trace_in_file() -> dict[str, Any]:
    """Run ten million operations of a GOAL binary, which stays in its file."""
    best = child(TRACE_IN_FILE, str(HERE / "trace_64.toml"), "4500")
    return {
        "row": "trace_64_in_file",
        "threads": 1,
        **best,
        "operations_per_s_and_core": round(best["operations"] / best["wall_s"]),
    }


def dissemination() -> dict[str, Any]:
    """Run a GOAL text of 65,536 ranks in flow-level mode; with interpreter and result."""
    with tempfile.TemporaryDirectory() as home:
        text = Path(home) / "dissemination.goal"
        text.write_text("".join(dissemination_lines(65_536)), encoding="utf-8")
        file = str(HERE / "flow_ring_65536.toml")
        begun = time.perf_counter()
        run = child(FROM_GOAL, file, str(text), "2")
        all_s = round(time.perf_counter() - begun, 3)
    return {"row": "flow_dissemination_65536", "threads": 2, "all_s": all_s, **run}


def dissemination_lines(ranks: int) -> Iterator[str]:
    """Write a dissemination of 8 B, a round for each power of two: sends wait for receives."""
    yield f"num_ranks {ranks}\n"
    for rank in range(ranks):
        yield f"rank {rank} {{\n"
        for number in range((ranks - 1).bit_length()):
            after, before = (rank + 2**number) % ranks, (rank - 2**number) % ranks
            yield f"s{number}: send 8b to {after} tag {number}\n"
            yield f"s{number} requires r{number - 1}\n" if number else ""
            yield f"r{number}: recv 8b from {before} tag {number}\n"
        yield "}\n"


def speed(name: str) -> float:
    """Run a scenario once; gives packet-hops per second of simulation and set-up."""
    run = child(CHILD, str(HERE / f"{name}.toml"), "1")
    return float(run["packet_hops"] / (run["wall_s"] + run["setup_s"]))


def prototype() -> dict[str, Any]:
    """Run Swift in Rust and Swift in Python on the same traffic; gives how many times as long."""
    tests = HERE.parent / "tests"
    return {
        "row": "prototype",
        "threads": 1,
        **child(PROTOTYPE, str(HERE / "permutation_128.toml"), str(tests)),
    }


def flow() -> dict[str, Any]:
    """Run bulk traffic in packets and in flow-level mode, with what the latter gets wrong."""
    size = size_of_job(bytes="64MiB")
    both = [{**size, "run.fidelity": fidelity} for fidelity in ("packet", "flow")]
    times = child(COMPARED, str(HERE / "permutation_128.toml"), json.dumps(both))
    return {"row": "flow_permutation_128", **times}


def hybrid() -> dict[str, Any]:
    """Run a job in packets amid packets and amid messages, with what the latter get wrong of it."""
    scenario = HERE.parent / "scenarios" / "hybrid.toml"
    both = [{"job.1.fidelity": fidelity} for fidelity in ("packet", "flow")]
    return {"row": "hybrid", **child(COMPARED, str(scenario), json.dumps(both))}


def race(control: str) -> dict[str, Any]:
    """Run a training step of 128 accelerators in packets and in flow-level mode."""
    both = [{**RACE[control], "run.fidelity": fidelity} for fidelity in ("packet", "flow")]
    times = child(COMPARED, str(HERE / "race_128.toml"), json.dumps(both))
    return {"row": f"race_128_{control}", **times}


def peer() -> dict[str, Any]:
    """Run a tree in CAMINOS and here."""
    return caminos.compare("caminos_128", caminos.tree_speed, lambda: speed("permutation_128"))


def study() -> dict[str, Any]:
    """Time the whole study, from nothing."""
    started = time.monotonic()
    command = Path(sys.executable).parent / "etherweave"
    output = HERE.parent / "results" / "bench-study"
    shutil.rmtree(output, ignore_errors=True)
    words = [str(command), "study", "sandia-2020", "--json", "-o", str(output)]
    checks = json.loads(subprocess.check_output(words))["checks"]
    held = sum(check["pass"] for check in checks)
    wall = round(time.monotonic() - started, 1)
    return {"row": "study", "wall_s": wall, "figures_held": held, "figures": len(checks)}
