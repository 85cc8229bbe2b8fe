"""Spreads among documents, and of profiles."""

import math
import statistics

import pytest

from etherweave.api.interconnects import names
from etherweave.api.scenario import read
from etherweave.api.units import time_of
from etherweave.measurements.references import search
from etherweave.uncertainty import Unknowns, declared, spreads, unknowns
from etherweave.uncertainty.fits import Measurement
from etherweave.uncertainty.spreads import spread_of, spread_of_measurement

PING = {"name": "ping", "workload": {"osu_latency": {"bytes": "8B"}}}


def of_profile(name: str, *ranges: str) -> Unknowns:
    text, origin = read({"interconnect": {"profile": name}, "job": [PING]})
    return unknowns(text, origin, {}, declared(ranges))


def test_the_spread_of_a_key_is_that_of_its_different_values() -> None:
    spread = spread_of("nic.receive_latency")
    assert spread is not None
    assert spread.values == "100ns, 190ns, 200ns"
    assert spread.sigma == pytest.approx(statistics.stdev(map(math.log, (100, 190, 200))))


def test_a_key_of_one_document_has_the_spread_of_its_table() -> None:
    spread = spread_of("host.cpu.interrupt")
    assert spread is not None and spread.figure == "host"
    keys = [spread for spread in spreads() if spread.figure.startswith("host.")]
    squares = math.fsum(key.sigma**2 * key.degrees for key in keys)
    assert spread.sigma == pytest.approx(math.sqrt(squares / sum(key.degrees for key in keys)))


def test_the_spread_of_message_rates_is_that_of_two_libraries_on_one_cluster() -> None:
    sizes = [2**power for power in range(7)]
    rows = search(["osu_bw"], fabric="InfiniBand EDR")
    pairs = [[row.value for row in rows if row.size_bytes == size] for size in sizes]
    squares = [statistics.variance(map(math.log, pair)) for pair in pairs]
    spread = spread_of_measurement("message rate")
    assert spread.sigma == pytest.approx(math.sqrt(statistics.fmean(squares)))


@pytest.mark.parametrize("name", names())
def test_figures_in_the_middle_of_their_distributions_are_those_of_the_profile(name: str) -> None:
    result = of_profile(name)
    assert result.entries
    for key, value in result.at([0.5] * len(result.entries)).items():
        entry = result.figure(key)
        if entry and str(value).endswith("ps"):
            assert time_of(str(value)) == pytest.approx(time_of(str(entry["value"])), rel=1e-4), key


def test_parts_of_a_measured_time_keep_their_sum() -> None:
    result = of_profile("ethernet-100-roce")
    names_ = [entry.name for entry in result.entries]
    measured = result.entries[0]
    assert measured.basis == "fitted" and "1.28 us" in measured.name and len(measured.keys) == 5
    nominal = math.fsum(time_of(str(result.at([0.5] * len(names_))[key])) for key in measured.keys)
    spaced = [0.9 - 0.8 * at / len(names_) for at in range(len(names_))]
    shares = [
        0.5 if name == measured.name else share for name, share in zip(names_, spaced, strict=True)
    ]
    drawn = result.at(shares)
    assert math.fsum(time_of(str(drawn[key])) for key in measured.keys) == pytest.approx(
        nominal, abs=5e-12
    )
    assert len({str(drawn[key]) for key in measured.keys}) == 5
    # And they move by what the measurement moves.
    moved = result.at([1.0 if name == measured.name else 0.5 for name in names_])
    sigma = spread_of_measurement("latency").sigma
    change = math.fsum(time_of(str(moved[key])) for key in measured.keys) - nominal
    assert change == pytest.approx(1.28e-6 * math.expm1(sigma * 2.5758), rel=1e-3)


def test_parts_of_a_time_that_was_measured_elsewhere_move_in_proportion() -> None:
    result = of_profile("ethernet-400-roce")
    names_ = [entry.name for entry in result.entries]
    (measured,) = [entry for entry in result.entries if "1.28 us" in entry.name]
    assert len(measured.keys) == 2
    sigma = spread_of_measurement("latency").sigma
    for share, quantile in ((0.0, -2.5758), (1.0, 2.5758)):
        drawn = result.at([share if name == measured.name else 0.5 for name in names_])
        together = math.fsum(time_of(str(drawn[key])) for key in measured.keys)
        nominal = math.fsum(
            time_of(str(result.at([0.5] * len(names_))[key])) for key in measured.keys
        )
        assert together == pytest.approx(nominal * math.exp(sigma * quantile), rel=1e-3)


@pytest.mark.parametrize("profile", names())
def test_no_sample_is_below_zero(profile: str) -> None:
    result = of_profile(profile)
    for share in (0.0, 1.0):
        for corner in range(len(result.entries)):
            shares = [1.0 - share if at == corner else share for at in range(len(result.entries))]
            assert not [value for value in result.at(shares).values() if str(value).startswith("-")]


def test_figures_of_one_source_move_together() -> None:
    result = of_profile("infiniband-edr")
    (shared,) = [entry for entry in result.entries if "4 KiB" in entry.name]
    assert [key.rpartition(".")[2] for key in shared.keys] == [
        "eager_receive_per_kib",
        "eager_send_per_kib",
    ]
    drawn = result.at([0.9] * len(result.entries))
    assert len({drawn[key] for key in shared.keys}) == 1


