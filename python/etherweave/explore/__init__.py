"""A page for a scenario: edit it, see its fabric, run it, change it, and compare.

:func:`serve` answers a browser on this machine until Ctrl-C. :mod:`~etherweave.explore.completion`
and :mod:`~etherweave.explore.changes` are functions of the scenario's text,
:mod:`~etherweave.explore.session` keeps what one user has, :mod:`~etherweave.explore.page` is the
page, in widgets of NiceGUI, and :mod:`~etherweave.explore.guard` refuses requests of others. No
file is read or written that the user does not name. Figures are those of reports.
"""

from etherweave.explore.server import serve
from etherweave.explore.session import Session

__all__ = ["Session", "serve"]
