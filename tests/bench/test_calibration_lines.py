"""Lines of ``calibrate``: what measurements do not determine, and intervals."""

from types import SimpleNamespace
from typing import Any

from etherweave.cli.calibrate import interval_us, not_determined


def constants(**inferred: bool) -> list[Any]:
    return [SimpleNamespace(key=key, is_inferred=value) for key, value in inferred.items()]


def test_what_is_not_determined_is_named() -> None:
    assert not_determined(constants(a=True)) == ""
    assert not_determined(constants(a=True, b=False)) == "not determined by these measurements: b"
    assert not_determined(constants(a=False, b=False)).startswith("these measurements determine no")


def test_a_value_that_nothing_varies_has_no_interval() -> None:
    assert interval_us(146e-6, 146.2e-6) == "none"
    assert interval_us(146e-6, 152e-6) == "146 to 152"
