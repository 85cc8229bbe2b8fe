"""Mistakes in a switch without its scenario: what only a comparison of its own ports can find."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from support.linted import MARKED, WHOLE, Tables, drop, put

ALONE: dict[str, object] = {
    "topology": {"single_switch": {"hosts": 4}},
    "switch": {"ecn": MARKED},
    "flow_control": {"pfc": {"priorities": [3]}},
    "transport": {"roce": {"dcqcn": {}}},
}
FILES = {"sonic": "config_db.json", "onyx": "onyx.cfg", "eos": "eos.cfg", "cumulus": "nvue.sh"}


@cache
def exported(system: str) -> str:
    """Return the configuration of a switch with four ports, priority 3 lossless."""
    options = WHOLE if system == "sonic" else ExportOptions(system=system)
    return files(policy(ALONE, options=options), system)[f"switch0/{FILES[system]}"]


class Appended(NamedTuple):
    """Lines behind the commands of a switch, ``line +1`` and so on, and what must be found."""

    mistake: str
    rule: str
    place: str
    found: str
    lines: str


class Changed(NamedTuple):
    """A change of a switch's tables, and what must be found."""

    mistake: str
    rule: str
    place: str
    found: str
    change: Callable[[Tables], object]


PORT, WRED = "PORT_QOS_MAP", ("WRED_PROFILE", "ETHERWEAVE_LOSSLESS")
EVERY_DSCP = "every DSCP is in priority group 0 and queue 0"
OTHER_MAP = ("DSCP_TO_TC_MAP", "OTHER")


def copied(table: str, name: str, port: str, field: str, **changed: str) -> Callable[..., object]:
    """Give a port a map of its own, with changes."""

    def change(tables: Tables) -> None:
        tables[table]["OTHER"] = tables[table][name] | {
            key.strip("_"): one for key, one in changed.items()
        }
        tables[PORT][port][field] = "OTHER"

    return change


def every(*changes: Callable[[Tables], object]) -> Callable[[Tables], object]:
    """Make several changes."""
    return lambda tables: [change(tables) for change in changes]


def no_marking(tables: Tables) -> None:
    """Leave a profile of WRED that no queue has."""
    for queue in tables["QUEUE"].values():
        queue.pop("wred_profile", None)


