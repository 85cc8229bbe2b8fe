"""Time slices of the scheduler: what processes wait for that poll and share a core."""

SLICE = (3.5e-3, 7e-3)
"""Between these stand means and medians of such waits: 5 ms to 6 ms were seen [s]."""
WAIT = (2e-3, 12e-3)
"""Between these stands a single one: a slice of 3 ms to 6 ms, or two of them [s]."""


def is_slice(centre: float) -> bool:
    """Whether a mean or a median [s] looks like a slice rather than like a network."""
    return SLICE[0] < centre < SLICE[1]


def is_wait(time: float) -> bool:
    """Whether a single time [s] does."""
    return WAIT[0] < time < WAIT[1]
