"""The page of BMWG's tests, with the ten sections of the training draft (T 13), and its CSV."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress
from pathlib import Path

import polars as pl

from etherweave import _core
from etherweave.api.outputs import below, quoted_table, write_text
from etherweave.api.toml import literal
from etherweave.bmwg import BenchFabric, Entry, TestResult
from etherweave.bmwg.formulas import nearest_rank, oversubscription, variation
from etherweave.bmwg.model import Cell, ObservationPoint, ReportTable, text_of
from etherweave.pages.bmwg_figure import draw_table
from etherweave.report.page import Front, Page
from etherweave.report.section import FOLDED_FROM, Section, Table
from etherweave.report.style import house


def write_csv(results: Sequence[TestResult], draft: str, out: Path) -> list[Path]:
    """Write each table as CSV, and where the values of its columns are observed as a second row."""
    paths = []
    out.mkdir(parents=True, exist_ok=True)
    for result in results:
        for table in result.tables:
            path = below(out, f"{draft}-{result.entry.section}-{table.name}.csv")
            write_text(path, _csv(table))
            paths.append(path)
    return paths


def _csv(table: ReportTable) -> str:
    heads = [_head(table, at) for at in range(len(table.columns))]
    columns = zip(*table.rows, strict=True) if table.rows else ([] for _ in heads)
    frame = pl.DataFrame(
        {
            head: pl.Series(list(values), strict=False)
            for head, values in zip(heads, columns, strict=True)
        }
    )
    return quoted_table(frame).write_csv()


def write_bmwg(
    fabric: BenchFabric, draft: str, results: Sequence[TestResult], out: Path, *, full: bool
) -> Path:
    """Write the page of the tests of a draft into a directory; returns the page's path."""
    page = Page(out)
    with house():
        page.show(_sections(fabric, draft, results, full), fabric)
    attempted = sum(len(result.attempted) for result in results)
    included = sum(len(result.included) for result in results)
    lead = (
        f"{len(results)} tests of the draft for {draft} on {fabric.name}: {included} of "
        f"{attempted} trials that were attempted count."
    )
    front = Front(f"BMWG tests of {fabric.name}", lead)
    return page.write(front, [("Scenario of the fabric", fabric.core.resolved)])


def _sections(
    fabric: BenchFabric, draft: str, results: Sequence[TestResult], full: bool
) -> Iterator[Callable[[BenchFabric], Section]]:
    yield _identification
    yield _topology
    yield lambda _: _configuration(fabric, results, full)
    yield lambda _: _observation(results)
    yield _hosts
    for result in results:
        for table in result.tables:
            yield partial(_result, draft, result.entry, table)
    yield lambda _: _anomalies(results)
    yield lambda _: _accounting(results)
    yield lambda _: _repeatability(results)
    yield _comparability


def _pairs(name: str, title: str, rows: Sequence[tuple[str, object]], caption: str = "") -> Section:
    texts = [(key, value if isinstance(value, str) else literal(value)) for key, value in rows]
    return Section(name, title, caption, tables=[Table(("field", "value"), texts)])


def _identification(fabric: BenchFabric) -> Section:
    """Identify the device under test: fields of a model, so that none is of a vendor."""
    resolved, switch = fabric.resolved, fabric.resolved["switch"]
    rows = [
        ("DUT id", "DUT-F: the fabric, NIC port to NIC port"),
        ("simulator", f"Etherweave {_core.version()}"),
        ("file", fabric.origin),
        ("topology", next(iter(resolved["topology"]))),
        ("switches", len(fabric.rows("switches", "switch"))),
        ("switch model", switch.get("profile", switch.get("model", "shared_buffer"))),
        ("switch buffer", switch["buffer"]),
        ("forwarding", switch["forwarding"]),
        ("transport", fabric.transport),
        ("flow control", fabric.flow_control),
        ("routing", fabric.routing),
    ]
    return _pairs("dut", "1 DUT identification", rows)


def _taper(fabric: BenchFabric) -> str:
    down = fabric.hosts * fabric.rate_gbps
    return f"{oversubscription(down, sum(fabric.uplinks.values())):.3g}"


