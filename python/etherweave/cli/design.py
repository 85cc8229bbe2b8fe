"""The verb ``design``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import etherweave
from etherweave.api.fabrics import Figures, Proposals
from etherweave.api.outputs import below, new_files
from etherweave.api.results import Result
from etherweave.cli import parameters
from etherweave.cli.design_page import print_page, print_table
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.faults import until_fault
from etherweave.cli.progress import print_start, step_progress
from etherweave.formats import WRITERS, write
from etherweave.formats.listing import check_fabric

if TYPE_CHECKING:
    from etherweave.sweeps import Executor

LOCAL = "local"  # Executor without processes of its own: threads of this one.
FORMATS = """
Formats of --export:
""" + "\n".join(f"{name}: {about}" for name, about in (*etherweave.exports(), *WRITERS.items()))


class Rank(StrEnum):
    """Metrics by which proposals are ordered, as in :data:`etherweave.api.fabrics.GOALS`."""

    WATTS = "watts"
    PRICE = "price"
    BISECTION = "bisection"
    ENTRIES = "entries"
    HOSTS = "hosts"


Format = Enum(  # type: ignore[misc]
    "Format", {name: name for name in (*dict(etherweave.exports()), *WRITERS)}, type=str
)
"""Formats of other programs."""

NUMBERS = {"hosts": (1, 2**32 - 1), "radix": (1, 2**16)}
"""Numbers that ``--find`` takes, and their range."""

NOTES = """\
  Bisection: Gb/s per host, ≤ where it is an upper bound. Entries: of the largest compacted table.
  A fabric is efficient when no other is at least as good in hosts, bisection, entries, watts and
  price, and better in one of them."""


def design(
    what: list[str],
    *,
    side_by_side: bool = False,
    find: bool = False,
    rank: Rank = Rank.WATTS,
    load: Path | None = None,
    output: Path | None = None,
    routings: list[str] | None = None,
    forms: list[Format] | None = None,
    draw: Path | None = None,
    settings: parameters.Settings = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    memory_limit: parameters.MemoryLimit = None,
    where: parameters.ExecutorName = LOCAL,
    as_json: parameters.AsJson = False,
) -> None:
    """Design a fabric on paper, and print counts, deadlock freedom, tables, power and cost.

    The topology and the table `design` of a scenario count; jobs may be missing. With --find or
    several scenarios, each thread designs a fabric; a single one takes one thread. An executor
    other than local designs each proposal of --find in a worker. The exit code is 2 after a
    mistake, and 70 after a fault of Etherweave, which leaves all other figures.

    Parameters
    ----------
    what : SCENARIO
        Scenario files, TOML, or with --find the request hosts=N[..M] radix=N [rate=100Gb/s]; M is
        twice N by default.
    side_by_side : --compare
        Compare several scenarios side by side and mark the Pareto-optimal ones.
    find
        Propose fabrics of every family with enough hosts, ranked.
    rank
        Metric by which --find ranks fabrics.
    load : RESULT
        Directory of a run on the same fabric, whose power under that load is printed, or whose
        flows --export writes.
    output : -o DIRECTORY
        Directory for exports, and with --find for the proposals.
    routings : --routing NAME
        Prove this routing free of deadlock, not those of the family; repeatable.
    forms : --export
        Write only files for another program, in this format; repeatable.
    draw : FILE.svg
        Draw the fabric as SVG, or with --compare and --find the fabrics' metrics.
    """
    changes = parameters.overrides(settings)
    if routings:
        changes["design.routings"] = routings
    if routings and find:
        reject("--routing: expected scenarios, without --find")
    if forms and (find or side_by_side or as_json):
        reject("--export: expected scenarios without --find, --compare and --json")
    if where != LOCAL and not find:
        reject(f"--executor {where}: expected with --find")
    if draw and forms:
        reject("--draw: expected to be without --export")
    parameters.drawing("--draw", draw, ".svg")
    destination = _Destination(output, draw, as_json)
    with mistakes(etherweave.ScenarioError, ValueError):
        if forms:
            _export(what, [form.value for form in forms], changes, output or Path(), load)
        elif find:
            _find(_request(what), rank.value, _Effort(threads, memory_limit, where), destination)
        elif side_by_side or len(what) > 1:
            _compare(what, changes, _Effort(threads, memory_limit), destination)
        else:
            if draw:
                _draw(what[0], changes, draw)
            _design(what[0], changes, load, memory_limit, as_json=as_json)


@dataclass(frozen=True)
class _Effort:
    """How much designs may take."""

    threads: int  # How many are computed at once.
    memory_limit: str | None  # Memory of each.
    where: str = LOCAL  # Executor of proposals.


@dataclass(frozen=True)
class _Destination:
    """Where a comparison goes."""

    output: Path | None  # Directory for scenarios.
    draw: Path | None  # File for the drawing.
    as_json: bool  # Whether JSON is printed.


def _design(
    file: str,
    changes: dict[str, object],
    load: Path | None,
    memory_limit: str | None,
    *,
    as_json: bool,
) -> None:
    result = Result.load(load) if load else None
    if result and "ports" not in result.tables:
        reject(f"--load {load}: was measured; expected a result of `run`, which counts octets")
    with step_progress() as report:
        compute = partial(
            etherweave.design,
            file,
            changes,
            load=result,
            progress=report,
            memory_limit=memory_limit,
            on_start=partial(print_start, Path(file).stem, set()),
        )
        figures, fault = until_fault(compute)
    if as_json:
        _print_json(figures)
    else:
        print_page(figures)
    if fault:
        raise fault


def _draw(file: str, changes: dict[str, object], path: Path) -> None:
    """Draw a fabric before its figures are computed, so that a mistake is reported early."""
    from etherweave.report import draw_fabric
    from etherweave.report.drawing import TooLargeError

    with mistakes(TooLargeError, before=f"--draw {path}: "):
        draw_fabric(etherweave.fabric(file, changes), path)


def _compare(
    files: list[str], changes: dict[str, object], effort: _Effort, destination: _Destination
) -> None:
    with step_progress() as report:
        compute = partial(
            etherweave.compare,
            files,
            changes,
            threads=effort.threads,
            progress=report,
            memory_limit=effort.memory_limit,
        )
        comparison, fault = until_fault(compute)
    _draw_metrics(comparison, destination.draw)
    if destination.as_json:
        _print_json(comparison)
    else:
        _print_comparison(comparison)
        _print_entries(comparison["designs"])
    if fault:
        raise fault


def _draw_metrics(comparison: Figures, path: Path | None) -> None:
    if path:
        from etherweave.report import draw_metrics

        draw_metrics(comparison["metrics"], path)


def _export(
    files: list[str], forms: list[str], changes: dict[str, object], output: Path, load: Path | None
) -> None:
    parameters.directory(output)
    result = Result.load(load) if load else None
    for file, form in ((file, form) for file in files for form in forms):
        if form in WRITERS:
            fabric = etherweave.fabric(file, changes)
            if result:
                check_fabric(fabric, result, f"--load {load}")
            texts = write(fabric, form, result)
        else:
            texts = etherweave.export(file, form, changes)
        with new_files(output) as made:
            for name, text in texts.items():
                made.add(name, text)
        for name in texts:
            print(below(output, name))


@dataclass(frozen=True)
class _Request:
    """Requirements of ``--find``."""

    hosts: int
    hosts_max: int | None
    radix: int
    rate: str


def _request(words: list[str]) -> _Request:
    """Read ``hosts=1000..2000 radix=72 rate=40Gb/s``, each once; the rate may be missing."""
    pairs = [word.partition("=") for word in words]
    keys = {key: value for key, _, value in pairs}
    rate = keys.pop("rate", "100Gb/s")
    names = [key for key, _, _ in pairs]
    wrong = [f"{key} is unknown" for key in keys if key not in NUMBERS]
    wrong += [f"{key} is missing" for key in NUMBERS if key not in keys]
    wrong += [
        f"{key} stands {names.count(key)} times"
        for key in dict.fromkeys(names)
        if names.count(key) > 1
    ]
    if wrong:
        reject(
            f"--find {' '.join(words)}: {', '.join(wrong)}; expected hosts=NUMBER or "
            "hosts=MIN..MAX, radix=NUMBER, and rate=RATE if any"
        )
    fewest, dots, most = keys["hosts"].partition("..")
    hosts = _number("hosts", fewest)
    hosts_max = _number("hosts", most, hosts) if dots else None
    return _Request(hosts, hosts_max, _number("radix", keys["radix"]), rate)


def _number(key: str, text: str, at_least: int = 0) -> int:
    least, most = NUMBERS[key]
    least = max(least, at_least)
    digits = text.replace("_", "").replace(",", "")
    # No number in the range has more digits; a longer text is not converted.
    is_short = digits.isascii() and digits.isdigit() and len(digits) <= len(str(most))
    if not (is_short and least <= int(digits) <= most):
        reject(f"--find {key}={text[:40]}: expected {least:,} to {most:,}")
    return int(digits)


def _find(request: _Request, rank: str, effort: _Effort, destination: _Destination) -> None:
    if destination.output:
        parameters.directory(destination.output)
    with step_progress() as report:
        compute = partial(
            etherweave.find,
            request.hosts,
            request.radix,
            request.rate,
            hosts_max=request.hosts_max,
            rank=rank,
            threads=effort.threads,
            progress=report,
            memory_limit=effort.memory_limit,
            executor=_executor(effort.where),
            directory=destination.output or Path("results") / "find",
        )
        proposals, fault = until_fault(compute)
    if destination.output:
        _write(proposals, destination.output)
    _draw_metrics(proposals.comparison, destination.draw)
    if destination.as_json:
        others = {"rejected": proposals.rejected, "scenarios": proposals.scenarios}
        _print_json({**proposals.comparison, **others})
    else:
        _print_proposals(proposals, destination.output)
    if fault:
        raise fault


def _print_proposals(proposals: Proposals, output: Path | None) -> None:
    _print_comparison(proposals.comparison)
    for reason in proposals.rejected:
        print(f"  Not proposed: {reason}")
    if output:
        print(f"Scenarios: {output}")


def _executor(where: str) -> "Executor | None":
    """Make an executor; threads of this process need none."""
    from etherweave.sweeps import executor

    return None if where == LOCAL else executor(where)


def _write(proposals: Proposals, output: Path) -> None:
    with new_files(output) as files:
        for name, text in proposals.scenarios.items():
            files.add(f"{name.replace(' ', '_')}.toml", text)


def _print_json(figures: Figures) -> None:
    print(json.dumps(figures, indent=2))


def _print_comparison(comparison: Figures) -> None:
    names = ("fabric", ">hosts", ">switches", ">cables", ">diameter", ">bisection", ">entries")
    pairs = zip(comparison["designs"], comparison["metrics"], strict=True)
    rows = [_row(figures, metrics) for figures, metrics in pairs]
    print_table((*names, ">W/host", ">price/host", "beaten by"), rows)
    print(NOTES)
    reasons = {reason for figures in comparison["designs"] for reason in figures["missing"]}
    for reason in sorted(reasons):
        print(f"  Not known: {reason}")


def _print_entries(designs: Sequence[Figures]) -> None:
    """Print the largest tables of all organisations side by side."""
    names = ("entries", ">flat", ">per switch", ">per group", ">compacted")
    learnt = (">learnt, 802.1D", ">encapsulated, access", ">encapsulated, core")
    print_table((*names, *learnt), [_entries(figures) for figures in designs])


def _entries(figures: Figures) -> tuple[str, ...]:
    tables, (learning, encapsulated, *_) = figures["tables"], figures["bridging"]
    plans = {plan["plan"]: plan["largest"]["entries"] for plan in tables["plans"]} if tables else {}
    compacted = tables["compacted"]["largest"]["entries"] if tables else None
    return (
        figures["name"],
        *(_known(plans.get(plan), ",") for plan in ("flat", "per_switch", "per_group")),
        _known(compacted, ","),
        *(f"{table['entries']:,}" for table in (learning["core"], encapsulated["access"])),
        f"{encapsulated['core']['entries']:,}",
    )


def _row(figures: Figures, metrics: Figures) -> tuple[str, ...]:
    counts = figures["fabric"]
    bound = "" if counts["bisection_is_exact"] else "≤ "
    return (
        metrics["name"],
        f"{metrics['hosts']:,}",
        f"{counts['switches']:,}",
        f"{sum(cables['cables'] for cables in counts['cables']):,}",
        f"{counts['diameter']}",
        f"{bound}{metrics['bisection_gbps_per_host']:.2f}",
        _known(metrics["table_entries"], ",.0f"),
        _known(metrics["watts_per_host"], ",.2f"),
        _known(metrics["price_per_host"], ",.0f"),
        ", ".join(metrics["beaten_by"]) or "none: efficient",
    )


def _known(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"
