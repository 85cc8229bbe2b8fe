"""The queueing discipline that the guide names for the ports of the kernel's switch."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from support import command_line
from support.wired_namespaces import namespace, pair

ROOT = Path(__file__).parents[2]
(LINE,) = re.findall(
    r"`(tc qdisc add dev swp3 root ets [^`]+)`", (ROOT / "docs/guide/control.md").read_text()
)
"""The guide's command for shares of priorities 3 and 4."""


def numbers(option: str) -> list[int]:
    """Read the numbers behind an option of the line."""
    (found,) = re.findall(rf" {option}((?: \d+)+)", LINE)
    return [int(word) for word in found.split()]


def test_bands_have_the_shares_that_priorities_have_by_default() -> None:
    keys = ("-s", "control.rules=conditional", "-s", "control.priorities=[3,4]")
    shown = command_line.run_here("show", ROOT / "scenarios/open_loop/dragonfly_1056.toml", *keys)
    weights = tomllib.loads(shown.stdout)["ets"]["weights"]
    bands, quanta = numbers("priomap"), numbers("quanta")
    assert numbers("bands") == [len(quanta)] and len(bands) == 8
    # Priority 4 alone is in the first band, which leaves the second to all others.
    assert [band == 0 for band in bands] == [priority == 4 for priority in range(8)]
    assert quanta[bands[4]] / quanta[bands[3]] == weights[4] / weights[3] == 3
    # The smallest band sends a whole packet of 1,500 B at its turn, tc-ets(8).
    assert min(quanta) >= 1_500


@pytest.mark.needs("namespaces")
def test_tc_accepts_the_line() -> None:
    with namespace("ew-shares"):
        pair("ew-shares", "swp3", "far")
        done = tc(LINE)
        # A kernel without sch_ets says so only after tc has read the whole line.
        if "kind is unknown" in done.stderr:
            return
        assert (done.returncode, done.stderr) == (0, "")
        shown = tc("tc qdisc show dev swp3").stdout
        assert "ets" in shown and "quanta 4500 1500 priomap 1 1 1 1 0 1 1 1" in shown


@pytest.mark.needs("namespaces")
def test_tc_rejects_a_line_with_a_mistake() -> None:
    with namespace("ew-shares"):
        pair("ew-shares", "swp3", "far")
        done = tc(LINE.replace("priomap", "priomop"))
        assert done.returncode != 0 and "kind is unknown" not in done.stderr


def tc(line: str) -> subprocess.CompletedProcess[str]:
    command = ["ip", "netns", "exec", "ew-shares", *line.split()]
    return subprocess.run(command, capture_output=True, text=True, check=False)
