"""The verb ``tables``."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from pathlib import Path

from etherweave.api.columns import described_columns
from etherweave.api.result_schema import ResultError
from etherweave.api.results import Result
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.parameters import directory, output_file


class Form(StrEnum):
    """Kinds of files."""

    CSV = "csv"
    XLSX = "xlsx"


def tables(
    result: Path | None = None,
    *,
    output: Path | None = None,
    form: Form = Form.CSV,
    only: list[str] | None = None,
    columns: bool = False,
) -> None:
    """Write the tables of a result as CSV files, or as sheets of one Excel workbook.

    With --columns, print what the columns of all tables mean. The exit code is 2 after a mistake.

    Parameters
    ----------
    result : RESULT
        Directory of a result.
    output : -o PATH
        Directory for CSV, file for a workbook; default: RESULT, RESULT/tables.xlsx.
    form
        Kind of the files; an output that ends in .xlsx is a workbook.
    only : --only NAME
        Write this table alone, or print its columns; repeatable.
    columns
        Print the columns of tables with units and meanings, and write nothing.
    """
    if columns:
        with mistakes(ResultError):
            return _print_columns(only or (Result.load(result).tables if result else ()))
    return _write(result or reject("RESULT: expected a directory of a result"), output, form, only)


def _print_columns(only: Collection[str]) -> None:
    """Print the columns of all tables, or of these."""
    known = {row.table for row in described_columns()}
    if unknown := sorted(set(only) - known):
        reject(f"--only {unknown[0]}: expected one of {', '.join(sorted(known))}")
    rows = [row for row in described_columns() if not only or row.table in only]
    print_table(("table", "columns", "unit", "meaning"), rows)


def _write(result: Path, output: Path | None, form: Form, only: Sequence[str] | None) -> None:
    """Write the tables, and print the names of the files."""
    from etherweave.formats.spreadsheets import write_csv, write_workbook

    with mistakes(ResultError, ValueError):
        loaded = Result.load(result)
        if unknown := sorted(set(only or ()) - set(loaded.tables)):
            reject(f"--only {unknown[0]}: expected one of {', '.join(sorted(loaded.tables))}")
        written = {name: loaded.to_polars(name) for name in sorted(only or loaded.tables)}
        if form is Form.XLSX or (output and output.suffix.lower() == ".xlsx"):
            path = output_file("--output", output or result / "tables.xlsx", ".xlsx")
            assert path is not None, "an output has a default"
            write_workbook(path, written)
            print(path)
        else:
            for path in write_csv(directory(output or result), written):
                print(path)
