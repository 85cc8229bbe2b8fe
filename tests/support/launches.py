"""Campaigns without a cluster: launchers that give captured texts, fail, hang or are killed."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from etherweave.bench.campaigns.campaign import Campaign, CampaignOptions, Network, experiments
from etherweave.bench.campaigns.points import judged_launches
from etherweave.bench.campaigns.runner import launch_until_decided
from etherweave.bench.campaigns.store import Store
from etherweave.bench.campaigns.summary import summary
from etherweave.bench.campaigns.tables import save
from etherweave.bench.launchers import Ending, LaunchJob, LaunchOutcome
from etherweave.bench.statistics.launches import StoppingRule

NETWORK = Network("lan", "TCP", 1.25e8, 20e-6)
RULE = StoppingRule(launches_min=6, launches_max=8)

Answer = Callable[[int], str | Ending]
"""Takes the number of the launch, from 0; gives its text, or how else it ends."""


def latencies(us: float, sizes: Sequence[int] = (1, 2, 4)) -> str:
    """Return the output of osu_latency 7.4, with times that grow by size."""
    head = "\n# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
    rows = [f"{size:<10d}{us * (1 + at):>15.2f}" for at, size in enumerate(sizes)]
    return "\n".join([f"{head}# Size       Avg Latency(us)", *rows, ""])


def bandwidths(scale: float = 1.0) -> str:
    """Return the output of osu_bw 7.4, with rates in proportion to the size [MB/s]."""
    rows = [f"{size:<10d}{size * scale:>15.2f}" for size in (1, 2, 4)]
    return "\n".join(["# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)", *rows, ""])


@dataclass
class FakeLauncher:
    """Answers from a function instead of a cluster; remembers jobs."""

    answer: Answer
    name: str = "fake"
    jobs: list[LaunchJob] = field(default_factory=list)

    def missing(self) -> str:
        return ""

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        assert list(job.directory.iterdir()) == []
        if job.command.arguments == ("true",):  # A look at hosts, of which there are none.
            now = time.time_ns()
            return LaunchOutcome(Ending.FAILED, "", "no route to host\n", (), now, now)
        self.jobs.append(job)
        (job.directory / "log").write_text("what a program leaves")
        answer = self.answer(len(self.jobs) - 1)
        start = time.time_ns()
        ending = answer if isinstance(answer, Ending) else Ending.DONE
        text = answer if ending is Ending.DONE else ""
        errors = "" if ending is Ending.DONE else "no route to host\n"
        return LaunchOutcome(ending, text, errors, job.command.arguments, start, time.time_ns())


class ScriptLauncher:
    """Starts a command's words on this machine, whatever hosts it is for."""

    name = "script"

    def missing(self) -> str:
        return ""

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        start, words = time.time_ns(), job.command.arguments
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=job.limit_s, cwd=job.directory
            )
            ending = Ending.FAILED if done.returncode else Ending.DONE
            text, errors = done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            ending, text, errors = Ending.TIMED_OUT, "", "ended at its limit"
        return LaunchOutcome(ending, text, errors, words, start, time.time_ns())


def campaign(
    *programs: str,
    networks: Sequence[Network] = (NETWORK,),
    hosts: tuple[str, ...] = ("a", "b"),
    rule: StoppingRule = RULE,
    is_all_pairs: bool = False,
    size_max: int = 4,
    size_min: int = 1,
    background: tuple[str, ...] = (),
) -> Campaign:
    options = CampaignOptions(
        hosts, sizes=((size_min, size_max),), is_all_pairs=is_all_pairs, background=background
    )
    planned = experiments(programs or ("osu_latency",), networks, options)
    return Campaign("test", tuple(networks), planned, rule, seed=7)


def stored_campaign(path: Path, wanted: Campaign, launcher: FakeLauncher) -> Path:
    """Run a campaign to its end, and keep it with its summary in a directory."""
    store = Store.create(path, wanted)
    launch_until_decided(store, {network.name: launcher for network in wanted.networks}, 1)
    save(store, summary(store.campaign, judged_launches(store.campaign, store.records())))
    return path
