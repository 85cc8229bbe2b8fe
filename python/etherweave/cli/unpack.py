"""The verb ``unpack``."""

from collections import Counter
from pathlib import Path

import typer

import etherweave
from etherweave.api import packing
from etherweave.api.result_schema import ResultError
from etherweave.cli.exits import FAILED, mistakes, notice, print_error
from etherweave.cli.parameters import ALL_PROCESSORS, Extend, MemoryLimit, Threads, directory
from etherweave.cli.progress import run_progress
from etherweave.extend import load_extensions


def unpack(
    archive: Path,
    *,
    output: Path,
    check: bool = False,
    extend: Extend = None,
    threads: Threads = ALL_PROCESSORS,
    memory_limit: MemoryLimit = None,
) -> None:
    """Unpack an archive of results, check its checksums, and with --check run them again.

    No code of an archive is executed but a class that --extend names, as one of a file there. The
    exit code is 1 where the repeated run differs, and 2 after a mistake.

    Parameters
    ----------
    archive : FILE.tar.gz
        Archive that `etherweave pack` wrote.
    output : -o DIRECTORY
        New or empty directory for each scenario, its inputs and its result.
    check
        Run each scenario again, and compare every table byte for byte.
    """
    directory(output)
    with mistakes(etherweave.ScenarioError, ResultError, ValueError):
        manifest = packing.unpack(archive, output)
        print(f"{output}: {len(manifest.files)} files of {manifest.name}, checksums are right")
        if not check:
            return
        try:
            with run_progress(manifest.name) as report:
                equal = packing.check(
                    output,
                    threads=threads,
                    progress=report,
                    memory_limit=memory_limit,
                    extend=load_extensions(extend or (), output),
                )
        except packing.MismatchError as mismatch:
            made = manifest.versions
            notice(f"Packed: Etherweave {made['etherweave']}, tables by {made['tables']}")
            print_error(mismatch)
            raise typer.Exit(FAILED) from None
    homes = {table.rpartition("/")[0] for table in equal}
    if homes == {""}:
        return print(f"Repeated: {', '.join(equal)}")
    ways = Counter(table.rpartition(": ")[2] for table in equal)
    counts = ", ".join(f"{count:,} tables with {way}" for way, count in ways.items())
    print(f"Repeated: {len(homes):,} results, {counts}")
