"""Lists of flows in Parquet, which the core takes as CSV."""

import hashlib
import re
from pathlib import Path

from etherweave.api import toml
from etherweave.api.inputs import InputError, check_numbers, parquet_groups, reason
from etherweave.api.outputs import below, cache, new_path

FLOWS_MAX = 1 << 24
"""Most rows of a list, as many as there may be flows."""

_NAMED = re.compile(r"""^([^#\n]*?)\bfile\s*=\s*(["'])([^"'\n]+\.parquet)\2""", re.MULTILINE)


def insert_lists(text: str, origin: str) -> str:
    """Replace names of tables in Parquet by those of CSV files with their rows in the cache.

    Names are those of files beside the scenario, whose lines stay where they are. Raises
    ``InputError`` when a table is not read, or has no numbers.
    """

    def listed(key: re.Match[str]) -> str:
        path = Path(origin).parent / key[3]
        try:
            return f"{key[1]}file = {toml.literal(str(_csv(path)))}"
        except OSError as error:
            line = text.count("\n", 0, key.start(3)) + 1
            raise InputError(path, f"{reason(error)} (key file at {origin}:{line})") from None

    return _NAMED.sub(listed, text) if ".parquet" in text else text


def _csv(path: Path) -> Path:
    """Write the rows of a table as CSV, group by group, unless they have been written before."""
    from pyarrow import csv

    check_numbers(path, FLOWS_MAX)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    rows = below(cache(), f"{path.name}.{digest[:32]}.csv")
    if rows.exists():
        return rows
    rows.parent.mkdir(parents=True, exist_ok=True)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with new_path(rows) as part, part.open("wb") as out:
        for number, group in enumerate(parquet_groups(path)):
            if not number:
                out.write((",".join(group.column_names) + "\n").encode())
            csv.write_csv(group, out, options)
    return rows
