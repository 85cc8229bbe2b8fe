"""Changes of cases in a fabric's scenario: windows, load balancing, transports."""

from collections.abc import Iterable, Mapping

from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Cell

Changes = Mapping[str, object]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CONGESTION_CONTROLS = ("dcqcn", "dctcp", "hpcc", "swift")  # Keys of RoCE's congestion controls.
PERIOD_US = 100  # Period of samples of flows: as long as the drafts allow for rates of flows [us].


def window(full: bool, warm_up_us: int = 100, window_us: int = 200) -> Changes:
    """Measure streams after a warm-up, ten times as long in full sweeps."""
    scale = 10 if full else 1
    end_us = scale * (warm_up_us + window_us)
    return {"run": {"warm_up": f"{scale * warm_up_us}us", "end": f"{end_us}us"}}


def strategies(
    fabric: BenchFabric, names: Iterable[str] = ("ECMP", "DLB", "spray")
) -> Mapping[str, Changes]:
    """Return load balancing by name: by flow, by flowlet, by packet.

    RoCE repairs what spraying reorders by selective repeat.
    """
    return {name: {**_ROUTINGS[name], **_in_any_order(fabric, name)} for name in names}


_ROUTINGS: Mapping[str, Changes] = {
    "ECMP": {"routing": "ecmp"},
    "DLB": {"routing": {"flowlet": {}}},
    "spray": {"routing": "spray"},
}


def of_file(fabric: BenchFabric) -> Mapping[str, Changes]:
    """Return the transport of the file alone, by its name."""
    return {fabric.transport: {}}


def services(fabric: BenchFabric) -> Mapping[str, Changes]:
    """Return services of Ultra Ethernet, and RoCE, by name."""
    own = {name.upper(): uet(fabric, delivery=name) for name in ("rud", "rod")}
    return {**own, "RC": roce(fabric)}


def flowlets(fabric: BenchFabric, gap: str) -> Changes:
    """Return flowlets with a gap."""
    return {"routing": {"flowlet": {"gap": gap}}, **_in_any_order(fabric, "DLB")}


def _in_any_order(fabric: BenchFabric, name: str) -> Changes:
    if name == "ECMP" or fabric.transport != "roce":
        return {}
    return {"transport.roce.reliability": "selective_repeat"}


def roce(fabric: BenchFabric, *without: str, **keys: object) -> Changes:
    """Return the file's RoCE without some keys and with others, or RoCE with these alone.

    Marks of switches need a reader: DCQCN, where there is no congestion control.
    """
    own = fabric.transport_keys("roce")
    kept = {key: value for key, value in own.items() if key not in without} | keys
    if fabric.resolved["switch"].get("ecn") and not kept.keys() & set(CONGESTION_CONTROLS):
        kept["dcqcn"] = {}
    return {"transport": {"roce": kept}}


def reads_marks(fabric: BenchFabric) -> Changes:
    """Let the file's transport read marks, which a test configures where the file has none."""
    if fabric.resolved["switch"].get("ecn"):
        return {}
    own: Mapping[str, Changes] = {
        "roce": {"transport.roce.dcqcn": {}},
        "tcp": {"transport.tcp.ecn": True},
    }
    return own.get(fabric.transport, {f"transport.{fabric.transport}.nscc": {}})


def at_line_rate(fabric: BenchFabric, window_bytes: int, *, is_marking: bool = False) -> Changes:
    """Return RoCE that sends as a generator does, by a wide window and at the rate of its link.

    Where switches mark, DCQCN's lowest rate is that of the link. Other transports stay.
    """
    if fabric.transport != "roce":
        return {}
    keys: dict[str, object] = {"window": f"{max(window_bytes, MIB)}B"}
    if is_marking or fabric.resolved["switch"].get("ecn"):
        keys["dcqcn"] = {"rpg_min_rate": f"{fabric.nic_gbps:g}Gb/s"}
    return roce(fabric, *CONGESTION_CONTROLS, **keys)


def uet(fabric: BenchFabric, **keys: object) -> Changes:
    """Return the file's Ultra Ethernet transport with further keys, or one with these alone.

    One of its own has the window of NSCC where the switches mark. Its packets carry entropy values,
    by which ECMP spreads them.
    """
    own = fabric.transport_keys("uet")
    if fabric.transport != "uet" and fabric.resolved["switch"].get("ecn"):
        own = {"nscc": {}}
    return {"transport": {"uet": {**own, **keys}}, "routing": "ecmp"}


def sized(fabric: BenchFabric, needed: int, labels: Mapping[str, Cell], changes: Changes) -> Case:
    """Make a case that takes so many hosts, which is not attempted on a fabric with fewer."""
    if needed > fabric.hosts:
        return Case(labels, {}, f"needs {needed} hosts; the fabric has {fabric.hosts}")
    return Case(labels, changes)
