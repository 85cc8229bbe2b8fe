"""The verb ``observe``."""

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import etherweave
from etherweave.cli.design_page import print_sheet
from etherweave.cli.exits import refuse, told
from etherweave.cli.parameters import (
    ALL_PROCESSORS,
    AsJson,
    File,
    Settings,
    Threads,
    directory,
    overrides,
)

if TYPE_CHECKING:
    import pyarrow

    from etherweave.observations import Observation, Stretch

EXAMPLES = """Examples:

etherweave observe scenarios/open_loop/dragonfly_turn.toml --film turn.html

etherweave observe dragonfly.toml --routing minimal --pattern adversarial --load 0.5 --heat map.svg

etherweave observe dragonfly.toml --set open_loop.batch=1us -o observation"""

TITLES = ("pattern", ">from [us]", ">to [us]", ">mean", ">highest", "between")
"""Of the page: utilisation of the links between groups while a pattern lasts."""


def observe(
    file: File,
    routing: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scenario's first, or any by its name.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scenario's first, or any by its name.")
    ] = None,
    load: Annotated[
        float | None, typer.Option(help="The scenario's first, or any share of the hosts' links.")
    ] = None,
    heat: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg", help="Draw the utilisation between any two groups."),
    ] = None,
    film: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a page that plays it over time."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Directory for all tables: .parquet."),
    ] = None,
    settings: Settings = None,
    threads: Threads = ALL_PROCESSORS,
    as_json: AsJson = False,
) -> None:
    """Watch one point of a scenario's synthetic traffic: which links are busy, and when.

    Times count from the start of the run. JSON leaves out the tables of channels and frames.
    Ends with 2 after a mistake.
    """
    changes = overrides(settings)
    for option, path, suffix in (("--heat", heat, ".svg"), ("--film", film, ".html")):
        if path and path.suffix.lower() != suffix:
            refuse(f"{option} {path}: expected a file name that ends in {suffix}")
    if output:
        directory(output)
    choice: dict[str, Any] = {"routing": routing, "pattern": pattern, "load": load}
    try:
        seen = etherweave.observe(file, changes, threads=threads, **choice)
        if output:
            _write(seen, output)
        _draw(seen, heat, film)
    except etherweave.ScenarioError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    print(_json(seen)) if as_json else _print(seen)


def _tables(seen: "Observation") -> "dict[str, pyarrow.Table]":
    import pyarrow

    named = {field.name: getattr(seen, field.name) for field in fields(seen)}
    return {name: table for name, table in named.items() if isinstance(table, pyarrow.Table)}


def _write(seen: "Observation", output: Path) -> None:
    from pyarrow import parquet

    output.mkdir(parents=True, exist_ok=True)
    for name, table in _tables(seen).items():
        parquet.write_table(table, output / f"{name}.parquet")


def _draw(seen: "Observation", heat: Path | None, film: Path | None) -> None:
    from etherweave.report import draw_heat, write_animation
    from etherweave.report.drawing import TooLargeError

    for option, path, make in (("--heat", heat, draw_heat), ("--film", film, write_animation)):
        try:
            if path:
                make(seen, path)
        except TooLargeError as error:
            refuse(f"{option} {path}: {error}")


def _json(seen: "Observation") -> str:
    tables = {name: _rows(_tables(seen)[name]) for name in ("points", "patterns", "series")}
    (point,) = tables.pop("points")
    links = [dict(zip(_KEYS, _figures(stretch), strict=True)) for stretch in seen.stretches()]
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


def _figures(stretch: "Stretch") -> tuple[Any, ...]:
    """Tell :data:`_KEYS` of the links between groups while a pattern lasts."""
    highest = stretch.pairs.sort("utilisation", descending=True, maintain_order=True).row(0)
    mean = stretch.pairs["utilisation"].mean()
    start, end = stretch.start_ns, stretch.end_ns
    return stretch.pattern, start, end, mean, highest[2], highest[0], highest[1]


def _print(seen: "Observation") -> None:
    (point,) = _rows(seen.points)
    latency = point["latency_ns_mean"]
    print(
        f"{point['routing']}, {point['pattern']}, load {point['load']:g}: "
        f"accepted {point['load_accepted']:.3f}, "
        f"mean latency {'–' if latency is None else f'{latency:,.0f} ns'}"
    )
    cells = []
    for stretch in seen.stretches():
        pattern, start, end, mean, most, source, target = _figures(stretch)
        span = f"{start / 1e3:g}", f"{end / 1e3:g}"
        between = f"{seen.area} {source} to {target}"
        cells.append((pattern, *span, f"{mean:.3f}", f"{most:.3f}", between))
    print_sheet(TITLES, cells)
