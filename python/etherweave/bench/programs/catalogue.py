"""The catalogue of benchmarks, with those that Etherweave does not parse, and the reason."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class CatalogueEntry:
    """A benchmark of the field."""

    name: str
    title: str
    measures: str
    layer: str
    """``link``, ``socket``, ``mpi``, ``pgas``, ``collective``, ``application``, ``storage``…"""
    transport: str
    tier: int  # Priority of support, 1 to 3; 0 is only listed.
    language: str = ""
    """Language in which it is written, of those in Table 2 of Li et al., TBench 2022."""
    spack: str = ""
    easybuild: str = ""
    debian: str = ""
    source: str = ""  # Where else it comes from.
    module: str = ""
    """Module of several adapters, each the constant of its name in capitals; else a module each."""
    why_not: str = ""  # Why there is no adapter.
    checks: Sequence[str] = ()
    """Conditions under which a result counts, besides those of all benchmarks."""
    options: str = ""
    """Options of its programs, a line each, as :mod:`.program_options` has it."""
    exclusive: Sequence[str] = ()
    """First names of options of which a command may have one, with blanks between them."""
    adapter: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its :class:`.adapter.Adapter`: metrics by their names, of ``version`` the arguments
    and then the pattern."""

    @property
    def is_read(self) -> bool:
        """Whether there is an adapter."""
        return not self.why_not

    @property
    def obtained(self) -> str:
        """How to obtain it, in one line."""
        sources = (
            ("Spack", self.spack),
            ("EasyBuild", self.easybuild),
            ("Debian", self.debian),
            ("source", self.source),
        )
        return "; ".join(f"{kind}: {name}" for kind, name in sources if name)

    def facts(self) -> dict[str, Any]:
        """Return the fields but those of adapters, and whether there is an adapter."""
        own = {name: value for name, value in vars(self).items() if name not in _OF_ADAPTERS}
        return own | {"is_read": self.is_read}


_OF_ADAPTERS = (
    "checks",
    "options",
    "exclusive",
    "adapter",
)  # Fields that only entries with an adapter have.

_FILES = ("catalogue.toml", "applications.toml", "surveyed.toml")
"""Benchmarks with an adapter, and at last those without."""


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Read the catalogue that comes with Etherweave, by name."""
    folder = files("etherweave.bench.programs")
    texts = (folder.joinpath(file).read_text(encoding="utf-8") for file in _FILES)
    tables = [table for text in texts for table in tomllib.loads(text).items()]
    return {name: CatalogueEntry(name, **values) for name, values in tables}
