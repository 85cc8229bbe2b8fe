"""Derives the policy of a fabric from its scenario.

Sources of what a scenario does not define:

- Code points: :mod:`etherweave.api.code_points`; congestion notifications have 48, priority 6
  (the vendors' RoCEv2 guides).
- The watchdog: the scenario's; absent, 200 ms each, as SONiC's ``pfcwd start_default``.
- The MTU: 9000, as most hosts of clusters with jumbo frames.
- The lossless priority: 3, as in the same guides, with the jobs that have none of their own.
- Shares: half of a port for lossless classes, half for class 0 with all other traffic, and
  congestion notifications strictly first (NVIDIA, Cumulus Linux 5.14 user guide, "RDMA over
  Converged Ethernet", default configuration in lossless mode). EOS leaves priority 7 in queue 7.
- ECN: from 150,000 to 1,500,000 B, all packets above (same guide, ``nv show qos roce``), with
  DCQCN at NICs, which is on where NICs come from NVIDIA.
- The device: by the rate of the fastest port, of NVIDIA's (:mod:`~etherweave.control.qos.devices`).
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from etherweave import _core
from etherweave.api import code_points
from etherweave.api.fabrics import fabric
from etherweave.api.scenario import Literal, Overrides, ScenarioSource, read, stated_by
from etherweave.api.units import size_of, time_of
from etherweave.control.qos import front_panel
from etherweave.control.qos.devices import GENERIC, Cables, LookupTable, capacity_notes, device_for
from etherweave.control.qos.policy import (
    DSCPS,
    EOS_POLLS,
    PRIORITIES,
    TRIMMED_CLASS,
    TRIMMING,
    BufferPolicy,
    CapacityError,
    FlowControl,
    HostPolicy,
    HostPorts,
    JobPolicy,
    Marking,
    Policy,
    PolicyError,
    PortPolicy,
    Priority,
    SonicForm,
    SwitchPolicy,
    Threshold,
    TrafficClass,
    Trimming,
    Watchdog,
    WatchdogError,
)

if TYPE_CHECKING:
    import polars as pl

CNP_DSCP = 48
LOSSLESS = 3  # Priority of lossless traffic where the scenario names none.
MTU_BYTES = 9000
MTU_RANGE = (1500, 9216)  # MTUs that switches accept [B].
MARKING = Marking(150_000, 1_500_000, 100)  # ECN of RoCE with PFC where the scenario has none.
LOSSLESS_SHARE = 50  # Share of a port for all lossless classes where the scenario names none [%].
VENDOR = "as NVIDIA's guide of RoCE for Cumulus Linux 5.14"
WATCHDOG = Watchdog(detect_ms=200, restore_ms=200, poll_ms=200)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options beside the scenario."""

    mtu_bytes: int = MTU_BYTES
    dscps: Mapping[int, int] = field(default_factory=dict)
    """Code points that hosts write, by priority."""
    cnp_dscp: int = CNP_DSCP
    watchdog: Watchdog | None = None  # Absent: the scenario's, or else 200 ms each.
    is_watched: bool = True
    marks: bool = True  # Whether RoCE with PFC has ECN and DCQCN where the scenario has neither.
    routing: str | None = None
    """The routing that must be free of deadlock; default: the scenario's."""
    system: str = "sonic"  # Operating system of the switches.
    device: str | None = None
    """Profile of the switches; default: the scenario's, or one that is fast enough."""
    lookup: LookupTable | None = None  # The device's own table of headroom.
    sonic: SonicForm = field(default_factory=SonicForm)
    panels: front_panel.Panels = field(default_factory=dict)
    """Front panels, by the pattern of their switches' names; none: every port has a cage."""
    host_ports: HostPorts | None = None  # None: they stay as they are.


WATCHDOG_MS = {"detection": (100, 5000), "restoration": (100, 60_000), "poll": (100, 1000)}
"""Times of a watchdog that SONiC takes [ms]."""


