"""Prints a snapshot quickly, without the command line: ``python -m etherweave.bench.environment``.

What ``etherweave bench run`` starts on every host; for people there is
``etherweave bench environment --json``.
"""

import argparse
import json

from etherweave.bench.environment.readers import take


def main() -> None:
    """Take a snapshot of this host, and print it."""
    options = argparse.ArgumentParser(prog="etherweave.bench.environment")
    options.add_argument("--interface", action="append", default=[])
    options.add_argument("--to", action="append", default=[])
    said = options.parse_args()
    found = take(interfaces=tuple(filter(None, said.interface)), to=said.to)
    print(json.dumps(found.facts()))


if __name__ == "__main__":
    main()
