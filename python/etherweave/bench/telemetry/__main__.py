"""Starts a recorder quickly, without the command line: ``python -m etherweave.bench.telemetry``.

What ``etherweave bench run`` starts on every host; for people there is
``etherweave bench telemetry record``.
"""

import argparse
import os
import sys

from etherweave.bench.telemetry.process import RecordingOptions, record, until_ended
from etherweave.bench.telemetry.switches import READERS


def main() -> None:
    """Record until standard input ends."""
    parser = argparse.ArgumentParser(prog="etherweave.bench.telemetry")
    parser.add_argument("--run", default="")
    parser.add_argument("--host", default="")
    parser.add_argument("--interface", action="append", default=[])
    parser.add_argument("--period", type=float, default=RecordingOptions.period_s)
    parser.add_argument("--limit", type=float, default=RecordingOptions.limit_s)
    parser.add_argument("--switch", default="", choices=sorted(READERS))
    parser.add_argument("ask", nargs="*")
    args = parser.parse_args()
    ports = tuple(filter(None, args.interface))
    options = RecordingOptions(
        args.run, args.host, ports, args.period, args.limit, switch=args.switch, ask=tuple(args.ask)
    )
    try:
        with until_ended() as ended:
            record(options, sys.stdout, ended)
    except BrokenPipeError:
        # The reader has ended; Python need not report that as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
