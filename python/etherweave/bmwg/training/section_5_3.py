"""Burst absorption without loss (training draft, 5.3)."""

from collections.abc import Sequence

from etherweave.api.results import Result
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.kpis import REPORTED, SETTING, counters
from etherweave.bmwg.model import Case, Cell, Column, Included, Plot, ReportTable, labelled
from etherweave.bmwg.settings import KIB, at_line_rate, too_many
from etherweave.bmwg.traffic import incast

RATIOS = (2, 4, 8, 16, 32)
BURSTS = tuple(16 * KIB << doubling for doubling in range(11))  # Bursts of a sender [B].
AXES = ("flow control", "senders", "burst [B]")


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Send a burst of each length from N hosts at once, as the file has it and without pauses."""
    controls: dict[str, dict[str, object]] = {fabric.flow_control: {}}
    if fabric.flow_control == "pfc":
        controls["none"] = {"flow_control": {"none": {}}}
    made = []
    for control, changes in controls.items():
        for ratio in RATIOS if full else RATIOS[:3]:
            for burst in BURSTS if full else BURSTS[::2]:
                labels = labelled(AXES, control, ratio, burst)
                if missing := too_many(labels, ratio + 1, fabric):
                    made.append(missing)
                    continue
                job = incast(fabric.senders_to(0)[:ratio], 0, burst, messages=1, outstanding=1)
                made.append(Case(labels, {"job": [job], **at_line_rate(fabric, burst), **changes}))
    return made


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
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
        *(Column(axis, SETTING) for axis in AXES[:2]),
        Column("longest burst of a sender without loss [B]", REPORTED),
        Column("bytes absorbed, all senders", REPORTED),
        Column("shortest burst with loss [B]", REPORTED),
        Column("largest queue then [B]", REPORTED),
        Column("PAUSE frames then", REPORTED),
    ]
    note = (
        "Senders begin at once, each with a single RDMA Write at line rate, without congestion "
        "control; lengths double. No "
        "shortest burst with loss: none of the sweep lost a packet."
    )
    title = "Bursts that are absorbed"
    return [ReportTable("bursts", title, columns, rows, note, Plot(1, 3, (0,), is_bars=True))]
