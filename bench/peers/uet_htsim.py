"""uet-htsim, the reference simulator of Ultra Ethernet: development only.

Both run a random permutation of 1,024 hosts by 2 MB on three tiers, with the window of the sender,
in pairs. As a program, prints what uet-htsim gives for the cases of `studies/uec-2025` with traffic
of Etherweave.
"""

import os
import re
import runpy
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from rows import child

HERE = Path(__file__).parents[2]
ROOT = HERE / "target" / "peers" / "uet-htsim"
SOURCE = "https://github.com/ultraethernet/uet-htsim"
VERSION = "40ccb0526bb6297eeb22ab33f9934fb35278dbaf"
MATRIX = "connection_matrices/perm_1024n_1024c_0u_2000000b.cm"
PAIRS = 3
LEAVES = """Nodes 128
Tiers 2
Podsize 128

Tier 0
Downlink_speed_Gbps 100
Radix_Down 16
Radix_Up 4
Downlink_Latency_ns 1000
Oversubscribed 4
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 100
Radix_Down 8
Downlink_Latency_ns 1000
Switch_Latency_ns 0
"""
SIMULATED = """
import json, resource, sys, etherweave
keys = {
    "run.fingerprint": False,
    "topology.k_ary_fat_tree.k": 16,
    "job.0.workload": {"permutation_streams": {"ranks": 1024, "message": "2000000B"}},
}
user = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_utime
before = user()
result = etherweave.run(sys.argv[1], keys, threads=1)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"user_s": user() - before, "mib": peak / 1024, **result.summary}))
"""


def install() -> Path:
    """Build uet-htsim, unless it is there; gives the directory of its command."""
    datacenter = ROOT / "htsim" / "sim" / "datacenter"
    if not (datacenter / "htsim_uec").exists():
        build = datacenter.parent / "build"
        for words in (
            ["git", "clone", "--quiet", SOURCE, str(ROOT)],
            ["git", "-C", str(ROOT), "checkout", "--quiet", VERSION],
            ["cmake", "-S", str(build.parent), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release"],
            ["cmake", "--build", str(build), "--target", "htsim_uec"],
        ):
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return datacenter


def theirs() -> tuple[float, float]:
    """Run it once; gives seconds of a processor and MiB of memory, set-up included."""
    words = ["./htsim_uec", "-tm", MATRIX, "-sender_cc_only", "-end", "1000"]
    process = subprocess.Popen(words, cwd=install(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise ValueError(f"uet-htsim ended with status {status}")
    return usage.ru_utime, usage.ru_maxrss / 1024


def compare() -> dict[str, Any]:
    """Run both in turn; gives medians, and the median of the pairs' ratios."""
    install()  # its compilation is not to slow down the first pair
    scenario = str(HERE / "studies" / "uec-2025" / "three_tier.toml")
    pairs = [(theirs(), child(SIMULATED, scenario)) for _ in range(PAIRS)]
    median = statistics.median
    return {
        "row": "uet_htsim_1024",
        "peer": f"uet-htsim {VERSION[:8]}",
        "peer_user_s": round(median(peer[0] for peer, _ in pairs), 2),
        "user_s": round(median(run["user_s"] for _, run in pairs), 2),
        "peer_mib": round(median(peer[1] for peer, _ in pairs), 1),
        "mib": round(median(run["mib"] for _, run in pairs), 1),
        "packet_hops": pairs[0][1]["packet_hops"],
        "ratio": round(median(peer[0] / run["user_s"] for peer, run in pairs), 1),
    }


def tails() -> dict[str, float]:
    """Run each case of `OWN` with four seeds; gives medians of the time of the last flow [us]."""
    command = install() / "htsim_uec"
    study = runpy.run_path(str(HERE / "studies" / "uec-2025" / "study.py"))
    medians = {}
    for name, (ports, flows, options) in study["OWN"].items():
        lines = [f"Nodes {ports**3 // 4}", f"Connections {len(flows)}"]
        for number, (source, to, size) in enumerate(flows, start=1):
            lines.append(f"{source}->{to} id {number} start 0 size {size}")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "flows").write_text("\n".join(lines) + "\n")
            Path(folder, "leaves").write_text(LEAVES)
            words = [str(command), "-tm", "flows", *options, "-end", "3000", "-seed"]
            runs = [
                subprocess.check_output([*words, seed], cwd=folder, text=True) for seed in "1234"
            ]
        ends = [re.findall(r"finished at ([0-9.e+]+)", run) for run in runs]
        medians[name] = statistics.median(max(map(float, times)) for times in ends)
    return medians


if __name__ == "__main__":
    for case, microseconds in tails().items():
        print(f"{case}: {microseconds:.1f} us")
