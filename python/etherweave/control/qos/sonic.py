"""SONiC: ``config_db.json``.

Tables and fields are those of the YANG models in sonic-net/sonic-buildimage,
``src/sonic-yang-models``. A traffic class of SONiC is a priority here, so that TC_TO_QUEUE_MAP is
the class of the priority and TC_TO_PRIORITY_GROUP_MAP its group.

Sizes follow the vendors' tables: a group's ``size`` contains its headroom, ``xoff``, on NVIDIA's
devices, and does not on Broadcom's, whose headroom is a part of its own of the ingress pool. In the
traditional buffer model ``buffermgrd`` makes the groups from ``pg_profile_lookup.ini``, which
stands beside the configuration with the same numbers.
"""

import json
import math
from typing import TypeAlias

from etherweave.control.qos.devices import is_nvidia, xon_bytes
from etherweave.control.qos.policy import (
    TRIMMED_CLASS,
    FlowControl,
    Policy,
    PolicyError,
    PortPolicy,
    SwitchPolicy,
    Threshold,
    TrafficClass,
)

ConfigEntry: TypeAlias = dict[str, str | list[str]]
ConfigTable: TypeAlias = dict[str, ConfigEntry]
ConfigTables: TypeAlias = dict[str, ConfigTable]

MAP = "ETHERWEAVE"  # Name of every map.
INGRESS, EGRESS_LOSSLESS, EGRESS_LOSSY = (
    "ingress_lossless_pool",
    "egress_lossless_pool",
    "egress_lossy_pool",
)
INGRESS_LOSSLESS, INGRESS_LOSSY, LOSSLESS_QUEUE, LOSSY_QUEUE, TRIMMED_QUEUE = (
    "ingress_lossless_profile",
    "ingress_lossy_profile",
    "egress_lossless_profile",
    "egress_lossy_profile",
    "egress_trimmed_profile",
)
TRIMMED_TO_HOST, TRIMMED_TO_SWITCH = f"{MAP}_HOST_TRIMMED", f"{MAP}_SWITCH_TRIMMED"
CABLES = "AZURE"  # The only name that SONiC's buffer manager reads.
LOOKUP = "pg_profile_lookup.ini"


def files(policy: Policy, switch: SwitchPolicy) -> dict[str, str]:
    """Write the configuration of a switch.

    Raises ``PolicyError`` when the fabric pauses by 802.3x, which SONiC's configuration does not
    support.
    """
    if policy.flow_control is FlowControl.GLOBAL_PAUSE:
        problem = "flow_control.global_pause: SONiC's configuration does not support it"
        raise PolicyError(f"{problem}; expected flow_control.pfc, or --nos onyx, cumulus or eos")
    tables = config_db(policy, switch)
    written = {"config_db.json": json.dumps(tables, indent=2, ensure_ascii=False) + "\n"}
    if policy.is_pfc and not policy.sonic.is_dynamic:
        written[LOOKUP] = _lookup(policy, switch)
    return written


def port_name(switch: SwitchPolicy, port: PortPolicy) -> str:
    """Name a port after its first lane: Ethernet0, Ethernet4; by eights with eight lanes."""
    return f"Ethernet{switch.place(port).lanes[0]}"


