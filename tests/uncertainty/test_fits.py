"""Times that a published measurement keeps in every sample, however its parts are drawn."""

import math

import pytest

from etherweave.api.scenario import read
from etherweave.api.units import time_of
from etherweave.uncertainty import Unknowns, declared, unknowns
from etherweave.uncertainty.fits import (
    HANDLING,
    PARTS,
    RATE_PARTS,
    RECEIVING,
    SENDING,
    Fit,
    Measurement,
)
from etherweave.uncertainty.sampling import sobol
from etherweave.uncertainty.spreads import spread_of_measurement

PING = {"name": "ping", "workload": {"osu_latency": {"bytes": "8B"}}}
RATE = "44.1 MB/s at 8 B"


def of_profile(name: str) -> Unknowns:
    text, origin = read({"interconnect": {"profile": name}, "job": [PING]})
    return unknowns(text, origin, {}, declared(()))


def samples(drawable: Unknowns, **fixed: float) -> list[dict[str, float]]:
    """Draw times [s] of 32 samples, with shares of some measurements by words of their names."""
    drawn = []
    for point in sobol(len(drawable.entries), 32, 0):
        shares = [
            next((share for words, share in fixed.items() if words in entry.name), place)
            for entry, place in zip(drawable.entries, point, strict=True)
        ]
        texts = drawable.at(shares)
        drawn.append({key: time_of(str(texts[key])) for key in {*PARTS, *RATE_PARTS} & {*texts}})
    return drawn


def test_a_measured_rate_of_messages_stays_while_the_receivers_time_is_divided_anew() -> None:
    drawn = samples(of_profile("infiniband-edr"), **{RATE: 0.5})
    # osu_bw of 44.1 MB/s at 8 B is a message each 181 ns, of which 119 and 60 are modelled.
    assert [math.fsum(row[key] for key in RATE_PARTS) for row in drawn] == pytest.approx(
        [179e-9] * len(drawn), abs=2e-12
    )
    assert max(row[HANDLING] for row in drawn) > 1.5 * min(row[HANDLING] for row in drawn)


def test_a_measured_rate_stays_also_where_the_later_of_the_receivers_times_is_fitted() -> None:
    drawn = samples(of_profile("omni-path-100"), **{"25.69 MB/s": 0.5})
    assert [math.fsum(row[key] for key in RATE_PARTS) for row in drawn] == pytest.approx(
        [310e-9] * len(drawn), abs=2e-12
    )
    assert max(row[HANDLING] for row in drawn) > 1.5 * min(row[HANDLING] for row in drawn)


def test_a_measured_rate_moves_the_receivers_time_by_what_it_is_off() -> None:
    drawable = of_profile("infiniband-edr")
    low, high = (
        {math.fsum(row[key] for key in RATE_PARTS) for row in samples(drawable, **{RATE: share})}
        for share in (0.0, 1.0)
    )
    assert max(low) - min(low) < 3e-12 > max(high) - min(high), "picoseconds are whole"
    sigma = spread_of_measurement("message rate").sigma
    assert max(high) - max(low) == pytest.approx(2 * 181e-9 * math.sinh(sigma * 2.5758), rel=0.01)


def test_a_sender_takes_no_longer_for_a_message_than_the_receiver() -> None:
    for profile in ("infiniband-edr", "slingshot-10", "slingshot-11"):
        drawn = samples(of_profile(profile))
        assert all(
            row[SENDING] <= math.fsum(row[key] for key in RATE_PARTS) + 2e-12 for row in drawn
        )
        assert len({row[SENDING] for row in drawn}) > len(drawn) / 2, "not all at the limit"


def test_a_measured_latency_stays_where_a_rate_moves_a_part_of_it() -> None:
    drawn = samples(of_profile("infiniband-edr"), **{"1.12 us": 0.5})
    totals = [math.fsum(row[key] for key in PARTS) for row in drawn]
    assert totals == pytest.approx([1071e-9] * len(drawn), abs=4e-12)


def test_a_part_beyond_its_limit_leaves_the_rest_to_the_others() -> None:
    fit = Fit(Measurement("1 us", "latency", 1e-6), ["nic.transmit_latency"], [SENDING])
    nominal = {"nic.transmit_latency": 6e-7, SENDING: 2e-7, HANDLING: 1e-7, RATE_PARTS[1]: 5e-8}
    drawn = fit.at(0.5, {**nominal, SENDING: 2e-6}, nominal)
    assert drawn == pytest.approx({SENDING: 1.5e-7, "nic.transmit_latency": 6.5e-7})


@pytest.mark.parametrize("stated", ["500ns", "0ns"])
def test_a_receivers_time_of_which_a_part_is_stated_or_declared_is_drawn(stated: str) -> None:
    """A study that set ``receive_overhead`` itself could not be sampled."""
    text, origin = read({"interconnect": {"profile": "infiniband-edr"}, "job": [PING]})
    by_scenario = unknowns(text, origin, {RECEIVING: stated}, declared(()))
    by_reader = unknowns(text, origin, {}, declared((f"{RECEIVING}={stated}..600ns",)))
    for drawable, most in ((by_scenario, stated), (by_reader, "600ns")):
        for row in samples(drawable):
            receiving_s = row.get(RECEIVING, time_of(most))
            assert row[SENDING] <= row[HANDLING] + receiving_s + 2e-12
