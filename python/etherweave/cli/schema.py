"""The verb ``schema``."""

import textwrap

import etherweave
from etherweave.api.key_descriptions import description
from etherweave.cli.design_page import WIDTH
from etherweave.cli.exits import mistakes


def schema(key: str = "") -> None:
    """Print what a key of a scenario means, or the JSON Schema of all.

    A table has a line for each of its keys, with names or unit of the values and the default.
    Editors complete and check TOML by the schema.

    Parameters
    ----------
    key : KEY
        Dotted key or table, as for --set; by default the JSON Schema is printed.
    """
    if not key:
        print(etherweave.schema())
        return
    with mistakes(ValueError):
        for line in description(key).splitlines():
            print(textwrap.fill(line, WIDTH, subsequent_indent="    "))
