"""Starts a recorder quickly, without the command line: ``python -m etherweave.bench.telemetry``.

What ``etherweave bench run`` starts on every host; for people there is
``etherweave bench telemetry record``.
"""

import argparse
import os
import sys

from etherweave.bench.telemetry.process import RecordingOptions, record, until_ended


def main() -> None:
    """Record until standard input ends."""
    options = argparse.ArgumentParser(prog="etherweave.bench.telemetry")
    options.add_argument("--run", default="")
    options.add_argument("--host", default="")
    options.add_argument("--interface", action="append", default=[])
    options.add_argument("--period", type=float, default=RecordingOptions.period_s)
    options.add_argument("--limit", type=float, default=RecordingOptions.limit_s)
    said = options.parse_args()
    interfaces = tuple(filter(None, said.interface))
    wish = RecordingOptions(said.run, said.host, interfaces, said.period, said.limit)
    try:
        with until_ended() as ended:
            record(wish, sys.stdout, ended)
    except BrokenPipeError:
        # Nobody listens any more, nor does Python have to say so on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
