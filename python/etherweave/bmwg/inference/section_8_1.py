"""ECN under an incast of KV cache transfers (inference draft, 8.1)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import BOUNDARY, REPORTED, counters, health, rows, stream_times_us
from etherweave.bmwg.model import Case, Column, Included, Plot, ReportTable, labelled, table
from etherweave.bmwg.settings import MIB, reads_marks, too_many
from etherweave.bmwg.traffic import incast

SINK = 0
SOURCES = (2, 4, 8, 16, 32)
THRESHOLDS = (100_000, 500_000, 1_000_000, 5_000_000)
MESSAGE = 16 * MIB
AXES = ("sources", "threshold [B]")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send 16 MiB from each of M hosts to one, with marks from each threshold on."""
    made = []
    for count in SOURCES if full else (2, 8):
        for threshold in THRESHOLDS if full else (100_000, 1_000_000):
            labels = labelled(AXES, count, threshold)
            if missing := too_many(labels, count + 1, fabric):
                made.append(missing)
                continue
            leaf = next(iter(fabric.leaves))
            ports = [f"{leaf} - {fabric.host_names[SINK]}"]
            size = f"{threshold}B"
            changes = {
                "job": [incast(fabric.senders_to(SINK)[:count], SINK, MESSAGE, messages=1)],
                "switch.ecn": {"queue_min": size, "queue_max": size, "share_max": 1.0},
                "observe": {"period": "1us", "ports": ports, "until": "200us"},
                **reads_marks(fabric),
            }
            made.append(Case(labels, changes))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report marks, their onset, queues and throughput."""

    def throughput(case: Case, result: Result) -> float:
        sent = int(str(case.labels["sources"])) * MESSAGE
        return sent * 8e-3 / max(stream_times_us(result))

    metrics = [
        (Column("onset of marks [us]", REPORTED), lambda _, run: _onset(run)[0]),
        (Column("depth at onset [B]", REPORTED), lambda _, run: _onset(run)[1]),
        (Column("largest queue [B]", REPORTED), lambda _, run: counters(fabric, run).occupancy_max),
        (Column("throughput [Gb/s]", BOUNDARY), throughput),
        *health(fabric),
    ]
    note = "Onset: the end of the first microsecond with a mark at the port of the receiver."
    plot = Plot(1, 5, (0,))
    return [table("marks", "Marks under KV incast", AXES, metrics, trials, note=note, plot=plot)]


def _onset(result: Result) -> tuple[float | None, int | None]:
    columns = ("time_ns", "occupancy_bytes", "ecn_marked_packets")
    for time, depth, marked in rows(result, "port_samples", *columns):
        if marked:
            return time / 1e3, depth
    return None, None
