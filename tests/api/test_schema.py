"""The JSON Schema of a scenario that is committed is that of the code."""

from pathlib import Path

from etherweave import _core

COMMITTED = Path(__file__).parents[2] / "docs" / "scenario.schema.json"


def test_the_committed_schema_is_that_of_the_code() -> None:
    command = f"etherweave schema > docs/{COMMITTED.name}"
    assert COMMITTED.read_text().strip() == _core.schema().strip(), f"run: {command}"
