"""Sizes of the tests of HPCC and operations of HPL, as the programs count them."""

RING_LATENCY = 8  # Size of a message [bytes].
RING_BANDWIDTH = 2_000_000  # Size of a message [bytes].
LOOK_AHEAD = 1_024  # Updates of RandomAccess that a rank holds back at most.


def flops(order: int) -> float:
    """Count the operations for a matrix of this order, as HPL does."""
    return 2 / 3 * order**3 + 3 / 2 * order**2