def _watchdog(options: ExportOptions, settings: dict[str, Any]) -> Watchdog | None:
    pfc = settings["flow_control"].get("pfc")
    if pfc is None and options.watchdog:
        own = next(iter(settings["flow_control"]))
        raise PolicyError(
            f"--watchdog: flow control {own}; expected flow_control.pfc, which it watches"
        )
    if pfc is None or not options.is_watched:
        return None
    if options.watchdog or "watchdog" not in pfc:
        return options.watchdog or WATCHDOG
    times = {}
    for name, (shortest, longest) in WATCHDOG_MS.items():
        text = pfc["watchdog"][name]
        times[name] = round(time_of(text) * 1e3, 6)
        if not shortest <= times[name] <= longest or times[name] % 1:
            raise WatchdogError(
                f"flow_control.pfc.watchdog.{name}: {text}; expected {shortest} to {longest} ms, "
                "whole, as switches take; `control export --watchdog DETECT:RESTORE` replaces it"
            )
    action = pfc["watchdog"]["action"]
    if action != "drop" and options.system != "sonic":
        raise WatchdogError(
            f"flow_control.pfc.watchdog.action: {action}; expected drop: the files for "
            f"{options.system} have no other"
        )
    detect_ms, restore_ms, poll_ms = map(int, times.values())
    return Watchdog(detect_ms, restore_ms, poll_ms, action)