SONIC: list[Changed] = [
    Changed(
        "a port without a map for DSCP",
        "classification",
        "Ethernet8",
        EVERY_DSCP,
        drop(PORT, "Ethernet8", "dscp_to_tc_map"),
    ),
    Changed(
        "a port with another map for DSCP",
        "classification",
        "Ethernet12",
        "DSCP 26 is in priority group 0 and queue 0",
        copied("DSCP_TO_TC_MAP", "ETHERWEAVE", "Ethernet12", "dscp_to_tc_map", _26="0"),
    ),
    Changed(
        "a port with another map for 802.1p",
        "classification",
        "Ethernet0",
        "802.1p priority 3 is in priority group 0 and queue 0",
        copied("DOT1P_TO_TC_MAP", "ETHERWEAVE", "Ethernet0", "dot1p_to_tc_map", _3="0"),
    ),
    Changed(
        "a port with another queue for a class",
        "classification",
        "Ethernet4",
        "DSCP 40-47 is in priority group 0 and queue 6",
        copied("TC_TO_QUEUE_MAP", "ETHERWEAVE", "Ethernet4", "tc_to_queue_map", _5="6"),
    ),
    Changed(
        "a port that pauses another priority",
        "pfc",
        "Ethernet4",
        "PFC is enabled for 4",
        put(PORT, "Ethernet4", "pfc_enable", "4"),
    ),
    Changed(
        "ECN that is not enabled",
        "unmarked",
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: ecn is ecn_all, but wred_green_enable is missing: nothing is marked",
        drop(*WRED, "wred_green_enable"),
    ),
    Changed(
        "ECN that is off",
        "unmarked",
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: ecn is ecn_green, but wred_green_enable is false: nothing is marked",
        every(put(*WRED, "ecn", "ecn_green"), put(*WRED, "wred_green_enable", False)),
    ),
    Changed(
        "ECN for packets of another colour",
        "unmarked",
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: ecn is ecn_yellow_red, but packets that no meter colours are green",
        put(*WRED, "ecn", "ecn_yellow_red"),
    ),
    Changed(
        "ECN without a threshold",
        "unmarked",
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green_min_threshold is missing: the whole memory is the threshold",
        drop(*WRED, "green_min_threshold"),
    ),
    Changed(
        "ECN without a maximum",
        "unmarked",
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green_max_threshold is missing: the whole memory is the threshold",
        drop(*WRED, "green_max_threshold"),
    ),
    Changed(
        "a pool without size",
        "pools",
        "BUFFER_POOL|ingress_lossless_pool",
        "no size",
        drop("BUFFER_POOL", "ingress_lossless_pool", "size"),
    ),
    Changed(
        "a pool of 0 B",
        "pools",
        "BUFFER_POOL|egress_lossy_pool",
        "size is 0",
        put("BUFFER_POOL", "egress_lossy_pool", "size", "0"),
    ),
    Changed(
        "a pool of an unknown mode",
        "pools",
        "BUFFER_POOL|egress_lossy_pool",
        "mode is shared",
        put("BUFFER_POOL", "egress_lossy_pool", "mode", "shared"),
    ),
    Changed(
        "a pool of no side",
        "pools",
        "BUFFER_POOL|egress_lossy_pool",
        "no type",
        drop("BUFFER_POOL", "egress_lossy_pool", "type"),
    ),
    Changed(
        "a profile of WRED that is not defined",
        "references",
        "QUEUE|Ethernet0|3",
        "wred_profile is ROCE, which WRED_PROFILE does not have",
        put("QUEUE", "Ethernet0|3", "wred_profile", "ROCE"),
    ),
    Changed(
        "a pool that is not defined",
        "references",
        "BUFFER_PROFILE|egress_lossy_profile",
        "pool is egress_lossy_pool, which BUFFER_POOL does not have",
        drop("BUFFER_POOL", "egress_lossy_pool"),
    ),
    Changed(
        "a list of profiles with one that is not defined",
        "references",
        "BUFFER_PORT_EGRESS_PROFILE_LIST|Ethernet4",
        "profile_list is egress_other_profile, which BUFFER_PROFILE does not have",
        put(
            "BUFFER_PORT_EGRESS_PROFILE_LIST",
            "Ethernet4",
            "profile_list",
            "[BUFFER_PROFILE|egress_lossless_profile],[BUFFER_PROFILE|egress_other_profile]",
        ),
    ),
    Changed(
        "a map that rewrites and is not defined",
        "references",
        "PORT_QOS_MAP|Ethernet8",
        "tc_to_dscp_map is REMARK, which TC_TO_DSCP_MAP does not have",
        put(PORT, "Ethernet8", "tc_to_dscp_map", "REMARK"),
    ),
    Changed(
        "a group without a profile",
        "references",
        "BUFFER_PG|Ethernet0|0",
        "no profile",
        drop("BUFFER_PG", "Ethernet0|0", "profile"),
    ),
    Changed(
        "a member of no port channel",
        "references",
        "PORTCHANNEL_MEMBER|PortChannel7|Ethernet0",
        "port channel is PortChannel7, which PORTCHANNEL does not have",
        lambda tables: tables.update(PORTCHANNEL_MEMBER={"PortChannel7|Ethernet0": {}}),
    ),
    Changed(
        "a cable of a missing port",
        "ports",
        "CABLE_LENGTH|AZURE|Ethernet96",
        "Ethernet96 is not a port of the switch",
        put("CABLE_LENGTH", "AZURE", "Ethernet96", "5m"),
    ),
    Changed(
        "a watchdog without a time",
        "watchdog-times",
        "PFC_WD|Ethernet0",
        "no detection_time",
        drop("PFC_WD", "Ethernet0", "detection_time"),
    ),
    Changed(
        "a watchdog with another action",
        "watchdog-times",
        "PFC_WD|Ethernet0",
        "action restart",
        put("PFC_WD", "Ethernet0", "action", "restart"),
    ),
    Changed(
        "a profile of WRED that no queue has",
        "unmarked",
        "Ethernet12 queue 3",
        "no wred_profile",
        no_marking,
    ),
    Changed(
        "ECN of another queue",
        "unmarked",
        "Ethernet0 queue 3",
        "no wred_profile",
        every(
            drop("QUEUE", "Ethernet0|3", "wred_profile"),
            put("QUEUE", "Ethernet0|4", "wred_profile", WRED[1]),
        ),
    ),
    Changed(
        "a lossless queue without an entry",
        "unmarked",
        "Ethernet8 queue 3",
        "no wred_profile",
        drop("QUEUE", "Ethernet8|3"),
    ),
    Changed(
        "a class in a group without a buffer",
        "unbuffered",
        "Ethernet0 priority group 5",
        "DSCP 40-47 is in priority group 5, which has no BUFFER_PG",
        put("TC_TO_PRIORITY_GROUP_MAP", "ETHERWEAVE", "5", "5"),
    ),
    Changed(
        "a group without a buffer at one port",
        "unbuffered",
        "Ethernet4 priority group 0",
        "DSCP 0-23, 32-63 is in priority group 0, which has no BUFFER_PG",
        drop("BUFFER_PG", "Ethernet4|0"),
    ),
    Changed(
        "a lossless queue without a buffer",
        "egress",
        "Ethernet4 queue 3",
        "no BUFFER_QUEUE for lossless queue 3",
        drop("BUFFER_QUEUE", "Ethernet4|3"),
    ),
    Changed(
        "a queue without a buffer at one port",
        "egress",
        "Ethernet4 queue 5",
        "no BUFFER_QUEUE for queue 5",
        drop("BUFFER_QUEUE", "Ethernet4|5"),
    ),
]