def _topology(fabric: BenchFabric) -> Section:
    rows = [
        ("hosts", fabric.hosts),
        ("leaves", len(fabric.leaves)),
        ("line rate of a host's own NICs", f"{fabric.rate_gbps:g} Gb/s"),
        ("links of leaves to other switches", len(fabric.uplinks)),
        ("oversubscription of leaves", _taper(fabric)),
    ]
    cables = [[str(cell) for cell in link] for link in fabric.rows("links", *_LINK)]
    table = Table(_LINK, cables, "Cabling", is_folded=len(cables) >= FOLDED_FROM)
    section = _pairs("topology", "2 Topology", rows)
    return Section(section.name, section.title, tables=[*section.tables, table])


_LINK = ("from", "from_port", "to", "to_port", "rate_gbps", "length_m", "medium")


def _configuration(fabric: BenchFabric, results: Sequence[TestResult], full: bool) -> Section:
    resolved, switch = fabric.resolved, fabric.resolved["switch"]
    rows = [
        ("ECN", switch.get("ecn", "off")),
        ("headroom", switch.get("headroom", "computed from rate, cable and reaction")),
        ("flow control", resolved["flow_control"]),
        ("transport", resolved["transport"]),
        ("load balancing", resolved.get("routing", "of the topology")),
        (
            "buffers",
            {key: switch[key] for key in ("buffer", "ingress_threshold", "egress_threshold")},
        ),
        ("sweeps", "as in the draft" if full else "short"),
        ("seed", resolved["seed"]),
    ]
    less = [(test.entry.section, test.entry.title, test.entry.reduction) for test in results]
    table = Table(("test", "title", "less than the draft asks for"), less)
    section = _pairs("configuration", "3 Test configuration", rows)
    return Section(section.name, section.title, tables=[*section.tables, table])


def _observation(results: Sequence[TestResult]) -> Section:
    columns = {
        (column.point, column.title)
        for result in results
        for table in result.tables
        for column in table.columns
        if column.point is not ObservationPoint.SETTING
    }
    by_point = [
        (point.value, ", ".join(sorted(title for at, title in columns if at is point)))
        for point in ObservationPoint
        if point is not ObservationPoint.SETTING
    ]
    caption = (
        "DUT boundary: payload, packets and acknowledgements at NIC ports. DUT-reported: counters "
        "and queues of switches, by port and priority. Software: post and completion of "
        "operations. Values of different points are never merged. A percentile stands where there "
        "are ten samples or more, and one beyond it: of P99 100, of P99.9 1,000."
    )
    table = Table(("observation point", "values"), by_point)
    return Section("observation", "4 Observation points", caption, tables=[table])


def _hosts(fabric: BenchFabric) -> Section:
    nic = fabric.resolved["nic"]
    rows = [
        ("NIC", nic.get("profile", "default parameters")),
        *((key, nic[key]) for key in ("transmit_latency", "receive_latency", "receive_buffer")),
        ("barriers of collectives", "those of the algorithm; none between iterations"),
        ("schedule of flows", "that of the algorithm, as its messages become ready"),
        ("stragglers", "not modelled: all hosts are alike"),
        ("accelerators, NVLink, PCIe", "outside the boundary"),
    ]
    return _pairs("hosts", "5 Host configuration", rows)


def _result(draft: str, entry: Entry, table: ReportTable, _: BenchFabric) -> Section:
    heads = [_head(table, at) for at in range(len(table.columns))]
    cells = [[text_of(cell) for cell in row] for row in table.rows]
    is_folded = len(cells) >= FOLDED_FROM
    shown = Table(heads, cells, table.title if is_folded else "", is_folded)
    figure = draw_table(table, table.plot) if table.plot and table.rows else None
    name = f"{draft}-{entry.section.replace('.', '-')}-{table.name}"
    title = f"6 Results: {entry.section} {entry.title}"
    if table.title != entry.title:
        title += f": {table.title.lower() if table.title[1:2].islower() else table.title}"
    return Section(name, title, table.note, figure, [shown])


