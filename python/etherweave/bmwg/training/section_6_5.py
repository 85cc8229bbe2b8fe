"""Link-level retry and trimming (training draft, 6.5 a and b)."""

from collections.abc import Mapping, Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, counters, flow_sums, rows, stream_times_us
from etherweave.bmwg.model import Case, Column, Included, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, Changes, uet
from etherweave.bmwg.traffic import incast, named

ERRORS = (1e-7, 1e-6)
"""Bit error rates of the damaged link, of which nothing is left after correction in service."""
AXES = ("part", "variant", "bit error rate")
PRIORITY = 6  # Priority of trimmed packets and of acknowledgements.


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Damage a link of the first sender with and without retry; overload a queue by two to one."""
    source, sink = fabric.pairs()[0]
    leaf = next(iter(fabric.leaves))
    link = f"{leaf} - {fabric.host_names[source]}"
    message = 16 * MIB if full else 4 * MIB
    variants: Mapping[str, Changes] = {"retry at the link": {"retry": {}}, "transport alone": {}}
    made = []
    for rate in ERRORS:
        for variant, retry in variants.items():
            job = incast([source], sink, message, messages=1)
            fault = {"link": link, "bit_error_rate": rate, **retry}
            labels = labelled(AXES, "a", variant, rate)
            changes = {"job": [job], "faults": {"degraded": [fault]}, **uet(fabric)}
            made.append(Case(labels, changes))
    shallow = {
        "flow_control": {"none": {}},
        "switch.egress_threshold": {"static": "50kB"},
        "ets": {"weights": [100, 0, 0, 0, 0, 0, 0, 0]},
        **uet(fabric, control_priority=PRIORITY),
    }
    trimmed = {"switch.trimming": {"priority": PRIORITY}}
    for variant, trimming in (("trimming", trimmed), ("tail drop", {})):
        jobs = [incast(fabric.senders_to(0)[:2], 0, message // 4, messages=4)]
        labels = labelled(AXES, "b", variant, 0.0)
        made.append(Case(labels, {"job": named(jobs), **shallow, **trimming}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report completion, frames of retries, trimmed packets and retransmissions."""

    def replays(_: Case, result: Result) -> int:
        return sum(count for (count,) in rows(result, "replays", "frames"))

    def lost_ns(_: Case, result: Result) -> float | None:
        links = list(rows(result, "replays", "frames", "lost_ns"))
        frames, lost = (sum(values) for values in zip(*links, strict=True)) if links else (0, 0)
        return lost / frames if frames else None

    def trimmed(_: Case, result: Result) -> int:
        return sum(count for (count,) in rows(result, "ports", "trimmed_packets"))

    def timeouts(_: Case, result: Result) -> int:
        return sum(count for (count,) in rows(result, "flows", "timeouts"))

    metrics = [
        (Column("completion [us]", BOUNDARY), lambda _, run: max(stream_times_us(run))),
        (Column("frames sent again by links", REPORTED), replays),
        (Column("transmitter time lost by a frame [ns]", REPORTED), lost_ns),
        (Column("trimmed [packets]", REPORTED), trimmed),
        (Column("dropped [packets]", REPORTED), lambda _, run: counters(fabric, run).drops),
        (Column("retransmitted [packets]", BOUNDARY), lambda _, run: flow_sums(run)[1]),
        (Column("timeouts", BOUNDARY), timeouts),
    ]
    note = (
        "Part a: one link between a host and its leaf damages frames. Part b: two hosts send to "
        "one over queues of 50 kB. Over UET's RUD."
    )
    return [
        table("recovery", "Recovery from damage and overload", AXES, metrics, trials, note=note)
    ]
