"""Measurements that say most of an unknown."""

import csv
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files as resources

from etherweave.uncertainty.figures import Unknown


@cache
def _measurements() -> Sequence[tuple[str, str]]:
    text = resources("etherweave.uncertainty").joinpath("measured_by.csv").read_text("utf-8")
    return [(row["key"], row["measurement"]) for row in csv.DictReader(text.splitlines())]


def measurement_of(unknown: Unknown) -> str:
    """Return the measurement that says most of an unknown; empty where none is known.

    An unknown that is fitted has the name of its measurement, of another system.
    """
    if unknown.basis == "fitted":
        return "the measurement that it is fitted to, on the system at hand"
    rows = _measurements()
    texts = (text for key in unknown.keys for like, text in rows if fnmatchcase(key, like))
    return next(texts, "")
