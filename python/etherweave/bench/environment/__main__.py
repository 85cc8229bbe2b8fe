"""Prints a snapshot quickly, without the command line: ``python -m etherweave.bench.environment``.

What ``etherweave bench run`` starts on every host; for people there is
``etherweave bench environment --json``.
"""

import argparse
import json

from etherweave.bench.environment.readers import take


def main() -> None:
    """Take a snapshot of this host, and print it."""
    parser = argparse.ArgumentParser(prog="etherweave.bench.environment")
    parser.add_argument("--interface", action="append", default=[])
    parser.add_argument("--to", action="append", default=[])
    args = parser.parse_args()
    snapshot = take(interfaces=tuple(filter(None, args.interface)), to=args.to)
    print(json.dumps(snapshot.facts()))


if __name__ == "__main__":
    main()