def _watchdog_notes(watchdog: Watchdog | None, pfc: Mapping[str, Any], system: str) -> list[str]:
    """Name times of the scenario's watchdog that the files of a system do not have."""
    if watchdog is None or "watchdog" not in pfc:
        return []
    key = "flow_control.pfc.watchdog"
    if system == "eos":
        poll_ms = watchdog.poll_within(EOS_POLLS)
        why = f"EOS takes {EOS_POLLS} polls at least within each of the other times"
        note = f"{key}.poll: {watchdog.poll_ms} ms; the files have {poll_ms} ms, for {why}"
        return [note] if poll_ms < watchdog.poll_ms else []
    if system not in ("cumulus", "onyx"):
        return []
    if system == "onyx":
        return [f"{key}: its times are not in the files, which turn the watchdog of a port on"]
    polls = max(watchdog.detect_ms // watchdog.poll_ms, 1)
    time = f"storms are detected after {polls} polls, {polls * watchdog.poll_ms} ms"
    return [f"{key}.restoration: not in the files; {time}"]


def policy(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    options: ExportOptions | None = None,
) -> Policy:
    """Derive the policy of a scenario's fabric, which needs no jobs.

    Raises ``ScenarioError`` when the scenario is wrong, ``PolicyError`` when options contradict it,
    or switches do not support it.
    """
    options = options or ExportOptions()
    overrides = dict(overrides or {})
    written = _written(scenario, overrides)
    built = fabric(scenario, overrides)
    control, _ = _flow_control(tomllib.loads(built.resolved)["flow_control"])
    device = options.device or _device(built, written, options.system)
    overrides |= {"switch.profile": device} | _lossless(built, written, control)
    built = fabric(scenario, overrides)
    settings = tomllib.loads(built.resolved)
    _check_options(options, built.largest_packet_bytes)
    control, lossless = _flow_control(settings["flow_control"])
    jobs = tuple(JobPolicy(job["name"], job["priority"]) for job in settings.get("job", []))
    roce = settings["transport"].get("roce")
    ecn = settings["switch"].get("ecn")
    raised = _raised(settings)
    is_open = (
        control is FlowControl.PFC
        and not raised
        and {job.priority for job in jobs} <= lossless
        and not any(key.startswith("ets.") for key in written)
    )
    is_marked = options.marks and is_open and roce is not None and ecn is None
    cnp_dscp = options.cnp_dscp if roce and ("dcqcn" in roce or is_marked) else None
    shares = Shares(settings["ets"]["class_of_priority"], settings["ets"]["weights"])
    if is_open:
        cnp = _owner(options, cnp_dscp)
        shares = _vendor_shares(lossless, None if cnp in lossless else cnp, options.system)
    priorities = _priorities(shares.class_of_priority, lossless, options.dscps)
    notes = _notes(control, priorities)
    trimming = _trimming(settings["switch"], priorities)
    own = () if trimming is None else (trimming.queue, trimming.next_queue)
    classes = _classes(shares.weights, priorities, (jobs, raised), (cnp_dscp, own))
    memory = _memory(settings["switch"], notes)
    needed = built.routing_priorities(options.routing)
    # With parameters, a routing is a table below its name.
    named = settings["routing"]
    routing = options.routing or (named if isinstance(named, str) else next(iter(named)))
    needed = max(needed, len(raised))
    if control is FlowControl.PFC:
        _check_raised(raised, priorities)
        _check_deadlock(routing, needed, priorities)
    if "control" in settings and control is not FlowControl.NONE:
        notes += built.deployment([]).warnings
    cables = Cables(settings["switch"], options.lookup)
    # What the scenario says by itself counts.
    is_computed = control is not FlowControl.NONE and "headroom" not in settings["switch"]
    groups = 1 if control is FlowControl.GLOBAL_PAUSE else len(lossless)
    try:
        switches, hosts = _devices(built, options.mtu_bytes, cables, groups * is_computed)
    except _core.ScenarioError as error:
        counted = f"counted for {device} and frames of {options.mtu_bytes} B"
        raise CapacityError(f"{error}; {counted}") from error
    switches = front_panel.placed(switches, options.panels) if options.panels else switches
    notes += capacity_notes(device, switches)
    notes += front_panel.breakout_notes(switches) if options.system == "sonic" else []
    notes += [*cables.notes(options.system), *shares.notes, *_ecn_notes(is_marked, settings)]
    notes += _trimming_notes(trimming, options.system)
    notes += _transport_notes(settings)
    watchdog = _watchdog(options, settings)
    if options.watchdog is None:
        pfc = settings["flow_control"].get("pfc", {})
        notes += _watchdog_notes(watchdog, pfc, options.system)
    return Policy(
        name=built.name,
        device=device,
        flow_control=control,
        priorities=priorities,
        classes=classes,
        marking=MARKING if is_marked else _marking(ecn),
        memory=memory,
        watchdog=watchdog,
        trimming=trimming,
        sonic=options.sonic,
        mtu_bytes=options.mtu_bytes,
        is_roce=roce is not None,
        cnp_dscp=cnp_dscp,
        routing=routing,
        routing_priorities=needed,
        raised=raised,
        switches=switches,
        hosts=hosts,
        jobs=jobs,
        notes=tuple(notes),
        host_ports=options.host_ports,
    )


@dataclass(frozen=True, slots=True)
class Shares:
    """Queues of priorities, and the share of each queue."""

    class_of_priority: list[int]
    weights: list[int]
    notes: tuple[str, ...] = ()  # Differences from the scenario.


def _owner(options: ExportOptions, dscp: int | None) -> int | None:
    """Return the priority to which a code point belongs."""
    if dscp is None:
        return None
    own = {mark: priority for priority, mark in options.dscps.items()}
    return own.get(dscp, dscp >> 3)


def _vendor_shares(lossless: frozenset[int], cnp: int | None, system: str) -> Shares:
    """Divide ports as NVIDIA's RoCE mode: lossless classes, all others, notifications first."""
    kept = lossless | {cnp, 7 if system == "eos" else cnp}
    classes = list(PRIORITIES)
    rest = min((key for key in PRIORITIES if key not in lossless and key != cnp), default=None)
    weights = [0] * len(PRIORITIES)
    if rest is not None:
        classes = [priority if priority in kept else rest for priority in PRIORITIES]
        weights[rest] = 100 - LOSSLESS_SHARE
    shared = LOSSLESS_SHARE if rest is not None else 100
    for place, level in enumerate(sorted(lossless)):
        weights[level] = shared // len(lossless) + (place < shared % len(lossless))
    served = ", ".join(f"{weights[key]} % for class {key}" for key in PRIORITIES if weights[key])
    strict = "" if cnp is None else f", class {cnp} of congestion notifications strictly first"
    return Shares(classes, weights, (f"ets: not in the scenario: {served}{strict}, {VENDOR}",))


def _ecn_notes(is_marked: bool, settings: Mapping[str, Any]) -> list[str]:
    if not is_marked:
        return []
    sizes = f"from {MARKING.minimum_bytes:,} to {MARKING.maximum_bytes:,} B"
    simulated = "dcqcn" in settings["transport"]["roce"]
    nics = "" if simulated else " and DCQCN at NICs, which were not simulated"
    return [f"switch.ecn: not in the scenario: ECN {sizes}{nics}, {VENDOR}; --no-ecn leaves it out"]


def _trimming(switch: Mapping[str, Any], priorities: tuple[Priority, ...]) -> Trimming | None:
    if (values := switch.get("trimming")) is None:
        return None
    own = priorities[values["priority"]]
    dscp = values.get("code_point", own.mark)
    last_hop = values.get("last_hop_code_point", dscp)
    for key, mark in (("code_point", dscp), ("last_hop_code_point", last_hop)):
        if mark not in own.dscps:
            problem = f"{TRIMMING}.{key}: {mark}, which --dscp gives to another priority"
            raise PolicyError(f"{problem}; expected a code point of priority {own.number}")
    return Trimming(
        size_bytes=_bytes(values["size"]),
        dscp=dscp,
        last_hop_dscp=last_hop,
        priority=own.number,
        queue=values.get("queue", own.traffic_class),
        next_queue=own.traffic_class,
    )


def _trimming_notes(trimming: Trimming | None, system: str) -> list[str]:
    """Return a note where switches trim packets, which files of SONiC alone configure."""
    if trimming is None:
        return []
    if system == "sonic":
        own = f"traffic class {TRIMMED_CLASS} of trimmed packets, which no code point maps to"
        needed = (
            f"{TRIMMING}.last_hop_code_point: the files have {own}: check that switches have it"
        )
        return [needed] if trimming.is_by_class else []
    parts = "the size, code point and queue of trimmed packets and the action of buffer profiles"
    return [f"{TRIMMING}: not in the files, and switches drop packets: configure {parts}"]


def _transport_notes(settings: Mapping[str, Any]) -> list[str]:
    """Return a note where NICs have Ultra Ethernet, which no file of hosts configures."""
    own = [settings["transport"], *(job.get("transport", {}) for job in settings.get("job", []))]
    if not any("uet" in transport for transport in own):
        return []
    parts = "delivery, congestion control and code points of NICs by their vendor's tools"
    return [
        f"transport.uet: not in the files of hosts, which have classes alone: configure {parts}"
    ]


def _written(scenario: ScenarioSource, overrides: Overrides) -> dict[str, Any]:
    """Return what the scenario gives by itself, by dotted keys."""
    written = stated_by(_flat("", tomllib.loads(read(scenario)[0])), overrides)
    return {
        key: tomllib.loads(f"x = {value.text}")["x"] if isinstance(value, Literal) else value
        for key, value in written.items()
    }


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    if isinstance(value, dict) or (
        isinstance(value, list) and all(isinstance(element, dict) for element in value)
    ):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {
            key: leaf
            for name, part in pairs
            for key, leaf in _flat(f"{prefix}{name}.", part).items()
        }
    return {prefix[:-1]: value}


def _device(built: _core.Fabric, written: Mapping[str, Any], system: str) -> str:
    import polars as pl

    named = written.get("switch.profile", GENERIC)
    rates = pl.DataFrame(built.tables["links"])["rate_gbps"].unique().to_list()
    if named != GENERIC:
        return str(named)
    return device_for(max((round(1000 * rate) for rate in rates), default=0), system)


def _lossless(
    built: _core.Fabric, written: Mapping[str, Any], control: FlowControl
) -> dict[str, object]:
    """Return a lossless priority of its own, and the jobs in it, where the scenario names none."""
    named = ("flow_control.pfc.priorities", "control.priorities", "ets.")
    if control is not FlowControl.PFC or any(
        key.startswith(named) or re.fullmatch(r"job\.\d+\.priority", key) for key in written
    ):
        return {}
    jobs = range(len(tomllib.loads(built.resolved)["job"]))
    return {"flow_control.pfc.priorities": [LOSSLESS]} | {
        f"job.{number}.priority": LOSSLESS for number in jobs
    }


def _notes(control: FlowControl, priorities: tuple[Priority, ...]) -> list[str]:
    default = next((priority for priority in priorities if 0 in priority.dscps), None)
    if control is not FlowControl.PFC or default is None or not default.is_lossless:
        return []
    text = f"flow_control.pfc.priorities: {default.number} has DSCP 0"
    why = "so that all traffic without a mark is lossless, too"
    return [f"{text}, {why}; expected a priority of its own, as {LOSSLESS} with DSCP 26"]


def _check_options(options: ExportOptions, packet_bytes: int) -> None:
    least, most = max(MTU_RANGE[0], packet_bytes), MTU_RANGE[1]
    if not least <= options.mtu_bytes <= most:
        problem = f"MTU {options.mtu_bytes}: hosts send packets of {packet_bytes} B"
        raise PolicyError(f"{problem}; expected {least} to {most}")
    if options.cnp_dscp not in DSCPS:
        raise PolicyError(f"DSCP {options.cnp_dscp}: expected 0 to 63")
    if wrong := code_points.mistake(options.dscps):
        raise PolicyError(wrong)


def _flow_control(settings: Mapping[str, Any]) -> tuple[FlowControl, frozenset[int]]:
    (name, values), *_ = settings.items()
    if name == "credits":
        problem = "flow_control.credits: Ethernet switches have no credits"
        raise PolicyError(f"{problem}; expected flow_control.pfc, global_pause or none")
    control = FlowControl(name)
    if control is FlowControl.PFC:
        return control, frozenset(values["priorities"])
    return control, frozenset(PRIORITIES if control is FlowControl.GLOBAL_PAUSE else ())


def _priorities(
    classes: list[int], lossless: frozenset[int], marks: Mapping[int, int]
) -> tuple[Priority, ...]:
    owner = {dscp: dscp >> 3 for dscp in DSCPS} | {dscp: key for key, dscp in marks.items()}
    return tuple(
        Priority(
            number=priority,
            dscps=tuple(dscp for dscp, its in owner.items() if its == priority),
            mark=marks.get(priority, code_points.code_point(priority)),
            traffic_class=classes[priority],
            is_lossless=priority in lossless,
        )
        for priority in PRIORITIES
    )


def _classes(
    weights: list[int],
    priorities: tuple[Priority, ...],
    users: tuple[tuple[JobPolicy, ...], tuple[int, ...]],
    others: tuple[int | None, tuple[int, ...]],
) -> tuple[TrafficClass, ...]:
    """Return the classes, with those of notifications' code point and of trimmed packets."""
    cnp_dscp, trimmed = others
    lossless = {priority.number for priority in priorities if priority.is_lossless}
    jobs, raised = users
    notified = {priority.number for priority in priorities if cnp_dscp in priority.dscps}
    used = ({job.priority for job in jobs} | set(raised) or lossless) | notified
    used_classes = {priorities[number].traffic_class for number in used} | {*trimmed}
    lossless_classes = {priorities[number].traffic_class for number in lossless}
    return tuple(
        TrafficClass(number, weight, number in used_classes, number in lossless_classes)
        for number, weight in enumerate(weights)
    )


def _marking(ecn: Mapping[str, Any] | None) -> Marking | None:
    if ecn is None:
        return None
    percent = max(1, round(100 * ecn["share_max"]))
    return Marking(_bytes(ecn["queue_min"]), _bytes(ecn["queue_max"]), percent)


def _memory(switch: Mapping[str, Any], notes: list[str]) -> BufferPolicy:
    return BufferPolicy(
        buffer_bytes=_bytes(switch["buffer"]),
        reserve_bytes=_bytes(switch["reserve"]),
        xon_offset_bytes=_bytes(switch["xon_offset"]),
        ingress=_threshold("ingress", switch, notes),
        egress=_threshold("egress", switch, notes),
    )


def _threshold(side: str, switch: Mapping[str, Any], notes: list[str]) -> Threshold:
    settings = switch[f"{side}_threshold"]
    if "static" in settings:
        return Threshold(None, _bytes(settings["static"]))
    alpha = float(settings["alpha"])
    power = 2.0 ** min(max(math.floor(math.log2(alpha)), -7), 7)
    if power != alpha:
        key = f"switch.{side}_threshold.alpha"
        notes.append(
            f"{key}: {alpha:g} is exported as {power:g}: switches accept powers of two up to 2^7"
        )
    return Threshold(power, None)


def _bytes(text: str) -> int:
    try:
        return size_of(text)
    except ValueError as error:
        raise PolicyError(f"size {error}") from None


def _raised(settings: Mapping[str, Any]) -> tuple[int, ...]:
    raised = tuple(settings.get("control", {}).get("priorities", ()))
    if not set(raised) <= set(PRIORITIES):
        raise PolicyError(f"control.priorities: {list(raised)}; expected 0 to 7")
    return raised


def _check_raised(raised: tuple[int, ...], priorities: tuple[Priority, ...]) -> None:
    """Reject priorities that frames are raised to and that are lossy, or share a queue."""
    lossy = [number for number in raised if not priorities[number].is_lossless]
    if lossy:
        why = "through which control.priorities takes frames"
        raise PolicyError(f"flow_control.pfc.priorities: expected {lossy} too, {why}")
    if len({priorities[number].traffic_class for number in raised}) < len(raised):
        problem = f"priorities {list(raised)} of control.priorities share a class"
        raise PolicyError(f"ets.class_of_priority: {problem}; expected one for each")


def _check_deadlock(routing: str, needed: int, priorities: tuple[Priority, ...]) -> None:
    """Reject fewer lossless priorities and queues than the routing's deadlock proof needs."""
    if needed <= 1:
        return
    lossless = [priority for priority in priorities if priority.is_lossless]
    queues = {priority.traffic_class for priority in lossless}
    if min(len(lossless), len(queues)) < needed:
        problem = f"{len(lossless)} lossless priorities in {len(queues)} traffic classes"
        why = f"which {routing} needs against deadlock"
        expected = f"{needed} in classes of their own, {why}"
        raise PolicyError(f"flow_control.pfc.priorities: {problem}; expected {expected}")


def _devices(
    core_fabric: _core.Fabric, mtu_bytes: int, cables: Cables, groups: int
) -> tuple[tuple[SwitchPolicy, ...], tuple[HostPolicy, ...]]:
    """Return switches in the order of their table, hosts in that of their links.

    Each of ``groups`` of a port has headroom for its cable; with none, what the scenario says.
    """
    import polars as pl

    switches = pl.DataFrame(core_fabric.tables["switches"])["switch"].to_list()
    attached = pl.DataFrame(core_fabric.tables["hosts"])["name"]
    for name in (*switches, *attached):
        if not _NAME.fullmatch(name):
            expected = "letters, digits and -_., as a device is called"
            raise PolicyError(f"node {name!r}: expected {expected}")
    known = {name: name for name in switches}
    ends = _ends(core_fabric).join(
        pl.DataFrame({"near": switches}).with_row_index("switch"), "near", "left"
    )
    buffers = pl.DataFrame(core_fabric.buffers(mtu_bytes)).rename(
        {"switch": "near", "port": "near_port"}
    )
    ports = ends.join(buffers, ["near", "near_port"]).sort("switch", "near_port")
    rows = ports.select(*_END, "headroom_bytes", "pool_bytes").iter_rows()
    built = {
        known[name]: _switch(known, tuple(own), cables, groups)
        for name, own in groupby(rows, key=itemgetter(0))
    }
    full = next((chip for chip in built.values() if chip.pool_bytes <= 0), None)
    if full:
        problem = f"headroom of {full.name} takes {-full.pool_bytes} B more than its memory has"
        raise PolicyError(f"switch.buffer: {problem}; expected another --switch, or fewer ports")
    hosts = ends.filter(pl.col("switch").is_null()).sort("link", maintain_order=True)
    several = hosts["near"].is_duplicated()
    return (
        tuple(built.get(name) or SwitchPolicy(name, 0, ()) for name in switches),
        tuple(
            HostPolicy(f"{name}.{own}" if is_several else name, known.get(far, far), port)
            for (name, own, far, port), is_several in zip(
                hosts.select("near", "near_port", "far", "far_port").iter_rows(),
                several,
                strict=True,
            )
        ),
    )


_END = ("near", "near_port", "far", "far_port", "rate_gbps", "length_m")
"""Columns of an end of a link."""


def _ends(built: _core.Fabric) -> "pl.DataFrame":
    """Return both ends of every link, with its number."""
    import polars as pl

    links = pl.DataFrame(built.tables["links"]).with_row_index("link")
    sides = (("from", "to"), ("to", "from"))
    return pl.concat(
        links.select(
            "link",
            "rate_gbps",
            "length_m",
            near=near,
            near_port=f"{near}_port",
            far=far,
            far_port=f"{far}_port",
        )
        for near, far in sides
    )


def _switch(
    known: Mapping[str, str], rows: tuple[tuple[Any, ...], ...], cables: Cables, groups: int
) -> SwitchPolicy:
    """Make a switch of its ports' rows; links in parallel to one switch are a port channel."""
    pool = rows[0][-1]
    counts = Counter(far for _, _, far, *_ in rows if far in known)
    parallel = (far for far, count in counts.items() if count > 1)
    bundles = {far: number for number, far in enumerate(parallel, start=1)}
    ports = []
    for _, number, far, far_port, rate_gbps, length_m, headroom, _ in rows:
        rate_mbps = round(rate_gbps * 1000)
        cable_m = cables.length_m(rate_mbps, length_m)
        if groups:
            needed = cables.headroom_bytes(rate_mbps, cable_m)
            pool += groups * (headroom - needed)
            headroom = needed
        peer = known.get(far)
        port = PortPolicy(
            number=number,
            peer=peer or far,
            peer_port=far_port,
            is_host=peer is None,
            rate_mbps=rate_mbps,
            length_m=length_m,
            cable_m=cable_m,
            headroom_bytes=headroom,
            bundle=bundles.get(far),
        )
        ports.append(port)
    return SwitchPolicy(known[rows[0][0]], pool, tuple(ports))
