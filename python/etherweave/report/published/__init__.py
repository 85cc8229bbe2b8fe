"""Published figures that reports draw beside simulated ones, a file for each publication.

Columns: figure or table, case, bounds (equal for a value, one empty when the text says only above
or below), unit, and the place with its words. Values are the text's: bars were not measured.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Published:
    """A published value."""

    low: float | None
    """Lower bound; equal to the upper one for a plain value."""
    high: float | None
    """Upper bound."""
    unit: str
    """Of both."""
    words: str
    """Where it stands, and how it is put; for text, the text."""

    @property
    def text(self) -> str:
        """As a reader writes it."""
        if self.low == self.high and self.low is not None:
            return f"{self.low:,.10g}"
        if self.high is None:
            return f"> {self.low:,.10g}"
        return f"< {self.high:,.10g}" if self.low is None else f"{self.low:g}–{self.high:g}"


@cache
def published(publication: str, figure: str) -> Mapping[str, Published]:
    """Look up what a figure or table of a publication shows, by case."""
    text = files(__name__).joinpath(f"{publication}.csv").read_text(encoding="utf-8")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["figure"] == figure]
    return {row["case"]: _parse(row) for row in rows}


def _parse(row: dict[str, str]) -> Published:
    low, high = (float(row[bound]) if row[bound] else None for bound in ("low", "high"))
    return Published(low, high, row["unit"], row["words"])
