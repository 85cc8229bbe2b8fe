"""Errors of a measurement."""


class MeasureError(Exception):
    """A measurement that is impossible as requested: what is missing or wrong, and expected."""


class MeasureLaunchError(MeasureError):
    """A launch that failed, with the last output of its processes."""
