"""Congestion management beside KV cache transfers (inference draft, chapter 8)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg import kpis
from etherweave.bmwg.convergence import Kind, convergence_cases, convergence_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import percentile
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, SOFTWARE, counters, health, rows
from etherweave.bmwg.model import BenchTest, Case, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import KIB, MIB, Changes, at_line_rate, reads_marks, sized
from etherweave.bmwg.storm import storm_test
from etherweave.bmwg.traffic import incast, named, ping

SINK = 0
SOURCES = (2, 4, 8, 16, 32)
THRESHOLDS = (100_000, 500_000, 1_000_000, 5_000_000)
MESSAGE = 16 * MIB
MARK_AXES = ("sources", "threshold [B]")
BURSTS = (4, 8, 16, 32)
WITHIN_US = (100, 1_000, 10_000)
XOFF = (10_000, 100_000, 1_000_000)  # Thresholds of a port and priority [B].
ROUND_TRIP_US = 4
"""Time of a ping-pong on an idle fabric, about, so that it lasts as long as bursts begin [us]."""
PAUSE_AXES = ("bursts", "within [us]", "XOFF [B]")
KV, EP = Kind(MESSAGE, 128), Kind(64 * KIB, 1)


def _mark_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send 16 MiB from each of M hosts to one, with marks from each threshold on."""

    def changes(count: int, threshold: int) -> Changes:
        size = f"{threshold}B"
        link = fabric.link_to(SINK)
        return {
            "job": [incast(fabric.senders_to(SINK)[:count], SINK, MESSAGE, messages=1)],
            "switch.ecn": {"queue_min": size, "queue_max": size, "share_max": 1.0},
            "observe": {"period": "1us", "ports": [link], "until": "200us"},
            **reads_marks(fabric),
        }

    return [
        sized(
            *(fabric, count + 1, labelled(MARK_AXES, count, threshold)), changes(count, threshold)
        )
        for count in (SOURCES if full else (2, 8))
        for threshold in (THRESHOLDS if full else (100_000, 1_000_000))
    ]


def _mark_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report marks, their onset, queues and throughput."""

    def throughput(case: Case, result: Result) -> float:
        sent = int(str(case.labels["sources"])) * MESSAGE
        return sent * 8e-3 / max(kpis.stream_times_us(result))

    metrics = [
        REPORTED.metric("onset of marks [us]", lambda run: _onset(run)[0]),
        REPORTED.metric("depth at onset [B]", lambda run: _onset(run)[1]),
        REPORTED.metric("largest queue [B]", lambda run: counters(fabric, run).occupancy_max),
        BOUNDARY.case_metric("throughput [Gb/s]", throughput),
        *health(fabric),
    ]
    note = "Onset: the end of the first microsecond with a mark at the port of the receiver."
    title, plot = "Marks under KV incast", Plot(1, 5, (0,))
    return [table("marks", title, MARK_AXES, metrics, trials, note=note, plot=plot)]


def _onset(result: Result) -> tuple[float | None, int | None]:
    columns = ("time_ns", "occupancy_bytes", "ecn_marked_packets")
    for time, depth, marked in rows(result, "port_samples", *columns):
        if marked:
            return time / 1e3, depth
    return None, None


def _pause_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Begin a transfer from each of N hosts in turn, beside a ping-pong that shares a leaf."""
    size, hosts = (16 if full else 2) * MIB, fabric.senders_to(SINK)

    def changes(count: int, within: int, threshold: int) -> Changes:
        bursts = [
            incast([host], SINK, size, messages=1, name="burst", start=f"{within * at // count}us")
            for at, host in enumerate(hosts[:count])
        ]
        # Its server is on the leaf of the receiver; its client is that of a burst.
        victim = ping(hosts[0], hosts[-1], 4096, 100 + within // ROUND_TRIP_US)
        return {
            "job": [*named(bursts), victim],
            "switch.ingress_threshold": {"static": f"{threshold}B"},
            **at_line_rate(fabric, size),
        }

    return [
        sized(
            *(fabric, count + 2, labelled(PAUSE_AXES, count, within, threshold)),
            changes(count, within, threshold),
        )
        for count in (BURSTS if full else (4, 8))
        for within in (WITHIN_US if full else WITHIN_US[:2])
        for threshold in (XOFF if full else XOFF[1:])
    ]


def _pause_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report pauses, completion of bursts, and the delay of a flow to another host."""

    def trips_us(result: Result) -> list[float]:
        return kpis.iterations_us(result, "ping")

    metrics = [
        BOUNDARY.metric("slowest burst [us]", lambda run: max(kpis.stream_times_us(run, "burst"))),
        REPORTED.metric(
            "longest paused port [us]", lambda run: counters(fabric, run).paused_us_max
        ),
        SOFTWARE.metric("victim round trip P50 [us]", lambda run: percentile(trips_us(run), 50)),
        SOFTWARE.metric("victim round trip max [us]", lambda run: max(trips_us(run))),
        *health(fabric),
    ]
    note = (
        "Victim: a ping-pong of 4 KiB between the host of the first burst and another host on the "
        "leaf of the receiver, of the same priority. Senders have no congestion control."
    )
    title, plot = "Pauses under KV bursts", Plot(2, 5, (0, 1))
    return [table("pauses", title, PAUSE_AXES, metrics, trials, note=note, plot=plot)]


def _mixed_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Let small messages of experts come beside KV transfers to a host, and the reverse."""
    sweep = ((2, 4, 8, 16), 20_000) if full else ((2, 4), 4_000)
    first = convergence_cases(fabric, sweep, {"KV first, then EP": {}}, (KV, EP))
    return first + convergence_cases(fabric, sweep, {"EP first, then KV": {}}, (EP, KV))


def _mixed_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the time to within 5 % of steady rates."""
    title = "Convergence of mixed traffic"
    return [convergence_table(fabric, trials, 0.05, title, is_steady=True)]


TESTS = {
    "8.1": BenchTest(_mark_cases, _mark_tables),
    "8.2": BenchTest(_pause_cases, _pause_tables),
    "8.3": BenchTest(_mixed_cases, _mixed_tables),
    "8.4": storm_test(MESSAGE),
}
