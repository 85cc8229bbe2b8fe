"""Planted mistakes: a random change of what is exported for a random scenario is found.

What the linter leaves to the switch, or does not compare, is not in `DECISIVE`.
"""

import json
import random
from typing import NamedTuple

import pytest

from etherweave.control.qos.derive import policy
from etherweave.control.qos.nos import files
from support.hostile import rounds
from support.linted import CORE, LEAF, SCENARIO, WHOLE, Files, Tables, found

pytestmark = pytest.mark.fuzz

CHANGES = 60  # Changes of a round, ten of each scenario.
DECISIVE: dict[str, dict[str, str]] = {
    "drop": {
        "PORT_QOS_MAP": "pfc_enable tc_to_pg_map tc_to_queue_map pfcwd_sw_enable",
        "TC_TO_PRIORITY_GROUP_MAP": "*",
        "TC_TO_QUEUE_MAP": "*",
        "QUEUE": "wred_profile scheduler",
        "SCHEDULER": "weight",
        "WRED_PROFILE": "ecn wred_green_enable green_min_threshold green_max_threshold",
        "BUFFER_PG": "profile",
        "BUFFER_QUEUE": "profile",
        "BUFFER_PROFILE": "pool",
        "BUFFER_POOL": "*",
        "BUFFER_PORT_INGRESS_PROFILE_LIST": "profile_list",
        "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list",
        "PFC_WD": "detection_time",
        "CABLE_LENGTH": "*",
    },
    "change": {
        "PORT_QOS_MAP": "*",
        "DSCP_TO_TC_MAP": "*",
        "TC_TO_PRIORITY_GROUP_MAP": "*",
        "TC_TO_QUEUE_MAP": "*",
        "QUEUE": "scheduler wred_profile",
        "SCHEDULER": "weight type",
        "WRED_PROFILE": "ecn",
        "BUFFER_PG": "profile",
        "BUFFER_QUEUE": "profile",
        "BUFFER_PROFILE": "pool",
        "BUFFER_POOL": "mode type",
        "BUFFER_PORT_INGRESS_PROFILE_LIST": "profile_list",
        "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list",
        "PFC_WD": "action",
        "PORT": "mtu speed",
    },
}
"""Fields of `config_db.json` by table, `*` for all, in which every such change is a mistake."""


class Change(NamedTuple):
    """A field of an entry of a table that is dropped, or whose value is another."""

    kind: str
    table: str
    entry: str
    field: str

    def apply(self, tables: Tables) -> None:
        entry = tables[self.table][self.entry]
        value = entry.pop(self.field)
        if self.kind == "change":
            entry[self.field] = str(int(value) + 1) if value.isdigit() else f"{value}x"


def scenario(chance: random.Random) -> dict[str, object]:
    """Draw two lossless priorities and the shares of all classes."""
    first, second = sorted(chance.sample(range(1, 7), 2))
    share = chance.randrange(10, 60)
    weights = [100 - share - share // 2, *[0] * 7]
    weights[first], weights[second] = share, share // 2
    priorities = {"pfc": {"priorities": [first, second]}}
    return SCENARIO | {"flow_control": priorities, "ets": {"weights": weights}}


def changes(tables: Tables) -> list[Change]:
    """Give every decisive change of a switch."""
    return [
        Change(kind, table, entry, field)
        for kind, places in DECISIVE.items()
        for table, patterns in places.items()
        for entry, fields in tables.get(table, {}).items()
        for field in fields
        if {"*", field} & set(patterns.split())
    ]


def exported(chance: random.Random) -> Files:
    """Give what is exported for a random scenario, which passes."""
    written = dict(files(policy(scenario(chance), options=WHOLE), "sonic"))
    assert found(written) == {}
    return written


def test_a_random_change_of_what_decides_about_losses_is_found() -> None:
    missed = []
    for chance in rounds(4):
        for _ in range(CHANGES // 10):
            written = exported(chance)
            for name in chance.choices([LEAF, CORE], k=10):
                tables = json.loads(written[name])
                change = chance.choice(changes(tables))
                change.apply(tables)
                if not found(written | {name: json.dumps(tables)}):
                    missed.append((name, change))
    assert missed == []
