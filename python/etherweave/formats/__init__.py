"""Fabrics in the files of other programs: a reader or a writer each in a file of its own.

:func:`read` makes a :class:`~etherweave.formats.network.Network` of files, whose scenario
:mod:`etherweave.formats.scenario` writes. What a format does not say stays open until an option
gives it, and is listed as assumed.
"""

from etherweave.formats.family import READERS, WRITERS, read, write

__all__ = ["READERS", "WRITERS", "read", "write"]
