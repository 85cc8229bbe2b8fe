"""Amounts as people and other programs write them."""

import pytest

from etherweave.api.units import rate_of, size_of, time_of

HUNDRED = (
    "100Gb/s,100G,100GbE,100gbe,100GBE,100Gbps,100gb/s,100gbit,100Gbit/s,12.5GB/s,100 gbe,12.5 GB/s"
)


@pytest.mark.parametrize("text", HUNDRED.split(","))
def test_a_rate_is_read_as_scenarios_read_it(text: str) -> None:
    assert rate_of(text) == 12.5e9


@pytest.mark.parametrize("text", ["1us", "1US", "1 us", "1 \u00b5s", "1\u03bcs"])
def test_a_time_is_read_in_any_case_and_with_either_sign_of_micro(text: str) -> None:
    assert time_of(text) == pytest.approx(1e-6)


@pytest.mark.parametrize("text", ["100GBPS", "100GB", "100m", "3m"])
def test_a_rate_that_may_be_of_bytes_or_of_another_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a rate such as 100Gb/s"):
        rate_of(text)


@pytest.mark.parametrize(
    ("text", "meant"), [("4M", "4MB or 4MiB: "), ("64KB", "64kB or 64KiB: "), ("4ft", "")]
)
def test_a_size_is_answered_with_the_units_that_may_be_meant(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"{text}: expected {meant}a size such as 64KiB"):
        size_of(text)
