"""The verb ``observe``."""

import json
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import etherweave
from etherweave.api.outputs import below, written
from etherweave.cli import parameters
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes
from etherweave.cli.progress import print_start

if TYPE_CHECKING:
    import pyarrow

    from etherweave.api.observations import Observation, PatternInterval


TITLES = ("pattern", ">from [us]", ">to [us]", ">mean", ">highest", "between")
"""Titles of the printed columns: utilisation between groups while a pattern is active."""


def observe(
    file: parameters.File,
    *,
    routing: str | None = None,
    pattern: str | None = None,
    load: float | None = None,
    heat: Path | None = None,
    animation: Path | None = None,
    output: Path | None = None,
    settings: parameters.Settings = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    memory_limit: parameters.MemoryLimit = None,
    as_json: parameters.AsJson = False,
) -> None:
    """Simulate one point of a scenario's synthetic traffic, and print which links are busy when.

    Times count from the start of the run. JSON leaves out the tables of channels and of steps. The
    exit code is 2 after a mistake.

    Parameters
    ----------
    routing : NAME
        Name of the routing; by default the scenario's first.
    pattern : NAME
        Name of the pattern; by default the scenario's first.
    load : SHARE
        Offered load as a share of the hosts' links; by default the scenario's first.
    heat : FILE
        Draw the utilisation between any two groups, as SVG, PDF or PNG by the end of the name.
    animation : FILE.html
        Write a page that animates the utilisation.
    output : -o DIRECTORY
        Directory for all tables, as Parquet.
    """
    changes = parameters.overrides(settings)
    parameters.drawing("--heat", heat, *parameters.FIGURES)
    parameters.drawing("--animation", animation, ".html")
    if output:
        parameters.directory(output)
    choice: dict[str, Any] = {"routing": routing, "pattern": pattern, "load": load}
    with mistakes(etherweave.ScenarioError):
        observation = etherweave.observe(
            file,
            changes,
            threads=threads,
            memory_limit=memory_limit,
            on_start=partial(print_start, file.stem, set()),
            **choice,
        )
        if output:
            _write(observation, output)
        if heat or animation:
            _draw(observation, heat, animation)
    print(_json(observation)) if as_json else _print(observation)


def _tables(observation: "Observation") -> "dict[str, pyarrow.Table]":
    import pyarrow

    named = {field.name: getattr(observation, field.name) for field in fields(observation)}
    return {name: table for name, table in named.items() if isinstance(table, pyarrow.Table)}


def _write(observation: "Observation", output: Path) -> None:
    from pyarrow import parquet

    output.mkdir(parents=True, exist_ok=True)
    for name, table in _tables(observation).items():
        written(below(output, f"{name}.parquet"), partial(parquet.write_table, table))


def _draw(observation: "Observation", heat: Path | None, animation: Path | None) -> None:
    from etherweave.report import draw_heat, write_animation
    from etherweave.report.drawing import TooLargeError

    for option, path, make in (
        ("--heat", heat, draw_heat),
        ("--animation", animation, write_animation),
    ):
        with mistakes(TooLargeError, before=f"{option} {path}: "):
            if path:
                make(observation, path)


def _json(observation: "Observation") -> str:
    tables = {name: _rows(_tables(observation)[name]) for name in ("points", "patterns", "series")}
    (point,) = tables.pop("points")
    links = [dict(zip(_KEYS, _figures(row), strict=True)) for row in observation.intervals()]
    return json.dumps({"point": point, **tables, "links": links}, indent=2)


def _rows(table: "pyarrow.Table") -> list[dict[str, Any]]:
    import polars

    return polars.DataFrame(table).fill_nan(None).to_dicts()


_KEYS = (
    "pattern",
    "start_ns",
    "end_ns",
    "utilisation_mean",
    "utilisation_max",
    "group_from",
    "group_to",
)


def _figures(interval: "PatternInterval") -> tuple[Any, ...]:
    """Compute :data:`_KEYS` for the links between groups while a pattern is active."""
    highest = interval.pairs.sort("utilisation", descending=True, maintain_order=True).row(0)
    mean = interval.pairs["utilisation"].mean()
    start, end = interval.start_ns, interval.end_ns
    return interval.pattern, start, end, mean, highest[2], highest[0], highest[1]


def _print(observation: "Observation") -> None:
    (point,) = _rows(observation.points)
    latency = point["latency_ns_mean"]
    print(
        f"{point['routing']}, {point['pattern']}, load {point['load']:g}: "
        f"accepted {point['load_accepted']:.3f}, "
        f"mean latency {'–' if latency is None else f'{latency:,.0f} ns'}"
    )
    cells = []
    for interval in observation.intervals():
        pattern, start, end, mean, most, source, target = _figures(interval)
        span = f"{start / 1e3:g}", f"{end / 1e3:g}"
        between = f"{observation.area} {source} to {target}"
        cells.append((pattern, *span, f"{mean:.3f}", f"{most:.3f}", between))
    print_table(TITLES, cells)
