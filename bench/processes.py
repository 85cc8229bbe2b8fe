"""Scaling of a simulation over MPI processes: measured here, and predicted for more.

    python bench/processes.py bench/permutation_1024.toml 1 2 4

For each number of processes: the least real time of several runs, and of ``mpi_windows.c`` the
windows, messages and bytes between processes, and by processor time how long the slowest process
of each window served events. Predicted is the sum of the slowest and of an exchange for each
window, timed alone. The last lines predict more processes, each on a core of its own, for networks
of given latency: with the largest imbalance and the largest bytes of those measured.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
TRIES = 5
FURTHER = (8, 16, 64, 256)
"""Numbers of processes that are predicted only."""
LATENCIES_US = (1.5, 20.0)
"""Latencies of a message between processes: RDMA of a cluster, and TCP."""
BYTES_PER_S = 10e9
"""That a process sends or receives."""


@dataclass(frozen=True)
class Measured:
    """A simulation on some processes."""

    processes: int
    wall_s: float
    windows: int
    messages: int
    nbytes: int
    served_s: float
    slowest_s: float
    exchange_us: float

    @property
    def predicted_s(self) -> float:
        """The slowest of each window, and an exchange for each."""
        return self.slowest_s + self.windows * self.exchange_us / 1e6

    @property
    def imbalance(self) -> float:
        """Excess of the slowest of each window over the mean."""
        return self.slowest_s * self.processes / self.served_s


def measure(scenario: Path, processes: int, library: Path) -> Measured:
    """Run a simulation on some processes, several times; gives the one that was done first."""
    return min(
        (_once(scenario, processes, library) for _ in range(TRIES)), key=lambda once: once.wall_s
    )


def _once(scenario: Path, processes: int, library: Path) -> Measured:
    file = library.with_suffix(".json")
    file.unlink(missing_ok=True)
    launch = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(processes)]
    launch += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    preload = ["env", f"LD_PRELOAD={library}"]
    program = [sys.executable, "-m", "etherweave", "run", str(scenario), "--threads", "1", "--json"]
    done = subprocess.run(
        [*launch, *preload, *program],
        env=os.environ | {"ETHERWEAVE_WINDOWS": str(file)},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    summary = json.loads(done.stdout)
    if not file.exists():  # One process without MPI: it meets nobody.
        wall = summary["wall_s"]
        return Measured(1, wall, 0, 0, 0, wall, wall, 0)
    counted = json.loads(file.read_text())
    counted["nbytes"] = counted.pop("bytes")
    return Measured(processes, **counted)


def further(known: list[Measured], processes: int, latency_us: float) -> float:
    """Predict the time on more processes [s].

    Two collective operations for each window, of ``log2`` steps, and the bytes of the process that
    receives an equal share; bytes grow with the share of hosts that are elsewhere.
    """
    most = max(known, key=lambda row: row.processes)
    alone = min(measured.served_s for measured in known)
    share = alone / processes * max(measured.imbalance for measured in known)
    elsewhere = (1 - 1 / processes) / (1 - 1 / most.processes)
    sent = most.nbytes * elsewhere / processes / BYTES_PER_S
    return share + most.windows * 2 * latency_us / 1e6 * math.log2(processes) + sent


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenario", type=Path)
    parser.add_argument("processes", type=int, nargs="+")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        library = Path(home) / "mpi_windows.so"
        source = FOLDER / "mpi_windows.c"
        subprocess.run(["mpicc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        known = [measure(words.scenario, count, library) for count in words.processes]
    print(
        "processes  wall [s]  served [s]  slowest [s]  windows  messages  KB/window  exchange [us]"
    )
    for row in known:
        windows = max(row.windows, 1)
        print(
            f"{row.processes:9}  {row.wall_s:8.2f}  {row.served_s:10.2f}  {row.slowest_s:11.2f}"
            f"  {row.windows:7}  {row.messages / windows:8.1f}  {row.nbytes / windows / 1e3:9.1f}"
            f"  {row.exchange_us:13.1f}   predicted {row.predicted_s:.2f} s"
        )
    if known[-1].processes > 1:
        for count in FURTHER:
            times = [further(known, count, latency) for latency in LATENCIES_US]
            text = ", ".join(
                f"{time:.2f} s at {latency:g} us"
                for time, latency in zip(times, LATENCIES_US, strict=True)
            )
            print(f"{count:9}  predicted {text}")


if __name__ == "__main__":
    main()
