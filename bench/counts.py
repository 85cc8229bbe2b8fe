"""Instructions and cache misses of a packet-hop, counted by valgrind on a simulated processor.

The caches are simulated too: counts hardly vary from run to run, unlike times.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

LOOP = "etherweave_sim::run::Simulation::run_on"
"""The main loop of the simulator of hosts: valgrind counts it without the set-up.

The whole name: of two functions that match, one within the other, the inner one ends the counting.
"""
CHILD = """
import json, sys, etherweave
result = etherweave.run(sys.argv[1], json.loads(sys.argv[2]), threads=1)
print(result.summary["packet_hops"])
"""
NAMES = {
    "instructions_per_hop": ["Ir"],
    "l1_misses_per_hop": ["D1mr", "D1mw"],
    "ll_misses_per_hop": ["DLmr", "DLmw"],
}


def counts(scenario: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Count a changed scenario per packet-hop; each is ``None`` where valgrind is missing."""
    if not is_installed():
        return dict.fromkeys(NAMES)
    words = [sys.executable, "-c", CHILD, str(scenario), json.dumps(changes)]
    hops, totals = collect(words, f"--toggle-collect={LOOP}")
    return {**per_hop(totals, int(hops)), "counted_hops": int(hops)}


def is_installed() -> bool:
    """Say whether valgrind is there."""
    return shutil.which("valgrind") is not None


def collect(words: list[str], *options: str) -> tuple[str, dict[str, int]]:
    """Run a command in valgrind; gives what it printed, and valgrind's totals by their names."""
    with tempfile.TemporaryDirectory() as directory:
        out = f"--callgrind-out-file={directory}/out"
        valgrind = ["valgrind", "--tool=callgrind", "--cache-sim=yes", *options, out]
        done = subprocess.run(
            [*valgrind, *words], capture_output=True, text=True, check=True, cwd=directory
        )
    rows = re.findall(r"^==\d+== (Events|Collected)\s*: (.*)$", done.stderr, re.MULTILINE)
    table = {name: values.split() for name, values in rows}
    totals = [int(value) for value in table["Collected"]]
    assert any(totals), f"valgrind counted nothing: {' '.join(options)}"
    # valgrind leaves zeros at the end out.
    return done.stdout, dict(zip_longest(table["Events"], totals, fillvalue=0))


def per_hop(totals: Mapping[str, int], hops: int) -> dict[str, Any]:
    """Divide totals of valgrind by the packet-hops."""
    return {
        name: round(sum(totals[part] for part in parts) / hops, 2) for name, parts in NAMES.items()
    }
