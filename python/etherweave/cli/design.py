"""The verb ``design``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.design_page import print_page, print_sheet
from etherweave.cli.exits import refuse, told
from etherweave.cli.parameters import AsJson, Settings, directory, overrides
from etherweave.cli.progress import step_progress
from etherweave.fabrics import GOALS, Figures, Found
from etherweave.results import Result

EXAMPLES = """Examples:

etherweave design dragonfly.toml

etherweave design dragonfly.toml --draw dragonfly.svg

etherweave design dragonfly.toml --set topology.dragonfly.groups=100 --json

etherweave design halo3d.toml --load result

etherweave design dragonfly.toml --export graphml --export netbox -o exports

etherweave design --compare clos.toml butterfly.toml dragonfly.toml

etherweave design --find hosts=300000 radix=72 rate=40Gb/s --rank price -o proposals"""

WISHES = {"hosts": (1, 2**32 - 1), "radix": (1, 2**16)}
"""Numbers that ``--find`` takes, and their range."""


NOTES = """\
  Bisection: Gb/s per host, ≤ where it is an upper bound. Entries: of the largest compacted table.
  A fabric is efficient when no other is at least as good in hosts, bisection, entries, watts and
  price, and better in one of them."""


def design(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO...",
            help="Scenarios, TOML, of which the topology and the table `design` count; jobs may be "
            "missing. With --find: hosts=NUMBER radix=NUMBER [rate=100Gb/s].",
        ),
    ],
    side_by_side: Annotated[
        bool,
        typer.Option(
            "--compare", help="Several scenarios side by side, and which of them no other beats."
        ),
    ] = False,
    wish: Annotated[
        bool,
        typer.Option("--find", help="Propose fabrics of every family with enough hosts, ranked."),
    ] = False,
    rank: Annotated[
        str, typer.Option(help=f"With --find, what counts most: {', '.join(GOALS)}.")
    ] = "watts",
    load: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULT",
            help="Directory of a run on the same fabric: also tell what is drawn under its load.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Directory for exports, and with --find for the proposals."
        ),
    ] = None,
    forms: Annotated[
        list[str] | None,
        typer.Option(
            "--export",
            metavar="FORMAT",
            help="Only write files for other programs, as often as needed: "
            + " ".join(f"{name}: {said}" for name, said in etherweave.exports()),
        ),
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svg",
            help="Draw, too, as SVG: the fabric; with --compare and --find the fabrics' merits.",
        ),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Design a fabric on paper: counts, deadlock freedom, addresses and tables, power, cost.

    Ends with 2 after a mistake.
    """
    changes = overrides(settings)
    if rank not in GOALS:
        refuse(f"--rank {rank}: expected one of {', '.join(GOALS)}")
    if forms and (wish or side_by_side or as_json):
        refuse("--export: expected scenarios without --find, --compare and --json")
    if draw and draw.suffix.lower() != ".svg":
        refuse(f"--draw {draw}: expected a file name that ends in .svg")
    if draw and forms:
        refuse("--draw: expected to be without --export")
    try:
        if forms:
            _export(what, forms, changes, output or Path())
        elif wish:
            _find(_wishes(what), rank, _Wanted(output, draw, as_json))
        elif side_by_side or len(what) > 1:
            _compare(what, changes, _Wanted(output, draw, as_json))
        else:
            if draw:
                _draw(what[0], changes, draw)
            _design(what[0], changes, load, as_json)
    except etherweave.ScenarioError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))


@dataclass(frozen=True)
class _Wanted:
    """What becomes of a comparison."""

    output: Path | None
    """Directory for scenarios."""
    draw: Path | None
    """File for the drawing."""
    as_json: bool
    """Whether JSON is printed."""


def _design(file: str, changes: dict[str, object], load: Path | None, as_json: bool) -> None:
    result = Result.load(load) if load else None
    with step_progress() as tell:
        figures = etherweave.design(file, changes, load=result, progress=tell)
    if as_json:
        _print_json(figures)
    else:
        print_page(figures)


