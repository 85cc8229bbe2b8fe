"""Storms of pauses and cyclic waits, which several tests measure."""

import math

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, health, rows, stream_rates
from etherweave.bmwg.model import BenchTest, Case, Included, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, PERIOD_US, Changes, at_line_rate
from etherweave.bmwg.throughput import DUPLEX, pair_jobs
from etherweave.bmwg.traffic import incast, named

AXES = ("cause", "watchdog")
WATCHDOG = {"detection": "200us", "restoration": "200us", "poll": "100us"}
"""Times of SONiC's watchdog over a thousand, as runs are shorter."""
STORM_US = (200, 1_200)  # Start and end of the storm [us].
END_US = 2_000
XOFF = "100kB"  # Threshold of a port and priority at which a small buffer fills at once.
CYCLE_END_US = 10_000  # End of a run where waits may be cyclic [us].
MESSAGES = 16  # Messages of a flow where waits may be cyclic, after which a run ends.


def storm_test(message: int) -> BenchTest:
    """Test storms beside messages of a size, and cyclic waits."""
    return BenchTest(
        lambda fabric, _: [*_storm_cases(fabric, message), *_cycle_cases(fabric)],
        lambda fabric, trials: [_storm_table(fabric, trials)],
    )


def _storm_cases(fabric: BenchFabric, message: int) -> list[Case]:
    """Let a host pause its leaf while all hosts write, with and without a watchdog."""
    if fabric.flow_control != "pfc":
        labels = labelled(AXES, "a NIC that pauses", "none")
        return [Case(labels, {}, f"needs flow control pfc; the fabric has {fabric.flow_control}")]
    own = dict(fabric.written.get("flow_control", {}).get("pfc", {}))
    own.pop("watchdog", None)
    broken = fabric.pairs()[0][1]
    start, end = (f"{time}us" for time in STORM_US)
    storm = {"host": fabric.host_names[broken], "from": start, "until": end}
    made = []
    for name, keys in (("none", {}), ("drop", {"watchdog": WATCHDOG})):
        changes = {
            "job": pair_jobs(fabric, message, 1, DUPLEX),
            "faults": {"pause_storm": [storm]},
            "flow_control": {"pfc": {**own, **keys}},
            "observe": {"period": f"{PERIOD_US}us", "flows": ["* -> *"]},
            "run": {"end": f"{END_US}us"},
        }
        made.append(Case(labelled(AXES, "a NIC that pauses", name), changes))
    return made


def _cycle_cases(fabric: BenchFabric) -> list[Case]:
    """Write along shortest paths that turn upwards again, because links are missing."""
    leaves, links = list(fabric.leaves.values()), _links_of_leaves(fabric)
    if len(leaves) < 4 or len(links) != len(leaves) or any(len(own) < 4 for own in links):
        return []
    # Leaf i keeps spines i and i + 1, so that traffic to leaf i + 2 passes by leaf i + 1.
    failed = [
        link
        for leaf, own in enumerate(links)
        for at, link in enumerate(own)
        if at not in (leaf % len(own), (leaf + 1) % len(own))
    ]
    jobs = [
        incast([source], sink, MIB, messages=MESSAGES)
        for at, hosts in enumerate(leaves)
        for source, sink in zip(hosts, leaves[(at + 2) % len(leaves)], strict=False)
    ]
    kind = next(iter(fabric.resolved["topology"]))
    changes: Changes = {
        "job": named(jobs),
        f"topology.{kind}.as_built": {"failed": failed},
        "routing": "shortest_path",
        "observe": {"period": f"{PERIOD_US}us", "flows": ["* -> *"]},
        "run": {"end": f"{CYCLE_END_US}us"},
        **at_line_rate(fabric, 4 * MIB),
    }
    shallow = {"switch.ingress_threshold": {"static": XOFF}}
    thresholds = {"missing links": {}, f"missing links, XOFF at {XOFF}": shallow}
    return [
        Case({"cause": name, "watchdog": "none"}, {**changes, **keys}, may_deadlock=True)
        for name, keys in thresholds.items()
    ]


def _links_of_leaves(fabric: BenchFabric) -> list[list[str]]:
    links: dict[str, list[str]] = {leaf: [] for leaf in fabric.leaves}
    for link in fabric.uplink_names:
        for end in link.split(" - "):
            if end in links:
                links[end].append(link)
    return list(links.values())


def _storm_table(fabric: BenchFabric, trials: Included) -> ReportTable:
    """Report whether there was a storm or a deadlock, and what flows had meanwhile."""

    def recovery(result: Result) -> float | None:
        ends = [end for (end,) in rows(result, "storms", "restored_ns") if not math.isnan(end)]
        return max(ends) / 1e3 - STORM_US[1] if ends else None

    metrics = [
        REPORTED.metric(
            "deadlock", lambda run: "yes" if run.summary["finished"] == "stuck" else "no"
        ),
        REPORTED.metric("storms detected", lambda run: len(list(rows(run, "storms", "node")))),
        REPORTED.metric("restored after the storm [us]", recovery),
        BOUNDARY.metric("longest zero throughput of a flow [us]", silence_us),
        BOUNDARY.metric("goodput, all flows [Gb/s]", lambda run: sum(stream_rates(run))),
        *health(fabric),
        REPORTED.metric("run [us]", lambda run: run.summary["end_ns"] / 1e3),
    ]
    note = (
        "Deadlock: no event can make progress, which is proved, not waited for. Longest zero "
        f"throughput: whole periods of {PERIOD_US} us without acknowledged payload; in a deadlock "
        f"they last until {CYCLE_END_US:,} us, though the run ends once it is proved; the other "
        "figures are of the run. Without a watchdog the flows of the NIC go on as "
        "the storm ends; with it the port drops their packets until it is restored, later than "
        "that, so that they are silent for longer. Pauses are summed over ports and the whole run."
    )
    return table("storms", "Storms and deadlocks", AXES, metrics, trials, note=note)


def silence_us(result: Result) -> float | None:
    """Find the longest time in which a flow has data and none of it is acknowledged [us].

    Flows that wait when a deadlock is proved do so until the run would have ended.
    """
    silent: dict[int, float] = {}
    sampled: dict[int, float] = {}
    longest: float | None = None
    names = ("flow", "time_ns", "goodput_gbps", "duration_ns")
    for flow, time, rate, duration in rows(result, "flow_samples", *names):
        silent[flow] = 0.0 if rate else silent.get(flow, 0.0) + duration / 1e3
        sampled[flow] = time / 1e3
        longest = max(longest or 0.0, silent[flow])
    if longest is None or result.summary["finished"] != "stuck":
        return longest
    end = max(sampled.values())
    last = max(silent[flow] for flow, time in sampled.items() if time == end)
    return max(longest, CYCLE_END_US - end + last)
