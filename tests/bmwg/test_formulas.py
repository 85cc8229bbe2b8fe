"""Formulas of the drafts, by hand and by the drafts' own examples."""

import math
from typing import Any

import pyarrow
import pytest

from etherweave.api.results import Result
from etherweave.bmwg import formulas, kpis
from etherweave.bmwg.storm import silence_us


def test_an_all_reduce_of_1_gb_among_eight_in_10_ms_has_a_bus_bandwidth_of_175_gb_per_s() -> None:
    assert formulas.bus_bandwidth("allreduce", 8, 1e9, 0.01) == pytest.approx(175e9)


@pytest.mark.parametrize("operation", ["allgather", "reduce_scatter", "alltoall"])
def test_other_collectives_have_half_the_factor_of_an_all_reduce(operation: str) -> None:
    assert formulas.algorithm_factor(operation, 4) == 0.75
    assert formulas.algorithm_factor("allreduce", 4) == 1.5


@pytest.mark.parametrize(
    ("top_k", "hidden", "element", "expected"),
    [
        (2, 4_096, 2, 21_845),  # M1
        (8, 7_168, 1, 76_459),  # M2
        (8, 7_168, 0.5, 38_229),  # M3: half the bytes of a token of M2
        (8, 7_168, 2, 152_917),  # M4
    ],
)
def test_payloads_of_a_dispatch_to_96_ranks_are_those_of_the_table(
    top_k: int, hidden: int, element: float, expected: int
) -> None:
    assert round(formulas.dispatch_bytes(128, top_k, hidden, element, 96)) == expected


def test_an_aggregate_dispatch_counts_pairs_between_nodes() -> None:
    pair = formulas.dispatch_bytes(256, 8, 7_168, 0.5, 96)
    assert 96 * (96 - 8) * pair / 1e6 == pytest.approx(646, abs=0.5)
    assert formulas.dispatch_egress_bytes(pair, 96) == 95 * pair


def test_each_byte_of_a_participant_that_crosses_the_boundary_counts_once() -> None:
    """Shares of 1 MB: 7/8 of an all-to-all's blocks, 2 x 7/8 of an all-reduce."""
    payload = formulas.collective_payload_bytes
    assert payload("alltoall", 8, 10**6) == 875_000
    assert payload("allgather", 32, 10**6) == 968_750
    assert payload("allreduce", 8, 10**6) == 1_750_000
    assert formulas.dispatch_egress_bytes(32 * 2 * 4096 * 2 / 8, 8) == 458_752


