"""RDMA between hosts: throughput, latency, bursts (training draft, chapter 5)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import REPORTED, SETTING, counters
from etherweave.bmwg.latency import latency_test
from etherweave.bmwg.model import BenchTest, Case, Cell, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB, MIB, Changes, at_line_rate, of_file, sized
from etherweave.bmwg.throughput import throughput_test
from etherweave.bmwg.traffic import incast

SIZES = (64, 256, KIB, 4 * KIB, 64 * KIB, 256 * KIB, MIB)  # Messages [B].
RATIOS = (2, 4, 8, 16, 32)
BURSTS = tuple(16 * KIB << doubling for doubling in range(11))  # Bursts of a sender [B].
AXES = ("flow control", "senders", "burst [B]")


def _burst_cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send a burst of each length from N hosts at once, as the file has it and without pauses."""
    controls: dict[str, Changes] = {fabric.flow_control: {}}
    if fabric.flow_control == "pfc":
        controls["none"] = {"flow_control": {"none": {}}}

    def changes(ratio: int, burst: int) -> Changes:
        job = incast(fabric.senders_to(0)[:ratio], 0, burst, messages=1, outstanding=1)
        return {"job": [job], **at_line_rate(fabric, burst)}

    return [
        sized(
            *(fabric, ratio + 1, labelled(AXES, control, ratio, burst)),
            {**changes(ratio, burst), **own},
        )
        for control, own in controls.items()
        for ratio in (RATIOS if full else RATIOS[:3])
        for burst in (BURSTS if full else BURSTS[::2])
    ]


def _burst_tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report the longest burst without loss, and what queues hold of it."""
    groups: dict[tuple[Cell, Cell], list[tuple[int, Result]]] = {}
    for case, result in trials:
        control, ratio, burst = (case.labels[axis] for axis in AXES)
        groups.setdefault((control, ratio), []).append((int(str(burst)), result))
    rows = []
    for (control, ratio), runs in groups.items():
        measured = [(burst, counters(fabric, result)) for burst, result in runs]
        lossy = [burst for burst, counts in measured if counts.drops]
        first = min(lossy, default=None)
        kept = [(burst, counts) for burst, counts in measured if first is None or burst < first]
        longest, counts = max(kept, key=lambda pair: pair[0], default=(None, None))
        held = counts and counts.occupancy_max
        pauses = counts and counts.pauses
        total = None if longest is None else longest * int(str(ratio))
        rows.append([control, ratio, longest, total, first, held, pauses])
    columns = [
        *SETTING.columns(*AXES[:2]),
        *REPORTED.columns(
            "longest burst of a sender without loss [B]",
            "bytes absorbed, all senders",
            "shortest burst with loss [B]",
            "largest queue then [B]",
            "PAUSE frames then",
        ),
    ]
    note = (
        "Senders begin at once, each with a single RDMA Write at line rate, without congestion "
        "control; lengths double. No "
        "shortest burst with loss: none of the sweep lost a packet."
    )
    title = "Bursts that are absorbed"
    return [ReportTable("bursts", title, columns, rows, note, Plot(1, 3, (0,), is_bars=True))]


TESTS = {
    "5.1": throughput_test(
        "RDMA Write throughput",
        of_file,
        ((4 * KIB, 64 * KIB, MIB), (1, 4)),
        ((*SIZES, 4 * MIB), (1, 4, 16, 32)),
    ),
    "5.2": latency_test(of_file, (64, 4 * KIB, 64 * KIB), 200, SIZES),
    "5.3": BenchTest(_burst_cases, _burst_tables),
}
