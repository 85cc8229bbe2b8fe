"""Amounts with units: as options and site files have them, as programs print them, as we do.

The core parses units of scenarios, and offers no function for them to Python.
"""

import math
import re
from decimal import Decimal
from enum import StrEnum


class Unit(StrEnum):
    """A base unit; nothing else is stored."""

    SECONDS = "s"
    BYTES = "B"
    BYTES_PER_SECOND = "B/s"
    PER_SECOND = "1/s"
    COUNT = "1"


_DECIMAL = {"": Decimal(1), **{prefix: Decimal(1000**n) for n, prefix in enumerate("kMGT", 1)}}
_BINARY = {f"{prefix}i": Decimal(1024**n) for n, prefix in enumerate("KMGT", 1)}
_ALL = _DECIMAL | _BINARY
_TIMES = {f"{prefix}s": Decimal(1000) ** -n for n, prefix in enumerate(["", *"munp"])} | {
    "min": Decimal(60),
    "h": Decimal(3600),
}
_LENGTHS = {"mm": Decimal("0.001"), "cm": Decimal("0.01"), "m": Decimal(1), "km": Decimal(1000)}
_SIZES = {f"{prefix}B": factor for prefix, factor in _ALL.items()}
_BYTE_RATES = {f"{prefix}B/s": factor for prefix, factor in _ALL.items()}
_BIT_RATES = {f"{prefix}b/s": factor / 8 for prefix, factor in _DECIMAL.items()}
_PORT_RATES = {
    f"{prefix}{unit}": _DECIMAL[prefix] / 8
    for prefix in "kMGT"
    for unit in ("bps", "bit", "bit/s", "bE")
} | {prefix: _DECIMAL[prefix] / 8 for prefix in "MGT"}
"""Rates as ports are labelled and other programs write them, which scenarios have, too."""
_STEPS = [(float(_TIMES[name]), name) for name in ("s", "ms", "us", "ns")]
_PREFIXES = [(1e15, "P"), *((float(_DECIMAL[prefix]), prefix) for prefix in "TGMk"), (1.0, "")]
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S*)\s*")

PRINTED_UNITS: dict[str, tuple[Unit, Decimal]] = {
    **{name: (Unit.SECONDS, factor) for name, factor in _TIMES.items()},
    "B": (Unit.BYTES, Decimal(1)),
    **{name: (Unit.BYTES_PER_SECOND, factor) for name, factor in _BYTE_RATES.items()},
    **{f"{prefix}bit/s": (Unit.BYTES_PER_SECOND, factor / 8) for prefix, factor in _ALL.items()},
    **{f"{prefix or 1}/s": (Unit.PER_SECOND, factor) for prefix, factor in _DECIMAL.items()},
    "1": (Unit.COUNT, Decimal(1)),
    "%": (Unit.COUNT, Decimal("0.01")),
}
"""Units that programs print, decimal and binary ones apart: base unit and factor."""


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


def counted(number: int, noun: str) -> str:
    """Write a number of things: 1 switch, 2 switches."""
    plural = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{plural}"


def size_text(size: int | None) -> str:
    """Write a message's size [bytes] in full: 1,024 B; nothing where there is none."""
    return "" if size is None else f"{size:,} B"


def _digits(value: float) -> str:
    return f"{value:.4g}"


def size_of(text: str) -> int:
    """Read a size [bytes]: 8B, 64KiB, 1MB; raises ``ValueError`` when it is none."""
    value = _of(text, _SIZES, "a size such as 64KiB")
    if value != int(value):
        raise ValueError(f"{text}: expected a whole number of bytes")
    return int(value)


def rate_of(text: str) -> float:
    """Read a rate [bytes/s]: 100Gb/s counts bits, 1GB/s bytes; raises ``ValueError``."""
    value = _of(text, _BIT_RATES | _BYTE_RATES, "a rate such as 100Gb/s", _PORT_RATES)
    if not value:
        raise ValueError(f"{text}: expected a rate above zero")
    return value


def time_of(text: str) -> float:
    """Read a time [s]: 20us; raises ``ValueError`` when it is none."""
    return _of(text, _TIMES, "a time such as 20us", {})


def length_of(text: str) -> float:
    """Read a length [m]: 3m; raises ``ValueError`` when it is none."""
    return _of(text, _LENGTHS, "a length such as 3m", {})


def _of(
    text: str, units: dict[str, Decimal], expected: str, others: dict[str, Decimal] | None = None
) -> float:
    """Read a number with a unit; with ``others``, of other programs, in any case that is clear."""
    match = _NUMBER.fullmatch(text)
    factor = units.get(match[2]) if match else None
    if match and factor is None and others is not None:
        factor = _factor(match[2], units | others)
    if not match or factor is None:
        meant = _meant(match[1], match[2], units) if match else ""
        raise ValueError(f"{text}: expected {meant}{expected}; units: {', '.join(units)}")
    value = float(match[1]) * float(factor)
    if not math.isfinite(value):
        raise ValueError(f"{text}: too large")
    return value


def _factor(unit: str, units: dict[str, Decimal]) -> Decimal | None:
    """Find the only factor that a unit can have in another case, as scenarios do.

    >>> {unit: _factor(unit, {"Gb/s": 1, "GB/s": 8, "us": 3}) for unit in ("gb/s", "GB/S", "µs")}
    {'gb/s': 1, 'GB/S': None, 'µs': 3}
    """
    unit = unit.translate({0xB5: "u", 0x3BC: "u"})
    if unit in units:
        return units[unit]
    has_bytes = "B" in unit and unit != "GBE"
    if len(unit) == 1 or (has_bytes and unit == unit.upper()):
        return None
    alike = {
        factor
        for known, factor in units.items()
        if known.lower() == unit.lower() and ("B" in known) == has_bytes
    }
    return alike.pop() if len(alike) == 1 else None


def _meant(number: str, unit: str, units: dict[str, Decimal]) -> str:
    """Name the units that may be meant.

    >>> _meant("4", "M", _SIZES), _meant("4", "ft", _SIZES)
    ('4MB or 4MiB: ', '')
    """

    def letters(unit: str) -> str:
        return unit.lower().replace("i", "").replace("ps", "/s")

    meant = [known for known in units if unit and letters(known).startswith(letters(unit))]
    return f"{' or '.join(f'{number}{known}' for known in meant)}: " if meant else ""
