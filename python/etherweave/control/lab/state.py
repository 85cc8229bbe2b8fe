"""Files of a lab, written before anything else is made, so that it can always be removed.

::

    /run/etherweave/lab/NAME/scenario.toml  resolved
                             state.json     record of what it was made of
                             lock           held by the process that changes it
                             hosts          names and addresses, as hosts(5)
                             ovs/           files of its Open vSwitch
                             supervisor.pid   process and its start
"""

import os
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from etherweave.api import outputs
from etherweave.api.inputs import decoded, read_json
from etherweave.control.lab.boot import BootRecord
from etherweave.control.lab.layout import check_name, is_name

RUNTIME = "ETHERWEAVE_RUNTIME"
"""Environment variable: where labs keep their files, instead of ``/run/etherweave``."""


class StateError(ValueError):
    """There is no such lab, or several; the message says what is expected."""


class LabScope(NamedTuple):
    """Directory and prefix of a set of labs."""

    directory: Path
    prefix: str = "ew-lab."  # Prefix of the names of namespaces.


@dataclass(frozen=True)
class LabRecord:
    """Parts of a lab."""

    failed: tuple[str, ...]  # Failed cables that its plan avoids.
    plane: str  # Implementation of its switches.
    guests: tuple[str, ...] = ()  # Hosts that are virtual machines.
    boot: BootRecord | None = None  # Figures of the boot; None: it was not brought up completely.


def machine_scope() -> LabScope:
    """Return the scope of the labs of this machine."""
    return LabScope(Path(os.environ.get(RUNTIME) or "/run/etherweave") / "lab")


def lab_directory(scope: LabScope, name: str) -> Path:
    """Return the directory of a lab."""
    check_name(name)
    return scope.directory / name


def names(scope: LabScope) -> list[str]:
    """Return the names of the labs with a directory."""
    if not scope.directory.is_dir():
        return []
    return sorted(path.name for path in scope.directory.iterdir() if is_name(path.name))


def choose(scope: LabScope, name: str | None) -> str:
    """Return the name of a lab, or of the only one.

    Raises ``StateError`` if there is none, or there are several without a name.
    """
    known = names(scope)
    if name is None and len(known) == 1:
        return known[0]
    if not known:
        raise StateError("no lab is up; expected one from `etherweave lab up SCENARIO`")
    if name is None:
        raise StateError(f"labs {', '.join(known)} are up; expected --name of one")
    if name not in known:
        raise StateError(f'no lab "{name}"; expected one of: {", ".join(known)}')
    return name


def write(directory: Path, record: LabRecord) -> None:
    """Write a record, atomically."""
    outputs.write_json(directory / "state.json", asdict(record))


def read(directory: Path) -> LabRecord | None:
    """Read a lab's record; None: it is missing or damaged."""
    try:
        return decoded(LabRecord, read_json(directory / "state.json"), "record")
    except (OSError, ValueError):
        return None


def locked(directory: Path) -> AbstractContextManager[None]:
    """Hold a lab's lock; raises ``StateError`` if another process is bringing it up or down."""
    busy = f"lab {directory.name}: another process is bringing it up or down; expected to wait"
    return outputs.locked(directory / "lock", StateError(busy))
