"""Mistakes in the commands of a leaf's switch, and what the linter must find of each."""

from typing import NamedTuple

FILES = {"onyx": "onyx.cfg", "eos": "eos.cfg", "cumulus": "nvue.sh"}
"""Of each system, the file of a switch."""


class Planted(NamedTuple):
    """A mistake in a leaf, as commands: the texts that are replaced, and what must be found."""

    mistake: str
    rule: str
    found: str
    edits: tuple[tuple[str, str], ...]


def edit(*pairs: str) -> tuple[tuple[str, str], ...]:
    return tuple(zip(pairs[::2], pairs[1::2], strict=True))


MTU = "interface ethernet 1/1-1/4 mtu 9000"
PFC = "   priority-flow-control on\n"
BUFFER = "nv set qos pfc lossless-5m"
CABLE = f"{BUFFER} cable-length 5\n"


def policy_map(action: str) -> tuple[tuple[str, str], ...]:
    """Return a policy of EOS for a code point of a lossless priority, at the first port."""
    maps = "class-map type qos match-any C\n   match dscp cs3\n!\n"
    maps += f"policy-map type quality-of-service P\n   class C\n      {action}\n!\n"
    port = "   qos trust dscp\n"
    first = "qos map cos 0"
    return edit(first, f"{maps}{first}", port, f"{port}   service-policy type qos input P\n")


