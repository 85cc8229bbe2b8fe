"""Cases of the validation set of uet-htsim, the reference simulator of Ultra Ethernet.

Times are those of the sender: when the last acknowledgement of a flow has come.
More cases have traffic of Etherweave: `bench/peers/uet_htsim.py` runs them on uet-htsim.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

import polars as pl

from etherweave.api.results import Result
from etherweave.study.experiments import RunExperiment

Results: TypeAlias = Mapping[str, Result]
Metric: TypeAlias = Callable[[Results], float]
Pair: TypeAlias = tuple[int, int]
Flow: TypeAlias = tuple[int, int, int]

LOAD = 2_000_000  # Bytes of a flow.
PERMUTATION = (8, 4, 13, 10, 12, 15, 0, 9, 14, 7, 5, 3, 11, 6, 2, 1)
"""Receiver of each of 16 hosts."""
OUTCAST = ((1, 0), (2, 0), *((2, host) for host in range(4, 13)), (3, 0))
FAR = tuple((3, host) for host in range(13, 22))


def flows(pairs: Iterable[Pair]) -> dict[str, object]:
    """Write flows that start together as a list."""
    return listed(f"{source},{destination},{LOAD},0" for source, destination in pairs)


def listed(lines: Iterable[str]) -> dict[str, object]:
    """Write flows as a list."""
    return {"flows": {"text": "\n".join(["source,destination,bytes,start_us", *lines])}}


SIXTEEN = flows(enumerate(PERMUTATION))
INCAST = flows((source, 15) for source in range(15))
BOTH = {"transport.uet.rccc": {"base_round_trip": "14.02272us"}, "switch.ecn.last_hop": False}
"""Credits of the receiver beside the window of the sender."""
THOUSAND = {"permutation_streams": {"ranks": 1024, "message": f"{LOAD}B"}}
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "S1": ("three_tier", {"job.0.workload": flows([(0, 13)])}),
    "S3": ("three_tier", {"job.0.workload": INCAST}),
    "S7": (
        "three_tier",
        {"topology.k_ary_fat_tree.k": 8, "job.0.workload": flows([*OUTCAST, *FAR])},
    ),
    "S8": ("three_tier", {"transport.uet.entropies": 128, "job.0.workload": SIXTEEN}),
    "S10": ("three_tier", {"transport.uet.entropies": 1, "job.0.workload": SIXTEEN}),
    "S14": ("leaf_spine", {"job.0.workload": THOUSAND}),
    "LS1": (
        "three_tier",
        {
            "topology.k_ary_fat_tree.k": 16,
            "transport.uet.entropies": 128,
            "transport.uet.load_balancing": "oblivious",
            "job.0.workload": THOUSAND,
        },
    ),
    "LS3": (
        "three_tier",
        {
            "topology.k_ary_fat_tree.k": 16,
            "transport.uet.entropies": 128,
            "transport.uet.load_balancing": "bitmap",
            "job.0.workload": THOUSAND,
        },
    ),
    "FS5": (
        "three_tier",
        {
            "topology.k_ary_fat_tree.k": 16,
            "topology.k_ary_fat_tree.as_built.slow": [
                {"from": f"core{number}", "to": "spine0", "rate": "25Gb/s"} for number in range(8)
            ],
            "switch.threshold_rate": "100Gb/s",
            "transport.uet.entropies": 128,
            "transport.uet.load_balancing": "reps",
            "transport.uet.ack_trigger": "4000B",
            "job.0.workload": THOUSAND,
        },
    ),
    "R1": ("credits", {"job.0.workload": flows([(0, 13)])}),
    "R3": ("credits", {"job.0.workload": INCAST}),
    "R4": (
        "credits",
        {
            "topology.k_ary_fat_tree.k": 8,
            "job.0.workload": flows((source, 33) for source in range(128) if source != 33),
        },
    ),
    "B6": (
        "three_tier",
        {
            **BOTH,
            "topology.k_ary_fat_tree.k": 8,
            "transport.uet.nscc.initial_window": "207500B",
            "job.0.workload": listed(["127,0,2000000,0", "95,0,250000,40", "61,0,250000,40"]),
        },
    ),
    "B8": ("three_tier", {**BOTH, "transport.uet.entropies": 128, "job.0.workload": SIXTEEN}),
    "C3": (
        "three_tier",
        {
            "topology.k_ary_fat_tree.k": 2,
            "job.0.workload": {
                "incast": {"sources": 1, "message": "4086B", "messages": 10, "outstanding": 10}
            },
        },
    ),
}
"""Scenario and keys of each case."""


def permutation(hosts: int) -> list[Flow]:
    """Draw a receiver for each host, which no other has."""
    receivers = list(range(hosts))
    random.Random(5).shuffle(receivers)
    return [(source, to, LOAD) for source, to in enumerate(receivers) if source != to]


def incast(sources: int, receiver: int) -> list[Flow]:
    """Draw flows of 100 kB, which end before a window or a credit has been learnt."""
    return [(source, receiver, 100_000) for source in range(sources)]


CREDITS, TOGETHER = ("-receiver_cc_only",), ("-sender_cc", "-receiver_cc")
SPRAYED, REPS = ("-paths", "128"), ("-load_balancing_algo", "reps")
LEAVES = ("-topo", "leaves")
OVERSUBSCRIBED: dict[str, object] = {
    "topology": {
        "fat_tree": {
            "leaves": 8,
            "hosts_per_leaf": 16,
            "cores": 4,
            "links_per_core": 1,
            "host_cable": "200m",
            "uplink_cable": "200m",
        }
    },
    "switch.egress_threshold": {"static": "115640B"},
    "switch.ecn.queue_min": "24780B",
    "switch.ecn.queue_max": "99120B",
    "transport.uet.retransmission_timeout": "72768ns",
    "transport.uet.rccc": {"base_round_trip": "9.34848us", "oversubscription": 4},
}
"""Leaves with four times the hosts of their uplinks, and thresholds as in leaf_spine."""
OWN: dict[str, tuple[int, list[Flow], tuple[str, ...]]] = {
    "credits.permutation": (8, permutation(128), (*CREDITS, *SPRAYED)),
    "credits.reps": (8, permutation(128), (*CREDITS, *SPRAYED, *REPS)),
    "credits.leaves": (8, permutation(128), (*CREDITS, *SPRAYED, *LEAVES)),
    "credits.incast": (8, incast(64, 127), CREDITS),
    "window.reps": (8, permutation(128), ("-sender_cc_only", *SPRAYED, *REPS)),
    "both.permutation": (8, permutation(128), (*TOGETHER, *SPRAYED)),
    "both.incast": (4, incast(8, 15), TOGETHER),
}
"""Ports of a switch, flows, and options of htsim_uec of each case with traffic of Etherweave."""


def own(ports: int, sent: list[Flow], options: tuple[str, ...]) -> tuple[str, dict[str, object]]:
    """Return the scenario and keys of such a case."""
    keys: dict[str, object] = {
        **(OVERSUBSCRIBED if LEAVES[0] in options else {"topology.k_ary_fat_tree.k": ports}),
        "job.0.workload": listed(f"{source},{to},{size},0" for source, to, size in sent),
        **(BOTH if TOGETHER[0] in options else {}),
        **({"transport.uet.entropies": 128} if SPRAYED[0] in options else {}),
        **({"transport.uet.load_balancing": "reps"} if REPS[0] in options else {}),
    }
    return "credits" if CREDITS[0] in options else "three_tier", keys


ALL = {**CASES, **{name: own(*case) for name, case in OWN.items()}}


def experiments(full: bool) -> list[RunExperiment]:
    """List a run for every case; a complete study has no more."""
    del full
    return [RunExperiment(name, *case) for name, case in ALL.items()]


def metrics() -> dict[str, Metric]:
    """Every figure by its id."""
    tails = {f"{name}.tail": partial(tail, name) for name in ALL}
    return {**tails, "S7.flow": first_flow}


def tail(name: str, results: Results) -> float:
    """Return the time of the last flow [us]."""
    return max(map(float, _times(results[name])["time"]))


def first_flow(results: Results) -> float:
    """Return the time of the flow from host 1 to host 0 [us]."""
    times = _times(results["S7"]).filter(
        (pl.col("source_host") == "host1") & (pl.col("destination_host") == "host0")
    )
    return float(times["time"].item())


def _times(result: Result) -> pl.DataFrame:
    columns = ("source_host", "destination_host", pl.col("acknowledged_ns") / 1e3)
    return result.to_polars("flows").select(*columns).rename({"acknowledged_ns": "time"})
