"""Samples of what profiles of interconnects yield."""

from collections.abc import Sequence
from pathlib import Path

from etherweave.api.interconnects import Interconnect
from etherweave.api.work import Work, WorkCallback, unheard
from etherweave.sweeps import Executor, WorkerError, executor
from etherweave.uncertainty.declared import Declared
from etherweave.uncertainty.intervals import Distribution, distribution
from etherweave.uncertainty.sampling import check_count, paired, sampled_scenario

FIGURES = ("latency_us", "bandwidth_gbps", "messages_per_us", "all_to_all_us", "congestion_impact")
"""Figures of :class:`etherweave.api.interconnects.Interconnect` that samples have."""


def sample_interconnects(
    names: Sequence[str],
    samples: int,
    home: Path,
    where: Executor = executor(),  # noqa: B008 - frozen, and starts nothing
    on_progress: WorkCallback = unheard,
    figures: Sequence[str] = FIGURES,
) -> dict[str, dict[str, Distribution]]:
    """Draw what is not known of profiles; gives the distribution of each figure of each profile.

    Samples are those of each profile, beside the profile as it stands. Profiles that have a figure
    from the same place have the same shares, so that they are compared in pairs. ``home`` is a
    directory that the executor may use; figures do not depend on it. ``on_progress`` is called with
    the work whenever a sample has ended. Raises ``UncertaintyError`` when samples are too few or
    too many; ``WorkerError`` when a worker has died, or a figure has a mistake.
    """
    check_count(samples)
    scenarios = {
        name: sampled_scenario({"interconnect": {"profile": name}}, {}, samples, Declared())
        for name in names
    }
    drawn = paired(scenarios, samples)
    tasks, found = [], dict[str, dict[str, float]]()
    for name, scenario in drawn.items():
        for point in scenario.points():
            keys = {key: value for key, value in point.items() if key != "sample" and value != ""}
            tasks.append((f"{name}/{point['sample']}", [name, keys, list(figures)]))
    work = Work([name for name, _ in tasks], workers=where.workers)
    for done, answer in where.completed(f"{__name__}:measure", tasks, home):
        if isinstance(answer, WorkerError):
            raise answer
        found[done] = answer
        work.end(done)
        on_progress(work)
    return {
        name: {
            figure: distribution(
                figure,
                found[f"{name}/-1"][figure],
                [found[f"{name}/{number}"][figure] for number in range(samples)],
                scenario.shares,
                [entry.name for entry in scenario.drawn.entries],
            )
            for figure in figures
        }
        for name, scenario in drawn.items()
    }


def measure(task: tuple[str, dict[str, object], list[str]]) -> dict[str, float]:
    """Simulate the figures of a sample in a worker."""
    name, keys, figures = task
    interconnect = Interconnect(name, keys)
    return {figure: float(getattr(interconnect, figure)) for figure in figures}
