"""The verb ``tune``."""

import json
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path

import etherweave
from etherweave.api import tuner_files
from etherweave.api.outputs import write_text
from etherweave.api.tuning import (
    CHANNELS_MAX,
    OWN,
    RING,
    UNMATCHED,
    Tuning,
    Variant,
    gaps,
    middle,
    tune,
)
from etherweave.api.units import Unit, amount, size_of, size_text
from etherweave.cli import parameters
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.progress import count_progress

SIZES = "1KiB,16KiB,256KiB,4MiB,64MiB"
SIZES_MAX = 64  # Most sizes.


Collective = StrEnum("Collective", {name: name for name in tuner_files.COLLECTIVES})  # type: ignore[misc]


def tune_verb(
    fabric: parameters.File,
    *,
    library: tuner_files.Library = tuner_files.Library.NCCL,
    sizes: str = SIZES,
    ranks: list[int] | None = None,
    collectives: list[Collective] | None = None,
    channels: str | None = None,
    file: Path | None = None,
    output: Path | None = None,
    settings: parameters.Settings = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    as_json: parameters.AsJson = False,
) -> None:
    """Simulate algorithms and protocols of NCCL on a fabric, and write the file of its tuner.

    The scenario has a job with workload.nccl_tests, which says how many accelerators there are and
    what joins them. A line of the table has the range of sizes of an entry, and how much faster it
    is than what NCCL chooses by itself. The exit code is 2 after a mistake.

    Parameters
    ----------
    library
        Library whose tuner reads the files: that of rccl is nccl's, ncclx has another.
    sizes : --sizes SIZE,...
        Sizes of calls, of a vector or of all blocks together.
    ranks : --ranks N
        Accelerators of a group, in nodes that are full; repeatable; by default those of the job.
    collectives : --collective NAME
        Collective; repeatable; by default all.
    channels : --channels N,...
        Numbers of channels to try beside NCCL's own, 1 to 32 for all accelerators of a node.
    file : --file FILE
        Simulate the entries of this file in place of a search.
    output : -o FILE
        File for the tuner, which NCCL_TUNER_CONFIG_FILE names; of ncclx NCCLX_TUNER_CONFIG_FILE.
    """
    parameters.output_file("-o", output)
    if library is tuner_files.Library.AWS:
        known = ", ".join(own for own in tuner_files.Library if own is not library)
        reject(
            f"--library {library}: the tuner of aws-ofi-nccl reads no file, its choices are in "
            f"its code (src/tuner in aws/aws-ofi-nccl); expected one of {known}"
        )
    with mistakes(etherweave.ScenarioError, OSError, ValueError):
        lengths = [size_of(text) for text in sizes.split(",")]
        if min(lengths) < 1 or len(lengths) > SIZES_MAX:
            reject(f"--sizes {sizes}: expected 1 to {SIZES_MAX} sizes of 1 B or more")
        counts = _counts(channels) if channels else []
        entries = tuner_files.read_tuner(file, library) if file else None
        names = [str(name) for name in collectives or tuner_files.COLLECTIVES]
        with count_progress(fabric.stem, "calls") as progress:
            changes = parameters.overrides(settings)
            groups = ranks or ()
            fallback = UNMATCHED.get(library, RING)
            tuning = tune(
                *(fabric, lengths, groups, names, entries, changes, threads, progress, counts),
                unmatched=fallback,
            )
        tuning = replace(tuning, entries=tuner_files.for_library(tuning.entries, library))
        if output:
            write_text(output, tuner_files.tuner_text(tuning.entries, library))
    print(_json(tuning)) if as_json else _print(tuning, output, entries is not None)


def _counts(text: str) -> list[int]:
    counts = [int(part) for part in text.split(",") if part.isascii() and part.isdecimal()]
    if len(counts) != text.count(",") + 1 or not all(0 < n <= CHANNELS_MAX for n in counts):
        reject(f"--channels {text}: expected numbers of channels, 1 to {CHANNELS_MAX}, by commas")
    return sorted(set(counts))


def _text(variant: Variant | None) -> str:
    if variant is None:
        return "not simulated"
    if variant == OWN:
        return "NCCL's choice"
    by = f"{variant.algorithm} {variant.protocol}"
    return by if variant.channels == tuner_files.ANY else f"{by}, {variant.channels} channels"


def _json(tuning: Tuning) -> str:
    entries = [
        {**asdict(entry), "gain": gain}
        for entry, gain in zip(tuning.entries, tuning.gains, strict=True)
    ]
    timings = [
        {**asdict(timing), "group": timing.group._asdict(), "gain": timing.gain}
        for timing in tuning.timings
    ]
    return json.dumps({"entries": entries, "timings": timings}, indent=2)


def _print(tuning: Tuning, output: Path | None, is_file: bool) -> None:
    heads = ("collective", ">size", ">ranks", ">NCCL's choice", ">best", "by", ">gain")
    rows = [
        (
            timing.collective,
            size_text(timing.size),
            f"{timing.group.ranks}",
            amount(timing.own_s, Unit.SECONDS),
            amount(timing.chosen_s, Unit.SECONDS),
            _text(timing.chosen),
            f"{timing.gain:.1%}",
        )
        for timing in tuning.timings
    ]
    print_table(heads, rows)
    print("Entries:")
    for entry, gain in zip(tuning.entries, tuning.gains, strict=True):
        print(f"  {entry.line}  {'not simulated' if gain is None else f'gain {gain:.1%}'}")
    for timing, after in [] if is_file else gaps(tuning.timings):
        print(
            f"  {timing.collective} of {timing.group.ranks} ranks: the choice changes between "
            f"{size_text(timing.size)} and {size_text(after.size)}; --sizes with "
            f"{size_text(middle(timing.size, after.size))} says where, and what calls between lose"
        )
    if output:
        print(f"Written: {output}")