def config_db(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    """Return all tables that have entries."""
    _check_form(policy)
    device_tables: ConfigTables = {
        "DEVICE_METADATA": {"localhost": {"hostname": switch.name, "type": "LeafRouter"}},
        "PORT": {port_name(switch, port): _port(policy, switch, port) for port in switch.ports},
        **_channels(policy, switch),
    }
    tables: ConfigTables = {
        **(device_tables if policy.sonic.is_whole else {}),
        **_host_ports(policy, switch),
        **_maps(policy),
        **_schedulers(policy, switch),
        **_buffers(policy, switch),
        **_bindings(policy, switch),
        **_watchdog(policy, switch),
        **_trimming(policy),
    }
    if policy.sonic.is_dynamic:
        own = tables.get("DEVICE_METADATA", {}).get("localhost", {})
        tables["DEVICE_METADATA"] = {"localhost": {**own, "buffer_model": "dynamic"}}
        tables |= _dynamic(policy)
    return {name: table for name, table in tables.items() if table}


def _host_ports(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    """Put the ports of hosts into a VLAN, or make them routed; addresses are not written."""
    names = [port_name(switch, port) for port in switch.ports if port.is_host]
    if policy.host_ports is None or not names:
        return {}
    if (vlan := policy.host_ports.vlan) is None:
        return {"INTERFACE": {name: {} for name in names}}
    return {
        "VLAN": {f"Vlan{vlan}": {"vlanid": str(vlan)}},
        "VLAN_MEMBER": {f"Vlan{vlan}|{name}": {"tagging_mode": "untagged"} for name in names},
    }


def _check_form(policy: Policy) -> None:
    if policy.sonic.is_dynamic and not is_nvidia(policy.device):
        problem = f"the dynamic buffer model of {policy.device}: SONiC has it for NVIDIA's devices"
        raise PolicyError(f"{problem}; expected the traditional one")
    if policy.sonic.is_dynamic and policy.memory.ingress.alpha is None:
        problem = "switch.ingress_threshold.static: the dynamic buffer model has factors only"
        raise PolicyError(f"{problem}; expected switch.ingress_threshold.alpha")


def _dynamic(policy: Policy) -> ConfigTables:
    """Return what SONiC computes headroom from: small packets fill all cells."""
    threshold = {"default_dynamic_th": _threshold(policy.memory.ingress)["dynamic_th"]}
    ratio = policy.sonic.over_subscription
    shared: ConfigEntry = {"over_subscribe_ratio": str(ratio)} if ratio else {}
    return {
        "LOSSLESS_TRAFFIC_PATTERN": {
            CABLES: {"mtu": str(policy.mtu_bytes), "small_packet_percentage": "100"}
        },
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {CABLES: {**threshold, **shared}},
    }


def _port(policy: Policy, switch: SwitchPolicy, port: PortPolicy) -> ConfigEntry:
    place = switch.place(port)
    entry: ConfigEntry = {
        "admin_status": "up",
        "alias": f"etp{place.cage}{'abcdefgh'[place.leg] if port.is_leg else ''}",
        "description": f"{port.peer} port {port.peer_port}",
        "index": str(place.cage),
        "lanes": ",".join(str(lane + 1) for lane in place.lanes),
        "speed": str(port.rate_mbps),
    }
    # A member has the MTU of its port channel: some versions of the model reject one of its own.
    return entry if port.bundle else entry | {"mtu": str(policy.mtu_bytes)}


def _channels(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    bundles = switch.bundles()
    mtu = str(policy.mtu_bytes)
    channel: ConfigEntry = {"admin_status": "up", "lacp_key": "auto", "min_links": "1", "mtu": mtu}
    return {
        "PORTCHANNEL": {_channel(number): channel for number in bundles},
        "PORTCHANNEL_MEMBER": {
            f"{_channel(number)}|{port_name(switch, port)}": {}
            for number, ports in bundles.items()
            for port in ports
        },
    }


def _channel(bundle: int) -> str:
    return f"PortChannel{bundle}"


def _maps(policy: Policy) -> ConfigTables:
    def table(pairs: dict[int, int]) -> ConfigTable:
        return {MAP: {str(first): str(other) for first, other in pairs.items()}}

    own = {priority.number: priority.number for priority in policy.priorities}
    queue = {priority.number: priority.traffic_class for priority in policy.priorities}
    tables = {
        "DSCP_TO_TC_MAP": table(policy.priority_of_dscp()),
        "DOT1P_TO_TC_MAP": table(own),
        "TC_TO_PRIORITY_GROUP_MAP": table(policy.group_of_priority()),
        "TC_TO_QUEUE_MAP": table(queue),
    }
    if policy.is_pfc:
        tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = table(policy.group_of_priority())
        tables["MAP_PFC_PRIORITY_TO_QUEUE"] = table(queue)
    return tables


def _schedulers(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    kinds: ConfigTable = {}
    queue: dict[int, ConfigEntry] = {}
    for traffic_class in (candidate for candidate in policy.classes if candidate.is_scheduled):
        name = f"scheduler.{traffic_class.number}"
        weighted: ConfigEntry = {"type": "DWRR", "weight": str(traffic_class.weight)}
        kinds[name] = weighted if traffic_class.weight else {"type": "STRICT"}
        queue[traffic_class.number] = {"scheduler": name}
        queue[traffic_class.number] |= (
            {"wred_profile": f"{MAP}_LOSSLESS"} if traffic_class.number in policy.marked else {}
        )
    return {
        "SCHEDULER": kinds,
        "WRED_PROFILE": _wred(policy),
        "QUEUE": {
            f"{port_name(switch, port)}|{number}": dict(entry)
            for port in switch.ports
            for number, entry in queue.items()
        },
    }


def _wred(policy: Policy) -> ConfigTable:
    """Mark all colours: RoCE's packets can carry the mark, so that none is dropped."""
    if policy.marking is None:
        return {}
    entry: ConfigEntry = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        entry[f"wred_{colour}_enable"] = "true"
        entry[f"{colour}_min_threshold"] = str(policy.marking.minimum_bytes)
        entry[f"{colour}_max_threshold"] = str(policy.marking.maximum_bytes)
        entry[f"{colour}_drop_probability"] = str(policy.marking.percent)
    return {f"{MAP}_LOSSLESS": entry}


def _buffers(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    groups: ConfigTable = {}
    queues: ConfigTable = {}
    profiles = _profiles(policy)
    lossy, is_dynamic = policy.lossy_group(), policy.sonic.is_dynamic
    for port in switch.ports:
        name = port_name(switch, port)
        if lossy is not None:
            groups[f"{name}|{lossy}"] = _profile(INGRESS_LOSSY)
        for level in policy.lossless:
            profile = f"pg_lossless_{port.rate_mbps}_{port.cable_m}m_profile"
            if not is_dynamic:
                profiles[profile] = _lossless(policy, port)
            groups[f"{name}|{level.number}"] = _profile("NULL" if is_dynamic else profile)
        for queue in policy.classes:
            queues[f"{name}|{queue.number}"] = _profile(_queue_profile(policy, queue))
    names = [port_name(switch, port) for port in switch.ports]
    return {
        "CABLE_LENGTH": {
            CABLES: {port_name(switch, port): f"{port.cable_m}m" for port in switch.ports}
        },
        "BUFFER_POOL": _pools(policy, switch),
        "BUFFER_PROFILE": profiles,
        "BUFFER_PG": dict(sorted(groups.items(), key=_port_and_number)),
        "BUFFER_QUEUE": queues,
        **(_profile_lists(names) if is_nvidia(policy.device) else {}),
    }


def _queue_profile(policy: Policy, queue: TrafficClass) -> str:
    if queue.is_lossless:
        return LOSSLESS_QUEUE
    own = policy.trimming
    is_of_trimmed = own is not None and queue.number in (own.queue, own.next_queue)
    return TRIMMED_QUEUE if is_of_trimmed else LOSSY_QUEUE


def _trimming(policy: Policy) -> ConfigTables:
    """Return the size, code point and queue of trimmed packets; profiles say which are trimmed."""
    own = policy.trimming
    if own is None:
        return {}
    size: ConfigEntry = {"size": str(own.size_bytes)}
    queue: ConfigEntry = {"queue_index": str(own.queue)}
    if not own.is_by_class:
        return {"SWITCH_TRIMMING": {"GLOBAL": size | {"dscp_value": str(own.dscp)} | queue}}
    traffic_class = str(TRIMMED_CLASS)
    by_class: ConfigEntry = {"dscp_value": "from-tc", "tc_value": traffic_class}
    marks = ((TRIMMED_TO_HOST, own.last_hop_dscp), (TRIMMED_TO_SWITCH, own.dscp))
    return {
        "SWITCH_TRIMMING": {"GLOBAL": size | by_class | queue},
        "TC_TO_DSCP_MAP": {name: {traffic_class: str(dscp)} for name, dscp in marks},
    }


def _profiles(policy: Policy) -> ConfigTable:
    """Return the profiles that do not depend on a port."""
    memory = policy.memory
    profiles: ConfigTable = {
        INGRESS_LOSSY: {
            "pool": INGRESS,
            "size": str(memory.reserve_bytes),
            **_threshold(memory.ingress),
        },
        LOSSY_QUEUE: {"pool": EGRESS_LOSSY, "size": "0", **_threshold(memory.egress)},
        # What was accepted at the ingress is never dropped at the egress.
        LOSSLESS_QUEUE: {
            "pool": EGRESS_LOSSLESS,
            "size": "0",
            "static_th": str(memory.buffer_bytes),
        },
    }
    if policy.trimming is not None:
        profiles[TRIMMED_QUEUE] = dict(profiles[LOSSY_QUEUE])
        profiles[LOSSY_QUEUE]["packet_discard_action"] = "trim"
    if is_nvidia(policy.device):
        profiles[INGRESS_LOSSLESS] = {"pool": INGRESS, "size": "0", **_threshold(memory.ingress)}
    return profiles


def _profile_lists(ports: list[str]) -> ConfigTables:
    """Return a profile of every pool for every port, as all of NVIDIA's configurations have."""
    ingress: ConfigEntry = {"profile_list": INGRESS_LOSSLESS}
    egress: ConfigEntry = {"profile_list": f"{LOSSLESS_QUEUE},{LOSSY_QUEUE}"}
    return {
        "BUFFER_PORT_INGRESS_PROFILE_LIST": {port: dict(ingress) for port in ports},
        "BUFFER_PORT_EGRESS_PROFILE_LIST": {port: dict(egress) for port in ports},
    }


def _port_and_number(item: tuple[str, ConfigEntry]) -> tuple[int, int]:
    port, number = item[0].removeprefix("Ethernet").split("|")
    return int(port), int(number)


def _pools(policy: Policy, switch: SwitchPolicy) -> ConfigTable:
    def pool(kind: str, threshold: Threshold, size_bytes: int) -> ConfigEntry:
        mode = "static" if threshold.alpha is None else "dynamic"
        size = {} if policy.sonic.is_dynamic and kind == "ingress" else {"size": str(size_bytes)}
        return {"type": kind, "mode": mode, **size}

    memory = policy.memory
    full_buffer = Threshold(None, memory.buffer_bytes)
    headroom = len(policy.lossless) * sum(port.headroom_bytes for port in switch.ports)
    shared = _shared_headroom(policy, headroom)
    # Headroom that is shared leaves the rest of its sum to the pool.
    ingress = switch.pool_bytes + (headroom - shared if policy.sonic.over_subscription else 0)
    pools = {
        INGRESS: pool("ingress", memory.ingress, ingress),
        EGRESS_LOSSLESS: pool("egress", full_buffer, memory.buffer_bytes),
        EGRESS_LOSSY: pool("egress", memory.egress, switch.pool_bytes),
    }
    if shared and not policy.sonic.is_dynamic:
        pools[INGRESS]["xoff"] = str(shared)
    return pools


def _shared_headroom(policy: Policy, headroom_bytes: int) -> int:
    """Return the part of the ingress pool that is headroom; 0: the groups' sizes contain it."""
    if not policy.is_pfc:
        return 0
    if policy.sonic.over_subscription:
        return -(-headroom_bytes // policy.sonic.over_subscription)
    return 0 if is_nvidia(policy.device) else headroom_bytes


def _profile(name: str) -> ConfigEntry:
    return {"profile": name}


def _lossless(policy: Policy, port: PortPolicy) -> ConfigEntry:
    """Return a group its reserve and, above XOFF, its headroom."""
    size, xon, offset = _sizes(policy, port)
    return {
        "pool": INGRESS,
        "size": str(size),
        "xoff": str(port.headroom_bytes),
        "xon": str(xon),
        **({"xon_offset": str(offset)} if offset else {}),
        **_threshold(policy.memory.ingress),
    }


def _sizes(policy: Policy, port: PortPolicy) -> tuple[int, int, int]:
    """Return size, XON and the offset of XON below the limit of a lossless group [B]."""
    memory = policy.memory
    if not is_nvidia(policy.device):
        return memory.reserve_bytes, memory.xon_offset_bytes, memory.xon_offset_bytes
    xon = xon_bytes(policy.device, port.rate_mbps)
    own = 0 if policy.sonic.over_subscription else port.headroom_bytes
    return xon + own, xon, 0


def _lookup(policy: Policy, switch: SwitchPolicy) -> str:
    """Write a row of the table for every rate and cable."""
    threshold = next(iter(_threshold(policy.memory.ingress).values()))
    rows = {}
    for port in switch.ports:
        size, xon, offset = _sizes(policy, port)
        last = f" {offset}" if offset else ""
        sizes = f"{size} {xon} {port.headroom_bytes} {threshold}{last}"
        rows[port.rate_mbps, port.cable_m] = f"{port.rate_mbps} {port.cable_m}m {sizes}\n"
    head = "# speed cable size xon xoff threshold xon_offset\n"
    return head + "".join(rows[place] for place in sorted(rows))


def _threshold(threshold: Threshold) -> ConfigEntry:
    if threshold.alpha is None:
        return {"static_th": str(threshold.size_bytes)}
    return {"dynamic_th": str(int(math.log2(threshold.alpha)))}


def _bindings(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    entry: ConfigEntry = {
        "dot1p_to_tc_map": MAP,
        "dscp_to_tc_map": MAP,
        "tc_to_pg_map": MAP,
        "tc_to_queue_map": MAP,
    }
    if policy.is_pfc:
        lossless = ",".join(str(level.number) for level in policy.lossless)
        entry |= {"pfc_enable": lossless, "pfc_to_pg_map": MAP, "pfc_to_queue_map": MAP}
        if policy.watchdog:
            entry["pfcwd_sw_enable"] = lossless
    return {
        "PORT_QOS_MAP": {
            port_name(switch, port): entry | _trimmed_map(policy, port) for port in switch.ports
        }
    }


def _trimmed_map(policy: Policy, port: PortPolicy) -> ConfigEntry:
    """Return the map by which packets trimmed on their way to a port get a code point."""
    if policy.trimming is None or not policy.trimming.is_by_class:
        return {}
    return {"tc_to_dscp_map": TRIMMED_TO_HOST if port.is_host else TRIMMED_TO_SWITCH}


def _watchdog(policy: Policy, switch: SwitchPolicy) -> ConfigTables:
    if policy.watchdog is None:
        return {}
    entry: ConfigEntry = {
        "action": policy.watchdog.action,
        "detection_time": str(policy.watchdog.detect_ms),
        "restoration_time": str(policy.watchdog.restore_ms),
    }
    ports = {port_name(switch, port): dict(entry) for port in switch.ports}
    return {"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": str(policy.watchdog.poll_ms)}, **ports}}
