"""JSON objects of benchmarks, which say where a value is missing or of another kind."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from etherweave.measurements.benchmark_report import GarbledError

_SHOWN_MAX = 40  # Longest part of a value that is shown [characters].


class JsonObject(Mapping[str, Any]):
    """An object of a benchmark; a key that is missing raises :class:`GarbledError` with its path.

    ``line`` is where the object begins in the text, ``path`` the keys that lead to it, joined by
    dots.
    """

    def __init__(self, values: Mapping[str, Any], line: int, path: str = "") -> None:
        self._values, self._line, self._path = values, line, path

    def __getitem__(self, key: str) -> Any:
        path = f"{self._path}.{key}".lstrip(".")
        if key not in self._values:
            raise GarbledError(self._line, f"the JSON object has no key {path}")
        return self._node(self._values[key], path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default where the key is missing or null."""
        return self[key] if self._values.get(key) is not None else default

    def _node(self, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return JsonObject(value, self._line, path)
        if isinstance(value, list):
            return [self._node(item, f"{path}.{place}") for place, item in enumerate(value)]
        return value

    def object(self, key: str) -> "JsonObject":
        """Return the object of a key; raises ``GarbledError`` when it is missing, or none."""
        value = self[key]
        if not isinstance(value, JsonObject):
            self._reject(key, "an object", value)
        return value

    def objects(self, key: str) -> list["JsonObject"]:
        """Return the list of objects of a key.

        Raises ``GarbledError`` when it is missing, or none.
        """
        values = self[key]
        if not isinstance(values, list):
            self._reject(key, "a list of objects", values)
        for place, item in enumerate(values):
            if not isinstance(item, JsonObject):
                self._reject(f"{key}.{place}", "an object", item)
        return values

    def number(self, key: str) -> int | float:
        """Return the number of a key; raises ``GarbledError`` when it is missing, or none."""
        value = self[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._reject(key, "a number", value)
        return value

    def optional(self, key: str) -> "JsonObject | None":
        """Return the object of a key; ``None`` where it is missing or null."""
        return self.object(key) if self.get(key) is not None else None

    def _reject(self, key: str, expected: str, value: Any) -> NoReturn:
        path = f"{self._path}.{key}".lstrip(".")
        text = json.dumps(value, default=dict)[:_SHOWN_MAX]
        raise GarbledError(self._line, f"{path}: expected {expected}, found {text}")
