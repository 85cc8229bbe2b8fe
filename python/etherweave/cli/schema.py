"""The verb ``schema``."""

import etherweave

EXAMPLES = """Example:
etherweave schema > scenario.schema.json"""


def schema() -> None:
    """Print the JSON Schema of a scenario, by which editors complete and check TOML.

    It describes every key with its unit, its range and its default.
    """
    print(etherweave.schema())
