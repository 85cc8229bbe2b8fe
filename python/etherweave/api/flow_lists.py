"""Lists of flows in Parquet, which the core takes as CSV in the text of a scenario."""

import io
import re
from pathlib import Path

from etherweave.api import toml
from etherweave.api.inputs import InputError, read_parquet, reason

FLOWS_MAX = 1 << 20
"""Most rows of a list, as many as there may be flows."""

_NAMED = re.compile(r"""^([^#\n]*?)\bfile\s*=\s*(["'])([^"'\n]+\.parquet)\2""", re.MULTILINE)


def insert_lists(text: str, origin: str) -> str:
    """Replace keys ``file`` of a scenario that name tables in Parquet by their rows as CSV.

    Names are those of files beside the scenario, whose lines stay where they are. Raises
    ``InputError`` when a table is not read, or has no numbers.
    """

    def listed(key: re.Match[str]) -> str:
        path = Path(origin).parent / key[3]
        try:
            return f"{key[1]}text = {toml.literal(_csv(path))}"
        except InputError:
            raise
        except OSError as error:
            raise InputError(path, reason(error)) from None

    return _NAMED.sub(listed, text) if ".parquet" in text else text


def _csv(path: Path) -> str:
    from pyarrow import csv

    table = read_parquet(path, numbers_max=FLOWS_MAX)
    rows = io.BytesIO()
    plain = csv.WriteOptions(include_header=False, quoting_style="none")
    csv.write_csv(table, rows, plain)
    return ",".join(table.column_names) + "\n" + rows.getvalue().decode()
