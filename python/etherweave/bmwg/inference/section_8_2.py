"""PFC under bursts of KV cache transfers (inference draft, 8.2)."""

from collections.abc import Sequence

from etherweave.bmwg import kpis
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, at_line_rate, too_many
from etherweave.bmwg.traffic import incast, named, ping

SINK = 0
BURSTS = (4, 8, 16, 32)
WITHIN_US = (100, 1_000, 10_000)
XOFF = (10_000, 100_000, 1_000_000)  # Thresholds of a port and priority [B].
ROUND_TRIP_US = 4
"""Time of a ping-pong on an idle fabric, about, so that it lasts as long as bursts begin [us]."""
AXES = ("bursts", "within [us]", "XOFF [B]")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Begin a transfer from each of N hosts in turn, beside a ping-pong that shares a leaf."""
    size = (16 if full else 2) * MIB
    made = []
    for count in BURSTS if full else (4, 8):
        for within in WITHIN_US if full else WITHIN_US[:2]:
            for threshold in XOFF if full else XOFF[1:]:
                labels = labelled(AXES, count, within, threshold)
                if missing := too_many(labels, count + 2, fabric):
                    made.append(missing)
                    continue
                hosts = fabric.senders_to(SINK)
                jobs = [
                    incast(
                        [host],
                        SINK,
                        size,
                        messages=1,
                        name="burst",
                        start=f"{within * at // count}us",
                    )
                    for at, host in enumerate(hosts[:count])
                ]
                # Its server is on the leaf of the receiver; its client is that of a burst.
                victim = ping(hosts[0], hosts[-1], 4096, 100 + within // ROUND_TRIP_US)
                changes = {
                    "job": [*named(jobs), victim],
                    "switch.ingress_threshold": {"static": f"{threshold}B"},
                    **at_line_rate(fabric, size),
                }
                made.append(Case(labels, changes))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report pauses, completion of bursts, and the delay of a flow to another host."""
    metrics = [
        (
            Column("slowest burst [us]", kpis.BOUNDARY),
            lambda _, run: max(kpis.stream_times_us(run, "burst")),
        ),
        (
            Column("longest paused port [us]", kpis.REPORTED),
            lambda _, run: kpis.counters(fabric, run).paused_us_max,
        ),
        (
            Column("victim round trip P50 [us]", kpis.SOFTWARE),
            lambda _, run: percentile(kpis.iterations_us(run, "ping"), 50),
        ),
        (
            Column("victim round trip max [us]", kpis.SOFTWARE),
            lambda _, run: max(kpis.iterations_us(run, "ping")),
        ),
        *kpis.health(fabric),
    ]
    note = (
        "Victim: a ping-pong of 4 KiB between the host of the first burst and another host on the "
        "leaf of the receiver, of the same priority. Senders have no congestion control."
    )
    plot = Plot(2, 5, (0, 1))
    return [table("pauses", "Pauses under KV bursts", AXES, metrics, trials, note=note, plot=plot)]
