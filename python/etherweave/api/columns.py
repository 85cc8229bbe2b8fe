"""Columns of the tables of results, curves and observations: their units and meanings."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Described(NamedTuple):
    """Columns of a table that have one unit and one meaning."""

    table: str
    columns: str  # Names, separated by commas.
    unit: str
    meaning: str


@cache
def described_columns() -> tuple[Described, ...]:
    """Read the columns of all tables, in the order of the tables."""
    text = files("etherweave.api").joinpath("columns.csv").read_text(encoding="utf-8")
    return tuple(Described(**row) for row in csv.DictReader(text.splitlines()))
