"""Carries a campaign out, launch after launch: decides, launches, stores, decides again.

The next launch follows from the campaign and the stored launches, and from nothing else: a session
that was killed is continued without a loss of launches, and without a repetition.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import NamedTuple

import etherweave
from etherweave.api.units import Unit
from etherweave.bench.campaigns.campaign import Campaign, CampaignExperiment, limit_s
from etherweave.bench.campaigns.points import (
    JudgedLaunch,
    centres,
    judged_launch,
    judged_launches,
    series,
)
from etherweave.bench.campaigns.store import LaunchRecord, Store, launch_name
from etherweave.bench.launchers.launcher import (
    ArrayLauncher,
    Ending,
    Launcher,
    LaunchJob,
    LaunchOutcome,
    Monitor,
)
from etherweave.bench.statistics.launches import StoppingDecision, StoppingRule, decide, shuffled

FAILURES_MAX = 3
"""Launches of an experiment that may fail before one has succeeded; then it is given up."""


class ExperimentState(StrEnum):
    """State of an experiment."""

    OPEN = "open"
    PRECISE = "precise"  # All medians are known as well as wanted.
    CAPPED = "capped"  # No launch is left.
    GIVEN_UP = "given up"  # Its launches fail: it gave no number.


@dataclass(frozen=True)
class RunObserver:
    """Functions that are called during a session, and programs that run beside each launch."""

    launched: Callable[[JudgedLaunch, int, int], None] = lambda launch, done, most: None
    """Takes a launch that ended, the number of launches so far, and their largest number."""
    monitors: tuple[Monitor, ...] = ()  # Programs that run on every host of each launch.
    keep: Callable[[Store, str, LaunchJob], None] = lambda store, name, job: None
    """Stores their output, by the name of the launch."""


class _PlannedLaunch(NamedTuple):
    experiment: CampaignExperiment
    round: int

    @property
    def name(self) -> str:
        return launch_name(self.experiment.name, self.round)


@dataclass(frozen=True)
class _Executor:
    """Carries launches out and stores them."""

    store: Store
    launchers: Mapping[str, Launcher]
    session: int
    observer: RunObserver
    limit: float | None

    def carry_out(
        self, turns: Sequence[_PlannedLaunch]
    ) -> Generator[tuple[_PlannedLaunch, LaunchRecord], None, None]:
        """Yield each launch once it is stored; those that the user ended leave nothing."""
        launcher = self.launchers[turns[0].experiment.fabric]
        useless = {turn.name for turn in turns}
        jobs = [self._job(turn) for turn in turns]
        try:
            with closing(_outcomes(launcher, jobs)) as outcomes:
                for turn, job, outcome in zip(turns, jobs, outcomes, strict=True):
                    if outcome.ending is Ending.INTERRUPTED:
                        return
                    if outcome.ending is not Ending.DONE:
                        useless.remove(turn.name)
                    self.observer.keep(self.store, turn.name, job)
                    yield turn, self._keep(turn, launcher.name, outcome)
        except KeyboardInterrupt:
            return
        finally:
            for name in useless:
                self.store.clear(name)

    def _job(self, turn: _PlannedLaunch) -> LaunchJob:
        experiment = turn.experiment
        place = self.store.workplace(turn.name)
        return LaunchJob(
            experiment.command,
            experiment.hosts,
            experiment.ranks_per_node,
            place,
            limit_s(experiment.seconds, self.limit),
            monitors=self.observer.monitors,
            background=tuple(program.command for program in experiment.background),
        )

    def _keep(self, turn: _PlannedLaunch, launcher: str, outcome: LaunchOutcome) -> LaunchRecord:
        record = LaunchRecord(
            experiment=turn.experiment.name,
            round=turn.round,
            ending=outcome.ending.value,
            text=outcome.text,
            errors=outcome.errors,
            words=outcome.words,
            start_ns=outcome.start_ns,
            end_ns=outcome.end_ns,
            launcher=launcher,
            session=self.session,
            version=etherweave.__version__,
            campaign=self.store.campaign.identity,
        )
        self.store.add(record)
        return record


def _outcomes(
    launcher: Launcher, jobs: Sequence[LaunchJob]
) -> Generator[LaunchOutcome, None, None]:
    if isinstance(launcher, ArrayLauncher) and len(jobs) > 1:
        yield from launcher.outcomes(jobs)
    else:
        yield from map(launcher.launch, jobs)


def launch_until_decided(
    store: Store,
    launchers: Mapping[str, Launcher],
    session: int,
    observer: RunObserver | None = None,
    limit: float | None = None,
) -> bool:
    """Launch until every experiment is decided.

    ``session`` is the number of the environment that the launches have. Each launch is ended after
    ``limit`` [s]; after ten forecasts if ``None``, but at least a minute. Returns whether it came
    to its end; otherwise the user ended it.
    """
    executor = _Executor(store, launchers, session, observer or RunObserver(), limit)
    campaign = store.campaign
    records = store.records()
    for name in (record.name for record in records if record.ending == Ending.DONE):
        store.clear(name)  # A runner may have been killed after it kept it.
    done = by_experiment(campaign, judged_launches(campaign, records))
    most = campaign.launches_max * len(campaign.experiments)
    for turns in _order(campaign, done, launchers):
        kept = 0
        with closing(executor.carry_out(turns)) as carried_out:
            for turn, record in carried_out:
                kept += 1
                launch = judged_launch(turn.experiment, record)
                done[turn.experiment.name].append(launch)
                executor.observer.launched(launch, sum(map(len, done.values())), most)
        if kept < len(turns):
            return False
    return True


def by_experiment(
    campaign: Campaign, launches: Iterable[JudgedLaunch]
) -> dict[str, list[JudgedLaunch]]:
    """Part launches by the names of their experiments, all of which occur."""
    experiments: dict[str, list[JudgedLaunch]] = {row.name: [] for row in campaign.experiments}
    for launch in launches:
        experiments[launch.record.experiment].append(launch)
    return experiments


def _order(
    campaign: Campaign,
    done: Mapping[str, Sequence[JudgedLaunch]],
    launchers: Mapping[str, Launcher],
) -> Iterator[list[_PlannedLaunch]]:
    """Give the launches that are still to be made; looks at ``done`` anew before each round.

    Those come together that one array can hold: neighbours in the order.
    """
    by_name = {experiment.name: experiment for experiment in campaign.experiments}
    launches = shuffled(done, campaign.launches_max, campaign.seed)
    for _, launch_round in groupby(launches, key=lambda launch: launch.round):
        turns = [
            _PlannedLaunch(by_name[launch.experiment], launch.round)
            for launch in launch_round
            if _is_open(campaign.rule, done[launch.experiment], launch.round)
        ]
        for is_array, group in groupby(turns, key=partial(_array, launchers)):
            together = list(group)
            yield from [together] if is_array else ([turn] for turn in together)


def _is_open(rule: StoppingRule, own: Sequence[JudgedLaunch], turn: int) -> bool:
    is_kept = any(launch.record.round == turn for launch in own)
    return not is_kept and state(rule, own) is ExperimentState.OPEN


def _array(launchers: Mapping[str, Launcher], turn: _PlannedLaunch) -> tuple[object, ...]:
    """Return what launches of one array have in common; empty when there are no arrays."""
    experiment = turn.experiment
    is_able = isinstance(launchers[experiment.fabric], ArrayLauncher)
    return (experiment.fabric, experiment.hosts, experiment.ranks_per_node) if is_able else ()


def state(rule: StoppingRule, launches: Sequence[JudgedLaunch]) -> ExperimentState:
    """Decide by the launches of one experiment."""
    counted = [launch for launch in launches if not launch.record.is_warm_up]
    if len(launches) >= FAILURES_MAX and not any(launch.verdict.is_valid for launch in launches):
        return ExperimentState.GIVEN_UP
    decisions = [decide(values, rule) for values in _decisive(counted)]
    if decisions and all(decision is StoppingDecision.PRECISE for decision in decisions):
        return ExperimentState.PRECISE
    if not decisions and sum(launch.counts for launch in counted) >= rule.launches_min:
        return ExperimentState.PRECISE  # nothing of it can be better or worse
    if len(counted) < rule.launches_max:
        return ExperimentState.OPEN
    return (
        ExperimentState.CAPPED if any(run.counts for run in counted) else ExperimentState.GIVEN_UP
    )


def _decisive(launches: Iterable[JudgedLaunch]) -> list[list[float]]:
    """Choose the points whose medians have to be known.

    Not those of bare counts, such as retransmits, beside amounts: few and far between, they would
    never be precise.
    """
    medians = centres(series(launches))
    amounts = [values for point, values in medians.items() if point.unit != Unit.COUNT]
    return amounts or list(medians.values())
