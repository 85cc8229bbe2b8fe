"""Rows about skipped repetitions: how much faster runs are, and how far their tables are off."""

import functools
import json
from pathlib import Path
from typing import Any

from rows import Row, child

HERE = Path(__file__).parent
TCP = {"transport": {"tcp": {}}}
MARKS = {"switch.ecn": {"queue_min": "50kB", "queue_max": "200kB", "share_max": 0.1}}
DCQCN = {"transport": {"roce": {"dcqcn": {}}}, **MARKS}


def halo3d(**keys: Any) -> dict[str, Any]:
    """Exchange halos 400 times."""
    return {"halo3d": {"pex": 4, "pey": 2, "pez": 2, "iterations": 400, **keys}}


def permutation(ranks: int, octets: str) -> dict[str, Any]:
    """Send a long message from each rank to another."""
    return {"permutation": {"ranks": ranks, "bytes": octets, "iterations": 1}}


def collective(operation: str, **keys: Any) -> dict[str, Any]:
    """Call a collective 400 times."""
    size = {operation: {key: keys.pop(key) for key in ("bytes", "root") if key in keys}}
    own = {"ranks": 16, "operation": size, "warm_up": 2, "iterations": 400, **keys}
    return {"osu_collective": own}


RING = collective("allreduce", bytes="256KiB", algorithm="ring")
TREE = collective("allreduce", bytes="256KiB", algorithm="rabenseifner")
PAIRWISE = collective("alltoall", bytes="16KiB", algorithm="pairwise")
INCAST = collective("gather", bytes="64KiB", root=0)
RING_ONCE = collective(
    "allreduce", bytes="64MiB", algorithm="ring", ranks=64, warm_up=0, iterations=1
)
GATHER = collective("gather", bytes="400MB", root=0, ranks=3, warm_up=0, iterations=1)
FFT = {"fft": {"pex": 4, "pey": 2, "pez": 2, "iterations": 400}}
HPL = {"hpl": {"rows": 4, "columns": 4, "size": 4096, "block": 64}}
TRAINING = {
    "training": {
        "ranks": 128,
        "batch": 128,
        "iterations": 40,
        "gradient_bytes": 2,
        "per_teraflop": "5ms",
        "parallel": {"tensor": 8, "pipeline": 2},
        "node": {"accelerators": 8, "rate": "2400Gb/s", "latency": "25ns"},
        "model": {
            "layers": 4,
            "hidden": 512,
            "feed_forward": 2048,
            "key_value": 512,
            "vocabulary": 8000,
            "sequence": 512,
        },
    }
}
RAILS = {
    "topology": {"rail_optimised": {"servers": 16, "servers_per_pod": 16, "spines": 8}},
    "interconnect.profile": "ethernet-100-roce",
}
SELECTIVE = {"reliability": "selective_repeat", "ack_every": 1}
HPCC = {"transport": {"roce": {**SELECTIVE, "hpcc": {}}}}
SWIFT = {"transport": {"roce": {**SELECTIVE, "swift": {}}}}
UET = {"transport": {"uet": {"delivery": "rod", "nscc": {}}}, **MARKS}
MESSAGES = {
    "pair": permutation(2, "400MB"),
    "gather": GATHER,
    "permutation": permutation(8, "200MB"),
    "permutation_16": permutation(16, "200MB"),
}
"""Workloads of long messages, without a loop."""
CONTROLS = {"": {}, "_dcqcn": DCQCN, "_hpcc": HPCC, "_swift": SWIFT}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "halo3d": (halo3d(), {}),
    "fft": (FFT, {}),
    "ring": (RING, {}),
    "tree": (TREE, {}),
    "all_to_all": (PAIRWISE, {}),
    "incast": (INCAST, {}),
    "halo3d_dcqcn": (halo3d(), DCQCN),
    "ring_dcqcn": (RING, DCQCN),
    "all_to_all_dcqcn": (PAIRWISE, DCQCN),
    "incast_dcqcn": (INCAST, DCQCN),
    "halo3d_tcp": (halo3d(), TCP),
    "fft_tcp": (FFT, TCP),
    "ring_tcp": (RING, TCP),
    "all_to_all_tcp": (PAIRWISE, TCP),
    "incast_tcp": (INCAST, TCP),
    "hpl": (HPL, {}),
    "training_128": (TRAINING, RAILS),
    "ring_once": (RING_ONCE, {"topology": {"single_switch": {"hosts": 64}}}),
    "all_to_all_hpcc": (PAIRWISE, HPCC),
    "all_to_all_swift": (PAIRWISE, SWIFT),
    "all_to_all_uet": (PAIRWISE, UET),
    **{
        f"messages_{name}{control}": (workload, keys)
        for name, workload in MESSAGES.items()
        for control, keys in CONTROLS.items()
    },
}
"""Workload and other keys of each row."""
COMPARED = """
import json, sys, etherweave
def run(changed):
    result = etherweave.run(sys.argv[1], overrides=changed, threads=1)
    rows = result.to_polars("iterations").sort("job", "rank", "iteration")
    return result, rows["start_ns"] + rows["duration_ns"]
keys = json.loads(sys.argv[2])
(full, ends), (skipping, others) = run(keys), run({**keys, "run.fast_forward": {"error": 0.01}})
errors = (others / ends - 1).abs()
skips = skipping.to_polars("skips") if "skips" in skipping.tables else None
skipped = 0 if skips is None else int(skips["events"].sum())
print(json.dumps({
    "full_s": full.summary["wall_s"],
    "forward_s": skipping.summary["wall_s"],
    "times": full.summary["wall_s"] / skipping.summary["wall_s"],
    "levels": [] if skips is None else sorted(set(skips["level"])),
    "events_skipped_share": skipped / full.summary["events"],
    "end_error": skipping.summary["end_ns"] / full.summary["end_ns"] - 1,
    "end_error_bound": skipping.summary["skipped"]["bound_share"],
    "iteration_end_error_median": errors.median(),
    "iteration_end_error_max": errors.max(),
}))
"""


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    return [Row(f"forward_{name}", functools.partial(measure, name)) for name in CASES]


def measure(name: str) -> dict[str, Any]:
    """Run in full and with skips; gives the errors of all ends of iterations, as shares."""
    workload, keys = CASES[name]
    changed = {**keys, "job.0.workload": workload}
    compared = child(COMPARED, str(HERE / "forward.toml"), json.dumps(changed))
    return {"row": f"forward_{name}", "threads": 1, **compared}