def _head(table: ReportTable, at: int) -> str:
    column = table.columns[at]
    if column.point is ObservationPoint.SETTING:
        return column.title
    return f"{column.title} ({column.point})"


def _anomalies(results: Sequence[TestResult]) -> Section:
    rows = [
        (result.entry.section, trial.case.name, trial.problem)
        for result in results
        for trial in result.trials
        if trial.problem and not trial.case.excluded
    ]
    warnings = [
        (result.entry.section, trial.case.name, warning)
        for result in results
        for trial in result.included
        if trial.result
        for warning in trial.result.summary["warnings"]
    ]
    if not (rows or warnings):
        return Section("anomalies", "7 Anomalies", "No run failed, and none ended with a warning.")
    table = Table(("test", "trial", "what"), [*rows, *warnings])
    return Section("anomalies", "7 Anomalies", tables=[table])


def _accounting(results: Sequence[TestResult]) -> Section:
    rows, excluded = [], []
    for result in results:
        attempted = len(result.attempted)
        left_out = len(result.trials) - attempted
        numbers = (attempted, len(result.included), attempted - len(result.included), left_out)
        rows.append((result.entry.section, *map(str, numbers)))
        excluded += [
            (result.entry.section, trial.case.name, trial.problem)
            for trial in result.trials
            if trial.problem
        ]
    head = ("test", "attempted", "included", "excluded", "not attempted")
    tables = [Table(head, rows)]
    if excluded:
        tables.append(Table(("test", "trial", "reason"), excluded, "Reasons"))
    return Section("accounting", "8 Trial accounting", tables=tables)


def _repeatability(results: Sequence[TestResult]) -> Section:
    """Compare the primary metric of each row between seeds."""
    rows = []
    for result in results:
        first = result.repetitions[0] if result.repetitions else result.tables
        table = next((table for table in first if table.plot), None)
        title, spreads = "–", list[float]()
        if table and table.plot:
            title = table.columns[table.plot.y].title
            spreads = _spreads(result, table.name, table.plot.y)
        worst = max(spreads, default=None)
        middle = nearest_rank(spreads, 50) if spreads else None
        count = str(len(result.repetitions))
        rows.append((result.entry.section, count, title, text_of(middle), text_of(worst)))
    caption = (
        "The same file gives the same bytes: a repetition is another seed (`--seeds N`), or a "
        "sample with a seed of its own (`--samples N`). A seed moves the hashes of flows, among "
        "others. CV: the standard deviation of the primary metric over its mean, for each row of "
        "its table."
    )
    head = ("test", "repetitions", "primary metric", "CV, median", "CV, largest")
    table_ = Table(head, rows)
    return Section("repeatability", "9 Repeatability", caption, tables=[table_])


def _spreads(result: TestResult, name: str, at: int) -> list[float]:
    """Compute the coefficient of variation of each row of a table that all seeds have."""
    values: dict[tuple[Cell, ...], list[float]] = {}
    for tables in result.repetitions:
        for table in (table for table in tables if table.name == name):
            axes = [column.point is ObservationPoint.SETTING for column in table.columns]
            for row in table.rows:
                cell = row[at]
                if isinstance(cell, int | float):
                    values.setdefault(tuple(compress(row, axes)), []).append(float(cell))
    complete = [own for own in values.values() if len(own) == len(result.repetitions) > 1]
    return [spread for spread in map(variation, complete) if math.isfinite(spread)]


def _comparability(fabric: BenchFabric) -> Section:
    rows = [
        ("N", fabric.hosts),
        ("accelerators in a node, placement, rail map", "one a host; in the order of hosts"),
        ("B_acc", f"{fabric.rate_gbps:g} Gb/s"),
        ("oversubscription of leaves", _taper(fabric)),
        ("collective, S, algorithm factor", "columns of the results"),
        ("transport", fabric.transport),
        ("load balancing", fabric.routing),
    ]
    caption = (
        "Results of fabrics that differ in one of these stand side by side and are not divided."
    )
    return _pairs("comparability", "10 Comparability set", rows, caption)
