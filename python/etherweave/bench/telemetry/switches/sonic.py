"""SONiC's database of counters, as ``sonic-db-dump`` prints it: names and counters by object."""

import json
from collections.abc import Sequence
from typing import Any

from etherweave.bench.telemetry.switches import sai
from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader

_NAMES = "COUNTERS_PORT_NAME_MAP"


def parse(answers: Sequence[str]) -> dict[str, PortCounters]:
    """Read a dump of COUNTERS_DB."""
    database: Any = json.loads(answers[0])
    if not isinstance(database, dict):
        raise ValueError("no object; expected a dump of COUNTERS_DB")
    names = database.get(_NAMES, {})
    objects = names.get("value", names) if isinstance(names, dict) else {}
    by_object = {f"COUNTERS:{value}": str(port) for port, value in objects.items()}
    return {
        by_object[key]: sai.counters(texts)
        for key, texts in sai.ports(database)
        if key in by_object
    }


READER = SwitchReader(
    "sonic",
    "a dump of COUNTERS_DB with COUNTERS_PORT_NAME_MAP",
    (("sonic-db-dump", "-n", "COUNTERS_DB", "-k", "COUNTERS*", "-y"),),
    parse,
)
