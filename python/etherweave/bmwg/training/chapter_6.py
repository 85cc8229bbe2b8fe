"""Ultra Ethernet by service, beside RoCE (training draft, chapter 6)."""

from collections.abc import Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.balancing import balance_test
from etherweave.bmwg.collectives import OPERATIONS, SIZES, collective_cases, collective_table, swept
from etherweave.bmwg.convergence import convergence_test
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, counters, flow_sums, rows, stream_times_us
from etherweave.bmwg.latency import latency_test
from etherweave.bmwg.model import BenchTest, Case, Included, ReportTable, labelled, table
from etherweave.bmwg.settings import KIB, MIB, Changes, flowlets, roce, services, uet
from etherweave.bmwg.throughput import throughput_test
from etherweave.bmwg.traffic import incast, named

ERRORS = (1e-7, 1e-6)
"""Bit error rates of the damaged link, of which nothing is left after correction in service."""
AXES = ("part", "variant", "bit error rate")
PRIORITY = 6  # Priority of trimmed packets and of acknowledgements.


def _spraying(fabric: BenchFabric, _: bool) -> Mapping[str, Changes]:
    """Return the draft's five configurations."""
    spray = {"routing": "spray"}
    return {
        "RUD, spray": uet(fabric, delivery="rud", load_balancing="oblivious"),
        "ROD, spray": {**uet(fabric, delivery="rod"), **spray},
        "RC, spray": {**roce(fabric, reliability="selective_repeat"), **spray},
        "RC, ECMP": {**roce(fabric), "routing": "ecmp"},
        "RUD, flowlets": {
            **uet(fabric, delivery="rud"),
            "routing": flowlets(fabric, "1us")["routing"],
        },
    }


def _congestion_controls(fabric: BenchFabric) -> Mapping[str, Changes]:
    """Return each congestion control, at one end and at both."""
    no_pauses: Changes = {"flow_control": {"none": {}}}
    return {
        "RC, DCQCN": roce(fabric, dcqcn=fabric.transport_keys("roce").get("dcqcn", {})),
        "RUD, NSCC": uet(fabric, nscc={}),
        "RUD, NSCC, no PFC": {**uet(fabric, nscc={}), **no_pauses},
        "RUD, NSCC and RCCC, no PFC": {**uet(fabric, nscc={}, rccc={}), **no_pauses},
    }


def _recovery_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Damage a link of the first sender with and without retry; overload a queue by two to one."""
    source, sink = fabric.pairs()[0]
    message = 16 * MIB if full else 4 * MIB
    variants: Mapping[str, Changes] = {"retry at the link": {"retry": {}}, "transport alone": {}}
    made = []
    for rate in ERRORS:
        for variant, retry in variants.items():
            job = incast([source], sink, message, messages=1)
            fault = {"link": fabric.link_to(source), "bit_error_rate": rate, **retry}
            changes = {"job": [job], "faults": {"degraded": [fault]}, **uet(fabric)}
            made.append(Case(labelled(AXES, "a", variant, rate), changes))
    shallow = {
        "flow_control": {"none": {}},
        "switch.egress_threshold": {"static": "50kB"},
        "ets": {"weights": [100, 0, 0, 0, 0, 0, 0, 0]},
        **uet(fabric, control_priority=PRIORITY),
    }
    trimmed = {"switch.trimming": {"priority": PRIORITY}}
    jobs = named([incast(fabric.senders_to(0)[:2], 0, message // 4, messages=4)])
    return made + [
        Case(labelled(AXES, "b", variant, 0.0), {"job": jobs, **shallow, **trimming})
        for variant, trimming in (("trimming", trimmed), ("tail drop", {}))
    ]


def _recovery_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report completion, frames of retries, trimmed packets and retransmissions."""

    def lost_ns(result: Result) -> float | None:
        links = list(rows(result, "replays", "frames", "lost_ns"))
        frames, lost = (sum(values) for values in zip(*links, strict=True)) if links else (0, 0)
        return lost / frames if frames else None

    def total(result: Result, of: str, column: str) -> int:
        return sum(count for (count,) in rows(result, of, column))

    metrics = [
        BOUNDARY.metric("completion [us]", lambda run: max(stream_times_us(run))),
        REPORTED.metric("frames sent again by links", lambda run: total(run, "replays", "frames")),
        REPORTED.metric("transmitter time lost by a frame [ns]", lost_ns),
        REPORTED.metric("trimmed [packets]", lambda run: total(run, "ports", "trimmed_packets")),
        REPORTED.metric("dropped [packets]", lambda run: counters(fabric, run).drops),
        BOUNDARY.metric("retransmitted [packets]", lambda run: flow_sums(run)[1]),
        BOUNDARY.metric("timeouts", lambda run: total(run, "flows", "timeouts")),
    ]
    note = (
        "Part a: one link between a host and its leaf damages frames. Part b: two hosts send to "
        "one over queues of 50 kB. Over UET's RUD."
    )
    title = "Recovery from damage and overload"
    return [table("recovery", title, AXES, metrics, trials, note=note)]


def _collective_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Run every collective by RUD with spraying, by ROD and by RC with ECMP."""
    variants = {
        "RUD, spray": uet(fabric, delivery="rud", load_balancing="oblivious"),
        "ROD, ECMP": uet(fabric, delivery="rod"),
        "RC, ECMP": {**roce(fabric), "routing": "ecmp"},
    }
    counts, sizes, iterations = swept(fabric, full)
    chosen, size = ((128, 512), SIZES[4]) if full else (counts[-1:], sizes[0])
    return collective_cases(fabric, OPERATIONS, variants, chosen, [size], iterations)


TESTS = {
    "6.1": throughput_test(
        "Throughput by service", services, ((MIB,), (1, 4)), ((MIB, 4 * MIB), (1, 4, 16, 32))
    ),
    "6.2": latency_test(services, (64, 64 * KIB), 100, (64, 4 * KIB, 64 * KIB, MIB)),
    "6.3": balance_test(
        *("Spraying by service", _spraying, (1,), (1, 4)),
        " ROD takes packets in order alone: sprayed, what overtakes is dropped and sent again with "
        "all behind it.",
    ),
    "6.4": convergence_test(
        "Incast by congestion control",
        _congestion_controls,
        ((2, 8), 3_000),
        ((2, 4, 8, 16, 32, 64), 20_000),
    ),
    "6.5": BenchTest(_recovery_cases, _recovery_tables),
    "6.6": BenchTest(
        _collective_cases,
        # No packet is encrypted.
        lambda fabric, trials: [
            collective_table(fabric, trials, "services", "Collectives by service")
        ],
    ),
}
