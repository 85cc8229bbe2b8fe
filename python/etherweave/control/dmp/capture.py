"""Frames of the protocol in a capture.

Captures are those of ``tcpdump -w``: the classic format of libpcap (``pcap-savefile(5)``), of
Ethernet.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from etherweave.control.dmp.frame import DmpFrame, FrameFault, decode

_FIRST = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<"}
_FIRST |= {b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
_HEADER_OCTETS = 24
_ETHERNET = 1


class CaptureError(ValueError):
    """Not a capture, or a truncated one; the message says where."""


class CapturedFrame(NamedTuple):
    """A frame of a capture, decoded."""

    number: int  # Number of the frame, from 1.
    frame: DmpFrame | FrameFault
    is_answer: bool  # Whether an earlier frame has its nonce and another source.


def explain(frames: Iterable[bytes]) -> Iterator[CapturedFrame]:
    """Decode frames, in order."""
    sources: dict[bytes, int] = {}
    for number, octets in enumerate(frames, 1):
        frame = decode(octets)
        is_answer = isinstance(frame, DmpFrame) and _source(sources, frame) != frame.source
        yield CapturedFrame(number, frame, is_answer)


def frames(octets: bytes) -> Iterator[bytes]:
    """Read the frames of a capture.

    Raises ``CaptureError`` if it is not a capture of Ethernet, or ends within a frame.
    """
    order = _FIRST.get(octets[:4])
    if order is None or len(octets) < _HEADER_OCTETS:
        raise CaptureError("not a capture; expected the classic format of libpcap (tcpdump -w)")
    kind = struct.unpack_from(f"{order}I", octets, 20)[0] & 0xFFFF
    if kind != _ETHERNET:
        raise CaptureError(f"capture of link type {kind}; expected Ethernet (1)")
    return _records(octets, order)


def _records(octets: bytes, order: str) -> Iterator[bytes]:
    record = struct.Struct(f"{order}IIII")
    place = _HEADER_OCTETS
    while place < len(octets):
        end = place + record.size
        length = record.unpack_from(octets, place)[2] if end <= len(octets) else 0
        if end + length > len(octets):
            raise CaptureError(f"capture ends within the frame at octet {place}")
        yield octets[end : end + length]
        place = end + length


def _source(sources: dict[bytes, int], frame: DmpFrame) -> int:
    return sources.setdefault(frame.nonce, frame.source)