COMMANDS: dict[str, list[Appended]] = {
    "onyx": [
        Appended(
            "a port that trusts 802.1p",
            "classification",
            "ethernet 1/4",
            EVERY_DSCP,
            "interface ethernet 1/4 qos trust L2",
        ),
        Appended(
            "a port that trusts nothing",
            "classification",
            "ethernet 1/2",
            EVERY_DSCP,
            "interface ethernet 1/2 qos trust port",
        ),
        Appended(
            "a port with another map for DSCP",
            "classification",
            "ethernet 1/3",
            "DSCP 26 is in priority group 0 and queue 2",
            "interface ethernet 1/3 qos map dscp 26 to switch-priority 2",
        ),
        Appended(
            "a port with another map for 802.1p",
            "classification",
            "ethernet 1/1",
            "802.1p priority 3 is in priority group 0 and queue 1",
            "interface ethernet 1/1 qos map pcp 3 dei 0 to switch-priority 1",
        ),
        Appended(
            "a port that pauses nothing",
            "pfc",
            "ethernet 1/2",
            "PFC is enabled for no priority",
            "interface ethernet 1/2 no dcb priority-flow-control mode",
        ),
        Appended(
            "a port without ECN",
            "unmarked",
            "ethernet 1/3 queue 3",
            "no congestion-control ecn",
            "interface ethernet 1/3 no traffic-class 3 congestion-control",
        ),
        Appended(
            "a class in a group without a buffer",
            "unbuffered",
            "ethernet 1/1 priority group 2",
            "DSCP 16-23 is in priority group 2, which has no ingress-buffer iPort.pg",
            "interface ethernet 1/1-1/4 ingress-buffer iPort.pg2 bind switch-priority 2",
        ),
        Appended(
            "RoCE without PFC",
            "pfc",
            "switch0",
            "PFC is enabled for no priority",
            "roce lossy\ninterface ethernet 1/1-1/4 dcb priority-flow-control mode off",
        ),
    ],
    "eos": [
        Appended(
            "a port that trusts 802.1p",
            "classification",
            "Ethernet2/1",
            EVERY_DSCP,
            "interface Ethernet2/1\n   qos trust cos",
        ),
        Appended(
            "a switched port with the default trust",
            "classification",
            "Ethernet3/1",
            EVERY_DSCP,
            "interface Ethernet3/1\n   default qos trust",
        ),
        Appended(
            "a routed port that trusts 802.1p",
            "classification",
            "Ethernet1/1",
            EVERY_DSCP,
            "interface Ethernet1/1\n   qos trust cos\n   no switchport",
        ),
        Appended(
            "a port that trusts nothing",
            "classification",
            "Ethernet4/1",
            EVERY_DSCP,
            "interface Ethernet4/1\n   no qos trust",
        ),
        Appended(
            "a port that pauses another priority",
            "pfc",
            "Ethernet1/1",
            "PFC is enabled for 5",
            "interface Ethernet1/1\n   no priority-flow-control priority 3 no-drop\n"
            "   priority-flow-control priority 5 no-drop",
        ),
        Appended(
            "a port without ECN",
            "unmarked",
            "Ethernet4/1 queue 3",
            "no random-detect ecn",
            "interface Ethernet4/1\n   uc-tx-queue 3\n      no random-detect ecn",
        ),
        Appended(
            "a routed port without an MTU",
            "mtu",
            "Ethernet5/1",
            "MTU 1500",
            "interface Ethernet5/1\n   no switchport",
        ),
        Appended(
            "a profile that no port has",
            "unused",
            "qos profile ROCE",
            "no port has the profile",
            "qos profile ROCE\n   priority-flow-control on",
        ),
        Appended(
            "a profile that is not defined",
            "references",
            "line +2",
            "service-profile is ROCE, which the switch does not have",
            "interface Ethernet2/1\n   service-profile ROCE",
        ),
        Appended(
            "a policy map that is not defined",
            "references",
            "line +2",
            "service-policy is POLICE, which the switch does not have",
            "interface Ethernet2/1\n   service-policy type qos input POLICE",
        ),
        Appended(
            "a class map that is not defined",
            "references",
            "line +2",
            "class is STORAGE, which the switch does not have",
            "policy-map type quality-of-service P\n   class STORAGE\n      set traffic-class 3\n"
            "   class class-default\n",
        ),
        Appended(
            "ECN without a maximum",
            "unmarked",
            "Ethernet4/1 queue 3",
            "ECN from 150000 to ? B at 100 %: green_max_threshold is missing: "
            "the whole memory is the threshold",
            "interface Ethernet4/1\n   uc-tx-queue 3\n      no random-detect ecn\n"
            "      random-detect ecn minimum-threshold 150 kbytes max-mark-probability 100",
        ),
        Appended(
            "a port with other shares",
            "shares",
            "Ethernet2/1",
            "weights of queues are {0: 40, 1: 12, 2: 12, 3: 12, 4: 12, 5: 12, 6: 12}",
            "interface Ethernet2/1\n   uc-tx-queue 0\n      bandwidth percent 40",
        ),
    ],
    "cumulus": [
        Appended(
            "a port that trusts 802.1p",
            "classification",
            "swp3",
            EVERY_DSCP,
            "nv set qos mapping l2 trust l2\nnv set interface swp3 qos mapping profile l2",
        ),
        Appended(
            "a port with another map for DSCP",
            "classification",
            "swp4",
            "DSCP 26 is in priority group 0 and queue 0",
            "nv set qos mapping mine dscp 26 switch-priority 0\n"
            "nv set interface swp4 qos mapping profile mine",
        ),
        Appended(
            "a port that pauses another priority",
            "pfc",
            "swp2",
            "PFC is enabled for 4",
            "nv set qos pfc two switch-priority 4\nnv set qos pfc two cable-length 5\n"
            "nv set interface swp2 qos pfc profile two",
        ),
        Appended(
            "a profile that no port has",
            "unused",
            "qos congestion-control mine",
            "no port has the profile",
            "nv set qos congestion-control mine traffic-class 3 ecn enable",
        ),
        Appended(
            "a profile that is not defined",
            "references",
            "line +1",
            "qos pfc profile is storage, which the switch does not have",
            "nv set interface swp2 qos pfc profile storage",
        ),
        Appended(
            "a profile of remarking that is not defined",
            "references",
            "line +1",
            "qos remark profile is edge, which the switch does not have",
            "nv set interface swp2 qos remark profile edge",
        ),
        Appended(
            "a service pool that is not defined",
            "references",
            "line +1",
            "ingress service-pool is 3, which the switch does not have",
            "nv set qos advance-buffer-config default-global ingress-lossless-buffer "
            "service-pool 3",
        ),
        Appended(
            "ECN of another queue",
            "unmarked",
            "swp1 queue 3",
            "ECN from 150000 to 1500000 B at 100 %: ecn is ecn_none",
            "nv set qos congestion-control default-global traffic-class 3 ecn disable\n"
            "nv set qos congestion-control default-global traffic-class 4 ecn enable",
        ),
    ],
}
