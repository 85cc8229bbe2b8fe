"""``python -m etherweave`` is ``etherweave``."""

from etherweave.cli import main

main()
