"""Base units as people read them."""

from etherweave.bench.metrics import Unit

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def amount(value: float, unit: str) -> str:
    """Write a value with four digits, powers of ten: 20.6 us, 118.1 MB/s."""
    if unit == Unit.SECONDS:
        scale, name = next((pair for pair in _TIMES if value >= pair[0]), _TIMES[-1])
        return f"{_digits(value / scale)} {name}"
    if unit == Unit.COUNT:
        return _digits(value)
    scale, prefix = next((pair for pair in _PREFIXES if value >= pair[0]), _PREFIXES[-1])
    name = {Unit.BYTES: "B", Unit.BYTES_PER_SECOND: "B/s", Unit.PER_SECOND: "/s"}[Unit(unit)]
    return f"{_digits(value / scale)} {prefix}{name}"


def _digits(value: float) -> str:
    return f"{value:.4g}"
