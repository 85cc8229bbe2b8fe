"""Errors of an archive."""

DAMAGED = 2  # Exit code of a conversion whose output says why there is none.


class ArchiveError(ValueError):
    """An archive that cannot be converted; says why."""
