"""Slurm's lists of names: ``a[0-2,7],b[01-10]``.

Leading zeros stay, several brackets multiply (slurm.schedmd.com, ``scontrol show hostnames``).
"""

import re
from collections.abc import Sequence
from itertools import product

NAMES_MAX = 2**20  # Most names of a list.
_TERM = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expanded(text: str) -> list[str]:
    """List the names of a list.

    Raises ``ValueError`` when it is none, or has more than :data:`NAMES_MAX` names.

    Examples
    --------
    >>> expanded("a[0-2,7],b[01-02]x")
    ['a0', 'a1', 'a2', 'a7', 'b01x', 'b02x']
    """
    names: list[str] = []
    terms = _TERM.findall(text)
    if not terms or ",".join(terms) != text:
        raise ValueError(f"{text[:60]!r}; expected a list of names such as n[001-004],m7")
    for term in terms:
        choices = [_choices(inside, plain) for inside, plain in _PART.findall(term)]
        count = 1
        for options in choices:
            count *= len(options)
        if len(names) + count > NAMES_MAX:
            raise ValueError(f"{text[:60]!r}: more than {NAMES_MAX:,} names; expected fewer")
        names += ["".join(parts) for parts in product(*choices)]
    return names


def _choices(inside: str, plain: str) -> list[str]:
    if plain:
        return [plain]
    choices: list[str] = []
    for text in inside.split(","):
        match = _RANGE.fullmatch(text.strip())
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"[{inside[:40]}]; expected ranges such as [0-3,7]")
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) >= NAMES_MAX:
            raise ValueError(f"[{inside[:40]}]: more than {NAMES_MAX:,} names; expected fewer")
        choices += [f"{value:0{len(first)}}" for value in range(int(first), int(last) + 1)]
    return choices


def compact(names: Sequence[str]) -> str:
    """Write names as a list, runs of numbers as ranges.

    Examples
    --------
    >>> compact(["gpu001", "gpu002", "gpu003", "login"])
    'gpu[001-003],login'
    """
    runs: list[tuple[str, str, str]] = []
    for name in names:
        stem, digits = re.fullmatch(r"(.*?)(\d{0,9})", name, re.DOTALL).groups()  # type: ignore[union-attr]
        before = runs[-1] if runs else ("", "", "")
        after = f"{int(before[2]) + 1:0{len(before[1])}}" if before[2] else ""
        if digits and (stem, digits) == (before[0], after):
            runs[-1] = (stem, before[1], digits)
            continue
        runs.append((stem, digits, digits))
    return ",".join(
        f"{stem}{first}" if first == last else f"{stem}[{first}-{last}]"
        for stem, first, last in runs
    )