def test_fairness_is_one_among_equals_and_the_share_of_those_that_send_otherwise() -> None:
    assert formulas.fairness([3.0, 3.0, 3.0]) == pytest.approx(1)
    assert formulas.fairness([1.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
    # (1 + 2 + 3)² / (3 · (1 + 4 + 9)) = 36/42
    assert formulas.fairness([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert math.isnan(formulas.fairness([0.0, 0.0]))


def test_the_ratio_of_the_largest_to_the_mean_counts_idle_links() -> None:
    assert formulas.max_mean_ratio([4.0, 2.0, 0.0, 2.0]) == 2
    assert formulas.max_mean_ratio([1.0, 1.0]) == 1


def test_the_roofline_is_computation_and_ideal_communication_in_turn() -> None:
    """1 GB among two at 400 Gb/s, factor 1: 20 ms; with 10 ms of computation, 30 ms a step."""
    assert formulas.algorithm_factor("allreduce", 2) == 1
    assert formulas.roofline_s(100, 0.01, 1e9, 1.0, 400e9) == pytest.approx(3.0)


def test_overlap_is_the_part_of_ideal_communication_that_a_job_does_not_take() -> None:
    plan = (100, 0.01, 1e9, 1.0, 400e9)
    assert formulas.overlap_fraction(3.0, *plan) == pytest.approx(0)
    assert formulas.overlap_fraction(1.0, *plan) == pytest.approx(1)
    assert formulas.overlap_fraction(2.0, *plan) == pytest.approx(0.5)
    assert formulas.interference_factor(3.0, 2.0) == 1.5


def test_percentiles_are_of_the_nearest_rank() -> None:
    values = range(1, 101)
    assert [formulas.nearest_rank(values, at) for at in (50, 95, 99, 99.9)] == [50, 95, 99, 100]
    with pytest.raises(ValueError, match="no value"):
        formulas.nearest_rank([], 50)


@pytest.mark.parametrize(
    ("percent", "fewest"), [(50, 10), (90, 10), (95, 20), (99, 100), (99.9, 1_000), (1, 101)]
)
def test_a_percentile_needs_ten_samples_and_one_beyond_it(percent: float, fewest: int) -> None:
    assert formulas.percentile(range(fewest - 1), percent) is None
    assert formulas.percentile(range(fewest), percent) == formulas.nearest_rank(
        range(fewest), percent
    )


def test_a_ratio_of_what_is_not_known_is_not_known() -> None:
    assert formulas.ratio(3.0, 2.0) == 1.5
    assert formulas.ratio(None, 2.0) is formulas.ratio(3.0, None) is formulas.ratio(3.0, 0) is None


def test_a_percentile_that_no_sample_can_be_above_is_left_out() -> None:
    """Samples above P99: one of 100, less than one of 99; P99.9 needs 1,000."""
    assert kpis.tail_us(range(99), 99) is None
    assert kpis.tail_us(range(100), 99) == 98
    *_, middle, p95, p99, p999, largest = kpis.latency_cells([*range(1, 101)])
    assert (middle, p95, p99, p999, largest) == (50, 95, 99, None, 100)
    assert kpis.latency_cells([*range(1, 1_001)])[-2] == 999


def test_rates_of_packets_are_shares_of_all() -> None:
    assert formulas.marking_ratio(1, 4) == 25
    assert formulas.drop_rate(3, 1_000_000) == 3
    assert (formulas.marking_ratio(0, 0), formulas.drop_rate(0, 0)) == (0, 0)


def test_a_write_of_one_full_packet_has_82_more_bytes_and_its_gap_on_the_wire() -> None:
    """Untagged: 14 + 20 + 8 + 12 + 16 + 4 + 4 and 20 of preamble and gap."""
    assert formulas.write_payload_share(4096) == pytest.approx(4096 / (4096 + 98))
    assert formulas.write_payload_share(8192) == pytest.approx(8192 / (8192 + 2 * 82 + 16))


def test_variation_is_the_deviation_of_a_sample_over_its_mean() -> None:
    """The deviation of 2 and 4 is the root of 2, the mean 3."""
    assert formulas.variation([2.0, 4.0]) == pytest.approx(math.sqrt(2) / 3)
    assert math.isnan(formulas.variation([1.0])) and math.isnan(formulas.variation([-1.0, 1.0]))


def test_oversubscription_is_down_over_up() -> None:
    assert formulas.oversubscription(1200, 400) == 3
    assert formulas.oversubscription(1, 0) == math.inf


@pytest.mark.parametrize(
    ("finished", "periods", "expected_us"),
    [
        ("complete", [(1, 10.0), (2, 0.0), (3, 10.0), (4, 0.0)], 1_000.0),
        # A deadlock is silent from 4 ms until the run would have ended.
        ("stuck", [(1, 10.0), (2, 0.0), (3, 10.0), (4, 10.0), (5, 0.0)], 6_000.0),
        # Silence before it may be longer.
        ("stuck", [(1, 10.0), (8, 0.0), (9, 10.0)], 7_000.0),
        ("stuck", [], None),
    ],
)
def test_the_longest_silence_is_that_of_a_deadlock_or_one_before(
    finished: str, periods: list[tuple[int, float]], expected_us: float | None
) -> None:
    begins = [0, *(end for end, _ in periods)]
    rows = [
        {"flow": 0, "time_ns": 1e6 * end, "goodput_gbps": rate, "duration_ns": 1e6 * (end - begin)}
        for begin, (end, rate) in zip(begins, periods, strict=False)
    ]
    tables = {"flow_samples": pyarrow.Table.from_pylist(rows)} if rows else {}
    summary: Any = {"finished": finished}
    assert silence_us(Result(tables, summary, "", {})) == expected_us
