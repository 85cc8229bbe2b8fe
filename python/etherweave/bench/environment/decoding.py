"""Dataclasses from what JSON holds, checked field by field."""

import math
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def decoded(kind: type[T], data: object, where: str) -> T:
    """Make a value of a type, of which dataclasses, dicts, tuples, optionals and scalars are known.

    Raises
    ------
    ValueError
        When the data is of another shape; says where.
    """
    value: T = _decoded(kind, data, where)
    return value


def _decoded(kind: Any, data: object, where: str) -> Any:
    if is_dataclass(kind):
        return _dataclass(kind, data, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if data is None else _decoded(arguments[0], data, where)
    if origin is dict and isinstance(data, dict):
        return {name: _decoded(arguments[1], one, f"{where}.{name}") for name, one in data.items()}
    if origin is tuple and isinstance(data, list):
        return tuple(_decoded(arguments[0], one, f"{where}[{at}]") for at, one in enumerate(data))
    return _scalar(kind, data, where)


def _dataclass(kind: Any, data: object, where: str) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{where}: expected an object")
    hints = typing.get_type_hints(kind)
    if unknown := sorted(set(data) - set(hints)):
        raise ValueError(f"{where}: unknown key {unknown[0][:40]!r}")
    needed = [one.name for one in fields(kind) if _is_needed(one)]
    if missing := [name for name in needed if name not in data]:
        raise ValueError(f"{where}: {missing[0]} is missing")
    return kind(
        **{name: _decoded(hints[name], one, f"{where}.{name}") for name, one in data.items()}
    )


def _is_needed(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _scalar(kind: Any, data: object, where: str) -> object:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        data = float(data) if abs(data) < 2**1000 else math.inf
    if type(data) is not kind:
        raise ValueError(f"{where}: expected {getattr(kind, '__name__', 'an object or a list')}")
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"{where}: expected a finite number")
    return data
