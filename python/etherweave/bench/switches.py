"""Which switch each host hangs on, kept beside a campaign: for pages, not for launches."""

import json
from collections.abc import Mapping
from pathlib import Path

from etherweave.bench.store import write_json

SWITCHES = "switches.json"


def keep(directory: Path, switches: Mapping[str, str]) -> None:
    """Write the switches of hosts into a store; nothing where the site tells none."""
    if switches:
        write_json(directory / SWITCHES, dict(switches))


def kept(directory: Path) -> dict[str, str]:
    """Read them; empty where there are none.

    Raises
    ------
    ValueError
        When the file is damaged.
    """
    path = directory / SWITCHES
    if not path.exists():
        return {}
    try:
        facts = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(facts, dict) or not all(isinstance(one, str) for one in facts.values()):
        raise ValueError(f"{path}: expected switches by host")
    return facts
