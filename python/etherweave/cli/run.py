"""The verb ``run``."""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import typer

import etherweave
from etherweave.api.energy import energy
from etherweave.api.fidelity import (
    both_fidelities,
    compare_fidelity,
    error_text,
    fidelities,
    time_text,
    with_errors,
)
from etherweave.api.limits import how_to_record, limits
from etherweave.api.overview import overview
from etherweave.api.results import Result
from etherweave.api.slowdown import Slowdown, foreground, slowdowns
from etherweave.cli import parameters
from etherweave.cli.exits import exit_as, mistakes, notice, print_warnings, reject
from etherweave.cli.processes import is_first, launched
from etherweave.cli.progress import on_terminal, print_start, run_progress
from etherweave.extend import described_fault, load_extensions
from etherweave.measurements.benchmark_lines import benchmark_rows
from etherweave.measurements.run_lines import run_lines


def run(
    context: typer.Context,
    file: parameters.File,
    *,
    output: Path | None = None,
    settings: parameters.Settings = None,
    extend: parameters.Extend = None,
    seed: parameters.Seed = None,
    threads: parameters.Threads = parameters.ALL_PROCESSORS,
    pcap: list[str] | None = None,
    snap_length: str | None = None,
    trace: Path | None = None,
    memory_limit: parameters.MemoryLimit = None,
    slowdown: bool = False,
    with_both: bool = False,
    samples: int | None = None,
    uncertain: parameters.Uncertain = None,
    replications: int | None = None,
    half_width: float | None = None,
    find_warm_up: bool = False,
    where: parameters.ExecutorName = "local",
    as_json: parameters.AsJson = False,
) -> None:
    """Simulate a scenario packet by packet, and print times, goodput, drops and pauses.

    With `run.fidelity = "flow"` messages take max-min fair rates instead, with `job.fidelity` those
    of some jobs. The exit code is 2 after a mistake or an exception of a class of --extend, 3 after
    a deadlock, 70 after a fault of Etherweave, 130 after Ctrl-C.

    Parameters
    ----------
    output : -o DIRECTORY
        Directory for the result, which is written after Ctrl-C too.
    pcap : HOST[=FILE]
        Write the frames at a host's port as pcapng to FILE, by default HOST.pcapng; repeatable.
    snap_length : BYTES
        Largest part of each captured frame that is kept, such as 128B; by default all.
    trace : FILE
        Write what ranks do, their messages and sampled ports as a trace for Perfetto or Chrome,
        .json or .json.gz.
    slowdown
        Run each job that is not in the background alone too, on the same hosts, and print how many
        times as long it takes among the others.
    with_both : --compare-fidelity
        Simulate packets of all jobs, and flow-level mode of those that the scenario names or of
        all, and print how far their figures lie apart; with --output, keep the result of flow-level
        mode with these errors.
    samples : N
        Draw at most N samples, 8 to 65,536, of all that is not known, with a seed each, until the
        ends of intervals are known to 5 %, keep runs in --output (default: results/NAME-samples),
        and print figures as medians with intervals of 50 and 90 %.
    replications : N
        Repeat the run with N independent seeds, 2 to 65,536, keep runs in --output (default:
        results/NAME-replications), and print means with their intervals of 95 %.
    half_width : SHARE
        End --replications before N runs when the intervals of all times, rates and slowdowns have
        half widths of at most this share of their mean, such as 0.05.
    find_warm_up
        Leave out of --replications the flows that start before the end of the warm-up which MSER-5
        finds in three pilots.
    """
    changes = parameters.overrides(settings)
    if seed is not None:
        changes["seed"] = seed
    if samples is not None:
        return _sampled(
            file,
            changes,
            samples,
            {
                "pcap": pcap,
                "trace": trace,
                "slowdown": slowdown,
                "compare-fidelity": with_both,
                "replications": replications,
                "extend": extend,
            },
            (uncertain or (), where, threads, memory_limit, output, as_json),
        )
    if replications is not None:
        others = {"uncertain": uncertain, "memory-limit": memory_limit, "extend": extend}
        shown = {"pcap": pcap, "trace": trace, "slowdown": slowdown, "compare-fidelity": with_both}
        return _replicated(
            file,
            changes,
            {**others, **shown},
            (replications, half_width, find_warm_up, where, threads, output, as_json),
        )
    if half_width is not None or find_warm_up:
        option = "--find-warm-up" if find_warm_up else "--half-width"
        reject(f"{option}: nothing is repeated; expected --replications beside it")
    if uncertain:
        reject("--uncertain: nothing is drawn; expected --samples beside it")
    if output:
        parameters.directory(output)
    if snap_length and not pcap:
        reject("--snap-length: no frames are captured; expected --pcap beside it")
    if parameters.output_file("--trace", trace, ".json", ".gz"):
        changes["observe.ranks"] = True
    if with_both:
        if pcap or trace or slowdown or extend:
            beside = "--pcap, --trace, --slowdown and --extend"
            reject(f"--compare-fidelity: expected none of {beside} beside it")
        return _compare(file, changes, threads, memory_limit, output, as_json)
    printed: set[str] = set()
    with mistakes(ValueError):
        classes = load_extensions(extend or ())
    simulate = partial(_simulate, file, threads, memory_limit, printed, extend=classes)
    result = simulate(changes, _captures(pcap), snap_length)
    if output and is_first():
        _save(result, output)
    if trace and is_first():
        _trace(result, trace)
    if is_first() and parameters.is_given(context, "threads"):
        _note_threads(result, threads)
    alone = _alone(simulate, changes, result) if slowdown else {}
    if is_first():
        print(_json(result, alone) if as_json else _text(result, alone))
        is_alone = launched() == 1  # Several processes cannot record what limits jobs.
        if is_alone and not as_json and on_terminal() and (hint := how_to_record(result)):
            notice(hint)
    exit_as(result.summary, f"the result in {output}" if output else "what is printed", printed)


