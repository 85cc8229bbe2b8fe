"""The command line as its user meets it: in a process of its own, or quicker, in this one."""

import re
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

COMMAND = (str(Path(sys.executable).parent / "etherweave"),)
"""Starts the command line in a process of its own."""
COLUMNS = 120  # Width of the terminal, so that no message wraps.


def run(
    *arguments: object, text: str | None = None, timeout_s: float = 120, code: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own; a run that takes longer fails the test.

    So does one that ends with another exit code than `code`, here and below.
    """
    words = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=timeout_s, input=text
    )
    assert code in (None, done.returncode), (done.returncode, done.stdout + done.stderr)
    return done


def invoke(
    *arguments: object,
    text: str | bytes | None = None,
    columns: int = COLUMNS,
    code: int | None = None,
) -> Result:
    """Run the command line to its end in this process, on a terminal of some columns."""
    from etherweave.cli import app

    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [*map(str, arguments)], input=text)
    assert code in (None, done.exit_code), (done.exit_code, done.output, done.exception)
    return done


def run_here(
    *arguments: object, columns: int = COLUMNS, code: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end in this process, which takes a tenth of the time."""
    done = invoke(*arguments, columns=columns)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert code in (None, done.exit_code), (done.exit_code, done.output)
    return subprocess.CompletedProcess((), done.exit_code, done.stdout, done.stderr)


def without_progress(errors: str) -> str:
    """Leave out the progress of work that takes long: it depends on the speed of the machine."""
    reports = re.compile(r"^.+: .+(?:, \d+ s(?: left)?| packet-hops/s)\n", re.MULTILINE)
    return reports.sub("", errors)
