"""The verb ``run``."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.exits import INTERRUPTED, STUCK, alarm, refuse, told
from etherweave.cli.parameters import AsJson, File, Settings, directory, overrides
from etherweave.cli.progress import run_progress
from etherweave.results import Result

EXAMPLES = """Examples:

etherweave run halo3d.toml

etherweave run halo3d.toml -o result --set job.0.workload.halo3d.iterations=100 --threads 2

etherweave run halo3d.toml --seed 7 --json > summary.json

etherweave run halo3d.toml --pcap host3 --pcap host4=/tmp/four.pcapng"""


def run(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for the result; written after Ctrl-C too."),
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads; results do not depend on it.")] = 1,
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST[=FILE]",
            help="Write the frames at a host's port as pcapng, as often as needed; "
            "FILE is HOST.pcapng unless given.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a scenario; print iteration times in us and goodput in Gb/s.

    Ends with 2 after a mistake, 3 when nothing can go on, 130 after Ctrl-C.
    """
    changes = overrides(settings)
    if seed is not None:
        changes["seed"] = seed
    if output:
        directory(output)
    result = _simulate(file, changes, threads, _captures(pcap))
    if output:
        result.save(output)
    print(_json(result) if as_json else _text(result))
    _exit(result, output)


def _simulate(
    file: Path, changes: dict[str, object], threads: int, pcap: dict[str, str | Path]
) -> Result:
    try:
        with run_progress(file.stem) as tell:
            return etherweave.run(file, changes, threads=threads, pcap=pcap, progress=tell)
    except etherweave.Interrupted as interruption:
        return interruption.result
    except etherweave.ScenarioError as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))


def _captures(pcap: list[str] | None) -> dict[str, str | Path]:
    """Split captures into hosts and files, each host once and each file once."""
    pairs = [capture.partition("=") for capture in pcap or []]
    files: dict[str, str | Path] = {host: Path(file or f"{host}.pcapng") for host, _, file in pairs}
    if len(files) < len(pairs) or len(set(files.values())) < len(pairs):
        refuse("--pcap: expected each host once, and a file of its own for each")
    return files


def _exit(result: Result, output: Path | None) -> None:
    for warning in result.summary["warnings"]:
        alarm(f"WARNING: {warning}")
    if result.is_partial:
        where = f"the result in {output}" if output else "what is printed"
        alarm(f"{result.summary['finished'].capitalize()}: {where} is partial.")
    if result.summary["finished"] == "stuck":
        alarm(f"Nothing can go on.\n{result.summary.get('stuck_report')}")
        raise typer.Exit(STUCK)
    if result.summary["finished"] == "interrupted":
        raise typer.Exit(INTERRUPTED)


def statistics(result: Result) -> dict[str, dict[str, float]]:
    """Compute the iteration times of each job [us]."""
    jobs, durations = (result.values("iterations", key) for key in ("job", "duration_ns"))
    times: dict[str, list[float]] = {}
    for job, duration in zip(jobs, durations, strict=True):
        times.setdefault(job, []).append(duration / 1e3)
    return {job: _distribution(sorted(ordered)) for job, ordered in times.items()}


def _distribution(times: list[float]) -> dict[str, float]:
    """Describe ascending times [us]; a quantile is the time nearest to it."""
    count, middle = len(times), len(times) // 2
    return {
        "iterations": count,
        "mean_us": math.fsum(times) / count,
        "median_us": (times[middle] + times[(count - 1) // 2]) / 2,
        "p99_us": times[math.floor((count - 1) * 0.99 + 0.5)],
        "max_us": times[-1],
    }


def _goodput_gbps(result: Result) -> float:
    return math.fsum(result.values("streams", "goodput_gbps"))


def more(result: Result) -> dict[str, object]:
    """Tell what JSON has beyond the summary."""
    return {"jobs": statistics(result), "goodput_gbps": _goodput_gbps(result)}


def _json(result: Result) -> str:
    return json.dumps({**result.summary, **more(result)}, indent=2)


def _text(result: Result) -> str:
    summary = result.summary
    speed = summary["packet_hops"] / max(summary["wall_s"], 1e-9) / 1e6
    head = (
        f"{summary['name']}: {summary['finished']} after {summary['end_ns'] / 1e6:.3f} ms; "
        f"{summary['packet_hops']:,} packet-hops in {summary['wall_s']:.2f} s "
        f"({speed:.2f} M/s), {summary['packets_dropped']:,} packets dropped"
    )
    if damaged := summary.get("packets_damaged"):
        head += f", {damaged:,} damaged"
    return "\n".join([head, *lines(result)])


def lines(result: Result) -> list[str]:
    """Tell iteration times and goodput, a line for each job."""
    told = [
        f"  {job}: {times['iterations']} iterations, mean {times['mean_us']:.2f} us, "
        f"median {times['median_us']:.2f}, p99 {times['p99_us']:.2f}, max {times['max_us']:.2f}"
        for job, times in statistics(result).items()
    ]
    if (goodput := _goodput_gbps(result)) > 0:
        told.append(f"  streams: {goodput:.2f} Gb/s")
    return told
