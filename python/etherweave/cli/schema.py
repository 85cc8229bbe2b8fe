"""The verb ``schema``."""

import etherweave

EXAMPLES = """Example:

etherweave schema > scenario.schema.json"""


def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check TOML.

    Describes every key with its unit, its range and its default.
    """
    print(etherweave.schema())
