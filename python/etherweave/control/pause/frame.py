"""PAUSE and PFC frames, octet by octet.

Both are MAC control frames: EtherType 0x8808, sent to 01-80-C2-00-00-01, without a VLAN tag, and
never forwarded (IEEE 802.3-2018, Annex 31A). Behind the EtherType follow ::

    PAUSE  0x0001   pause_time                                      (Annex 31B)
    PFC    0x0101   class_enable_vector   pause_time[0] .. [7]      (Annex 31D, IEEE 802.1Qbb)

of 16 bits each, most significant octet first, then zeros up to 60 octets. The check sequence is
the NIC's.
"""

import struct
from typing import NamedTuple, TypeAlias

ETHER_TYPE = 0x8808  # MAC control (802.3, 31.4.1.3).
DESTINATION = 0x0180C2000001
"""Destination of PAUSE and PFC, which no bridge forwards (802.3, 31B.1)."""
PAUSE = 0x0001  # Opcode (802.3, table 31A-1).
PFC = 0x0101  # Opcode (802.3, table 31A-1).
CLASSES = 8  # Priorities that PFC pauses one by one.
QUANTUM_BITS = 512  # Length of a quantum [bit times] (802.3, 31B.2).
QUANTA_MAX = 0xFFFF

OCTETS_MIN = 60  # Length of a frame without its check sequence (802.3, 4A.2.3.2.4).

_HEADER = struct.Struct(">6s6sHH")
_PAUSE = struct.Struct(">H")
_PFC = struct.Struct(">9H")


class FrameError(ValueError):
    """Octets that are neither a PAUSE nor a PFC frame; the message says why."""


class Pause(NamedTuple):
    """Pauses, or resumes, everything that the receiver sends on this link (802.3x)."""

    source: int  # MAC address of the port that sends it.
    quanta: int  # Duration [quanta], 0 to 65,535; 0: resume.


class ClassPause(NamedTuple):
    """Pauses, or resumes, single priorities (PFC)."""

    source: int  # MAC address of the port that sends it.
    quanta: tuple[int | None, ...]
    """Duration for each priority, 0 to 7 [quanta]; 0: resume; None: unchanged."""


PauseFrame: TypeAlias = Pause | ClassPause


class RatedInterface(NamedTuple):
    """A network interface and the rate of its link, in which pause quanta count."""

    name: str
    bits_per_s: int


def quantum_ps(bits_per_s: int) -> int:
    """Return the length of a quantum at the rate of a link [ps]: 5,120 at 100 Gb/s."""
    if not 0 < bits_per_s <= QUANTUM_BITS * 10**12:
        raise ValueError(f"link rate {bits_per_s} b/s: expected more than 0, at most 512 Tb/s")
    return QUANTUM_BITS * 10**12 // bits_per_s


def encode(frame: PauseFrame) -> bytes:
    """Write a frame, without its check sequence.

    Raises ``ValueError`` if a number is out of range.
    """
    opcode = PAUSE if isinstance(frame, Pause) else PFC
    if not 0 <= frame.source < 1 << 48:
        raise ValueError(f"source {frame.source:#x}: expected a MAC address of 48 bits")
    octets = (DESTINATION.to_bytes(6), frame.source.to_bytes(6), ETHER_TYPE, opcode)
    return (_HEADER.pack(*octets) + _body(frame)).ljust(OCTETS_MIN, b"\0")


def decode(octets: bytes) -> PauseFrame:
    """Read a frame; octets after its timers are ignored.

    Raises ``FrameError`` if it is neither PAUSE nor PFC, or is truncated.
    """
    if len(octets) < _HEADER.size:
        raise FrameError(f"{len(octets)} octets: expected at least {_HEADER.size}")
    destination, source, ether_type, opcode = _HEADER.unpack_from(octets)
    if ether_type != ETHER_TYPE:
        raise FrameError(f"EtherType {ether_type:#06x}: expected {ETHER_TYPE:#06x}")
    if int.from_bytes(destination) != DESTINATION:
        raise FrameError(f"destination {destination.hex(':')}: expected 01:80:c2:00:00:01")
    sender = int.from_bytes(source)
    if opcode == PAUSE:
        return Pause(sender, *_words(_PAUSE, octets))
    if opcode == PFC:
        enabled, *quanta = _words(_PFC, octets)
        named = enumerate(quanta)
        return ClassPause(sender, tuple(q if enabled >> c & 1 else None for c, q in named))
    raise FrameError(f"opcode {opcode:#06x}: expected {PAUSE:#06x} (PAUSE) or {PFC:#06x} (PFC)")


def _body(frame: PauseFrame) -> bytes:
    if isinstance(frame, Pause):
        return _PAUSE.pack(_checked(frame.quanta))
    if len(frame.quanta) != CLASSES:
        raise ValueError(f"{len(frame.quanta)} timers: expected one per priority, {CLASSES}")
    enabled = sum(1 << c for c, quanta in enumerate(frame.quanta) if quanta is not None)
    return _PFC.pack(enabled, *(_checked(quanta or 0) for quanta in frame.quanta))


def _checked(quanta: int) -> int:
    if not 0 <= quanta <= QUANTA_MAX:
        raise ValueError(f"{quanta} quanta: expected 0 to {QUANTA_MAX}")
    return quanta


def _words(form: struct.Struct, octets: bytes) -> tuple[int, ...]:
    if len(octets) < _HEADER.size + form.size:
        raise FrameError(f"{len(octets)} octets: expected at least {_HEADER.size + form.size}")
    words: tuple[int, ...] = form.unpack_from(octets, _HEADER.size)
    return words
