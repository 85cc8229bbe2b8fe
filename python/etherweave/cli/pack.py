"""The verb ``pack``."""

from pathlib import Path

from etherweave.api.packing import pack as packed
from etherweave.api.result_schema import ResultError
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import Extend, output_file

SUFFIXES = (".gz", ".tgz")


def pack(result: Path, *, output: Path | None = None, extend: Extend = None) -> None:
    """Pack results with scenario, inputs, versions, seed and checksums into one archive.

    `etherweave unpack --check` runs it again. Equal results make equal archives. Of each class of
    --extend that decided the result, the file of its module is packed. The exit code is 2 after a
    mistake.

    Parameters
    ----------
    result : RESULT
        Directory of a result, or of many: of replications, samples, a sweep with tables, a study.
    output : -o FILE.tar.gz
        File for the archive; default: RESULT.tar.gz.
    """
    named = output or result.absolute().with_name(f"{result.absolute().name}.tar.gz")
    path = output_file("--output", named, *SUFFIXES) or named
    with mistakes(ResultError, ValueError):
        manifest = packed(result, path, extend or ())
    total = sum(file.bytes for file in manifest.files.values())
    print(f"{output or path.name}: {len(manifest.files)} files, {total:,} bytes of {manifest.name}")
