"""The verb ``bench list``."""

import json
from dataclasses import asdict

from etherweave.bench.catalogue import CatalogueEntry, catalogue
from etherweave.cli.design_page import print_sheet
from etherweave.cli.parameters import AsJson

EXAMPLES = """Examples:

etherweave bench list

etherweave bench list --json"""


def list_all(as_json: AsJson = False) -> None:
    """List the benchmarks that there are: what they measure, and whether they are read."""
    entries = catalogue().values()
    if as_json:
        facts = [asdict(entry) | {"is_read": entry.is_read} for entry in entries]
        print(json.dumps(facts, indent=2))
        return
    print_sheet(("name", "layer", "read", "measures"), map(_row, entries))


def _row(entry: CatalogueEntry) -> tuple[str, str, str, str]:
    return entry.name, entry.layer, "yes" if entry.is_read else "", entry.measures
