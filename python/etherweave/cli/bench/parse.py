"""The verb ``bench parse``."""

import codecs
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from etherweave.api.inputs import read_bytes
from etherweave.api.units import amount, size_text
from etherweave.bench.texts.document import TEXT_MAX, Document, UnrecognisedError
from etherweave.bench.texts.document import parse as parse_text
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import FAILED, mistakes, print_error
from etherweave.cli.parameters import AsJson
from etherweave.measurements.benchmark_report import BenchmarkReport, Measurement

LEFTOVER_MAX = 5  # Number of unknown lines that are shown.


def parse(file: Path, *, as_json: AsJson = False) -> None:
    """Print the results in a benchmark's output in base units, and what is implausible.

    Recognises the benchmark, also several in one file. Exits with 1 when something is cut, garbled
    or failed its own verification, with 2 when no known benchmark wrote it.

    Parameters
    ----------
    file
        Output of benchmarks; - is standard input.
    """
    document = document_of(file)
    print(_json(document)) if as_json else _print(document)
    print_failures(file, document)
    end_unless_sound(document)


def document_of(file: Path) -> Document:
    """Read the results in a file, or end with the mistake."""
    with mistakes():
        expected = "; expected output of what `etherweave bench list` has"
        with mistakes(UnrecognisedError, before=f"{file}: ", after=expected):
            return parse_text(text_of(file))


def print_failures(file: Path, document: Document) -> None:
    """Print which texts of a file give no number."""
    for failure in document.failures:
        print_error(f"{file}:{failure.line}: {failure.benchmark}: {failure.reason}")


def end_unless_sound(document: Document) -> None:
    """Exit with 1 when something is cut, garbled or failed its own verification."""
    if document.failures or not all(report.is_sound for report in document.reports):
        raise typer.Exit(FAILED)


def _json(document: Document) -> str:
    facts = {
        "reports": [_report(report) for report in document.reports],
        "failures": [asdict(failure) for failure in document.failures],
        "unknown_lines": document.unknown_lines,
        "strangers": document.unknown_lines,
    }
    return json.dumps(facts, indent=2)


def _report(report: BenchmarkReport) -> dict[str, Any]:
    own = asdict(report)
    own["measurements"] = [_measurement(measurement) for measurement in report.measurements]
    return own | {"facts": dict(report.facts)}


def _measurement(row: Measurement) -> dict[str, Any]:
    metric = {"metric": row.metric.name, "unit": row.metric.unit, "better": row.metric.better}
    own = {name: cell for name, cell in asdict(row).items() if name not in ("metric", "labels")}
    return metric | own | {"labels": dict(row.labels)}


def _print(document: Document) -> None:
    for report in document.reports:
        _print_report(report)
    lines = [line for report in document.reports for line in report.leftover]
    lines += document.unknown_lines
    if lines:
        print(f"Lines not understood: {len(lines)}, such as")
        for number, text in lines[:LEFTOVER_MAX]:
            print(f"  {number}: {text.strip()[:100]}")


def _print_report(report: BenchmarkReport) -> None:
    version = f" {report.version}" if report.version else ""
    verified = {None: "", True: ", verified", False: ", FAILED its verification"}[report.valid]
    state = {
        "open": ", to its last row (no end mark: it may be cut)",
        "partial": ", INCOMPLETE",
        "complete": "",
    }[report.completeness]
    print(f"{report.program}{version}, line {report.line}{verified}{state}")
    statistics = list(dict.fromkeys(measurement.statistic for measurement in report.measurements))
    has_sizes = any(measurement.size_bytes is not None for measurement in report.measurements)
    titles = ["", *[">size"] * has_sizes, *(f">{name}" for name in statistics)]
    print_table(titles, _rows(report, statistics, has_sizes))
    for name, text in report.facts:
        print(f"  {name}: {text}")
    for warning in report.warnings:
        print(f"  warning: {warning}")
    print()


def _rows(report: BenchmarkReport, statistics: list[str], has_sizes: bool) -> list[list[str]]:
    points: dict[tuple[str, int | None], dict[str, str]] = {}
    for measurement in report.measurements:
        words = " ".join([measurement.metric.name, *(text for _, text in measurement.labels)])
        point = points.setdefault((words, measurement.size_bytes), {})
        point[measurement.statistic] = amount(measurement.value, measurement.metric.unit)
    rows = []
    for (words, size), values in points.items():
        cells = [values.get(name, "") for name in statistics]
        sizes = [size_text(size)] * has_sizes
        rows.append([words, *sizes, *cells])
    return rows


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, with which files of Windows begin."""


_LETTERS = 8  # Characters at the beginning by which UTF-16 is known.


def text_of(file: Path) -> str:
    """Read a file, or standard input for ``-``; no more than a benchmark may write.

    Raises
    ------
    OSError
        When it cannot be read.
    """
    if str(file) == "-":
        return decoded(sys.stdin.buffer.read(TEXT_MAX + 1))
    return decoded(read_bytes(file, 4 * TEXT_MAX))


def decoded(octets: bytes) -> str:
    """Decode UTF-8, or UTF-16 or UTF-32 with a mark, or UTF-16 of Latin letters without.

    Other bytes become characters that no number holds.
    """
    for mark, name in _MARKS:
        if octets.startswith(mark):
            return octets.removeprefix(mark).decode(name, errors="replace")
    # A Latin letter and a zero are one character of UTF-16.
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(octets) > _LETTERS and not any(octets[start : 2 * _LETTERS : 2]):
            return octets.decode(name, errors="replace")
    return octets.decode(errors="replace")
