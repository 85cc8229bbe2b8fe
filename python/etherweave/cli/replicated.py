"""Output of ``run --replications``."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etherweave.api.outputs import below
from etherweave.api.simulation import ScenarioError
from etherweave.cli.design_page import print_table
from etherweave.cli.exits import kept_in, mistakes
from etherweave.cli.parameters import directory
from etherweave.cli.progress import work_progress
from etherweave.cli.repeated import exit_where_failed, number, print_rest

if TYPE_CHECKING:
    from etherweave.uncertainty import MeanInterval, ReplicatedResult


def run_replicated(
    file: Path,
    changes: dict[str, object],
    replications: int,
    half_width: float | None,
    finds_warm_up: bool,
    where: str,
    processes: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Carry out replications of a scenario, and print means with their intervals."""
    from etherweave.sweeps import ExecutorError, SweepError, executor
    from etherweave.uncertainty import UncertaintyError, run_replications

    home = directory(output or below(Path("results"), f"{file.stem}-replications"))
    with mistakes(ScenarioError, UncertaintyError, SweepError, ExecutorError, ValueError):
        on = executor(where, processes)
        with kept_in(home), work_progress(file.stem, "runs") as on_progress:
            result = run_replications(
                file,
                replications,
                home,
                changes,
                half_width=half_width,
                finds_warm_up=finds_warm_up,
                executor=on,
                on_progress=on_progress,
            )
    print(json.dumps(facts(result), indent=2)) if as_json else _print(result)
    exit_where_failed(result.ended, "runs")


def facts(result: "ReplicatedResult") -> dict[str, Any]:
    """Return a replicated result as JSON has it."""
    return {
        "name": result.name,
        "asked": result.asked,
        "replications": result.ended.get("complete", 0),
        "seeds": list(result.seeds),
        "ended": dict(result.ended),
        "confidence": result.confidence,
        "half_width": result.half_width,
        "is_known": result.is_known,
        "warm_up": result.warm_up,
        "figures": {name: _figure(interval) for name, interval in result.figures.items()},
        "left_out": dict(result.left_out),
    }


def _figure(interval: "MeanInterval") -> dict[str, Any]:
    is_known = math.isfinite(interval.half_width)
    return {
        "mean": interval.mean,
        "interval": list(interval.ends) if is_known else None,
        "deviation": interval.deviation if is_known else None,
    }


def _print(result: "ReplicatedResult") -> None:
    (first, last), count = result.seeds, result.ended["complete"]
    print(
        f"{result.name}: {count} replications, seeds {first} to {last}, warm-up {result.warm_up}; "
        f"intervals of {result.confidence:.0%} of means, by Student's t"
    )
    if result.half_width is not None:
        share = f"{result.half_width:.3g} of the mean"
        widest = max((interval.share for interval in result.awaited.values()), default=0.0)
        end = "" if result.is_known else f": {result.asked} replications are too few"
        print(f"  half widths up to {widest:.3f}, expected at most {share}{end}")
    varying = {name: interval for name, interval in result.figures.items() if interval.half_width}
    rows = [
        (name, number(row.mean), f"{number(row.ends[0])} to {number(row.ends[1])}", _share(row))
        for name, row in varying.items()
    ]
    print_table(("figure", ">mean", ">interval", ">half width"), rows)
    fixed = [(name, kept.mean) for name, kept in result.figures.items() if name not in varying]
    print_rest(fixed, result.left_out, count, "replications")


def _share(interval: "MeanInterval") -> str:
    return f"{interval.share:.1%}" if math.isfinite(interval.share) else "–"
