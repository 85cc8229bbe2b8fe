"""The core's tables as a user's libraries see them."""

import gc
import subprocess
import sys

import pandas
import polars
import pyarrow

from etherweave import __version__, _core
from etherweave.api.result_schema import core_table


def test_a_table_has_its_name_columns_and_length() -> None:
    table = _core.build()
    assert (table.name, table.columns, len(table)) == ("build", ["fact", "value"], 3)


def test_polars_pyarrow_and_pandas_read_the_same_rows() -> None:
    rows = {
        "fact": ["version", "profile", "architecture"],
        "value": pyarrow.table(_core.build()).column("value").to_pylist(),
    }
    assert rows["value"][0] == __version__ and rows["value"][1] in ("release", "debug")
    assert polars.DataFrame(_core.build()).to_dict(as_series=False) == rows
    assert pandas.DataFrame.from_arrow(_core.build()).to_dict("list") == rows


def test_a_table_is_read_without_pandas() -> None:
    assert core_table(_core.build()) == pyarrow.table(_core.build())
    code = (
        "import sys; from etherweave import _core; "
        "from etherweave.api.result_schema import core_table; "
        "core_table(_core.build()); sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_two_readers_share_one_memory() -> None:
    table = _core.build()
    first, second = pyarrow.table(table), pyarrow.table(table)
    assert addresses(first) == addresses(second)


def test_the_memory_outlives_the_table() -> None:
    reader = pyarrow.table(_core.build())
    gc.collect()
    assert reader.column("fact")[0].as_py() == "version"


def addresses(table: pyarrow.Table) -> list[int]:
    """Address of every buffer that holds the columns' values."""
    chunks = (chunk for column in table.columns for chunk in column.chunks)
    return [buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer is not None]
