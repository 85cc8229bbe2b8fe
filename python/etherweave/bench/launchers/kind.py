"""What there is to know of a launcher before it is made for a site."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from etherweave.bench.launchers.launcher import Launcher
from etherweave.bench.site.values import Link, Site


class OptionKind(StrEnum):
    """What an option in a site's file must be."""

    TEXT = "a text"
    TEXTS = "a list of texts"
    RATE = 'a rate such as "1Gb/s"'
    SIZE = 'a size such as "128KiB"'
    TIME = 'a time such as "1h"'


COMMON = {"python": OptionKind.TEXT}
"""Options of every launcher: the Python with Etherweave, on the hosts."""


@dataclass(frozen=True)
class Kind:
    """A launcher: its name, its options in a site's file, and how it is made."""

    name: str
    make: Callable[[Site, Link | None], Launcher]
    """For a site, and the fabric that programs shall use."""
    options: Mapping[str, OptionKind] = field(default_factory=dict)
    """Besides the common ones."""
    is_here: bool = False
    """Whether all hosts are this machine, and share its processors."""
