"""The verb ``reference``."""

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from etherweave.api.nearest import nearest
from etherweave.api.units import amount, size_text
from etherweave.bench.texts.document import Document
from etherweave.cli.bench.parse import document_of, end_unless_sound, print_failures
from etherweave.cli.design_page import WIDTH, print_table, table_lines
from etherweave.cli.exits import print_error, reject
from etherweave.cli.parameters import AsJson
from etherweave.measurements.metrics import Better
from etherweave.measurements.references import (
    PublishedComparison,
    Reference,
    compare,
    references,
    search,
)

FAMILIES = ("Aries", "EFA", "InfiniBand", "Omni-Path", "RoCE", "Slingshot", "TCP")
"""Fabrics of most figures, for a message."""
SHOWN_MAX = 12  # Fabrics that a message names.
_TITLES = ("metric", ">size", ">measured", ">published", ">ratio", "", "by", "fabric", "source")
_COLUMNS = ("program", "metric", ">size", ">value", "kind", "fabric", "source")
_WRAPPED = " " * 3  # Beginning of a line of a row that is not its first.
_BOUNDS = {"eq": "", "approx": "about ", "gt": "above ", "lt": "below "}


def reference(
    words: list[str] | None = None,
    *,
    fabric: str | None = None,
    metric: str | None = None,
    result: Path | None = None,
    count: bool = False,
    as_json: AsJson = False,
) -> None:
    """Search published figures, or compare a result with those of its metric and size.

    Every figure has its source and conditions. Ratios are measured over published. Exits with 1
    when the result is cut, garbled or failed its verification, with 2 after a mistake.

    Parameters
    ----------
    words
        Show only figures that contain all of these words; numbers match as numbers, as in 8 nodes.
    fabric : WORDS
        Show figures of this fabric: RoCE, Slingshot-11, TCP.
    metric : NAME
        Show figures of this metric, such as latency, bandwidth or call_time.
    result : FILE
        Compare the output of a benchmark in this file with the figures.
    count
        Count the figures of each benchmark, with its programs, systems and kinds.
    """
    if count and result is not None:
        reject("--count and --result: expected one of them")
    known = sorted({own.metric for own in references()})
    metric = metric and metric.casefold()
    if metric not in (None, *known):
        reject(f"--metric {metric}: expected one of {', '.join(known)}")
    if fabric and not search(fabric=fabric):
        reject(f"--fabric {fabric}: no such fabric; {_near_fabrics(fabric)}")
    match = search(words or (), fabric=fabric, metric=metric)
    if not match:
        reject(f"no such figure; {_hint(words or (), fabric, metric)}")
    if result is not None:
        _compare(result, match, as_json)
    elif count:
        _print_counts(match, as_json)
    elif as_json:
        print(json.dumps([_facts(own) for own in match], indent=2))
    else:
        _print_figures(match)


def _hint(words: Sequence[str], fabric: str | None, metric: str | None) -> str:
    """Say which word no figure has, or which fabrics have figures, or to leave out words."""
    if unknown := next((word for word in words if not search([word])), ""):
        names = sorted({name for own in references() for name in (own.program, own.benchmark)})
        return f"{unknown}: {nearest(unknown, names)}"
    if fabric and (others := search(words, metric=metric)):
        fabrics = [*dict.fromkeys(own.fabric for own in others)][:SHOWN_MAX]
        return f"without --fabric there are {len(others)}: {', '.join(fabrics)}"
    return "fewer words find more"


def _near_fabrics(fabric: str) -> str:
    """Name the fabrics that are nearest, in any case, without what stands in parentheses."""
    names = dict.fromkeys(own.fabric.partition(" (")[0] for own in references())
    folded = {name.casefold(): name for name in names}
    near = get_close_matches(fabric.casefold(), folded, n=3, cutoff=0.5)
    return f"nearest: {', '.join(folded[name] for name in near)}" if near else nearest("", FAMILIES)


def _facts(own: Reference) -> dict[str, Any]:
    return asdict(own) | {"kind": own.kind, "may_accept": own.may_accept}


def _print_figures(figures: list[Reference]) -> None:
    """Print a table of figures, in which system and conditions stand above those that have them."""
    head, *lines = table_lines(_COLUMNS, map(_row, figures), is_first_wrapped=False)
    print(head)
    left, above = iter(figures), ""
    for line in lines:
        # A row whose cells are wrapped goes on in lines that name no program.
        if not line.startswith(_WRAPPED):
            below, above = above, _where(next(left))
            if above != below:
                print(textwrap.fill(above, WIDTH, subsequent_indent="  "))
        print(line)
    print(f"{len(figures)} figures; {_kinds(figures)}")


