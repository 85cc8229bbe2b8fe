"""Traces as the trace event format of Chromium has them, which Perfetto reads."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import etherweave
from etherweave.api.traces import events as trace_events
from etherweave.api.traces import write_trace
from support.command_line import run_here

SCENARIO: dict[str, Any] = {
    "topology": {"single_switch": {"hosts": 4}},
    "run": {"end": "1ms"},
    "observe": {"ranks": True, "ports": ["switches"], "period": "100us"},
    "job": [
        {"name": "ring", "workload": {"halo3d": {"pex": 2, "pey": 2, "pez": 1, "iterations": 2}}}
    ],
}
FIELDS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur"},
    "s": {"name", "cat", "id", "pid", "tid", "ts", "args"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    "i": {"name", "cat", "s", "pid", "tid", "ts"},
    "C": {"name", "pid", "tid", "ts", "args"},
}
"""Keys of each phase that a trace has, by the document that the module names."""


def traced(directory: Path) -> tuple[etherweave.Result, list[dict[str, Any]]]:
    result = etherweave.run(SCENARIO)
    file = directory / "trace.json"
    write_trace(result, file)
    document = json.loads(file.read_text())
    assert document["displayTimeUnit"] == "ns"
    return result, document["traceEvents"]


def test_every_event_has_the_fields_of_its_phase(tmp_path: Path) -> None:
    _, events = traced(tmp_path)
    assert {event["ph"] for event in events} == set(FIELDS)
    for event in events:
        assert set(event) == {"ph", *FIELDS[event["ph"]]}
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())


def test_every_row_is_an_event_and_slices_of_a_thread_nest(tmp_path: Path) -> None:
    result, events = traced(tmp_path)
    counts = Counter((event["ph"], event.get("cat")) for event in events)
    assert counts["X", "activity"] == len(result.values("activities", "rank"))
    assert counts["X", "iteration"] == len(result.values("iterations", "rank"))
    messages = len(result.values("transfers", "tag"))
    assert [counts[phase, "message"] for phase in "sif"] == [messages] * 3
    assert messages > 0
    assert counts["C", None] == 3 * len(result.values("port_samples", "time_ns"))
    for thread in {event["tid"] for event in events if event["ph"] == "X"}:
        own = [event for event in events if event["ph"] == "X" and event["tid"] == thread]
        activities = [event for event in own if event["cat"] == "activity"]
        ends = [event["ts"] + event["dur"] for event in activities]
        starts = [event["ts"] for event in activities]
        assert all(end <= start + 1e-6 for end, start in zip(ends, starts[1:], strict=False))


def test_slices_end_at_whole_nanoseconds_and_arrows_at_a_slice_or_instant(tmp_path: Path) -> None:
    """Perfetto rounds to them: of slices with fractions it finds that they overlap."""
    _, events = traced(tmp_path)
    timed = [event for event in events if event["ph"] in "Xsif"]
    times = [event[key] * 1e3 for event in timed for key in ("ts", "dur") if key in event]
    assert all(abs(time - round(time)) < 1e-6 for time in times)
    instants = {(event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "i"}
    slices: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X" and event["name"] == "send":
            slices.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    for event in events:
        if event["ph"] == "f":
            assert (event["pid"], event["tid"], event["ts"]) in instants
        if event["ph"] == "s":
            assert any(start <= event["ts"] < end for start, end in slices[event["tid"]])


def test_messages_of_ranks_with_several_streams_have_a_thread_of_their_own() -> None:
    scenario = Path(__file__).parents[2] / "scenarios/chakra.toml"
    events = list(trace_events(etherweave.run(scenario, {"observe.ranks": True}).tables))
    names = {row["args"]["name"]: row["tid"] for row in events if row["name"] == "thread_name"}
    threads = {event["tid"] for event in events if event["ph"] in "sf"}
    assert threads == {names[f"step rank {rank} messages"] for rank in range(4)}


def test_hosts_stand_in_the_order_of_their_ranks_and_switches_below(tmp_path: Path) -> None:
    _, events = traced(tmp_path)
    named = {"process_name": "name", "process_sort_index": "sort_index"}
    about: dict[str, dict[int, Any]] = {kind: {} for kind in named}
    for event in events:
        if event["name"] in named:
            about[event["name"]][event["pid"]] = event["args"][named[event["name"]]]
    names, places = about["process_name"], about["process_sort_index"]
    assert names.keys() == places.keys()
    *hosts, last = sorted(names, key=lambda process: places[process])
    assert [names[process] for process in hosts] == [f"host{number}" for number in range(4)]
    assert names[last].startswith("switch")


def test_both_ends_of_a_message_lie_in_a_slice_of_their_threads(tmp_path: Path) -> None:
    _, events = traced(tmp_path)
    slices: dict[int, list[tuple[float, float, str]]] = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "activity":
            end = event["ts"] + event["dur"]
            slices.setdefault(event["tid"], []).append((event["ts"], end, event["name"]))
    for event in (arrow for arrow in events if arrow["ph"] in "sf"):
        around = [name for low, high, name in slices[event["tid"]] if low <= event["ts"] < high]
        assert around == (["send"] if event["ph"] == "s" else around), event
        assert len(around) == 1, event


def test_the_same_run_has_the_same_bytes_also_compressed(tmp_path: Path) -> None:
    scenario = tmp_path / "a.toml"
    scenario.write_text(
        '[topology.single_switch]\nhosts = 2\n[[job]]\nname = "a"\nworkload.osu_latency = {}\n'
    )
    for name in ("a.json.gz", "b.json.gz", "c.json"):
        run_here("run", scenario, "--trace", tmp_path / name, code=0)
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert packed == (tmp_path / "b.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "c.json").read_bytes()
    assert ".json or .gz" in run_here("run", scenario, "--trace", tmp_path / "a.txt", code=2).stderr
