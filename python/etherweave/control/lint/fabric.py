"""The policy of a fabric, read back from the ``fabric.json`` beside its configurations."""

import json
import types
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from etherweave.control.lint.config_db import ConfigError
from etherweave.control.qos.policy import Policy

Decoded = TypeVar("Decoded")


def read(file: str, text: str) -> tuple[str, Policy]:
    """Read the system that was written for, and the policy.

    Raises
    ------
    ConfigError
        When the file is none that ``control export`` wrote.
    """
    try:
        said = json.loads(text)
        system = said.pop("system") if isinstance(said, dict) else None
        policy = _decoded(Policy, said, "policy")
    except (ValueError, KeyError, RecursionError) as error:
        expected = "the file that etherweave control export wrote"
        raise ConfigError(f"{file}: {error}; expected {expected}") from None
    if len(policy.priorities) != 8 or len(policy.classes) != 8:
        raise ConfigError(f"{file}: expected eight priorities and eight classes")
    return str(system), policy


def _decoded(kind: type[Decoded], value: Any, place: str) -> Decoded:
    """Make a dataclass of a dictionary, field by field, by the fields' types."""
    if not isinstance(value, dict):
        raise ValueError(f"{place} is no object")
    hints = get_type_hints(kind)
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    if set(value) != set(names):
        raise ValueError(f"{place} has the fields {sorted(value)}")
    return kind(**{name: _value(hints[name], value[name], f"{place}.{name}") for name in names})


def _value(kind: Any, value: Any, place: str) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        inner = [one for one in get_args(kind) if one is not type(None)]
        return None if value is None else _value(inner[0], value, place)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{place} is no list")
        return tuple(_value(get_args(kind)[0], one, place) for one in value)
    if is_dataclass(kind):
        return _decoded(kind, value, place)  # type: ignore[arg-type]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"{place} is {value!r}")
    return value
