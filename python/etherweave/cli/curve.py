"""The verb ``curve``."""

import json
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import etherweave
from etherweave.api.outputs import written
from etherweave.cli import parameters
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import INTERRUPTED, interruptible, mistakes, print_error
from etherweave.cli.faults import until_fault
from etherweave.cli.processes import is_first
from etherweave.cli.progress import point_progress, print_start

if TYPE_CHECKING:
    import polars


SHOWN = (
    ("routing", "routing", ""),
    ("pattern", "pattern", ""),
    (">load", "load", ".3g"),
    (">accepted", "load_accepted", ".3f"),
    (">bound", "load_bound", ".3f"),
    (">mean [ns]", "latency_ns_mean", ",.0f"),
    (">p50", "latency_ns_p50", ",.0f"),
    (">p99", "latency_ns_p99", ",.0f"),
    (">p99.9", "latency_ns_p999", ",.0f"),
    (">hops", "hops_mean", ".2f"),
    (">misrouted", "misrouted_share", ".3f"),
    (">M hops/s", "speed", ".2f"),
)
"""Columns of the page: title, column of the table, form."""
SUFFIXES = (".parquet", ".csv", ".xlsx")  # Ends of names of files with all columns.


def curve(
    file: parameters.File,
    *,
    output: Path | None = None,
    draw: Path | None = None,
    settings: parameters.Settings = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    memory_limit: parameters.MemoryLimit = None,
    as_json: parameters.AsJson = False,
) -> None:
    """Simulate synthetic traffic at several loads, and print latency and throughput.

    Fabrics are dragonflies, flattened butterflies, trees and others. The table `open_loop` of the
    scenario lists routings, patterns and loads. The exit code is 2 after a mistake, 130 after
    Ctrl-C and 70 after a fault of Etherweave, which keep the points so far.

    Parameters
    ----------
    output : -o FILE
        File for all columns, which ends in .parquet, .csv or .xlsx.
    draw : FILE
        Draw latency and throughput, as SVG, PDF or PNG by the end of the name.
    """
    import polars

    changes = parameters.overrides(settings)
    parameters.output_file("--output", output, *SUFFIXES)
    parameters.drawing("--draw", draw, *parameters.FIGURES)
    with mistakes(etherweave.ScenarioError):
        with point_progress(file.stem) as report, interruptible() as has_ended:
            simulate = partial(
                etherweave.curve,
                file,
                changes,
                threads=threads,
                progress=lambda *at: report(*at) and not has_ended(),
                memory_limit=memory_limit,
                on_start=partial(print_start, file.stem, set()),
            )
            table, fault = until_fault(simulate)
        points = polars.DataFrame(table)
        if output and is_first():
            _write(output, points)
        if draw and is_first():
            from etherweave.report import draw_curves

            draw_curves(points, draw)
    if as_json:
        print(json.dumps(points.fill_nan(None).to_dicts(), indent=2))
    else:
        _print(points)
    if fault:
        raise fault
    if has_ended():
        print_error(f"Interrupted: {f'{output} has' if output else 'these are'} the points so far.")
        raise typer.Exit(INTERRUPTED)


def _write(path: Path, points: "polars.DataFrame") -> None:
    from etherweave.formats.spreadsheets import write_table

    if path.suffix.lower() == ".parquet":
        written(path, points.write_parquet)
    else:
        write_table(path, points)


def _print(points: "polars.DataFrame") -> None:
    rows = [row | {"speed": _speed(row)} for row in points.iter_rows(named=True)]
    cells = [tuple(_cell(row[key], form) for _, key, form in SHOWN) for row in rows]
    print_table([title for title, _, _ in SHOWN], cells)


def _speed(row: dict[str, Any]) -> float:
    """Compute the packet-hops per microsecond of real time; without any time, without end."""
    return row["packet_hops"] / row["wall_s"] / 1e6 if row["wall_s"] else math.inf


def _cell(value: float | str, form: str) -> str:
    """Write a value, or a dash for what is not a number: there is none."""
    return "–" if isinstance(value, float) and math.isnan(value) else format(value, form)
