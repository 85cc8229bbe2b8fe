from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from typing_extensions import CapsuleType

class ScenarioError(ValueError):
    """A mistake in a scenario: ``file:line:col: key: what; expected …``."""

def version() -> str:
    """Version of the core, as in ``Cargo.toml``."""

def build() -> Table:
    """How the core was built: columns ``fact`` and ``value``."""

def schema() -> str:
    """JSON Schema of a scenario file."""

def resolve(text: str, origin: str, overrides: Sequence[tuple[str, str]]) -> str:
    """Fill in every default of a scenario; gives TOML."""

def run(
    text: str,
    origin: str,
    overrides: Sequence[tuple[str, str]],
    threads: int,
    pcap: Sequence[tuple[str, str]],
    progress: Callable[[Any], bool] | None,
) -> Run:
    """Simulate; ``progress`` answers whether to go on."""

@final
class Run:
    """What a simulation leaves."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The result tables by name."""
    @property
    def resolved(self) -> str:
        """The resolved scenario, as TOML."""
    @property
    def summary(self) -> str:
        """The figures of the whole run, as JSON."""

@final
class Table:
    """Named columns of equal length; polars, pyarrow and pandas read it without copying."""

    @property
    def name(self) -> str:
        """What the table is called in a result."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order, units as suffixes."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...
