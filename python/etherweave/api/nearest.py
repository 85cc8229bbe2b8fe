"""Names that are near an unknown one, for messages of mistakes."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

_SHOWN = 12  # Known names that a refusal lists where none is near.


def nearest(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """Name the nearest of what is known, or all of a few.

    Examples
    --------
    >>> nearest("sice", ["size", "rate"]), nearest("x", ["size", "rate"])
    ('nearest: size', 'known: size, rate')
    """
    names = list(known)
    if not names:
        return "expected none"
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"nearest: {', '.join(near)}"
    rest = ", ..." if len(names) > _SHOWN else ""
    return f"known: {', '.join(names[:_SHOWN])}{rest}"