def _draw(file: str, changes: dict[str, object], path: Path) -> None:
    """Draw a fabric, before much is computed that a mistake in the path would waste."""
    from etherweave.report import draw_fabric
    from etherweave.report.drawing import TooLargeError

    try:
        draw_fabric(etherweave.fabric(file, changes), path)
    except TooLargeError as error:
        refuse(f"--draw {path}: {error}")


def _compare(files: list[str], changes: dict[str, object], wanted: _Wanted) -> None:
    with step_progress() as tell:
        comparison = etherweave.compare(files, changes, progress=tell)
    _draw_metrics(comparison, wanted.draw)
    if wanted.as_json:
        _print_json(comparison)
    else:
        _print_comparison(comparison)


def _draw_metrics(comparison: Figures, path: Path | None) -> None:
    if path:
        from etherweave.report import draw_metrics

        draw_metrics(comparison["merits"], path)


def _export(files: list[str], forms: list[str], changes: dict[str, object], output: Path) -> None:
    directory(output)
    for file, form in ((file, form) for file in files for form in forms):
        texts = etherweave.export(file, form, changes)
        output.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (output / name).write_text(text, encoding="utf-8", newline="")
            print(output / name)


def _wishes(words: list[str]) -> tuple[int, int, str]:
    """Read ``hosts=300000 radix=72 rate=40Gb/s``, each once; the rate may be missing."""
    pairs = [word.partition("=") for word in words]
    given = {key: value for key, _, value in pairs}
    rate = given.pop("rate", "100Gb/s")
    if set(given) != set(WISHES) or len({key for key, _, _ in pairs}) != len(pairs):
        refuse(
            f"--find {' '.join(words)}: expected hosts=NUMBER radix=NUMBER, and rate=RATE if any"
        )
    return _wish(given, "hosts"), _wish(given, "radix"), rate


def _wish(given: dict[str, str], key: str) -> int:
    least, most = WISHES[key]
    text = given[key].replace("_", "").replace(",", "")
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        refuse(f"--find {key}={given[key]}: expected {least:,} to {most:,}")
    return int(text)


def _find(wishes: tuple[int, int, str], rank: str, wanted: _Wanted) -> None:
    if wanted.output:
        directory(wanted.output)
    with step_progress() as tell:
        found = etherweave.find(*wishes, rank=rank, progress=tell)
    if wanted.output:
        _write(found, wanted.output)
    _draw_metrics(found.comparison, wanted.draw)
    if wanted.as_json:
        told = {"refused": found.refused, "scenarios": found.scenarios}
        _print_json({**found.comparison, **told})
        return
    _print_comparison(found.comparison)
    for reason in found.refused:
        print(f"  Not {reason}")
    if wanted.output:
        print(f"Scenarios: {wanted.output}")


def _write(found: Found, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name, text in found.scenarios.items():
        (output / f"{name.replace(' ', '_')}.toml").write_text(text, encoding="utf-8")


def _print_json(figures: Figures) -> None:
    print(json.dumps(figures, indent=2))


def _print_comparison(comparison: Figures) -> None:
    names = ("fabric", ">hosts", ">switches", ">cables", ">diameter", ">bisection", ">entries")
    pairs = zip(comparison["designs"], comparison["merits"], strict=True)
    rows = [_merits(figures, merits) for figures, merits in pairs]
    print_sheet((*names, ">W/host", ">price/host", "beaten by"), rows)
    print(NOTES)
    reasons = {reason for figures in comparison["designs"] for reason in figures["missing"]}
    for reason in sorted(reasons):
        print(f"  Not told: {reason}")


def _merits(figures: Figures, merits: Figures) -> tuple[str, ...]:
    counts = figures["fabric"]
    bound = "" if counts["bisection_is_exact"] else "≤ "
    return (
        merits["name"],
        f"{merits['hosts']:,}",
        f"{counts['switches']:,}",
        f"{sum(cables['cables'] for cables in counts['cables']):,}",
        f"{counts['diameter']}",
        f"{bound}{merits['bisection_gbps_per_host']:.2f}",
        _known(merits["table_entries"], ",.0f"),
        _known(merits["watts_per_host"], ",.2f"),
        _known(merits["price_per_host"], ",.0f"),
        ", ".join(merits["beaten_by"]) or "none: efficient",
    )


def _known(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"