def _print_counts(figures: list[Reference], as_json: bool) -> None:
    """Print how many figures there are of each benchmark, the most first."""
    names = [name for name, _ in Counter(figure.benchmark for figure in figures).most_common()]
    of_names = {name: [figure for figure in figures if figure.benchmark == name] for name in names}
    facts = [
        {
            "benchmark": name,
            "figures": len(own),
            "programs": len({figure.program for figure in own}),
            "systems": len({figure.system for figure in own}),
            "kinds": dict(Counter(figure.kind for figure in own)),
        }
        for name, own in of_names.items()
    ]
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    rows = [
        (name, *(f"{fact[key]}" for key in ("figures", "programs", "systems")), _kinds(own))
        for (name, own), fact in zip(of_names.items(), facts, strict=True)
    ]
    print_table(("benchmark", ">figures", ">programs", ">systems", "kinds"), rows)
    print(f"{len(figures)} figures of {len(names)} benchmarks; {_kinds(figures)}")


def _where(own: Reference) -> str:
    """Write the system and the conditions, without the size, which has a column."""
    conditions = "" if own.conditions == (size := f"{own.size_bytes} B") else own.conditions
    return ": ".join(filter(None, (own.system, conditions.removeprefix(f"{size}; "))))


def _row(own: Reference) -> tuple[str, ...]:
    name = " ".join(filter(None, (own.metric, own.statistic.replace("mean", ""), own.test)))
    figure = (size_text(own.size_bytes), _value(own), own.kind, own.fabric)
    return own.program, name, *figure, _source(own)


def _kinds(figures: list[Reference]) -> str:
    return ", ".join(f"{kind}: {count}" for kind, count in Counter(f.kind for f in figures).items())


def _value(own: Reference) -> str:
    return _BOUNDS[own.bound] + amount(own.value, own.unit)


def _source(own: Reference) -> str:
    short = own.source.split(",")[0].split(" (")[0]
    doubt = own.kind if own.kind in ("target", "too low") else "second-hand"
    return short if own.may_accept else f"{short} [{doubt}]"


def _compare(result: Path, among: list[Reference], as_json: bool) -> None:
    document = document_of(result)
    pairs = [pair for report in document.reports for pair in compare(report, among)]
    _print_doubts(result, document)
    if as_json:
        print(json.dumps([_pair_facts(pair) for pair in pairs], indent=2))
    elif pairs:
        print_table(_TITLES, map(_pair_row, pairs))
    elif not document.failures:
        reject(f"{result}: no figure of the same metric, size and test")
    end_unless_sound(document)


def _print_doubts(result: Path, document: Document) -> None:
    """Print what `bench parse` reports about the compared result."""
    print_failures(result, document)
    for report in document.reports:
        if not report.is_sound:
            print_error(
                f"{result}:{report.line}: {report.program}: incomplete, or failed verification"
            )
        for warning in report.warnings:
            print_error(f"{result}:{report.line}: {report.program}: {warning}")


def _pair_facts(pair: PublishedComparison) -> dict[str, Any]:
    measurement = pair.measurement
    own: dict[str, Any] = {
        "metric": measurement.metric.name,
        "size_bytes": measurement.size_bytes,
        "measured": measurement.value,
    }
    own |= {"statistic": measurement.statistic, "labels": dict(measurement.labels)}
    return own | {"ratio": pair.ratio, "reference": _facts(pair.reference)}


def _pair_row(pair: PublishedComparison) -> tuple[str, ...]:
    measured, published = pair.measurement, pair.reference
    value = amount(measured.value, measured.metric.unit)
    words = (measured.metric.name, measured.statistic, *(text for _, text in measured.labels))
    name = " ".join(word for word in words if word != "mean")
    ratio = f"{pair.ratio:.3g}"
    figure = (size_text(measured.size_bytes), value, _value(published), ratio, verdict_of(pair))
    return name, *figure, published.program, published.fabric, _source(published)


def verdict_of(pair: PublishedComparison) -> str:
    """Return which is better, beyond 1 %; second-hand figures are not judged."""
    better, published = pair.measurement.metric.better, pair.reference
    if better == Better.NEITHER or not published.may_accept or abs(pair.ratio - 1) < 0.01:
        return ""
    if (pair.ratio > 1) == (published.bound == "gt") and published.bound in ("gt", "lt"):
        return ""  # Beyond the bound, as the published figure is; its distance is unknown.
    return "better" if (pair.ratio > 1) == (better == Better.HIGHER) else "worse"
