"""Tables as CSV and as sheets of Excel workbooks.

Texts that spreadsheets would execute stay texts: CSV has an apostrophe before them, a workbook
keeps their type. Equal tables make equal files.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etherweave.api.inputs import InputError
from etherweave.api.outputs import below, new_directory, new_path, quoted_table, written

if TYPE_CHECKING:
    import polars

ROWS_MAX = 2**20 - 1  # Most rows of a sheet below its heading (Excel specifications and limits).
SHEET_NAME_MAX = 31  # Longest name of a sheet [characters].
CREATED = datetime(2000, 1, 1)  # Date of all workbooks, so that equal tables are equal files.


def write_table(path: Path, table: "polars.DataFrame") -> None:
    """Write a table as CSV or, to a file that ends in ``.xlsx``, as a workbook."""
    if path.suffix.lower() == ".xlsx":
        write_workbook(path, {path.stem: table})
    else:
        written(path, quoted_table(_flat(table)).write_csv)


def write_csv(directory: Path, tables: Mapping[str, "polars.DataFrame"]) -> list[Path]:
    """Write each table into a file of its name; returns the files."""
    paths = {below(directory, f"{name}.csv"): table for name, table in tables.items()}
    with new_directory(directory):
        for path, table in paths.items():
            write_table(path, table)
    return list(paths)


def write_workbook(path: Path, tables: Mapping[str, "polars.DataFrame"]) -> None:
    """Write each table as a sheet of a workbook; raises `InputError` beyond `ROWS_MAX` rows."""
    import xlsxwriter

    for name, table in tables.items():
        if table.height > ROWS_MAX:
            reason = f"{name} has {table.height:,} rows; expected {ROWS_MAX:,}, or CSV"
            raise InputError(path, reason)
    options: dict[str, Any] = {"strings_to_formulas": False, "strings_to_urls": False}
    options |= {"nan_inf_to_errors": True}
    with new_path(path) as part:
        workbook = xlsxwriter.Workbook(str(part), options)
        workbook.set_properties({"created": CREATED})
        for name, table in tables.items():
            sheet = workbook.add_worksheet(_sheet_name(name))
            sheet.write_row(0, 0, table.columns, workbook.add_format({"bold": True}))
            sheet.freeze_panes(1, 0)
            for number, row in enumerate(_flat(table).iter_rows(), 1):
                sheet.write_row(number, 0, row)
        workbook.close()


def _sheet_name(name: str) -> str:
    """Name a sheet, without the signs and the word that Excel reserves."""
    plain = "".join(sign if sign.isalnum() or sign in " ._-" else "-" for sign in name)
    return f"{plain}-" if plain.lower() == "history" else plain[:SHEET_NAME_MAX] or "table"


def _flat(table: "polars.DataFrame") -> "polars.DataFrame":
    """Write values that are lists or structures as texts, since cells hold single values."""
    import polars

    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    texts = [
        polars.Series(name, [None if cell is None else str(cell) for cell in table[name].to_list()])
        for name in nested
    ]
    return table.with_columns(texts)
