"""SONiC's counters by gNMI, as ``gnmic`` prints them: tables of SAI below the names of ports."""

import json
from collections.abc import Sequence

from etherweave.bench.telemetry.switches import sai
from etherweave.bench.telemetry.switches.reader import PortCounters, SwitchReader


def parse(answers: Sequence[str]) -> dict[str, PortCounters]:
    """Read notifications of ``COUNTERS/Ethernet*``; a path of one port names it last."""
    tables = sai.ports(json.loads(answers[0]))
    return {name.rpartition("/")[2]: sai.counters(texts) for name, texts in tables}


READER = SwitchReader(
    "sonic_gnmi",
    "JSON of COUNTERS_DB's COUNTERS/Ethernet*",
    (("get", "--format", "json", "--target", "COUNTERS_DB", "--path", "COUNTERS/Ethernet*"),),
    parse,
)