def test_a_figure_of_one_of_several_pairs_moves_by_no_less_than_its_own_time() -> None:
    # 56.3 MB/s of three pairs are a message of 8 B each 142 ns, and of each pair three times that.
    result = of_profile("slingshot-10")
    names_ = [entry.name for entry in result.entries]
    shares = [1.0 if "3 pairs" in name and " 8 B" in name else 0.5 for name in names_]
    assert shares.count(1.0) == 1
    sigma = spread_of_measurement("message rate").sigma
    drawn = time_of(str(result.at(shares)["host.mpi_roce.handling_overhead"]))
    assert drawn == pytest.approx(281e-9 * math.exp(sigma * 2.5758), rel=1e-4)


def test_a_range_of_the_reader_takes_the_place_of_the_profiles() -> None:
    result = of_profile("ethernet-100-roce", "switch.latency=200ns..400ns")
    assert [row.basis for row in result.entries if row.keys == ["switch.latency"]] == ["declared"]
    assert result.at([0.5] * len(result.entries))["switch.latency"] == "300ns"


@pytest.mark.parametrize(
    ("source", "kind", "time_s"),
    [
        ("osu_latency over TCP of 13 to 15 us: Kenny 2020, Figure 3", "latency", 14e-6),
        ("osu_bw of 44.1 MB/s at 8 B: jfgrimm", "message rate", 8 / 44.1e6),
        ("osu_bw of 7,335 MB/s at 4 KiB: jfgrimm", "bandwidth", 1024 / 7335e6),
        ("30 Gb/s of one stream at an MTU of 4,500", "bandwidth", 1024 * 8 / 30e9),
        ("osu_mbw_mr of 1.42 million messages a second at 8 B", "message rate", 1e-6 / 1.42),
    ],
)
def test_a_source_names_the_measured_time(source: str, kind: str, time_s: float) -> None:
    result = Measurement.of(source)
    assert result is not None
    assert result.kind == kind
    assert result.time_s == pytest.approx(time_s)


def test_a_source_without_a_number_names_no_time() -> None:
    assert Measurement.of("SONiC's tables for the SN2700 (profiles/switch/sn2700.toml)") is None


def test_estimates_from_one_source_move_as_one() -> None:
    # tofu-2 takes both copies from one figure, which is fitted for EDR.
    both = ["host.mpi_roce.eager_receive_per_kib", "host.mpi_roce.eager_send_per_kib"]
    result = of_profile("tofu-2")
    (name,) = [entry.name for entry in result.entries if set(both) == set(entry.keys)]
    places = [0.5] * len(result.entries)
    places[[entry.name for entry in result.entries].index(name)] = 0.9
    for key in both:
        nominal = str(result.figure(key)["value"])  # type: ignore[index]
        drawn = float(str(result.at(places)[key]).removesuffix("ps"))
        assert drawn > 1.2e3 * float(nominal.removesuffix("ns")), "a factor of its own spread"


def test_an_estimate_lies_between_the_ends_of_its_documents() -> None:
    # Four published curves have between 470 ns and 590 ns, of which the profile takes 500 ns.
    key, result = "nic.pcie.read_latency", of_profile("infiniband-edr")
    (entry,) = [entry for entry in result.entries if entry.keys == [key]]
    assert (entry.low, entry.high, entry.about) == ("470 ns", "590 ns", "range of its documents")
    at = result.entries.index(entry)

    def drawn_ps(share: float) -> int:
        places = [0.5] * len(result.entries)
        places[at] = share
        return int(str(result.at(places)[key]).removesuffix("ps"))

    assert [drawn_ps(share) for share in (0.0, 0.5, 1.0)] == [470_000, 500_000, 590_000]
    assert drawn_ps(0.75) == pytest.approx(math.sqrt(500_000 * 590_000), abs=1)


@pytest.mark.parametrize("name", ["ultra-ethernet-400", "slingshot-11", "tofu-d"])
def test_an_estimate_of_zero_is_zero_or_up_to_the_largest_among_profiles(name: str) -> None:
    result = of_profile(name)
    (place,) = (at for at, row in enumerate(result.entries) if row.name == "nic.context_switch")
    # Profiles have 0, 20.3 ns, and 25 ns.
    assert (result.entries[place].low, result.entries[place].high) == ("0ns", "25 ns")

    def drawn(share: float) -> object:
        shares = [0.5] * len(result.entries)
        shares[place] = share
        return result.at(shares)["nic.context_switch"]

    assert [drawn(share) for share in (0.0, 0.5, 0.75, 1.0)] == ["0ps", "0ps", "12500ps", "25000ps"]


def test_shares_of_a_measured_time_that_nothing_is_fitted_to_keep_their_sum() -> None:
    # tofu-d divides the 0.49 us of a put, which no figure of it is fitted to.
    result = of_profile("tofu-d")
    (time,) = [entry for entry in result.entries if entry.name.startswith("a share of the 0.49 us")]
    at = [entry.name for entry in result.entries].index(time.name)

    def total_ps(others: float, measured: float) -> int:
        places = [others] * len(result.entries)
        places[at] = measured
        drawn = result.at(places)
        return sum(int(str(drawn[key]).removesuffix("ps")) for key in time.keys)

    assert len(time.keys) == 4
    assert total_ps(0.2, 0.5) == pytest.approx(380_000, abs=4), "120, 100, 80 and 80 ns"
    assert total_ps(0.8, 0.5) == pytest.approx(380_000, abs=4)
    assert total_ps(0.5, 0.9) > 400_000
