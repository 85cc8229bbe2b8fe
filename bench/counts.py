"""Instructions and cache misses of a packet-hop, counted by valgrind on a simulated processor.

The caches are simulated too, after those of the machine: counts hardly vary from run to run, unlike
times. Counted is the main loop only, not the set-up.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LOOP = "*Simulation*::run"
"""The function in which valgrind counts."""
CHILD = "import sys, etherweave; etherweave.run(sys.argv[1], threads=1)"
NAMES = {
    "instructions_per_hop": ["Ir"],
    "l1_misses_per_hop": ["D1mr", "D1mw"],
    "ll_misses_per_hop": ["DLmr", "DLmw"],
}


def counts(scenario: Path, hops: int) -> dict[str, Any]:
    """Count per packet-hop; ``None`` for each where valgrind is not installed."""
    if shutil.which("valgrind") is None:
        return dict.fromkeys(NAMES)
    with tempfile.TemporaryDirectory() as directory:
        options = ["--cache-sim=yes", f"--toggle-collect={LOOP}"]
        out = f"--callgrind-out-file={directory}/out"
        words = ["valgrind", "--tool=callgrind", *options, out, sys.executable, "-c", CHILD]
        done = subprocess.run(
            [*words, str(scenario)], capture_output=True, text=True, check=True, cwd=directory
        )
    return per_hop(done.stderr, hops)


def per_hop(report: str, hops: int) -> dict[str, Any]:
    """Divide what valgrind reports by the packet-hops."""
    rows = re.findall(r"^==\d+== (Events|Collected)\s*: (.*)$", report, re.MULTILINE)
    table = {name: values.split() for name, values in rows}
    totals = dict(zip(table["Events"], map(int, table["Collected"]), strict=True))
    return {
        name: round(sum(totals[part] for part in parts) / hops, 2) for name, parts in NAMES.items()
    }
