"""What can go wrong with a measurement."""


class MeasureError(Exception):
    """A measurement that cannot be made as asked: what is missing or wrong, what would be right."""


class LaunchError(MeasureError):
    """A launch that failed: what its processes said last."""
