"""Runs a campaign in children of its own, and kills each at a random moment, but for the last."""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from etherweave.bench.campaigns.runner import launch_until_decided
from etherweave.bench.campaigns.session import session
from etherweave.bench.campaigns.store import Store
from etherweave.bench.launchers.launcher import LaunchJob, LaunchOutcome
from etherweave.bench.statistics.launches import StoppingRule
from support.launches import FakeLauncher, campaign, latencies

WHOLE = campaign("osu_latency", "osu_multi_lat", rule=StoppingRule(0.05, 0.95, 20, 20))
"""42 launches."""
LAUNCH_S = 0.004  # A launch, about as long as keeping it takes [s].
LIFE_S = 0.03  # Within which a child dies: a few launches [s].


class LoggingLauncher(FakeLauncher):
    """Logs each launch's name before it answers."""

    def launch(self, job: LaunchJob) -> LaunchOutcome:
        with self.calls.open("a") as calls:
            print(job.directory.name, file=calls)
        time.sleep(LAUNCH_S)
        return super().launch(job)

    calls: Path


def carry_out(out: Path) -> None:
    launcher = LoggingLauncher(lambda number: latencies(10.0))
    launcher.calls = out.with_suffix(".calls")
    store = Store.create(out, WHOLE)
    with store.alone(), session(store, list) as (number, _):
        assert launch_until_decided(store, {"lan": launcher}, number)


def kept(out: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in out.glob("launches/[!.]*.json")}


def dies(out: Path, after_s: float | None) -> bool:
    """Carry a campaign out in a child; return whether it was killed."""
    child = os.fork()
    if not child:
        carry_out(out)
        os._exit(0)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status != 0


def main(out: Path, kills: int, seed: int) -> None:
    chance, calls, deaths = random.Random(seed), out.with_suffix(".calls"), 0
    calls.touch()
    for number in range(kills + 1):
        before, read = kept(out), len(calls.read_text().split())
        deaths += dies(out, chance.uniform(0, LIFE_S) if number < kills else None)
        assert before.items() <= kept(out).items(), "a launch that was kept is lost or changed"
        made = calls.read_text().split()[read:]
        assert not before.keys() & set(made), "a launch that was kept is made again"
        assert len(made) <= len(kept(out)) - len(before) + 1, "more than one launch was cut"
    print(json.dumps({"deaths": deaths}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
