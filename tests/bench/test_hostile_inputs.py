"""Files that were cut, edited or are none: every reader ends with one sentence, not a traceback."""

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from etherweave.bench.runner import launch_until_decided
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.bench.store import Store
from support import command_line
from support.launches import FakeLauncher, campaign, latencies
from support.recorded_campaigns import Speeds, keep_recording

RULE = StoppingRule(0.5, launches_min=6, launches_max=6)
ODD: tuple[Any, ...] = (None, True, -1, 0, 10**30, 1e300, "", "x\0y", [], [[]], {}, {"a": 1})
"""Values of other types than expected, or out of range."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with telemetry of one launch, and a baseline of it."""
    path = tmp_path_factory.mktemp("hostile") / "out"
    store = Store.create(path, campaign(rule=RULE))
    launch_until_decided(store, {"lan": FakeLauncher(lambda number: latencies(10.0))}, 1)
    record = store.records()[0]
    keep_recording(path / "telemetry" / record.name / "a", record, "a", Speeds())
    words = ("bench", "baseline", "add", path, "--name", "b", "--file", path.parent / "kept.json")
    assert command_line.invoke(*words).exit_code == 0
    return path


def check(*words: object) -> None:
    """Run a verb; it may succeed, find something, or reject its input in few words."""
    done = command_line.invoke(*words)
    assert done.exception is None or isinstance(done.exception, SystemExit), (words, done.exception)
    assert done.exit_code in (0, 1, 2), (words, done.output)
    if done.exit_code == 2:
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def read_result(path: Path) -> None:
    check("bench", "compare", path, path, "--json")
    check("bench", "history", path)
    check("bench", "export", "reframe", path)


def mutated(facts: Any, chance: random.Random) -> Any:
    """Replace one value somewhere in what JSON holds."""
    places = list(_places(facts))
    holder, key = chance.choice(places)
    holder[key] = chance.choice(ODD)
    return facts


def _places(facts: Any) -> Iterator[tuple[Any, Any]]:
    pairs = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for key, value in list(pairs):
        yield facts, key
        if isinstance(value, dict | list):
            yield from _places(value)


@pytest.mark.parametrize("name", ["campaign.json", "launches"])
def test_a_result_that_was_edited_is_read_or_rejected(
    tmp_path: Path, result: Path, name: str
) -> None:
    chance = random.Random(1)
    for number in range(25):
        path = tmp_path / str(number)
        shutil.copytree(result, path)
        files = [path / name] if name.endswith("json") else sorted((path / name).glob("*.json"))
        file = chance.choice(files)
        file.write_text(json.dumps(mutated(json.loads(file.read_text()), chance)))
        read_result(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b'{"a": ', b"[" * 10**5, b"[]", b"nan"])
def test_a_file_that_is_none_is_rejected(tmp_path: Path, result: Path, content: bytes) -> None:
    for name in ("campaign.json", "launches"):
        path = tmp_path / name
        shutil.copytree(result, path)
        file = path / name if name.endswith("json") else next((path / name).glob("*.json"))
        file.write_bytes(content)
        read_result(path)
    other = tmp_path / "other.toml"
    other.write_bytes(content)
    check("bench", "baseline", "list", "--file", other)
    check("bench", "site", other)
    check("bench", "site", "--import-reframe", other)
    check("bench", "parse", other)
    check("reference", "--result", other)
    check("bench", "environment", "--before", other)
    check("bench", "telemetry", "show", other)


def test_devices_and_pipes_are_rejected_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file in (pipe, Path("/dev/zero"), tmp_path):
        for words in (
            ("baseline", "list", "--file", file),
            ("site", file),
            ("site", "--import-reframe", file),
            ("parse", file),
            ("environment", "--before", file),
            ("telemetry", "show", file),
        ):
            done = command_line.invoke("bench", *words, code=2)
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_baselines_that_were_edited_are_read_or_rejected(tmp_path: Path, result: Path) -> None:
    chance = random.Random(2)
    text = (result.parent / "kept.json").read_text()
    for number in range(30):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(mutated(json.loads(text), chance)))
        check("bench", "baseline", "list", "--file", file)
        check("bench", "compare", f"{file}:b", result)


def test_tables_of_telemetry_of_other_columns_are_rejected(tmp_path: Path, result: Path) -> None:
    (home,) = (result / "telemetry").glob("*/a")
    for number, name in enumerate(("time_ns", "host", "cpu", "user_s", "metadata", "rows", "cut")):
        path = tmp_path / str(number)
        shutil.copytree(home, path)
        file = path / "telemetry_processor.parquet"
        table = pyarrow.parquet.read_table(file)
        if name == "cut":
            file.write_bytes(file.read_bytes()[:100])
        elif name == "metadata":
            pyarrow.parquet.write_table(table.replace_schema_metadata({}), file)
        elif name == "rows":
            pyarrow.parquet.write_table(table.slice(0, 0), file)
        else:
            at = table.column_names.index(name)
            texts = pyarrow.array([None] * table.num_rows, pyarrow.bool_())
            pyarrow.parquet.write_table(table.set_column(at, name, texts), file)
        check("bench", "telemetry", "show", path)
        check("bench", "telemetry", "openmetrics", path)
