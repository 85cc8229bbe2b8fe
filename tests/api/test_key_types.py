"""Keys of scenarios have types, which checkers and editors know, and a schema."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import ROOT

sys.path.insert(0, str(ROOT / "docs/site"))

import key_types

from etherweave import _core

CACHE = ROOT / ".pytest_cache/mypy"  # Types of the package are read once for all sessions.
STUB = ROOT / "python/etherweave/api/scenario_keys.pyi"


def test_types_of_keys_are_those_of_the_schema() -> None:
    """`ETHERWEAVE_BLESS=1` writes them anew, after a change of keys."""
    if os.environ.get("ETHERWEAVE_BLESS"):
        STUB.write_text(key_types.module())
    assert key_types.module() == STUB.read_text()


RIGHT = """\
scenario.topology.fat_tree.leaves = 4
scenario.topology.fat_tree = {"leaves": 4}
scenario.switch.buffer = "4MiB"
scenario.job.add(name="a").workload.incast.sources = 3
scenario.routing = "minimal"
scenario.routing.ugal_local.threshold = 3
scenario.open_loop.routings = ["minimal", {"ugal_local": {"threshold": 3}}]
"""
WRONG = """\
scenario.switch.bufer = "4MiB"
scenario.switch.buffer = 4
scenario.routing = "minimall"
scenario.routing.ugal_local.threshold = "3"
scenario.open_loop.routings = ["minimall"]
scenario.job[0].workload.incast.sources = "3"
"""


@pytest.mark.slow
def test_a_type_checker_reports_wrong_keys_and_values(tmp_path: Path) -> None:
    head = "import etherweave\nscenario = etherweave.Scenario()\n"
    path = tmp_path / "typed.py"
    path.write_text(head + RIGHT + WRONG)
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)]
    # Libraries have no part in it, and errors of the package without their types are no errors.
    alone = ("--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent")
    done = subprocess.run(
        [*words, "--config-file=", f"--cache-dir={CACHE}", *alone],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    first = (head + RIGHT).count("\n") + 1
    ints = [int(line.split(":")[1]) for line in done.stdout.splitlines() if "error:" in line]
    assert ints == list(range(first, first + WRONG.count("\n"))), done.stdout


COMMITTED = Path(__file__).parents[2] / "docs" / "scenario.schema.json"


def test_the_committed_schema_is_that_of_the_code() -> None:
    command = f"etherweave schema > docs/{COMMITTED.name}"
    assert COMMITTED.read_text().strip() == _core.schema().strip(), f"run: {command}"
