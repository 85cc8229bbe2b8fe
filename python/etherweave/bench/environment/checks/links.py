"""Checks of links and NICs."""

from collections.abc import Iterator

from etherweave.bench.environment.findings import (
    Evidence,
    Problem,
    Severity,
    counted,
    interfaces,
    largest_counters,
    neighbours,
    period_of_rise,
)

_FAST = 24e9
"""Links from 25 Gbit/s on, less a margin [bit/s]: they want jumbo frames and error correction."""
_SHAPERS = frozenset({"tbf", "htb", "netem", "cbq", "hfsc", "cake", "choke"})
_OFFLOADS = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-receive-offload",
)
_ERRORS = ("crc", "fcs", "symbol", "uncorrect", "rx_errors", "tx_errors", "align", "fec_lane")
_DROPS = ("drop", "discard", "missed", "out_of_buffer", "no_buffer", "nobuf", "fifo_errors")


def mtu(evidence: Evidence) -> Iterator[Problem]:
    """Find packets that are larger than the MTU of a part of the path."""
    yield from _differing(evidence, "mtu", "MTU", "set the same MTU on all hosts and switches")
    for host, path in evidence.latest.paths.items():
        if not path.passes:
            yield Problem(
                f"packets of the MTU, {path.mtu} bytes, do not arrive: {path.message}",
                "raise the MTU of every switch and host on the path, or lower this one",
                where=f"{path.interface} to {host}",
            )
    for name, port in interfaces(evidence, evidence.latest).items():
        if port.rate and port.rate >= _FAST and port.mtu is not None and port.mtu <= 1500:
            yield Problem(
                f"an MTU of {port.mtu} bytes at {port.rate / 1e9:g} Gbit/s",
                "use jumbo frames (9000), on the whole path",
                Severity.NOTE,
                where=name,
            )


def link(evidence: Evidence) -> Iterator[Problem]:
    """Find links that are down, half duplex, or slower than others."""
    yield from _differing(evidence, "rate", "link rate", "check cable and autonegotiation")
    for name, interface in interfaces(evidence, evidence.latest).items():
        if interface.state == "down":
            yield Problem("the link is down", "connect it, or choose another interface", where=name)
        if interface.duplex == "half":
            yield Problem(
                "the link is half duplex", "turn autonegotiation on at both ends", where=name
            )


def errors(evidence: Evidence) -> Iterator[Problem]:
    """Find frames that arrived damaged."""
    do = "clean or replace cable and transceiver; see the switch's counters of the same link"
    yield from _counters(evidence, _ERRORS, "damaged frames", do)


def drops(evidence: Evidence) -> Iterator[Problem]:
    """Find packets that the host dropped."""
    do = "longer rings (ethtool -G), more queues (ethtool -L), interrupts on the NIC's NUMA node"
    yield from _counters(evidence, _DROPS, "packets dropped by the host", do)


def fec(evidence: Evidence) -> Iterator[Problem]:
    """Find fast links without, or with another, forward error correction."""
    yield from _differing(evidence, "fec", "FEC", "set one encoding on all (ethtool --set-fec)")
    for name, interface in interfaces(evidence, evidence.latest).items():
        if interface.rate and interface.rate >= _FAST and interface.fec.lower() in ("off", "none"):
            yield Problem(
                f"forward error correction is off at {interface.rate / 1e9:g} Gbit/s",
                "ethtool --set-fec encoding rs (or auto), as on the switch; short copper at 25 "
                "Gbit/s may do without",
                Severity.NOTE,
                where=name,
            )


def pcie(evidence: Evidence) -> Iterator[Problem]:
    """Find NICs whose slot is narrower or slower than the NIC, or than its link."""
    for name, interface in interfaces(evidence, evidence.latest).items():
        slot = interface.pcie
        if slot is None:
            continue
        if slot.width < slot.width_max or slot.speed < slot.speed_max:
            yield Problem(
                f"PCIe x{slot.width} at {slot.speed:g} GT/s; the NIC can do x{slot.width_max} at "
                f"{slot.speed_max:g} GT/s",
                "move the NIC to a slot with all lanes, and check the firmware's settings",
                where=name,
            )
        if interface.rate and slot_rate(slot.width, slot.speed) < interface.rate:
            yield Problem(
                f"PCIe carries {slot_rate(slot.width, slot.speed) / 1e9:.0f} Gbit/s at most, the "
                f"link {interface.rate / 1e9:g}",
                "expect the slot's rate, or move the NIC",
                where=name,
            )


def slot_rate(width: int, speed: float) -> float:
    """Return what a slot carries before headers: 8b/10b up to 5 GT/s, 128b/130b above [bit/s]."""
    coding = 8 / 10 if speed <= 5 else 128 / 130
    return width * speed * 1e9 * coding


def firmware(evidence: Evidence) -> Iterator[Problem]:
    """Find NICs of one kind with different firmware."""
    for name, first, host, other in neighbours(evidence):
        if other.driver == first.driver and other.firmware != first.firmware:
            yield Problem(
                f"firmware {first.firmware or '?'} ({first.driver}); {host} has "
                f"{other.firmware or '?'}",
                "install one version on all NICs",
                where=name,
            )


def offloads(evidence: Evidence) -> Iterator[Problem]:
    """Find work that the NIC could do instead of the processor."""
    for name, interface in interfaces(evidence, evidence.latest).items():
        off = [word for word in _OFFLOADS if interface.offloads.get(word) is False]
        if off:
            yield Problem(
                f"offloads are off: {', '.join(off)}",
                f"ethtool -K {name} {' '.join(f'{word} on' for word in off)}",
                Severity.NOTE,
                where=name,
            )


def qdisc(evidence: Evidence) -> Iterator[Problem]:
    """Find queueing disciplines that slow packets down."""
    for name, interface in interfaces(evidence, evidence.latest).items():
        shapers = sorted(set(interface.qdiscs) & _SHAPERS)
        if shapers:
            yield Problem(
                f"packets are shaped or delayed by {', '.join(shapers)}",
                f"tc qdisc del dev {name} root, unless it is meant",
                where=name,
            )


def _differing(evidence: Evidence, attribute: str, words: str, do: str) -> Iterator[Problem]:
    for name, first, host, other in neighbours(evidence):
        own, theirs = getattr(first, attribute), getattr(other, attribute)
        if own and theirs and own != theirs:
            yield Problem(f"{words} {_plain(own)}; {host} has {_plain(theirs)}", do, where=name)


def _plain(value: object) -> str:
    return f"{value / 1e9:g} Gbit/s" if isinstance(value, float) else str(value)


def _counters(evidence: Evidence, parts: tuple[str, ...], words: str, do: str) -> Iterator[Problem]:
    for name, rises, is_during in counted(evidence):
        rates = {
            counter: value
            for counter, value in rises.items()
            if any(part in counter.lower() for part in parts)
        }
        if rates:
            severity = Severity.WARNING if is_during else Severity.NOTE
            yield Problem(
                f"{words} {period_of_rise(is_during)}: {largest_counters(rates)}",
                do,
                severity,
                where=name,
            )
