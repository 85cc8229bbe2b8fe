"""The verb ``sweep``."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etherweave.cli import parameters
from etherweave.cli.exits import FAILED, kept_in, mistakes, notice, print_warnings, reject
from etherweave.cli.progress import size_text, work_progress
from etherweave.cli.verbs import FileGroup, nested
from etherweave.extend import load_extensions

if TYPE_CHECKING:
    from etherweave.sweeps import FlowFirst, Sweep, SweepResult, SweepStatus
    from etherweave.sweeps.cost import Expectation


sweep = nested(
    "Run a scenario at many values of its keys, and keep all figures as one dataset.", FileGroup
)
Home = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Directory of a sweep.")]


@sweep.command("run")
def run_verb(
    file: Path,
    *,
    output: Path | None = None,
    where: parameters.ExecutorName = "local",
    workers: parameters.Workers = None,
    dry_run: parameters.DryRun = False,
    tables: bool = False,
    flow_first: str | None = None,
    close: Annotated[float, typer.Option(min=1.0)] = 1.25,
    largest: bool = False,
    samples: Annotated[int | None, typer.Option(show_default=False)] = None,
    extend: parameters.Extend = None,
    as_json: parameters.AsJson = False,
) -> None:
    """Carry out the runs that have no result yet, and write the dataset.

    `etherweave sweep FILE` is short for `etherweave sweep run FILE`. Exits with 1 if runs failed or
    were lost, whose rows say why, with 2 after a mistake.

    Parameters
    ----------
    file : FILE
        Scenario file, TOML, with a table `sweep`.
    output : -o DIRECTORY
        Directory of the sweep; default: results/NAME.
    tables
        Keep the whole result of each run, in `tables/` of the directory.
    flow_first : COLUMN
        Run all points in flow-level mode first, in `flow/` of the directory, and packet by packet
        only those whose COLUMN of the dataset is close to the best.
    close : FACTOR
        Simulate packets for every point within this factor of the best, with --flow-first.
    largest
        Maximise the metric of --flow-first instead of minimising it.
    samples : N
        Draw N samples, 8 to 65,536, at each point of all that is not known there; `sweep plot`
        draws their medians with a band of 90 %.
    """
    from etherweave import ScenarioError
    from etherweave.sweeps import (
        FlowFirst,
        SweepError,
        executor,
        expect,
        in_fidelity,
        load_sweep,
        shortlist,
    )
    from etherweave.sweeps import sweep as carry_out

    if samples is not None and flow_first:
        reject("--samples: expected no --flow-first beside it")
    if extend and (samples is not None or flow_first or dry_run):
        reject("--extend: expected none of --samples, --flow-first and --dry-run beside it")
    home = parameters.directory(output or Path("results") / file.stem)
    with mistakes(ScenarioError, SweepError, ValueError):
        load_extensions(extend or ())
        what = replace(load_sweep(file), extend=tuple(extend or ()))
        on = executor(where, workers)
        if samples is not None:
            from etherweave.uncertainty import sampled_sweep

            what = sampled_sweep(what, samples)
            print_warnings(what.warnings, set())
        if dry_run and flow_first:
            notice("Of the runs in flow-level mode; packets of those that are close come after.")
            return print_expectation(expect(in_fidelity(what, "flow"), home / "flow", on), as_json)
        if dry_run:
            return print_expectation(expect(what, home, on), as_json)
        if flow_first:
            first = FlowFirst(flow_first, close, largest)
            with kept_in(home), work_progress(what.name, "runs in flow-level mode") as on_progress:
                near = shortlist(what, home, first, on, on_progress)
            _print_left(what, near, home, first)
            what = near
        with kept_in(home), work_progress(what.name, "runs") as on_progress:
            done = carry_out(what, home, on, on_progress, tables=tables)
    _print_result(done, as_json)
    if done.status.failed or done.status.lost:
        raise typer.Exit(FAILED)


def _print_left(what: "Sweep", near: "Sweep", home: Path, first: "FlowFirst") -> None:
    """Print how many runs flow-level mode has left for packets, and why."""
    from etherweave.api.fidelity import leaves_out
    from etherweave.sweeps import SweepStore

    notice(
        f"{len(near):,} of {len(what):,} runs are left for packets: {first.figure} in flow-level "
        f"mode, error not measured, is within {first.close:g} of the best, or is not known"
    )
    runs = SweepStore(home / "flow").table().select("ended", "message").rows()
    if warned := sum(ended == "complete" and leaves_out(message) for ended, message in runs):
        notice(
            f"{warned:,} of {len(runs):,} runs in flow-level mode ended with a warning of what "
            "it leaves out, and are left for packets"
        )


def print_expectation(expectation: "Expectation", as_json: bool) -> None:
    """Print how many runs are left, and what they are expected to take."""
    if as_json:
        return print(json.dumps(_plain(asdict(expectation)), indent=2))
    counts = f"{expectation.left:,} runs to carry out, {expectation.finished:,} finished"
    print(f"{expectation.points:,} points: {counts}")
    if not expectation.left:
        return None
    others = round(expectation.others)
    beside = f" beside {others:,} threads of other programs" if others else ""
    processors = f"{expectation.processor_s:,.1f} s of processors"
    print(f"  time: {expectation.wall_s:,.1f} s{beside}, {processors}")
    print(f"  memory: {size_text(expectation.memory_bytes)} at most, all workers together")
    print(f"  disk: {size_text(expectation.disk_bytes)}")
    if not math.isnan(expectation.error_median):
        error = f"{expectation.error_median:.0%}"
        print(f"  error of the time of a run, by measured ones: {error} in the median")
    return None


def _print_result(done: "SweepResult", as_json: bool) -> None:
    facts = {**asdict(done.status), "carried_out": done.carried_out, "dataset": str(done.dataset)}
    model = done.model
    if as_json:
        errors = model and {"error": model.error, "error_median": model.error_median}
        modes = {"runs_by_fidelity": done.runs_by_fidelity, "fidelity_error_max": None}
        return print(json.dumps({**facts, **modes, "cost_model": errors}, indent=2))
    print(f"{_line(done.status)}; {done.carried_out:,} now")
    print(f"Dataset: {done.dataset}")
    if text := _flow_text(done.runs_by_fidelity):
        print(text)
    if model:
        notice(
            f"Cost model, from {model.measured} of the runs: {model.error:+.0%} of the time of "
            f"all, {model.error_median:.0%} of that of one in the median"
        )
    return None


def _flow_text(runs: Mapping[str, int]) -> str | None:
    """Say how many runs have figures of flow-level mode; a sweep does not measure their error."""
    counts = {"runs": runs.get("flow", 0), "runs with some jobs": runs.get("hybrid", 0)}
    text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f"  flow-level mode, error not measured: {text}" if text else None


def _line(status: "SweepStatus") -> str:
    failed = f", {status.failed:,} failed" if status.failed else ""
    lost = f", {status.lost:,} lost and to repeat" if status.lost else ""
    return f"{status.name}: {status.finished:,} of {status.runs:,} runs finished{failed}{lost}"


@sweep.command("status")
def status_verb(home: Home, as_json: parameters.AsJson = False) -> None:
    """Print how far a sweep is, whether or not a process works on it."""
    from etherweave.sweeps import SweepError, SweepStore

    with mistakes(SweepError, ValueError):
        status = SweepStore(home).status()
    if as_json:
        return print(json.dumps(asdict(status), indent=2))
    print(f"{_line(status)}; {'running' if status.is_running else 'not running'}")
    if status.finished and status.finished < status.runs:
        left = status.seconds / status.finished * (status.runs - status.finished)
        print(f"  left: {left:,.1f} s of processors, as the finished ones took on average")
    return None


@sweep.command("plot")
def plot_verb(home: Home, columns: list[str], *, output: Path | None = None) -> None:
    """Draw a figure of the runs over an axis, or of their flows.

    It has means of equal points with intervals of 95 % over seeds; of samples, medians with
    intervals of 90 %. Figures of flows are those of etherweave.plot, such as slowdown_by_size.

    Parameters
    ----------
    columns : x=COLUMN y=COLUMN [by=COLUMN] [mean=COLUMN,...] [COLUMN=VALUE]... | FIGURE
        Columns of the dataset: what to draw over what, a line for each value of by, axes to average
        over, and values of columns whose rows are drawn, with a panel for each value of other axes;
        or the name of a figure of flows, with a line for each point whose runs kept their tables.
    output : -o FILE
        File for the figure, which ends in .svg, .pdf or .png; default: DIRECTORY/plot.svg.
    """
    _check(home)
    path = parameters.drawing("--output", output or home / "plot.svg", *parameters.FIGURES)
    from etherweave.report.sweep import draw_flows, draw_sweep, selected
    from etherweave.sweeps import SweepError, SweepStore

    with mistakes(SweepError, ValueError):
        assert path is not None, "an output has a default"
        store = SweepStore(home)
        table = store.table()
        figure = next((name for name in columns if "=" not in name), None)
        pairs = dict(_pair(column) for column in columns if column != figure)
        if figure is None:
            print(draw_sweep(table, pairs, path, store.axes()))
        else:
            for name, value in pairs.items():
                table = selected(table, name, value)
            print(draw_flows(store.results(table), figure, path))
    if text := _flow_text(Counter(table["fidelity"]) if "fidelity" in table.columns else {}):
        notice(text.strip())


@sweep.command("table")
def table_verb(home: Home, *, output: Path | None = None, intervals: bool = False) -> None:
    """Write all runs, a row each, as CSV or as an Excel workbook.

    Parameters
    ----------
    output : -o FILE
        File for the table, .csv or .xlsx; default: DIRECTORY/runs.csv, DIRECTORY/points.csv with
        --intervals.
    intervals
        Write a row for each point of a sweep with --samples: every figure with its median and
        intervals of 50 and 90 %, times and rates of jobs also with the error of the model.
    """
    _check(home)
    default = home / "points.csv" if intervals else home / "runs.csv"
    path = parameters.output_file("--output", output or default, ".csv", ".xlsx")
    from etherweave.formats.spreadsheets import write_table
    from etherweave.sweeps import SweepError, SweepStore

    with mistakes(SweepError, ValueError):
        assert path is not None, "an output has a default"
        store = SweepStore(home)
        table = store.table()
        if intervals:
            from etherweave.uncertainty.sampled_sweeps import intervals_at_points

            with mistakes(ValueError, before=f"{home}: "):
                table = intervals_at_points(table, store.axes())
        write_table(path, table)
        print(path)


def _check(home: Path) -> None:
    if not home.is_dir():
        reject(f"{home}: No such directory; expected one that `etherweave sweep -o` wrote")


def _pair(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals:
        raise ValueError(f"{text}: expected x=COLUMN, y=COLUMN, by=COLUMN or COLUMN=VALUE")
    return name, column


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not known, for which JSON has no number."""
    return {key: None if value != value else value for key, value in facts.items()}
