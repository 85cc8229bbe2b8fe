"""Rows about what it takes to observe ranks: processor time beside the same run without that."""

import functools
import json
from pathlib import Path
from typing import Any

from rows import Row, child

SCENARIOS = Path(__file__).parents[1] / "scenarios"
CASES: dict[str, dict[str, Any]] = {
    "halo3d_tcp": {},
    "halo3d_roce": {},
    "fft_roce": {"job.0.workload.fft.iterations": 200},
    "fft_tcp": {"job.0.workload.fft.iterations": 200},
    "flow_level": {},
}
"""Scenarios, with keys that are changed. A transform sends short messages only."""
PAIRS = 5
"""Number of runs of each kind, in turns: other processes disturb both alike."""

CHILD = """
import json, sys, time
import etherweave
scenario, changes, pairs = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
def spent(changes, tables):
    started = time.process_time()
    result = etherweave.run(scenario, changes, threads=1)
    for name in tables:
        result.tables[name]
    return time.process_time() - started
ranks = {**changes, "observe.ranks": True}
kinds = [(changes, []), (ranks, ["path"]), (ranks, ["path", "activities", "transfers"])]
plain, path, all_tables = map(min, zip(*([spent(*kind) for kind in kinds] for _ in range(pairs))))
print(json.dumps({"plain_s": plain, "path": path / plain - 1, "tables": all_tables / plain - 1}))
"""


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    return [Row(f"observed {name}", functools.partial(measure, name)) for name in CASES]


def measure(name: str) -> dict[str, Any]:
    """Run a scenario in turns without and with its ranks observed, and with all tables read."""
    pairs = child(CHILD, str(SCENARIOS / f"{name}.toml"), json.dumps(CASES[name]), str(PAIRS))
    return {"row": f"observed {name}", **{key: round(value, 4) for key, value in pairs.items()}}
