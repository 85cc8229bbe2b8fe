"""The verb ``tables``."""

from enum import StrEnum
from pathlib import Path

from etherweave.api.result_schema import ResultError
from etherweave.api.results import Result
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.parameters import directory, output_file

EXAMPLES = """Examples:
etherweave tables result -o tables
etherweave tables result --form xlsx -o result.xlsx
etherweave tables result --only iterations -o tables"""


class Form(StrEnum):
    """Kinds of files."""

    CSV = "csv"
    XLSX = "xlsx"


def tables(
    result: Path,
    *,
    output: Path | None = None,
    form: Form = Form.CSV,
    only: list[str] | None = None,
) -> None:
    """Write the tables of a result as CSV files, or as sheets of one Excel workbook.

    The exit code is 2 after a mistake.

    Parameters
    ----------
    result : RESULT
        Directory of a result.
    output : -o PATH
        Directory for CSV, file for a workbook; default: RESULT, RESULT/tables.xlsx.
    form
        Kind of the files.
    only : --only NAME
        Write this table alone; repeatable.
    """
    from etherweave.formats.spreadsheets import write_csv, write_workbook

    with mistakes(ResultError, ValueError):
        loaded = Result.load(result)
        if unknown := sorted(set(only or ()) - set(loaded.tables)):
            reject(f"--only {unknown[0]}: expected one of {', '.join(sorted(loaded.tables))}")
        written = {name: loaded.to_polars(name) for name in sorted(only or loaded.tables)}
        if form is Form.XLSX:
            path = output_file("--output", output or result / "tables.xlsx", ".xlsx")
            assert path is not None, "an output has a default"
            write_workbook(path, written)
            print(path)
        else:
            if output and output.suffix.lower() == ".xlsx":
                reject(f"{output}: expected a directory for CSV; --form xlsx writes a workbook")
            for path in write_csv(directory(output or result), written):
                print(path)
