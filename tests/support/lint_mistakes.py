"""Mistakes in a leaf's ``config_db.json`` and a host's script, and what the linter must find."""

from collections.abc import Callable
from typing import NamedTuple

from support.linted import Tables, drop, put

PORT = "PORT_QOS_MAP"
OTHER_QUEUE = (
    "traffic class 3 fills priority group 3 and leaves by queue 3, but a pause of priority 3 "
    "stops queue 2"
)
LOSSLESS = "pg_lossless_100000_5m_profile"


class SonicMistake(NamedTuple):
    """A mistake in a leaf, and the finding."""

    mistake: str
    rule: str
    change: Callable[[Tables], object]
    place: str
    found: str
    expected: str


SONIC: list[SonicMistake] = [
    SonicMistake(
        "a value that cannot be read",
        "readable",
        put("SCHEDULER", "scheduler.3", "weight", "half"),
        "SCHEDULER|scheduler.3|weight",
        "'half' cannot be read",
        "a whole number",
    ),
    SonicMistake(
        "a reference to nothing",
        "references",
        put(PORT, "Ethernet0", "dscp_to_tc_map", "[DSCP_TO_TC_MAP|NONE]"),
        "PORT_QOS_MAP|Ethernet0",
        "dscp_to_tc_map is NONE, which DSCP_TO_TC_MAP does not have",
        "one of ETHERWEAVE",
    ),
    SonicMistake(
        "settings of a missing port",
        "ports",
        put("PFC_WD", "Ethernet99", "action", "drop"),
        "PFC_WD",
        "Ethernet99 is not a port of the switch",
        "one of Ethernet0, Ethernet4, Ethernet8, Ethernet12",
    ),
    SonicMistake(
        "PFC off for a priority",
        "intent",
        put(PORT, "Ethernet4", "pfc_enable", "3"),
        "Ethernet4",
        "lossless priorities are 3",
        "3, 4, as in the scenario",
    ),
    SonicMistake(
        "lossless priority without headroom",
        "groups",
        put("BUFFER_PG", "Ethernet0|3", "profile", "ingress_lossy_profile"),
        "Ethernet0 priority group 3",
        "lossless priority 3 has no headroom in ingress_lossy_profile",
        "a profile with xoff, the headroom",
    ),
    SonicMistake(
        "no group for a lossless priority",
        "groups",
        drop("BUFFER_PG", "Ethernet0|3"),
        "Ethernet0 priority group 3",
        "no BUFFER_PG for lossless priority 3",
        "a profile with xoff, the headroom",
    ),
    SonicMistake(
        "headroom too small",
        "headroom",
        put("BUFFER_PROFILE", "pg_lossless_100000_5m_profile", "xoff", "30000"),
        "Ethernet0 priority 3",
        "xoff of pg_lossless_100000_5m_profile is 30000 B",
        # Of the device that it was exported for: 2 · (14800 B + 12.5 B/ns · 2 · 25 ns), in cells.
        "at least 30912 B at 100 Gb/s, 5 m",
    ),
    SonicMistake(
        "cable unknown",
        "cables",
        put("CABLE_LENGTH", "AZURE", "Ethernet0", "0m"),
        "Ethernet0",
        "a cable of 0 m",
        "its length in CABLE_LENGTH, as 5m",
    ),
    SonicMistake(
        "headroom of a lossy group",
        "orphans",
        put("BUFFER_PG", "Ethernet0|0", "profile", "pg_lossless_100000_5m_profile"),
        "Ethernet0 priority group 0",
        "priority group 0 has xoff, but PFC is off for its priority",
        "PFC on, or a profile without xoff",
    ),
    SonicMistake(
        "ingress group in a pool of the egress",
        "pools",
        put("BUFFER_PROFILE", "ingress_lossy_profile", "pool", "egress_lossy_pool"),
        "BUFFER_PG|Ethernet0|0",
        "profile ingress_lossy_profile uses egress_lossy_pool, a pool of the egress",
        "a pool of the ingress",
    ),
    SonicMistake(
        "profile without size",
        "pools",
        drop("BUFFER_PROFILE", "egress_lossy_profile", "size"),
        "BUFFER_PROFILE|egress_lossy_profile",
        "no size",
        "its reserve in bytes, or 0",
    ),
    SonicMistake(
        "profile without threshold",
        "pools",
        drop("BUFFER_PROFILE", "egress_lossless_profile", "static_th"),
        "BUFFER_PROFILE|egress_lossless_profile",
        "no threshold",
        "dynamic_th or static_th, its part of the pool",
    ),
    SonicMistake(
        "a map missing",
        "maps",
        drop(PORT, "Ethernet0", "tc_to_pg_map"),
        "Ethernet0",
        "no tc_to_pg_map",
        "a tc_to_pg_map in PORT_QOS_MAP",
    ),
    SonicMistake(
        "a code point in a class that nothing serves",
        # What YANG lets pass: a class beyond all maps.
        "classes",
        put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "12"),
        "Ethernet0",
        "dscp_to_tc_map leads 26 to traffic class 12",
        "a class of tc_to_pg_map: 0-7",
    ),
    SonicMistake(
        "no code point in the lossless class",
        "reached",
        put("TC_TO_PRIORITY_GROUP_MAP", "ETHERWEAVE", "3", "0"),
        "Ethernet0",
        "no code point leads to priority group 3 of priority 3",
        "a DSCP or 802.1p priority in a traffic class of group 3",
    ),
    SonicMistake(
        "a pause of another queue",
        "queue",
        put("MAP_PFC_PRIORITY_TO_QUEUE", "ETHERWEAVE", "3", "2"),
        "Ethernet0",
        OTHER_QUEUE,
        "queue 3 for both",
    ),
    SonicMistake(
        "group and queue of different classes",
        "mixed",
        put("TC_TO_QUEUE_MAP", "ETHERWEAVE", "0", "3"),
        "Ethernet0",
        "traffic class 0 shares lossless queue 3, but fills priority group 0, which is lossy",
        "another queue, or the group of a lossless priority",
    ),
    SonicMistake(
        "queue without a share",
        "served",
        drop("QUEUE", "Ethernet0|3", "scheduler"),
        "Ethernet0",
        "queue 3 of lossless priority 3 has no scheduler",
        "a scheduler with a weight, or strict priority",
    ),
    SonicMistake(
        "WRED drops",
        "marking",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "ecn", "ecn_green"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: WRED drops red packets, because ecn is ecn_green",
        "ecn_all, which marks them",
    ),
    SonicMistake(
        "ECN thresholds the wrong way round",
        "marking",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_max_threshold", "1"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green maximum 1 B below minimum 150000 B",
        "minimum below maximum",
    ),
    SonicMistake(
        "no watchdog",
        "watchdog",
        drop("PFC_WD", "Ethernet0"),
        "Ethernet0",
        "no PFC watchdog",
        "an entry in PFC_WD",
    ),
    SonicMistake(
        "watchdog not for all priorities",
        "watchdog",
        put(PORT, "Ethernet0", "pfcwd_sw_enable", "3"),
        "Ethernet0",
        "pfcwd_sw_enable leaves out 4",
        "every lossless priority",
    ),
    SonicMistake(
        "watchdog polls too seldom",
        "watchdog-times",
        put("PFC_WD", "GLOBAL", "POLL_INTERVAL", "400"),
        "PFC_WD|Ethernet0",
        "detection_time 200 ms, polling interval 400 ms",
        "at least 400 ms",
    ),
    SonicMistake(
        "members of a port channel differ",
        "channels",
        put("PORT", "Ethernet12", "speed", "25000"),
        "Ethernet12",
        "speed differs between the ports of PortChannel1: speed 25000 on Ethernet12; "
        "100000 on Ethernet8",
        "the same on all",
    ),
    SonicMistake(
        "MTU too small",
        "mtu",
        put("PORT", "Ethernet0", "mtu", "1500"),
        "Ethernet0",
        "MTU 1500",
        "9000, as everywhere else",
    ),
    SonicMistake(
        "ends of a link differ",
        "ends",
        put("PORT", "Ethernet8", "speed", "25000"),
        "Ethernet8",
        "speed 25000 Mb/s",
        "100000 Mb/s, as core0 Ethernet0",
    ),
    SonicMistake(
        "wrong share",
        "intent",
        put("SCHEDULER", "scheduler.0", "weight", "25"),
        "Ethernet0",
        "weights of queues are {0: 25, 3: 50, 4: 30}",
        "{0: 20, 3: 50, 4: 30}, as in the scenario",
    ),
    SonicMistake(
        "cable longer than configured",
        "cables",
        put("CABLE_LENGTH", "AZURE", "Ethernet8", "5m"),
        "Ethernet8",
        "a cable of 5 m",
        "20 m, as in the scenario",
    ),
    SonicMistake(
        "XON above XOFF",
        "sizes",
        put("BUFFER_PROFILE", LOSSLESS, "xon", "90000"),
        "Ethernet0 priority 3",
        f"xon of {LOSSLESS} is 90000 B, more than its size and xoff together",
        # 19 KiB and twice the headroom.
        f"at most {(19 << 10) + 2 * 30912} B",
    ),
    SonicMistake(
        "a pool smaller than a group",
        "sizes",
        put("BUFFER_POOL", "ingress_lossless_pool", "size", "10000"),
        "Ethernet0 priority 3",
        "ingress_lossless_pool has 10000 B, less than one of its groups",
        "a pool for all groups of all ports",
    ),
    SonicMistake(
        "a group without size",
        "sizes",
        put("BUFFER_PROFILE", LOSSLESS, "size", "0"),
        "Ethernet0 priority 3",
        f"size of {LOSSLESS} is 0 B",
        "its reserve and headroom, or a pool with shared headroom",
    ),
    SonicMistake(
        "shared headroom of 10 kB",
        "shared",
        put("BUFFER_POOL", "ingress_lossless_pool", "xoff", "10240"),
        "Ethernet0 priority 3",
        f"ingress_lossless_pool has shared headroom of 10240 B, {LOSSLESS} an xoff of 30912 B",
        "at least 30912 B",
    ),
    SonicMistake(
        "threshold of an inactive port",
        "thresholds",
        put("BUFFER_PROFILE", LOSSLESS, "dynamic_th", "-8"),
        "Ethernet0 priority 3",
        f"dynamic_th of {LOSSLESS} is -8, next to nothing of the free pool",
        "a threshold of an active port",
    ),
    SonicMistake(
        "lossless queue with a lossy profile",
        "egress",
        put("BUFFER_QUEUE", "Ethernet0|3", "profile", "egress_lossy_profile"),
        "Ethernet0 queue 3",
        "lossless queue 3 has egress_lossy_profile, as queue 0 has",
        "a profile of lossless queues, which takes the whole pool",
    ),
    SonicMistake(
        "unmarked traffic lossless",
        "default",
        put("DSCP_TO_TC_MAP", "ETHERWEAVE", "0", "3"),
        "Ethernet0",
        "DSCP 0 is in lossless priority group 3",
        "a lossy class for traffic without a mark, as DSCP 26 for RoCE",
    ),
    SonicMistake(
        "ECN unbound",
        "unmarked",
        drop("QUEUE", "Ethernet0|3", "wred_profile"),
        "Ethernet0 queue 3",
        "no wred_profile",
        "wred_profile, as ETHERWEAVE_LOSSLESS",
    ),
    SonicMistake(
        "ECN probability 0",
        "unmarked",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_drop_probability", "0"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green probability 0",
        "at least 1 %",
    ),
    SonicMistake(
        "ECN beyond the memory",
        "unmarked",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_min_threshold", "99000000"),
        "Ethernet0 queue 3",
        "ETHERWEAVE_LOSSLESS: green minimum 99000000 B is never reached",
        "less than the memory, 13945824 B",
    ),
    SonicMistake(
        "ECN at another threshold",
        "intent",
        put("WRED_PROFILE", "ETHERWEAVE_LOSSLESS", "green_max_threshold", "3000000"),
        "Ethernet0",
        "ECN maximum of queue 3 is 3000000 B",
        "1500000 B, as in the scenario",
    ),
    SonicMistake(
        "notifications without strict priority",
        "intent",
        drop("QUEUE", "Ethernet0|6"),
        "Ethernet0",
        "queue 6 is without a scheduler",
        "strict priority, as in the scenario",
    ),
    SonicMistake(
        "a port to a host at another speed",
        "intent",
        put("PORT", "Ethernet0", "speed", "25000"),
        "Ethernet0",
        "speed 25000 Mb/s",
        "100000 Mb/s, as in the scenario",
    ),
    SonicMistake(
        "watchdog of wrong times",
        "watchdog-times",
        put("PFC_WD", "Ethernet0", "detection_time", "soon"),
        "PFC_WD|Ethernet0",
        "detection_time soon",
        "100 to 5000 ms",
    ),
    SonicMistake(
        "watchdog that only reports",
        "watchdog-times",
        put("PFC_WD", "Ethernet0", "action", "alert"),
        "PFC_WD|Ethernet0",
        "action alert reports a storm and lets it go on",
        "drop",
    ),
    SonicMistake(
        "PFC in one direction",
        "asymmetric",
        put("PORT", "Ethernet0", "pfc_asym", "on"),
        "Ethernet0",
        "pfc_asym is on",
        "pauses both ways, as at the peer",
    ),
    SonicMistake(
        "one wrong code point",
        "intent",
        put("DSCP_TO_TC_MAP", "ETHERWEAVE", "26", "4"),
        "Ethernet0",
        "DSCP 26 is in priority group 4 and queue 4",
        "in priority group 3 and queue 3, as in the scenario",
    ),
]


