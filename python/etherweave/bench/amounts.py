"""Amounts with units, as in options and site files: 4KiB, 100Gb/s, 20us.

The core parses units of scenarios, and offers no function for them to Python.
"""

import math
import re

from etherweave.bench.metrics import Unit

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S*)\s*")
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SIZES = {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
_BYTE_RATES = {f"{name}/s": factor for name, factor in _SIZES.items()}
_BIT_RATES = {f"{prefix}b/s": factor / 8 for prefix, factor in _DECIMAL.items()}
_TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def amount(value: float, unit: str) -> str:
    """Write a value with four digits, powers of ten: 20.6 us, 118.1 MB/s."""
    if unit == Unit.SECONDS:
        scale, name = next((pair for pair in _STEPS if value >= pair[0]), _STEPS[-1])
        return f"{_digits(value / scale)} {name}"
    if unit == Unit.COUNT:
        return _digits(value)
    scale, prefix = next((pair for pair in _PREFIXES if value >= pair[0]), _PREFIXES[-1])
    name = {Unit.BYTES: "B", Unit.BYTES_PER_SECOND: "B/s", Unit.PER_SECOND: "/s"}[Unit(unit)]
    return f"{_digits(value / scale)} {prefix}{name}"


def _digits(value: float) -> str:
    return f"{value:.4g}"


def size_of(text: str) -> int:
    """Read a size [bytes]: 8B, 64KiB, 1MB.

    Raises
    ------
    ValueError
        When it is none, or no whole number of bytes.
    """
    value = _of(text, _SIZES, "a size such as 64KiB")
    if value != int(value):
        raise ValueError(f"{text}: expected a whole number of bytes")
    return int(value)


def rate_of(text: str) -> float:
    """Read a rate [bytes/s]: 100Gb/s counts bits, 1GB/s bytes.

    Raises
    ------
    ValueError
        When it is none, or zero.
    """
    value = _of(text, _BIT_RATES | _BYTE_RATES, "a rate such as 100Gb/s")
    if not value:
        raise ValueError(f"{text}: expected a rate above zero")
    return value


def time_of(text: str) -> float:
    """Read a time [s]: 20us.

    Raises
    ------
    ValueError
        When it is none.
    """
    return _of(text, _TIMES, "a time such as 20us")


def _of(text: str, units: dict[str, float], expected: str) -> float:
    match = _NUMBER.fullmatch(text)
    if not match or match[2] not in units:
        raise ValueError(f"{text}: expected {expected}; units: {', '.join(units)}")
    value = float(match[1]) * units[match[2]]
    if not math.isfinite(value):
        raise ValueError(f"{text}: too large")
    return value
