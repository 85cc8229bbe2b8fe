"""Times the workbench: ``make bench`` prints a table and appends it to bench/history.jsonl.

Each row runs in processes of its own, several times; the fastest run counts, for others on the
machine only ever slow it down. ``--only GLOB`` runs the rows of that name.
"""

import argparse
import datetime
import fnmatch
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import commands
import deployments
import designs
import forward
import observing
import openloop
import openloop_growth
import overhead
import progress
import simulations
import sweep_overhead

from etherweave import __version__
from etherweave.api.machine import machine

HISTORY = Path(__file__).parent / "history.jsonl"


def main() -> None:
    """Measure the rows, print them and keep them."""
    glob = arguments().only
    rows = [
        *simulations.rows(),
        *forward.rows(),
        *observing.rows(),
        *openloop.rows(),
        *openloop_growth.rows(),
        *designs.rows(),
        *deployments.rows(),
        *overhead.rows(),
        *sweep_overhead.rows(),
        *commands.rows(),
        *progress.rows(),
    ]
    wanted = [row for row in rows if fnmatch.fnmatchcase(row.name, glob)]
    if not wanted:
        sys.exit(f"no row is called {glob}; known: {', '.join(row.name for row in rows)}")
    about = facts()
    with HISTORY.open("a", encoding="utf-8") as history:
        for row in wanted:
            print(row.name, file=sys.stderr)
            keep(history, about, row.measure())


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Time the workbench.")
    parser.add_argument("--only", metavar="GLOB", default="*", help="rows to run (default: all)")
    return parser.parse_args()


def facts() -> dict[str, str]:
    """Describe the time, the version and the machine."""
    stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    # A row's own threads are those that it ran on.
    known = {"machine_threads" if name == "threads" else name: it for name, it in machine().items()}
    return {"date": stamp, "commit": commit, "version": __version__, **known}


def keep(history: Any, about: dict[str, str], row: dict[str, Any]) -> None:
    """Print a row and append it to the history."""
    both = row.keys() & about.keys()
    if both:
        raise ValueError(f"a row and the machine both have {sorted(both)}")
    print("  ".join(f"{key}={value}" for key, value in row.items()))
    history.write(json.dumps({**row, **about}) + "\n")
    history.flush()  # an interrupted run keeps the rows that it has


if __name__ == "__main__":
    main()
