"""CAMINOS, in pairs with this simulator: development only.

CAMINOS (BSC and University of Cantabria) simulates switches cycle by cycle; it knows neither
Ethernet frames nor PFC. Counted is what both have: a packet that crosses a link or a switch.
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


def tree_speed() -> float:
    """Run the tree of ``permutation_128.toml``; counted are links, both links of hosts too."""
    return speed(HERE / "caminos.cfg", ends=2)


def speed(configuration: Path, ends: int) -> float:
    """Run it once; gives its packet-hops per second, set-up included."""
    command = install()
    started = time.monotonic()
    text = subprocess.check_output([str(command), str(configuration)], text=True)
    return hops(text, ends) / (time.monotonic() - started)


def install() -> Path:
    """Install CAMINOS from the registry, unless it is there; gives its command."""
    command = ROOT / "bin" / "caminos"
    if not command.exists():
        words = ["cargo", "install", "caminos", "--version", VERSION, "--locked", "--quiet"]
        subprocess.run(
            [*words, "--root", str(ROOT), "--target-dir", str(ROOT / "build")], check=True
        )
    return command


def hops(text: str, ends: int) -> float:
    """Count packet-hops: what CAMINOS prints of links between switches, and ``ends`` more each."""
    match = re.search(r"total_packet_per_hop_count\s*:\s*\[([^\]]*)\]", text)
    if match is None:
        raise ValueError("CAMINOS printed no total_packet_per_hop_count")
    packets = [float(count) for count in match[1].split(",") if count.strip()]
    return sum(count * (links + ends) for links, count in enumerate(packets))


def compare(
    row: str, theirs: Callable[[], float], simulated: Callable[[], float]
) -> dict[str, Any]:
    """Run both in turn; each gives its packet-hops per second of one run."""
    install()  # its compilation is not to slow down the first pair
    runs = [(theirs(), simulated()) for _ in range(PAIRS)]
    their_median, our_median = (statistics.median(column) for column in zip(*runs, strict=True))
    ratio = statistics.median(mine / other for other, mine in runs)
    return {
        "row": row,
        "peer": f"caminos {VERSION}",
        "peer_hops_per_s": round(their_median),
        "hops_per_s": round(our_median),
        "ratio": round(ratio, 1),
    }
