"""Runs a campaign in a process of its own, which kills itself within a launch if requested."""

import os
import signal
import sys
from pathlib import Path

from etherweave.bench.campaigns.runner import launch_until_decided
from etherweave.bench.campaigns.store import Store
from support.launches import FakeLauncher, campaign, latencies


def main(out: Path, deadly: int) -> None:
    def answer(number: int) -> str:
        with out.with_suffix(".calls").open("a") as calls:
            print(number, file=calls)
        if number == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return latencies(10.0)

    store = Store.create(out, campaign("osu_latency", "osu_multi_lat"))
    assert launch_until_decided(store, {"lan": FakeLauncher(answer)}, 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
