"""CAMINOS on the same tree, in pairs with ours: development only.

CAMINOS (BSC and University of Cantabria) simulates switches cycle by cycle; it knows neither
Ethernet frames nor PFC. Counted is what both have: a packet that crosses a link.
"""

import re
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent / "target" / "peers"
VERSION = "0.6.3"
PAIRS = 5


def install() -> Path:
    """Install CAMINOS from the registry, unless it is there; gives its command."""
    command = ROOT / "bin" / "caminos"
    if not command.exists():
        words = ["cargo", "install", "caminos", "--version", VERSION, "--locked", "--quiet"]
        subprocess.run(
            [*words, "--root", str(ROOT), "--target-dir", str(ROOT / "build")], check=True
        )
    return command


def run(command: Path) -> float:
    """Run it once; gives its packet-hops per second."""
    started = time.monotonic()
    text = subprocess.check_output([str(command), str(HERE / "caminos.cfg")], text=True)
    return hops(text) / (time.monotonic() - started)


def hops(text: str) -> float:
    """Count packet-hops: what CAMINOS prints of links between switches, and both links of hosts."""
    found = re.search(r"total_packet_per_hop_count\s*:\s*\[([^\]]*)\]", text)
    if found is None:
        raise ValueError("CAMINOS printed no total_packet_per_hop_count")
    packets = [float(count) for count in found[1].split(",") if count.strip()]
    return sum(count * (links + 2) for links, count in enumerate(packets))


def compare(ours: Callable[[], float]) -> dict[str, Any]:
    """Run both in turn; ``ours`` gives our packet-hops per second of one run."""
    command = install()
    pairs = [(run(command), ours()) for _ in range(PAIRS)]
    theirs, mine = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(mine / theirs for theirs, mine in pairs)
    return {
        "row": "caminos_128",
        "peer": f"caminos {VERSION}",
        "peer_hops_per_s": round(theirs),
        "hops_per_s": round(mine),
        "ratio": round(ratio, 1),
    }
