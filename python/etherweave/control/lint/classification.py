"""Properties in which ports should be alike: PFC, classification, shares, rate and MTU."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, TypeAlias

from etherweave.control.lint.comparison import Difference, Property
from etherweave.control.lint.config_db import ConfiguredPort
from etherweave.control.qos.policy import ranges

FIXED = "FIXED"  # The scheduler of a queue that no command changes.
SHARED = ("DWRR", "WRR")
ClassPlace: TypeAlias = tuple[int | None, int | None]  # Priority group and queue.
ClassPlaces: TypeAlias = Mapping[int, ClassPlace]
_ClassesOf: TypeAlias = Callable[[ConfiguredPort], Mapping[int, int]]


def dscp_classes(port: ConfiguredPort) -> dict[int, int]:
    """Return the class of each code point in a frame without a VLAN tag.

    A port without a map for DSCP has all of them in the class of 802.1p priority 0; code points
    that a map leaves out are in class 0.
    """
    own = port.maps.get("dscp_to_tc_map")
    if own is None:
        return dict.fromkeys(range(64), port.maps.get("dot1p_to_tc_map", {}).get(0, 0))
    return {dscp: own.get(dscp, 0) for dscp in range(64)}


def pcp_classes(port: ConfiguredPort) -> dict[int, int]:
    """Return the class of each 802.1p priority, where the mark of a tag decides."""
    own = port.maps.get("dot1p_to_tc_map", {})
    return {pcp: own.get(pcp, 0) for pcp in range(8)}


def places(port: ConfiguredPort, classes: Mapping[int, int]) -> ClassPlaces:
    """Return the group and the queue of every mark."""
    groups, queues = port.maps.get("tc_to_pg_map", {}), port.maps.get("tc_to_queue_map", {})
    return {mark: (groups.get(tc), queues.get(tc)) for mark, tc in classes.items()}


def shares_of(port: ConfiguredPort) -> dict[int, int]:
    """Return the weight of every queue that has one [%]."""
    return {
        number: queue.weight
        for number, queue in sorted(port.queues.items())
        if queue.kind in SHARED and queue.weight
    }


def span_of(numbers: list[int]) -> str:
    """Write numbers by ranges: 0-7, 26."""
    spans = ranges(numbers)
    shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans[:6])
    return shown + (", …" if len(spans) > 6 else "")


def priorities(numbers: Collection[int], nothing: str = "none") -> str:
    """Write a set of priorities."""
    return ", ".join(str(number) for number in sorted(numbers)) or nothing


def is_classified(port: ConfiguredPort) -> bool:
    """Whether the port has the maps without which nothing is known of its classes."""
    return all(field in port.maps for field in ("tc_to_pg_map", "tc_to_queue_map")) and any(
        field in port.maps for field in ("dscp_to_tc_map", "dot1p_to_tc_map")
    )


def _pfc(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    nothing = "no priority"
    yield (
        "PFC is enabled for",
        priorities(port.lossless, nothing),
        priorities(other.lossless, nothing),
    )


def _lossless(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    if port.lossless != other.lossless:
        yield "lossless priorities are", priorities(port.lossless), priorities(other.lossless)


def _pfc_reasons(ports: Collection[ConfiguredPort]) -> Callable[[ConfiguredPort], str]:
    """Say which priorities code points lead to, and which queues are marked."""
    reached: dict[int, list[int]] = {}
    for port in {id(port.maps): port for port in ports}.values():
        for dscp in port.mapped - {0}:
            reached.setdefault(port.maps.get("dscp_to_tc_map", {}).get(dscp, 0), []).append(dscp)

    def reason(port: ConfiguredPort) -> str:
        marked = {number for number, queue in port.queues.items() if queue.wred}
        stopped = {port.queue_of(priority) for priority in port.lossless}
        is_reached = not reached or all(priority in reached for priority in port.lossless)
        if not port.lossless or not is_reached or (marked and marked != stopped):
            return ""
        dscps = sorted({dscp for priority in port.lossless for dscp in reached.get(priority, ())})
        if dscps:
            return f"maps lead DSCP {span_of(dscps)} there"
        return "ECN marks its queue" if marked else "as all ports with PFC have"

    return reason


def _value(port: ConfiguredPort, classes_of: _ClassesOf) -> object:
    return tuple(places(port, classes_of(port)).items()) if is_classified(port) else None


def _dscp(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    return _moved("DSCP", dscp_classes, port, other)


def _pcp(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    if not any(_dscp(port, other)):
        yield from _moved("802.1p priority", pcp_classes, port, other)


def _moved(
    kind: str, classes_of: _ClassesOf, port: ConfiguredPort, reference: ConfiguredPort
) -> Iterator[Difference]:
    """Return the marks that are in another group or queue than in the reference."""
    if not (is_classified(port) and is_classified(reference)):
        return  # Another rule reports the missing map.
    one, other = (places(end, classes_of(end)) for end in (port, reference))
    if port.lossless != reference.lossless:  # Groups follow from what is lossless.
        one, other = ({mark: (None, at[1]) for mark, at in each.items()} for each in (one, other))
    moved: dict[tuple[ClassPlace, ClassPlace], list[int]] = {}
    for mark in sorted(set(one) & set(other)):
        if one[mark] != other[mark]:
            moved.setdefault((one[mark], other[mark]), []).append(mark)
    here, there = set(one.values()), set(other.values())
    if len(moved) > 1 and 1 in (len(here), len(there)):
        yield f"every {kind} is", _together(here), _together(there)
        return
    for (at, expected), marks in moved.items():
        yield f"{kind} {span_of(marks)} is", group_and_queue(at), group_and_queue(expected)


def _together(classes: set[ClassPlace]) -> str:
    return group_and_queue(*classes) if len(classes) == 1 else f"in {len(classes)} classes"


def group_and_queue(place: ClassPlace) -> str:
    """Write the place of a mark."""
    group, queue = place
    return f"in queue {queue}" if group is None else f"in priority group {group} and queue {queue}"


def _class_reasons(_: Collection[ConfiguredPort]) -> Callable[[ConfiguredPort], str]:
    """Say at which ports DSCP decides, which frames of RoCE v2 have without a tag, too."""
    return lambda port: "DSCP decides there" if len({*dscp_classes(port).values()}) > 1 else ""


def _shares(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    own, right = _configurable(port, port), _configurable(other, port)
    if own != right:
        yield "weights of queues are", f"{own}", f"{right}"


def _configurable(port: ConfiguredPort, configured: ConfiguredPort) -> dict[int, int]:
    """Return the weights of the queues that commands for another port can configure."""
    queues = configured.queues
    return {
        number: share
        for number, share in shares_of(port).items()
        if number not in queues or queues[number].kind != FIXED
    }


def _mtu(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    yield "MTU", f"{port.mtu_bytes}", f"{other.mtu_bytes}"


def _rate(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    yield "speed", f"{port.speed_mbps}", f"{other.speed_mbps}"


def _is_marked(port: ConfiguredPort) -> bool:
    """Whether any queue has a profile of WRED; that of each lossless one is another rule."""
    return any(queue.wred for queue in port.queues.values())


def _ecn(port: ConfiguredPort, other: ConfiguredPort) -> Iterator[Difference]:
    own, right = ("marked" if _is_marked(end) else "not marked" for end in (port, other))
    yield "lossless queues are", own, right


PortProperty: TypeAlias = Property[ConfiguredPort]
PFC: Final = PortProperty("PFC", lambda port: port.lossless, _pfc, _pfc_reasons, frozenset())
LOSSLESS: Final = PortProperty("PFC", lambda port: port.lossless, _lossless, _pfc_reasons)
DSCP: Final = PortProperty(
    "classification", lambda port: _value(port, dscp_classes), _dscp, _class_reasons
)
PCP: Final = PortProperty("classification by 802.1p", lambda port: _value(port, pcp_classes), _pcp)
SHARES: Final = PortProperty("share", lambda port: tuple(shares_of(port).items()), _shares)
MTU: Final = PortProperty("MTU", lambda port: port.mtu_bytes, _mtu)
RATE: Final = PortProperty("speed", lambda port: port.speed_mbps, _rate)
ECN: Final = PortProperty("ECN", _is_marked, _ecn, absent=False)


def differences(port: ConfiguredPort, reference: ConfiguredPort) -> Iterator[Difference]:
    """Return how a port differs from another in what decides which packets are lossless."""
    for setting in (LOSSLESS, DSCP, SHARES):
        yield from setting.differences(port, reference)
