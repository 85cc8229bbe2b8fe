from typing import final

from typing_extensions import CapsuleType

def version() -> str:
    """Version of the core, as in ``Cargo.toml``."""

def build() -> Table:
    """How the core was built: columns ``fact`` and ``value``."""

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
