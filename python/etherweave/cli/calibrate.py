"""The verb ``calibrate``."""

from rich.console import Console
from rich.table import Table

EXAMPLES = """Example:

etherweave calibrate"""


def calibrate() -> None:
    """Fit the hosts' constants to the point-to-point figures, and print them beside the shipped.

    Constants in ns, figures in Gb/s and us. Changes no file.
    """
    from etherweave.study.sandia.calibration import calibrate as fit

    table = Table("constant", "figure", "target", "shipped", "fitted", "figure with fitted")
    for row in fit():
        table.add_row(*row)
    Console().print(table)
