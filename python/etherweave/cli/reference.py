"""The verb ``reference``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from etherweave.bench.document import UnrecognisedError, parse
from etherweave.bench.metrics import Better
from etherweave.bench.references import Comparison, Reference, compare, search
from etherweave.cli.bench.amounts import amount
from etherweave.cli.bench.texts import text_of
from etherweave.cli.design_page import print_sheet
from etherweave.cli.exits import refuse, told
from etherweave.cli.parameters import AsJson

EXAMPLES = """Examples:

etherweave reference osu_latency slingshot

etherweave reference --fabric RoCE --metric bandwidth

etherweave reference --result osu_bw.txt --fabric TCP"""

_BOUNDS = {"eq": "", "approx": "about ", "gt": "above ", "lt": "below "}


def reference(
    words: Annotated[
        list[str] | None, typer.Argument(help="Words that must all occur in a figure.")
    ] = None,
    fabric: Annotated[
        str | None, typer.Option(help="Words of the fabric: RoCE, Slingshot-11, TCP.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="latency, bandwidth, call_time…")] = None,
    result: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A benchmark's text, to be held against the figures."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search published figures, or hold a result against those of its metric and size.

    Every figure has its source and conditions. Ratios are measured over published. Ends with 2
    after a mistake.
    """
    found = search(words or (), fabric=fabric, metric=metric)
    if not found:
        refuse("no such figure; fewer words find more")
    if result is not None:
        _compare(result, found, as_json)
    elif as_json:
        print(json.dumps([_facts(one) for one in found], indent=2))
    else:
        print_sheet(("program", "metric", ">size", ">value", "fabric", "source"), map(_row, found))
        print(f"{len(found)} figures; --json has their conditions")


def _facts(one: Reference) -> dict[str, Any]:
    return asdict(one) | {"may_accept": one.may_accept}


def _row(one: Reference) -> tuple[str, ...]:
    name = " ".join(filter(None, (one.metric, one.statistic.replace("mean", ""), one.test)))
    return one.program, name, _size(one), _value(one), one.fabric, _source(one)


def _size(one: Reference) -> str:
    return "" if one.size_bytes is None else f"{one.size_bytes:,} B"


def _value(one: Reference) -> str:
    return _BOUNDS[one.bound] + amount(one.value, one.unit)


def _source(one: Reference) -> str:
    short = one.source.split(",")[0].split(" (")[0]
    return f"{short}{'' if one.may_accept else ' [second-hand]'}"


def _compare(result: Path, among: list[Reference], as_json: bool) -> None:
    try:
        document = parse(text_of(result))
    except OSError as error:
        refuse(told(error))
    except UnrecognisedError as error:
        refuse(f"{result}: {error}")
    pairs = [pair for report in document.reports for pair in compare(report, among)]
    if as_json:
        print(json.dumps([_pair_facts(pair) for pair in pairs], indent=2))
        return
    if not pairs:
        refuse(f"{result}: no figure of the same metric, size and test")
    titles = ("metric", ">size", ">measured", ">published", ">ratio", "", "by", "fabric", "source")
    print_sheet(titles, map(_pair_row, pairs))


def _pair_facts(pair: Comparison) -> dict[str, Any]:
    one = pair.measurement
    own = {"metric": one.metric.name, "size_bytes": one.size_bytes, "measured": one.value}
    return own | {"ratio": pair.ratio, "reference": _facts(pair.reference)}


def _pair_row(pair: Comparison) -> tuple[str, ...]:
    measured, published = pair.measurement, pair.reference
    value = amount(measured.value, measured.metric.unit)
    name = f"{measured.metric.name} {measured.statistic}".removesuffix(" mean")
    ratio = f"{pair.ratio:.3g}"
    size = "" if measured.size_bytes is None else f"{measured.size_bytes:,} B"
    figure = (size, value, _value(published), ratio, verdict_of(pair))
    return name, *figure, published.program, published.fabric, _source(published)


def verdict_of(pair: Comparison) -> str:
    """Say which is better, within a hundredth; nothing is judged by what is told second-hand."""
    better, published = pair.measurement.metric.better, pair.reference
    if better == Better.NEITHER or not published.may_accept or abs(pair.ratio - 1) < 0.01:
        return ""
    if (pair.ratio > 1) == (published.bound == "gt") and published.bound in ("gt", "lt"):
        return ""  # Beyond the bound as the published figure is: how far that went nobody says.
    return "better" if (pair.ratio > 1) == (better == Better.HIGHER) else "worse"
