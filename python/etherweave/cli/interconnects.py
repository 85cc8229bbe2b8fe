"""The verb ``interconnects``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.api.interconnects import Interconnect, differing, names
from etherweave.api.nearest import nearest
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.extras import require
from etherweave.cli.parameters import ALL_PROCESSORS, AsJson, ExecutorName, Threads
from etherweave.cli.progress import work_progress
from etherweave.cli.sampled import figure, intervals, print_intervals

if TYPE_CHECKING:
    from etherweave.uncertainty.intervals import Distribution


def interconnects(
    chosen: list[str] | None = None,
    *,
    compare: bool = False,
    html: Path | None = None,
    gpcnet: bool | None = None,
    samples: Annotated[int | None, typer.Option(show_default=False)] = None,
    where: ExecutorName = "local",
    threads: Threads = ALL_PROCESSORS,
    as_json: AsJson = False,
) -> None:
    """Simulate profiles of interconnects, and print what they yield beside published figures.

    Latency, bandwidth and message rate are those of OSU's benchmarks between two hosts at one
    switch, the all-to-all is one of 1 KiB on the profile's fabric of 64 hosts; GPCNeT is the
    factor of latency in GPCNeT's random ring there beside its four congestors. Published are the
    rate of a link and the latency of Table 1 of Li et al., TBench 2022, whose other columns follow,
    and GPCNeT's factor on a system of the interconnect. Congestion control is what products have;
    simulated control is what the figures have. A profile without any figure that is fitted to a
    measurement of the interconnect is declared. Exits with 2 after a mistake.

    Parameters
    ----------
    chosen : NAME
        Profiles, in this order; all without any.
    compare
        Print profiles side by side, with figures that differ.
    html : DIRECTORY
        Write a page with a figure and every source here.
    gpcnet
        Simulate GPCNeT, which takes some seconds a profile; by default of profiles that are named.
    samples : N
        Draw N samples, 8 to 65,536, of what is not known of each profile, and print medians with
        intervals of 50 and 90 %, and of 90 % with the error of the model.
    """
    known = names()
    unknown = [name for name in chosen or () if name not in known]
    if unknown:
        reject(f"no interconnect {unknown[0]!r}; {nearest(unknown[0], known)}")
    require("bench", "report")
    from etherweave.report.interconnects import (
        HEAD,
        SIMULATED,
        facts,
        product,
        product_titles,
        row,
        write_interconnects,
    )

    with_gpcnet = bool(chosen) if gpcnet is None else gpcnet
    if samples is not None:
        if compare:
            reject("--samples: expected no --compare beside it")
        sampled = _samples(chosen or known, samples, where, threads, gpcnet=with_gpcnet)
        _print_samples(sampled, as_json)
        if html:
            profiles = [Interconnect(name, gpcnet=with_gpcnet) for name in sampled]
            print(write_interconnects(profiles, html, sampled))
        return None
    profiles = [Interconnect(name, gpcnet=with_gpcnet) for name in chosen or known]
    if as_json:
        print(json.dumps([facts(interconnect) for interconnect in profiles], indent=2))
    elif compare:
        _print_side_by_side(profiles)
    else:
        heads = (*HEAD[:2], *(f">{title}" for title in (*HEAD[2:], *SIMULATED)))
        print_table(heads, map(row, profiles))
        print()
        print_table(("profile", *product_titles()), map(product, profiles))
    if html:
        print(write_interconnects(profiles, html))
    return None


GPCNET = "congestion_impact"
_TITLES = {
    "latency_us": "latency of 8 B [us]",
    "bandwidth_gbps": "bandwidth at 1 MiB [Gb/s]",
    "messages_per_us": "messages of 8 B [1/us]",
    "all_to_all_us": "all-to-all [us]",
    GPCNET: "beside GPCNeT's congestors",
}


def _samples(
    names: list[str], samples: int, where: str, threads: int, *, gpcnet: bool
) -> "dict[str, dict[str, Distribution]]":
    """Draw what is not known of profiles."""
    from tempfile import TemporaryDirectory

    from etherweave.sweeps import WorkerError, executor
    from etherweave.uncertainty import UncertaintyError, sample_interconnects

    with (
        mistakes(UncertaintyError, WorkerError, ValueError),
        TemporaryDirectory() as home,
        work_progress("interconnects", "samples") as on_progress,
    ):
        on = executor(where, threads)
        figures = [name for name in _TITLES if gpcnet or name != GPCNET]
        return sample_interconnects(names, samples, Path(home), on, on_progress, figures)


def _print_samples(distributions: "dict[str, dict[str, Distribution]]", as_json: bool) -> None:
    """Print medians with intervals of 50 and 90 %, and of 90 % with the error of the model."""
    if as_json:
        facts = {
            name: {key: figure(distribution) for key, distribution in of.items()}
            for name, of in distributions.items()
        }
        return print(json.dumps(facts, indent=2))
    rows = [
        (name, _TITLES[key], *intervals(distribution))
        for name, of in distributions.items()
        for key, distribution in of.items()
    ]
    return print_intervals(("profile", "figure"), rows)


_FIGURES: dict[str, Callable[[Interconnect], str]] = {
    "link [Gb/s]": lambda profile: f"{profile.rate_gbps:g}",
    "latency of 8 B [us]": lambda profile: f"{profile.latency_us:.2f}",
    "bandwidth at 1 MiB [Gb/s]": lambda profile: f"{profile.bandwidth_gbps:.1f}",
    "messages of 8 B, 16 pairs [1/us]": lambda profile: f"{profile.messages_per_us:.1f}",
    "all-to-all of 64 hosts [us]": lambda profile: f"{profile.all_to_all_us:.1f}",
    "latency beside GPCNeT's congestors": lambda profile: (
        "" if profile.yielded_impact is None else f"{profile.yielded_impact:.1f} times"
    ),
}


def _print_side_by_side(profiles: list[Interconnect]) -> None:
    from etherweave.report.interconnects import support

    heads = ("", *(f">{profile.name}" for profile in profiles))
    figures = {"support": support, **_FIGURES}
    print_table(heads, [(name, *map(of, profiles)) for name, of in figures.items()])
    print()
    rows = differing(profiles)
    print_table(("figure", *(row.name for row in profiles)), [(key, *of) for key, of in rows])
