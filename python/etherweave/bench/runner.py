"""Carries a campaign out, launch after launch: decides, launches, keeps, decides again.

What to launch next follows from the campaign and the launches that are kept, and from nothing else:
a run that was killed goes on where it stood, loses no launch that ended, and repeats none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import etherweave
from etherweave.bench.campaign import Campaign, Experiment
from etherweave.bench.launchers.launcher import Companion, Ending, Job, Launcher
from etherweave.bench.metrics import Unit
from etherweave.bench.points import Launched, centres, judged, launched, series
from etherweave.bench.statistics.launches import Launch, shuffled
from etherweave.bench.statistics.stopping import Decision, Rule, decide
from etherweave.bench.store import Record, Store, launch_name

FAILURES_MOST = 3
"""Launches of an experiment that may fail before one has succeeded; then it is given up."""
LIMIT_FACTOR = 10.0
"""Times the forecast, after which a launch is ended."""
LIMIT_LEAST = 60.0
"""No launch is ended before [s]."""


class State(StrEnum):
    """How an experiment stands."""

    OPEN = "open"
    PRECISE = "precise"
    """All medians are known as well as wanted."""
    CAPPED = "capped"
    """No launch is left."""
    GIVEN_UP = "given up"
    """Its launches fail."""


@dataclass(frozen=True)
class Watch:
    """What a run tells while it goes on, and what records beside it."""

    tell: Callable[[Launched, int, int], None] = lambda launched, done, most: None
    """Takes a launch that ended, how many have, and how many there can be."""
    companions: tuple[Companion, ...] = ()
    """What stands by on every host of each launch."""
    keep: Callable[[Store, str, Job], None] = lambda store, name, job: None
    """Keeps what they left, by the name of the launch."""


def limit_s(experiment: Experiment, wanted: float | None = None) -> float:
    """Tell after how long a launch is ended [s]."""
    return wanted or max(LIMIT_LEAST, LIMIT_FACTOR * experiment.seconds)


def run(
    store: Store,
    launchers: Mapping[str, Launcher],
    sitting: int,
    watch: Watch | None = None,
    limit: float | None = None,
) -> bool:
    """Launch until every experiment is decided.

    Parameters
    ----------
    store
        Where launches are kept.
    launchers
        By the names of networks.
    sitting
        Number of the environment that the launches have.
    watch
        What is told and recorded meanwhile.
    limit
        After which each launch is ended [s]; ten forecasts if ``None``, but at least a minute.

    Returns
    -------
    bool
        Whether it came to its end; otherwise the user ended it.
    """
    watch = watch or Watch()
    campaign = store.campaign
    by_name = {one.name: one for one in campaign.experiments}
    done = by_experiment(campaign, launched(campaign, store.records()))
    for launch in _order(campaign, done):
        experiment = by_name[launch.experiment]
        launcher = launchers[experiment.fabric]
        record = _launch(store, experiment, launch, launcher, sitting, watch, limit)
        if record is None:
            return False
        done[experiment.name].append(judged(experiment, record))
        most = campaign.launches_max * len(campaign.experiments)
        watch.tell(done[experiment.name][-1], sum(map(len, done.values())), most)
    return True


def by_experiment(campaign: Campaign, launches: Iterable[Launched]) -> dict[str, list[Launched]]:
    """Part launches by the names of their experiments, all of which occur."""
    found: dict[str, list[Launched]] = {one.name: [] for one in campaign.experiments}
    for one in launches:
        found[one.record.experiment].append(one)
    return found


def _order(campaign: Campaign, done: Mapping[str, Sequence[Launched]]) -> Iterator[Launch]:
    """Give the launches that are still to be made; looks at ``done`` anew before each."""
    for launch in shuffled(done, campaign.launches_max, campaign.seed):
        own = done[launch.experiment]
        is_kept = any(one.record.round == launch.round for one in own)
        if not is_kept and state(campaign.rule, own) is State.OPEN:
            yield launch


def state(rule: Rule, launches: Sequence[Launched]) -> State:
    """Decide by the launches of one experiment."""
    counted = [one for one in launches if not one.record.is_warm_up]
    if len(launches) >= FAILURES_MOST and not any(one.verdict.is_valid for one in launches):
        return State.GIVEN_UP
    decisions = [decide(values, rule) for values in _decisive(counted)]
    if decisions and all(one is Decision.PRECISE for one in decisions):
        return State.PRECISE
    if not decisions and sum(one.counts for one in counted) >= rule.launches_min:
        return State.PRECISE  # nothing of it can be better or worse
    return State.OPEN if len(counted) < rule.launches_max else State.CAPPED


def _decisive(launches: Iterable[Launched]) -> list[list[float]]:
    """Choose the points whose medians have to be known.

    Not those of bare counts, such as retransmits, beside amounts: few and far between, they would
    never be precise.
    """
    found = centres(series(launches))
    amounts = [values for point, values in found.items() if point.unit != Unit.COUNT]
    return amounts or list(found.values())


def _launch(
    store: Store,
    experiment: Experiment,
    launch: Launch,
    launcher: Launcher,
    sitting: int,
    watch: Watch,
    limit: float | None,
) -> Record | None:
    """Carry one launch out and keep it; ``None`` when the user ended it, which leaves no trace."""
    name = launch_name(experiment.name, launch.round)
    job = Job(
        experiment.command,
        experiment.hosts,
        experiment.ranks_per_node,
        store.workplace(name),
        limit_s(experiment, limit),
        companions=watch.companions,
    )
    try:
        outcome = launcher.launch(job)
    except KeyboardInterrupt:
        store.clear(name)
        return None
    if outcome.ending is Ending.INTERRUPTED:
        store.clear(name)
        return None
    watch.keep(store, name, job)
    record = Record(
        experiment=experiment.name,
        round=launch.round,
        ending=outcome.ending.value,
        text=outcome.text,
        errors=outcome.errors,
        words=outcome.words,
        start_ns=outcome.start_ns,
        end_ns=outcome.end_ns,
        launcher=launcher.name,
        sitting=sitting,
        version=etherweave.__version__,
        campaign=store.campaign.identity,
    )
    store.add(record)
    if outcome.ending is Ending.DONE:
        store.clear(name)
    return record