def _sampled(
    file: Path,
    changes: dict[str, object],
    samples: int,
    others: dict[str, object],
    settings: tuple[Any, ...],
) -> None:
    _reject_beside("--samples", others)
    from etherweave.cli.sampled import run_sampled

    run_sampled(file, changes, samples, *settings)


def _replicated(
    file: Path, changes: dict[str, object], others: dict[str, object], settings: tuple[Any, ...]
) -> None:
    _reject_beside("--replications", others)
    half_width = settings[1]
    if half_width is not None and not 0 < half_width < 1:
        reject(f"--half-width: {half_width:g}; expected a share between 0 and 1, such as 0.05")
    from etherweave.cli.replicated import run_replicated
    from etherweave.uncertainty.replications import REPLICATIONS_MAX, REPLICATIONS_MIN

    if not REPLICATIONS_MIN <= settings[0] <= REPLICATIONS_MAX:
        span = f"{REPLICATIONS_MIN} to {REPLICATIONS_MAX:,}"
        reject(f"--replications: {settings[0]:,}; expected {span}")
    run_replicated(file, changes, *settings)


def _reject_beside(option: str, others: dict[str, object]) -> None:
    for name, value in others.items():
        if value:
            reject(f"{option}: expected no --{name} beside it")
    if launched() > 1:
        reject(f"{option}: has processes of its own; expected no MPI launcher")


def _simulate(
    file: Path,
    threads: int,
    memory_limit: str | None,
    printed: set[str],
    changes: dict[str, object],
    pcap: dict[str, str | Path] | None = None,
    snap_length: str | None = None,
    extend: dict[str, Any] | None = None,
) -> Result:
    try:
        with mistakes(etherweave.ScenarioError), run_progress(file.stem) as report:
            return etherweave.run(
                file,
                changes,
                threads=threads,
                pcap=pcap or {},
                progress=report,
                memory_limit=memory_limit,
                on_start=partial(print_start, file.stem, printed),
                snap_length=snap_length,
                extend=extend,
            )
    except etherweave.Interrupted as interruption:
        return interruption.result
    except (Exception, SystemExit) as error:
        if (fault := described_fault(error)) is None:
            raise
        reject(fault)


def _note_threads(result: Result, threads: int) -> None:
    """Say that flow-level mode has not used the threads that the command line names."""
    used = result.summary["threads"]
    if used < threads and "flow" in fidelities(result.resolved).values():
        notice(f"--threads: {threads}, of which {used} is used: flow-level mode has one")


def _alone(
    simulate: Callable[[dict[str, object]], Result], changes: dict[str, object], together: Result
) -> dict[str, Result]:
    """Run each job of a complete run that is not in the background alone."""
    if together.is_partial:
        return {}
    return {job: simulate({**changes, "run.jobs": [job]}) for job in foreground(together)}