GROUP = "iPort.pg3 map pool iPool1 type lossless reserved 50368 xoff 19456 xon 19456"
PG = "iPort.pg3 iPool1 lossless"
PLANTED: dict[str, list[Planted]] = {
    "onyx": [
        Planted(
            "802.3x pauses beside PFC",
            "pauses",
            "802.3x pause is on beside PFC",
            edit(MTU, f"interface ethernet 1/1 flowcontrol receive on force\n{MTU}"),
        ),
        Planted(
            "headroom too small",
            "headroom",
            f"reserved less xoff of {PG} reserved 40000 xoff 19456 xon 19456 shared alpha 8"
            " is 20544 B",
            edit(GROUP, GROUP.replace("50368", "40000")),
        ),
        Planted(
            "lossless priority without headroom",
            "groups",
            "lossless priority 3 has no headroom in iPort.pg3 iPool1 lossy reserved 50368"
            " shared alpha 8",
            edit(GROUP, "iPort.pg3 map pool iPool1 type lossy reserved 50368"),
        ),
        Planted(
            "no group for a lossless priority",
            "groups",
            "lossless priority 3 has no headroom in iPort.pg0 iPool0 lossy reserved 19456"
            " shared alpha 8",
            edit("iPort.pg3 bind switch-priority 3", "iPort.pg0 bind switch-priority 3"),
        ),
        Planted(
            "XON above XOFF",
            "sizes",
            f"xon of {PG} reserved 50368 xoff 19456 xon 90000 shared alpha 8 is 90000 B,"
            " more than xoff",
            edit(GROUP, GROUP.replace("xon 19456", "xon 90000")),
        ),
        Planted(
            "a group without size",
            "groups",
            f"lossless priority 3 has no headroom in {PG} reserved 0 xoff 0 xon 0 shared alpha 8",
            edit(GROUP, "iPort.pg3 map pool iPool1 type lossless reserved 0 xoff 0 xon 0"),
        ),
        Planted(
            "a pool smaller than a group",
            "sizes",
            "iPool1 has 10000 B, less than one of its groups",
            edit("pool iPool1 size 6715056", "pool iPool1 size 10000"),
        ),
        Planted(
            "threshold of an inactive port",
            "thresholds",
            f"shared alpha of {PG} reserved 50368 xoff 19456 xon 19456 shared alpha 0 is 0,"
            " next to nothing of the free pool",
            edit(f"{GROUP} shared alpha 8", f"{GROUP} shared alpha 0"),
        ),
        Planted(
            "lossless queue with a lossy profile",
            "egress",
            "lossless queue 3 has a limited share of its pool, as queue 0 has",
            edit(
                "ePort.tc3 map pool ePool1 reserved 1500 shared alpha inf",
                "ePort.tc3 map pool ePool0 reserved 1500 shared alpha 8",
            ),
        ),
        Planted(
            "ingress group in a pool of the egress",
            "pools",
            f"profile {PG.replace('iPool1', 'ePool1')} reserved 50368 xoff 19456 xon 19456"
            " shared alpha 8 uses ePool1, a pool of the egress",
            edit(GROUP, GROUP.replace("iPool1", "ePool1")),
        ),
        Planted(
            "a reference to nothing",
            "references",
            "pool is iPool9, which the switch does not have",
            edit(GROUP, GROUP.replace("iPool1", "iPool9")),
        ),
        Planted(
            "PFC off",
            "intent",
            "lossless priorities are none",
            edit("dcb priority-flow-control enable force", ""),
        ),
        Planted(
            "PFC off at one port",
            "intent",
            "lossless priorities are none",
            edit(
                "1/1-1/2 dcb priority-flow-control mode on force",
                "1/2 dcb priority-flow-control mode on force",
            ),
        ),
        Planted(
            "PFC off for a priority",
            "intent",
            "lossless priorities are 3",
            edit("dcb priority-flow-control priority 4 enable", ""),
        ),
        Planted(
            "ports trust 802.1p",
            "intent",
            "every DSCP is in priority group 0 and queue 0",
            edit("ethernet 1/1-1/2 qos trust both", "ethernet 1/1-1/2 qos trust L2"),
        ),
        Planted(
            "unmarked traffic lossless",
            "default",
            "DSCP 0 is in lossless priority group 3",
            edit(
                "   interface ethernet 1/1-1/2 qos trust both",
                "   interface ethernet 1/1-1/2 qos trust both\n"
                "   interface ethernet 1/1-1/2 qos map dscp 0 to switch-priority 3",
            ),
        ),
        Planted(
            "one wrong code point",
            "intent",
            "DSCP 26 is in priority group 4 and queue 4",
            edit(
                "   interface ethernet 1/1-1/2 qos trust both",
                "   interface ethernet 1/1-1/2 qos trust both\n"
                "   interface ethernet 1/1-1/2 qos map dscp 26 to switch-priority 4",
            ),
        ),
        Planted(
            "group and queue of different classes",
            "mixed",
            "traffic class 0 shares lossless queue 3, but fills priority group 0, which is lossy",
            edit(
                "   interface ethernet 1/1-1/2 qos trust both",
                "   interface ethernet 1/1-1/2 qos trust both\n"
                "   interface ethernet 1/1-1/2 traffic-class 3 bind switch-priority 0",
            ),
        ),
        Planted(
            "queue without a share",
            "served",
            "queue 3 of lossless priority 3 has no scheduler",
            edit(
                "1/1-1/2 traffic-class 3 dcb ets wrr 50",
                "1/1-1/2 traffic-class 3 dcb ets wrr 0",
            ),
        ),
        Planted(
            "WRED drops",
            "marking",
            "ECN from 150000 to 1500000 B: WRED drops green packets, because ecn is ecn_none",
            edit("congestion-control ecn", "congestion-control red"),
        ),
        Planted(
            "ECN unbound",
            "unmarked",
            "no congestion-control ecn",
            edit(
                "   interface ethernet 1/1-1/2 traffic-class 3 congestion-control ecn"
                " minimum-absolute 150 maximum-absolute 1500",
                "",
            ),
        ),
        Planted(
            "ECN beyond the memory",
            "unmarked",
            "ECN from 99000000 to 1500000 B: green minimum 99000000 B is never reached",
            edit("minimum-absolute 150 ", "minimum-absolute 99000 "),
        ),
        Planted(
            "ECN thresholds the wrong way round",
            "marking",
            "ECN from 150000 to 1000 B: green maximum 1000 B below minimum 150000 B",
            edit("maximum-absolute 1500", "maximum-absolute 1"),
        ),
        Planted(
            "no watchdog",
            "watchdog",
            "no PFC watchdog",
            edit("ethernet 1/1-1/4 pfc-wd", "ethernet 1/2-1/4 pfc-wd"),
        ),
        Planted(
            "MTU too small",
            "mtu",
            "MTU 1500",
            edit("ethernet 1/1-1/4 mtu 9000 force", "ethernet 1/2-1/4 mtu 9000 force"),
        ),
        Planted(
            "a value that cannot be read",
            "readable",
            "'interface ethernet 1/1-1/4 mtu large force' cannot be read",
            edit("1/1-1/4 mtu 9000", "1/1-1/4 mtu large"),
        ),
        Planted(
            "wrong share",
            "intent",
            "weights of queues are {0: 25, 3: 50, 4: 30}",
            edit(
                "1/1-1/2 traffic-class 0 dcb ets wrr 20", "1/1-1/2 traffic-class 0 dcb ets wrr 25"
            ),
        ),
    ],
    "eos": [
        Planted(
            "802.3x pauses beside PFC",
            "pauses",
            "802.3x pause is on beside PFC",
            edit("   priority-flow-control on\n", f"{PFC}   flowcontrol receive on\n"),
        ),
        Planted(
            "a policy that polices lossless frames",
            "policed",
            "a policy polices lossless DSCP 24: rate 10 gbps burst-size 2 mbytes",
            policy_map("police rate 10 gbps burst-size 2 mbytes"),
        ),
        Planted(
            "a policy that marks lossless frames as lossy",
            "policed",
            "a policy sets lossless DSCP 24 to 0, which is lossy",
            policy_map("set dscp default"),
        ),
        Planted(
            "a policy that puts lossless frames into another class",
            "intent",
            "DSCP 24 is in priority group 0 and queue 0",
            policy_map("set traffic-class 0"),
        ),
        Planted(
            "PFC off at one port",
            "intent",
            "lossless priorities are none",
            edit("   priority-flow-control on\n", ""),
        ),
        Planted(
            "PFC off for a priority",
            "intent",
            "lossless priorities are 3",
            edit("   priority-flow-control priority 4 no-drop\n", ""),
        ),
        Planted(
            "ports trust 802.1p",
            "intent",
            "every DSCP is in priority group 0 and queue 0",
            edit("   qos trust dscp\n", ""),
        ),
        Planted(
            "unmarked traffic lossless",
            "default",
            "DSCP 0 is in lossless priority group 3",
            edit("qos map dscp 24 25", "qos map dscp 0 24 25"),
        ),
        Planted(
            "one wrong code point",
            "intent",
            "DSCP 26 is in priority group 4 and queue 4",
            edit("qos map dscp 32 ", "qos map dscp 26 32 "),
        ),
        Planted(
            "group and queue of different classes",
            "mixed",
            "traffic class 0 shares lossless queue 3, but fills priority group 0, which is lossy",
            edit("traffic-class 0 to tx-queue 0", "traffic-class 0 to tx-queue 3"),
        ),
        Planted(
            "a queue that starves the lossless one",
            "served",
            "queue 0, of traffic without a mark, goes before queue 3",
            edit("   uc-tx-queue 0\n      no priority\n      bandwidth percent 20\n", ""),
        ),
        Planted(
            "WRED drops",
            "marking",
            "ECN from 150000 to 1500000 B at 100 %: WRED drops green packets, because ecn is"
            " ecn_none",
            edit(
                "random-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes"
                " max-mark-probability 100",
                "random-detect drop minimum-threshold 150000 bytes maximum-threshold 1500000 bytes"
                " drop-probability 100",
            ),
        ),
        Planted(
            "ECN unbound",
            "unmarked",
            "no random-detect ecn",
            edit(
                "      random-detect ecn minimum-threshold 150000 bytes maximum-threshold"
                " 1500000 bytes max-mark-probability 100\n",
                "",
            ),
        ),
        Planted(
            "ECN probability 0",
            "unmarked",
            "ECN from 150000 to 1500000 B at 0 %: green probability 0",
            edit("max-mark-probability 100", "max-mark-probability 0"),
        ),
        Planted(
            "ECN beyond the memory",
            "unmarked",
            "ECN from 99000000 to 1500000 B at 100 %: green minimum 99000000 B is never reached",
            edit("minimum-threshold 150000 bytes", "minimum-threshold 99000 kbytes"),
        ),
        Planted(
            "ECN thresholds the wrong way round",
            "marking",
            "ECN from 150000 to 1000 B at 100 %: green maximum 1000 B below minimum 150000 B",
            edit("maximum-threshold 1500000 bytes", "maximum-threshold 1 kbytes"),
        ),
        Planted(
            "no watchdog",
            "watchdog",
            "no PFC watchdog",
            edit("   priority-flow-control pause watchdog\n", ""),
        ),
        Planted(
            "a watchdog that does not observe the queue",
            "watchdog",
            "bandwidth guaranteed leaves out 3",
            edit("bandwidth guaranteed percent 50", "bandwidth percent 50"),
        ),
        Planted(
            "watchdog of wrong times",
            "watchdog-times",
            "timeout soon",
            edit("default timeout 0.2", "default timeout soon"),
        ),
        Planted(
            "watchdog beyond its range",
            "watchdog-times",
            "timeout 90000",
            edit("default timeout 0.2", "default timeout 90"),
        ),
        Planted(
            "watchdog polls too seldom",
            "watchdog-times",
            "timeout 200 ms, polling interval 150 ms",
            edit("polling-interval 0.1", "polling-interval 0.15"),
        ),
        Planted(
            "watchdog that only reports",
            "watchdog-times",
            "action notify-only reports a storm and lets it go on",
            edit("watchdog action drop", "watchdog action notify-only"),
        ),
        Planted("MTU too small", "mtu", "MTU 1500", edit("   mtu 9000\n", "   mtu 1500\n")),
        Planted(
            "a value that cannot be read",
            "readable",
            "'priority-flow-control priority nine no-drop' cannot be read",
            edit("priority-flow-control priority 3 ", "priority-flow-control priority nine "),
        ),
        Planted(
            "wrong share",
            "intent",
            "weights of queues are {0: 25, 3: 50, 4: 30}",
            edit("bandwidth percent 20", "bandwidth percent 25"),
        ),
    ],
    "cumulus": [
        Planted(
            "headroom too small",
            "headroom",
            "headroom of lossless-5m is 20544 B",
            edit(CABLE, f"{CABLE}{BUFFER} port-buffer 40000\n{BUFFER} xoff-threshold 19456\n"),
        ),
        Planted(
            "XON above XOFF",
            "sizes",
            "xon of lossless-5m is 30000 B, more than xoff",
            edit(
                CABLE,
                f"{CABLE}{BUFFER} port-buffer 90000\n{BUFFER} xoff-threshold 19456\n"
                f"{BUFFER} xon-threshold 30000\n",
            ),
        ),
        Planted(
            "no memory for the lossless pool",
            "groups",
            "lossless priority 3 has no headroom in default-lossy",
            edit(
                CABLE,
                f"{CABLE}nv set qos advance-buffer-config default-global ingress-pool 1"
                " memory-percent 0\n",
            ),
        ),
        Planted(
            "lossless priority without headroom",
            "groups",
            "lossless priority 3 has no headroom in default-lossy",
            edit("nv set qos traffic-pool default-lossless memory-percent 50\n", ""),
        ),
        Planted(
            "more memory than there is",
            "readable",
            "'memory-percent of 150 in all traffic pools' cannot be read",
            edit("nv set qos traffic-pool default-lossy memory-percent 50\n", ""),
        ),
        Planted(
            "PFC off at one port",
            "intent",
            "lossless priorities are none",
            edit("interface swp1-2 qos pfc profile", "interface swp2 qos pfc profile"),
        ),
        Planted(
            "PFC off for a priority",
            "intent",
            "lossless priorities are 3",
            edit("switch-priority 3,4", "switch-priority 3"),
        ),
        Planted(
            "PFC in one direction",
            "asymmetric",
            "rx or tx is disabled in the PFC profile",
            edit("lossless-5m rx enable", "lossless-5m rx disable"),
        ),
        Planted(
            "cable longer than configured",
            "cables",
            "a cable of 5 m",
            edit("cable-length 40", "cable-length 5"),
        ),
        Planted(
            "cable unknown",
            "cables",
            "no cable length",
            edit("nv set qos pfc lossless-5m cable-length 5\n", ""),
        ),
        Planted(
            "ports trust 802.1p",
            "intent",
            "every DSCP is in priority group 0 and queue 0",
            edit("trust both", "trust l2"),
        ),
        Planted(
            "unmarked traffic lossless",
            "default",
            "DSCP 0 is in lossless priority group 3",
            edit("dscp 24,25,", "dscp 0,24,25,"),
        ),
        Planted(
            "one wrong code point",
            "intent",
            "DSCP 26 is in priority group 4 and queue 4",
            edit("dscp 32,33,", "dscp 26,32,33,"),
        ),
        Planted(
            "group and queue of different classes",
            "mixed",
            "traffic class 0 shares lossless queue 3, but fills priority group 0, which is lossy",
            edit("switch-priority 0 traffic-class 0", "switch-priority 0 traffic-class 3"),
        ),
        Planted(
            "queue without a share",
            "served",
            "queue 3 of lossless priority 3 has no scheduler",
            edit("traffic-class 3 bw-percent 50", "traffic-class 3 bw-percent 0"),
        ),
        Planted(
            "WRED drops",
            "marking",
            "ECN from 150000 to 1500000 B at 100 %: WRED drops green packets, because ecn is"
            " ecn_none",
            edit("ecn enable", "ecn disable", "red disable", "red enable"),
        ),
        Planted(
            "no ECN",
            "unmarked",
            "ECN from 150000 to 1500000 B at 100 %: ecn is ecn_none",
            edit("ecn enable", "ecn disable"),
        ),
        Planted(
            "ECN unbound",
            "unmarked",
            "no qos congestion-control",
            edit("traffic-class 3,4 ", "traffic-class 4 "),
        ),
        Planted(
            "ECN probability 0",
            "unmarked",
            "ECN from 150000 to 1500000 B at 0 %: green probability 0",
            edit("probability 100", "probability 0"),
        ),
        Planted(
            "ECN beyond the memory",
            "unmarked",
            "ECN from 99000000 to 1500000 B at 100 %: green minimum 99000000 B is never reached",
            edit("min-threshold 150000", "min-threshold 99000000"),
        ),
        Planted(
            "ECN thresholds the wrong way round",
            "marking",
            "ECN from 150000 to 1000 B at 100 %: green maximum 1000 B below minimum 150000 B",
            edit("max-threshold 1500000", "max-threshold 1000"),
        ),
        Planted(
            "no watchdog",
            "watchdog",
            "no PFC watchdog",
            edit("swp1-4 qos pfc-watchdog", "swp2-4 qos pfc-watchdog"),
        ),
        Planted(
            "watchdog of wrong times",
            "watchdog-times",
            "polling-interval times robustness soon by 1",
            edit("polling-interval 200", "polling-interval soon"),
        ),
        Planted(
            "MTU too small",
            "mtu",
            "MTU 1500",
            edit("swp1-4 link mtu 9000", "swp1-4 link mtu 1500", "bond1 link mtu 9000", ""),
        ),
        Planted(
            "a value that cannot be read",
            "readable",
            "'qos pfc lossless-5m cable-length long' cannot be read",
            edit("lossless-5m cable-length 5", "lossless-5m cable-length long"),
        ),
        Planted(
            "wrong share",
            "intent",
            "weights of queues are {0: 25, 3: 50, 4: 30}",
            edit("bw-percent 20", "bw-percent 25"),
        ),
    ],
}