class HostMistake(NamedTuple):
    """A mistake in the script of a host: what is replaced by what, and the finding."""

    mistake: str
    rule: str
    old: str
    new: str
    found: str
    expected: str


HOSTS: list[HostMistake] = [
    HostMistake(
        "host pauses other priorities, by mlnx_qos",
        "hosts",
        "--pfc 0,0,0,1,1,0,0,0",
        "--pfc 0,0,0,1,0,0,0,0",
        "pauses priorities 3",
        "3, 4, as in the scenario",
    ),
    HostMistake(
        "host pauses other priorities, by dcb",
        "hosts",
        "3:on 4:on",
        "3:on",
        "pauses priorities 3",
        "3, 4, as in the scenario",
    ),
    HostMistake(
        "host with shares beyond 100 %",
        "hosts",
        "--tcbw 20,0,0,50,30",
        "--tcbw 20,0,0,60,30",
        "ETS weights sum to 110",
        "a sum of 100",
    ),
    HostMistake(
        "host with other shares",
        "hosts",
        "tc-bw 0:20 1:0 2:0 3:50",
        "tc-bw 0:50 1:0 2:0 3:20",
        "ETS weights are {0: 50, 3: 20, 4: 30}",
        "{0: 20, 3: 50, 4: 30}, as in the scenario",
    ),
    HostMistake(
        "host with one wrong code point",
        "hosts",
        "26:3",
        "26:2",
        "DSCP 26 is not in priority 3",
        "priority 3, as in the scenario",
    ),
    HostMistake(
        "host with a larger MTU",
        "hosts",
        "mtu 9000",
        "mtu 9216",
        "MTU 9216",
        "at most 9000, as in the scenario",
    ),
    HostMistake(
        "host with 802.3x pauses",
        "hosts",
        "rx off",
        "rx on",
        "802.3x pause is on beside PFC",
        "ethtool -A … rx off tx off",
    ),
    HostMistake(
        "host with a lossless priority in another class",
        "hosts",
        "prio-tc 0:0 1:1 2:2 3:3",
        "prio-tc 0:0 1:1 2:2 3:1",
        "priority 3 is in traffic class 1",
        "3, its queue, as in the scenario",
    ),
    HostMistake(
        "host that trusts 802.1p",
        "marks",
        "--trust dscp",
        "--trust pcp",
        "trust pcp: frames without a VLAN tag have no priority",
        "trust dscp",
    ),
    HostMistake(
        "host that trusts 802.1p by default",
        "marks",
        "--trust dscp ",
        "",
        "trust pcp, the default of mlnx_qos: frames without a VLAN tag have no priority",
        "trust dscp: mlnx_qos --trust dscp",
    ),
    HostMistake(
        "host without code points, by dcb",
        "marks",
        "dcb app replace",
        "dcb app show",
        "trust pcp, the default of dcb: frames without a VLAN tag have no priority",
        "trust dscp: dcb app add dscp-prio",
    ),
    HostMistake(
        "an option that mlnx_qos does not have",
        "readable",
        "--tcbw",
        "--tc_bw",
        "'mlnx_qos --tc_bw' cannot be read",
        "--tcbw, which mlnx_qos has",
    ),
    HostMistake(
        "an option that dcb does not have",
        "readable",
        "tc-bw",
        "tc_bw",
        "'dcb ets tc_bw' cannot be read",
        "tc-bw, which dcb ets has",
    ),
    HostMistake(
        "host without a mark, where others have one",
        "marks",
        " 106",
        " 0x0",
        "RoCE has traffic class 0, DSCP 0, which is lossy",
        "a DSCP of 24-39",
    ),
    HostMistake(
        "host that does not mark, ToS 0",
        "marks",
        "-t 106",
        "-t 0",
        "RoCE has traffic class 0, DSCP 0, which is lossy",
        "a DSCP of 24-39",
    ),
    HostMistake(
        "host that does not mark, traffic class 2",
        "marks",
        "put 106",
        "put 2",
        "RoCE has traffic class 2, DSCP 0, which is lossy",
        "a DSCP of 24-39",
    ),
    HostMistake(
        "CNPs without a mark",
        "marks",
        "put 48",
        "put 0",
        "congestion notifications have DSCP 0",
        "a class of their own, as 48",
    ),
    HostMistake(
        "congestion control off",
        "marks",
        "put 1 ",
        "put 0 ",
        "congestion control is off for lossless priority 3",
        "1 in roce_np/enable and roce_rp/enable",
    ),
]
