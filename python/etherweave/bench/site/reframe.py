"""Converts a partition of a ReFrame configuration to a site; its Python is read, never executed."""

import ast
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from etherweave.api import toml
from etherweave.api.inputs import read_bytes
from etherweave.api.outputs import printable
from etherweave.bench.site.values import SiteError

_SIZE_MAX = 1 << 20
_VARIABLE = "site_configuration"
_BATCH = ("slurm", "squeue")
_SCHEDULERS = {"local": "local", "ssh": "ssh"}
_MPI = ("mpirun", "mpirun-openmpi", "mpirun-intelmpi", "mpiexec")


def converted(file: Path, partition: str | None = None) -> str:
    """Return the text of a site's file.

    ``file`` is JSON, or Python that assigns a literal to ``site_configuration``; ``partition`` is
    ``SYSTEM:PARTITION``, where there are several. Raises ``SiteError`` when the file is none, or
    holds something else than this knows; ``OSError`` when it cannot be read.
    """
    data = read_bytes(file, _SIZE_MAX)
    configuration = _configuration(file, data.decode(errors="replace"))
    try:
        partitions = dict(_partitions(configuration))
        return _text(file, *_chosen(file, partitions, partition))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, SiteError):
            raise
        raise SiteError(
            f"{file}: {error!r}; expected systems with partitions as ReFrame 4 has them"
        ) from None


def _configuration(file: Path, text: str) -> Any:
    try:
        return json.loads(text) if file.suffix == ".json" else _literal(file, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, SiteError):
            raise
        raise SiteError(f"{file}: {error}; expected JSON, or a Python file") from None


def _literal(file: Path, text: str) -> Any:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == _VARIABLE for target in node.targets
        ):
            try:
                return ast.literal_eval(node.value)
            except ValueError:
                raise SiteError(
                    f"{file}:{node.lineno}: {_VARIABLE}: is computed, and nothing is executed "
                    f"here; expected a literal, or JSON: json.dumps({_VARIABLE}) in Python"
                ) from None
    raise SiteError(f"{file}: does not assign {_VARIABLE}; expected a ReFrame configuration")


def _partitions(configuration: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for system in configuration["systems"]:
        for partition in system["partitions"]:
            yield f"{system['name']}:{partition['name']}", (system, partition)


def _chosen(
    file: Path, values: Mapping[str, tuple[Any, Any]], wanted: str | None
) -> tuple[str, Any, Any]:
    known = ", ".join(values) or "some"
    if wanted is None and len(values) != 1:
        raise SiteError(f"{file}: {len(values)} partitions; expected --partition with {known}")
    name = wanted or next(iter(values))
    if name not in values:
        raise SiteError(f"{file}: no partition {name}; expected {known}")
    return name, *values[name]


def _text(file: Path, name: str, system: Any, partition: Any) -> str:
    kind = _kind(name, str(partition["scheduler"]), str(partition["launcher"]))
    launcher: dict[str, object] = {"kind": kind}
    if kind == "sbatch" and partition.get("access"):
        words = [word for line in partition["access"] for word in shlex.split(line)]
        launcher["arguments"] = words
    both = (system, partition)
    named = [module for part in both for module in part.get("modules", [])]
    modules = [str(module["name"] if isinstance(module, dict) else module) for module in named]
    pairs = [pair for part in both for pair in part.get("env_vars", part.get("variables", []))]
    site: dict[str, object] = {"name": name.replace(":", "-"), "launcher": launcher}
    if modules:
        site["modules"] = modules
    if pairs:
        site["environment"] = {str(key): str(value) for key, value in pairs}
    if kind == "local":
        site["hosts"] = {"localhost": {"address": "127.0.0.1", "interface": "lo"}}
    head = f"# {printable(f'{name} of {file.name}')}\n"
    return head + toml.document(site) + ("" if kind == "local" else _HOSTS)


_HOSTS = """
# ReFrame does not say which hosts there are, nor over which fabrics. Fill in:
# [hosts.n1]
# address = "10.0.0.1"
# interface = "eth0"
"""


def _kind(name: str, scheduler: str, launcher: str) -> str:
    if scheduler in _BATCH:
        return "sbatch"
    if launcher in _MPI and scheduler in _SCHEDULERS:
        return "mpirun"
    if launcher in ("local", "ssh") and scheduler in _SCHEDULERS:
        return "ssh" if "ssh" in (scheduler, launcher) else "local"
    raise SiteError(
        f"{name}: scheduler {scheduler} with launcher {launcher} has no counterpart; expected "
        "slurm or squeue, or local or ssh with mpirun, mpiexec, local or ssh"
    )
