"""Configurations for tests of the linter: a fabric that passes, and ways to spoil it."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from etherweave.control import lint
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import SonicForm

LEAF, CORE, HOST = "leaf0/config_db.json", "core0/config_db.json", "hosts/host0.sh"
Tables = dict[str, Any]
Files = dict[str, str]
WHOLE = ExportOptions(sonic=SonicForm(is_whole=True))
TREE = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 1, "links_per_core": 2}}
MARKED = {"queue_min": "150kB", "queue_max": "1500kB", "share_max": 1.0}


SCENARIO: dict[str, object] = {
    "topology": TREE,
    "switch": {"ecn": MARKED},
    "flow_control": {"pfc": {"priorities": [3, 4]}},
    "ets": {"weights": [20, 0, 0, 50, 30, 0, 0, 0]},
    "transport": {"roce": {"dcqcn": {}}},
}


@cache
def _tree() -> tuple[tuple[str, str], ...]:
    return tuple(files(policy(SCENARIO, options=WHOLE), "sonic").items())


def tree() -> Files:
    """Two leaves and a core, RoCE in priorities 3 and 4, others best effort."""
    return dict(_tree())


def found(written: Files) -> dict[str, list[lint.LintFinding]]:
    by_rule: dict[str, list[lint.LintFinding]] = {}
    for finding in lint.lint(lint.read(written)):
        by_rule.setdefault(finding.rule, []).append(finding)
    return by_rule


def edited(
    file: str, change: Callable[[Tables], object], written: Mapping[str, str] | None = None
) -> Files:
    """Change the tables of a file; by default one of :func:`tree`."""
    before = written or tree()
    tables = json.loads(before[file])
    change(tables)
    return {**before, file: json.dumps(tables)}


def put(table: str, key: str, field: str, value: object) -> Callable[[Tables], object]:
    return lambda tables: tables.setdefault(table, {}).setdefault(key, {}).update({field: value})


def drop(*path: str) -> Callable[[Tables], object]:
    def change(tables: Tables) -> None:
        for name in path[:-1]:
            tables = tables[name]
        del tables[path[-1]]

    return change


def foreign() -> Tables:
    """Write a switch as older SONiC does: references in brackets, ports and queues by ranges."""
    both, queues = "Ethernet0,Ethernet4", "Ethernet0,Ethernet4|3-4"
    identity = {str(number): str(number) for number in range(8)}
    qos = {
        "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]",
        "tc_to_queue_map": "[TC_TO_QUEUE_MAP|AZURE]",
        "tc_to_pg_map": "[TC_TO_PRIORITY_GROUP_MAP|AZURE]",
        "pfc_to_queue_map": "[MAP_PFC_PRIORITY_TO_QUEUE|AZURE]",
        "pfc_enable": "3,4",
        "pfcwd_sw_enable": "3,4",
    }
    ports = ("Ethernet0", "Ethernet4")
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": "tor"}},
        "PORT": {
            port: {"lanes": "1", "speed": "40000", "mtu": "9100", "admin_status": "up"}
            for port in ports
        },
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(ports, "5m")},
        "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4", "8": "0"}},
        "TC_TO_QUEUE_MAP": {"AZURE": identity},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": identity},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": dict.fromkeys(identity, "0") | {"3": "3", "4": "4"}},
        "PORT_QOS_MAP": {port: dict(qos) for port in ports},
        "PFC_WD": {port: {"action": "drop", "detection_time": "200"} for port in ports},
        "BUFFER_POOL": {"in": {"type": "ingress", "mode": "dynamic", "size": "10000000"}},
        "BUFFER_PROFILE": {
            "lossless": {
                "pool": "[BUFFER_POOL|in]",
                "size": "59456",
                "xoff": "40000",
                "dynamic_th": "3",
            },
            "lossy": {"pool": "[BUFFER_POOL|in]", "size": "0", "dynamic_th": "3"},
        },
        "BUFFER_PG": {
            queues: {"profile": "[BUFFER_PROFILE|lossless]"},
            f"{both}|0": {"profile": "[BUFFER_PROFILE|lossy]"},
        },
        "SCHEDULER": {"half": {"type": "DWRR", "weight": "50"}},
        "QUEUE": {queues: {"scheduler": "[SCHEDULER|half]"}},
        "FLEX_COUNTER_TABLE": {"PFCWD": {"FLEX_COUNTER_STATUS": "enable"}},
    }