def _compare(
    file: Path,
    changes: dict[str, object],
    threads: int,
    memory_limit: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    from etherweave.cli.design_page import print_table

    with mistakes(etherweave.ScenarioError):
        both = both_fidelities(file, changes)
    printed: set[str] = set()
    packet, flow = (_simulate(file, threads, memory_limit, printed, changed) for changed in both)
    errors = compare_fidelity(packet, flow)
    if not is_first():
        return
    if output:
        _save(with_errors(flow, errors), output)
    if as_json:
        return print(json.dumps(errors, indent=2))
    fidelities = errors["fidelities"]
    mode = "hybrid" if len(set(fidelities.values())) > 1 else "flow-level mode"
    print(f"{packet.summary['name']}: {mode} in {time_text(errors['speed_up'])}")
    rows = [
        (
            row["job"],
            fidelities[row["job"]],
            row["figure"],
            f"{row['packet']:.4g}",
            f"{row['flow']:.4g}",
            f"{row['error']:+.1%}",
        )
        for row in errors["figures"]
    ]
    print_table(("job", "by", "figure", ">all packets", f">{mode}", ">error"), rows)
    print_warnings(errors["warnings"], printed)


def _save(result: Result, output: Path) -> None:
    with mistakes():
        result.save(output)


def _trace(result: Result, file: Path) -> None:
    from etherweave.api.traces import write_trace

    with mistakes():
        write_trace(result, file)


def _captures(pcap: list[str] | None) -> dict[str, str | Path]:
    """Split captures into hosts and files, each host once and each file once."""
    pairs = [capture.partition("=") for capture in pcap or []]
    files: dict[str, str | Path] = {host: Path(file or f"{host}.pcapng") for host, _, file in pairs}
    if len(files) < len(pairs) or len(set(files.values())) < len(pairs):
        reject("--pcap: expected each host once, and a file of its own for each")
    return files


def _json(result: Result, alone: dict[str, Result]) -> str:
    jobs = {
        slowdown.job: {**asdict(slowdown), "factor": slowdown.factor}
        for slowdown in slowdowns(result, alone)
    }
    beside = {"slowdowns": jobs} if alone else {}
    errors = result.summary.get("fidelity_errors")
    modes = {"fidelities": fidelities(result.resolved), "fidelity_errors": errors}
    own = {"benchmarks": benchmark_rows(result), "energy": _energy(result)}
    return json.dumps({**result.summary, **overview(result), **own, **modes, **beside}, indent=2)


def _energy(result: Result) -> dict[str, Any] | None:
    """Compute the energy of a run; what a profile of power lacks is a line of the text alone."""
    try:
        used = energy(result)
    except etherweave.ScenarioError:
        return None
    return used and {**used._asdict(), "total_j": used.total_j, "mean_w": used.mean_w}


def _text(result: Result, alone: dict[str, Result]) -> str:
    summary, figures = result.summary, overview(result)
    speed = summary["packet_hops"] / max(summary["wall_s"], 1e-9) / 1e6
    head = (
        f"{summary['name']}: {summary['finished']} after {summary['end_ns'] / 1e6:.3f} ms; "
        f"{summary['packet_hops']:,} packet-hops in {summary['wall_s']:.2f} s "
        f"({speed:.2f} M/s), {summary['packets_dropped']:,} packets dropped"
    )
    if damaged := summary.get("packets_damaged"):
        head += f", {damaged:,} damaged"
    if lost := summary.get("packets_lost"):
        head += f", {lost:,} lost on links that were down"
    return "\n".join(
        [
            head,
            *_fidelity_lines(result),
            *(line for limit in limits(result) for line in (limit.sentence(), f"  {limit.bar()}")),
            *(f"  {line}" for line in run_lines(result, figures)),
            *(_slowdown_line(slowdown) for slowdown in slowdowns(result, alone)),
            *_gpcnet(result, alone),
        ]
    )


def _fidelity_lines(result: Result) -> list[str]:
    """Say which jobs are in flow-level mode and which are not, and how large its error is."""
    by = dict[str, list[str]]()
    for job, fidelity in fidelities(result.resolved).items():
        by.setdefault(fidelity, []).append(job)
    error = error_text(result)
    lines = [f"  flow-level mode, error against packets: {error}"] if error else []
    if len(by) == 1:
        return lines
    both = f"  in flow-level mode: {', '.join(by['flow'])}; in packets: {', '.join(by['packet'])}"
    return [both, *lines]


def _slowdown_line(slowdown: Slowdown) -> str:
    figures = f"{slowdown.together:,.2f} {slowdown.unit}, alone {slowdown.alone:,.2f}"
    return f"  slowdown of {slowdown.job}: {slowdown.factor:.2f} ({slowdown.figure} {figures})"


def _gpcnet(result: Result, alone: dict[str, Result]) -> list[str]:
    """Print network tests of GPCNeT as it does; with themselves alone, as its load test."""
    if "[job.workload.gpcnet]" not in result.resolved or result.is_partial:
        return []
    from etherweave.report import gpcnet

    return [
        gpcnet.network_load_test(result, alone[job], job)
        if job in alone
        else gpcnet.network_test(result, job)
        for job in gpcnet.jobs(result)
    ]
