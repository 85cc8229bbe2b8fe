"""Pages whose blocks run: files, commands with their output, and Python.

In the order of the page, a block of a language with ``title="incast.toml"`` is written to that
file; each ``$`` line of a ``console`` block is carried out, ``etherweave`` by this process and all
else by a shell, and what it prints must be what stands below it; a ``python`` block is carried out,
where ``>>>`` begins examples for doctest. ``…`` stands for the rest of a line, or on a line of its
own for any lines. Real times are not compared. Blocks without a language, or of another one, such
as ``py``, are only shown. A picture of the page that a command draws must be the one that is kept.
With ``ETHERWEAVE_BLESS=1`` the test writes what is printed into the page, and what is drawn beside
it.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy  # noqa: F401 - its threads begin with the import
import polars

from support.command_line import run_here, without_progress

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^):]+\.svg)\)")
PROMPT = re.compile(r"^\$ ", re.M)
CALL = re.compile(
    r"""etherweave(?P<words>(\ +('[^']*'|"[^"$`\\]*"|{}|[^\s'"|&;<>()$`{}*?~\\#!])+)+)"""
    r"(?P<rest>(\ +(?!.*(etherweave|2>&1))([|&;>#]|2>).*)?)"
)
"""A first command that is carried out in this process, and what a shell does with its output.

Where that joins both outputs, their order is that of a real process.
"""
REPLAY = 'etherweave() { cat "$SAID/warned" >&2; cat "$SAID/printed"; return "$CODE"; }; '
REAL_TIME = re.compile(r"in [\d.]+ s \([\d.]+ M/s\)")
COLUMNS = 100  # Width of the terminal.
CORES = 2
"""Most cores of a command: what it prints of workers is the same on larger machines."""
PROGRAMS = Path(sys.executable).parent
"""Directory of the ``etherweave`` that commands of a page call."""


def carry_out(page: Path, home: Path, programs: Path = PROGRAMS) -> str:
    """Carry out the blocks of a page in a directory; gives the page with what they print.

    Text that is right but for dots stays as it is.
    """
    for name in ("scenarios", "studies", ".venv"):
        (home / name).symlink_to(ROOT / name if name != ".venv" else sys.prefix)
    names: dict[str, object] = {}

    def carried_out(block: re.Match[str]) -> str:
        text = block["text"]
        if title := re.search(r'title="([^"]+)"', block["info"]):
            file = home / title[1]
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        elif block["language"] == "console":
            text = "".join(run(part, home, programs) for part in PROMPT.split(text)[1:])
        elif block["language"] == "python":
            execute(text, names, home)
        return f"```{block['language']}{block['info']}\n{text}```"

    return BLOCK.sub(carried_out, page.read_text())


def pictures(page: Path, home: Path) -> list[tuple[Path, Path]]:
    """List the pictures of a page that its commands drew, each as kept and as drawn now."""
    kept = [page.parent / path for path in PICTURE.findall(page.read_text())]
    return [(path, home / path.name) for path in kept if (home / path.name).exists()]


def run(part: str, home: Path, programs: Path = PROGRAMS) -> str:
    """Run a command that has its output below it; gives both as they are now."""
    line, shown = re.split(r"(?<!\\)\n", part, maxsplit=1)
    call = CALL.fullmatch(line.replace("\\\n", " ")) if programs == PROGRAMS else None
    done = carry_out_here(call, home) if call else in_shell(line, home, {"PATH": path(programs)})
    printed = done.stdout + without_progress(done.stderr)
    is_shown = pattern(plain(shown)).fullmatch(plain(printed))
    printed = re.sub(r" +$", "", printed, flags=re.M)
    return f"$ {line}\n{shown if is_shown else printed}"


def path(programs: Path) -> str:
    return f"{programs}:{os.environ['PATH']}"


def carry_out_here(call: re.Match[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Carry out a command in this process, which takes a tenth of the time, then what follows."""
    with chdir(home), few_cores():
        done = run_here(*shlex.split(call["words"]), columns=COLUMNS)
    if not call["rest"]:
        return done
    with TemporaryDirectory() as said:
        Path(said, "printed").write_text(done.stdout)
        Path(said, "warned").write_text(done.stderr)
        variables = {"SAID": said, "CODE": str(done.returncode), "PATH": path(PROGRAMS)}
        return in_shell(f"{REPLAY}etherweave {call['rest']}", home, variables)


def in_shell(line: str, home: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    with few_cores():
        return subprocess.run(
            ["bash", "-c", line],
            cwd=home,
            env=os.environ | {"COLUMNS": str(COLUMNS)} | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@contextmanager
def few_cores() -> Iterator[None]:
    """Leave a command some cores, others than those of the test's neighbours where it can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    polars.thread_pool_size()  # Threads of later tests, which keep the cores that they begin on.
    cores = os.sched_getaffinity(0)
    first = CORES * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    os.sched_setaffinity(0, {sorted(cores)[(first + place) % len(cores)] for place in range(CORES)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def plain(text: str) -> str:
    """Leave out what no reader sees: real times, and blanks at ends of lines."""
    return re.sub(r" +$", "", REAL_TIME.sub("in … s", text), flags=re.M)


def pattern(shown: str) -> re.Pattern[str]:
    """Write what is shown as an expression, in which dots stand for any text."""
    lines = (
        r"(?:.*\n)*?" if line == "…\n" else re.escape(line).replace("…", ".*")
        for line in shown.splitlines(keepends=True)
    )
    return re.compile("".join(lines))


def execute(text: str, names: dict[str, object], home: Path) -> None:
    """Carry out a block of Python, with the names of those before it on the page."""
    before = Path.cwd()
    os.chdir(home)
    try:
        examples = doctest.DocTestParser().get_doctest(text, names, "page", None, 0)
        if not examples.examples:
            exec(text, names)
            return
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(examples, out=report.append, clear_globs=False)
        names |= examples.globs
        assert not report, "".join(report)
    finally:
        os.chdir(before)
