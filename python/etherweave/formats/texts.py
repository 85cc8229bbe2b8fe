"""Files of other programs as text, XML and YAML, with bounded memory.

XML entities and YAML aliases, by which a small file stands for a huge value, are rejected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from etherweave.api.inputs import InputError, read_text

TEXT_BYTES_MAX = 64 * 2**20  # Largest file of lines or XML [bytes].
TREE_BYTES_MAX = 16 * 2**20
"""Largest file of JSON or YAML, whose values take many times its size [bytes]."""
DEPTH_MAX = 256  # Most levels of elements in each other.
HEAD = 4096  # Characters by which a format is recognised.


@dataclass(frozen=True)
class Source:
    """A file that has been read."""

    path: Path
    text: str

    @property
    def head(self) -> str:
        """The beginning of the text."""
        return self.text[:HEAD]

    @property
    def suffix(self) -> str:
        """The end of the file's name, in small letters: ``.csv``."""
        return self.path.suffix.lower()

    def lines(self, comment: str = "#") -> Iterator[tuple[str, str]]:
        """Give every line that is not empty with its place, without comments."""
        for number, line in enumerate(self.text.split("\n"), 1):
            words = (line.split(comment, 1)[0] if comment else line).rstrip()
            if words:
                yield f"line {number}", words

    def mistake(self, where: str, reason: str) -> InputError:
        """Make the error of a place in the file."""
        return InputError(self.path, f"{where}: {reason}" if where else reason)


def delimiter(line: str) -> str:
    """Return the comma, semicolon or tab that parts most cells of a line."""
    return max(",;\t", key=line.count)


def only(files: Sequence[Source]) -> Source:
    """Return the file of a format that has a fabric in one."""
    if len(files) > 1:
        raise files[1].mistake(
            "", f"a second fabric beside {files[0].path.name}; expected one file"
        )
    return files[0]


def source(path: Path) -> Source:
    """Read a file of text; a byte order mark is skipped."""
    return Source(path, read_text(path, TEXT_BYTES_MAX).removeprefix("\ufeff"))


@dataclass
class Element:
    """An element of XML."""

    tag: str  # Its name without a namespace.
    of: dict[str, str]  # Attributes.
    where: str  # Place in the file: ``line 3``.
    text: str = ""  # Text before its first child.
    children: list["Element"] = field(default_factory=list)

    def walk(self) -> Iterator["Element"]:
        """Give the element and all below it, in the order of the file."""
        rest = [self]
        while rest:
            element = rest.pop()
            yield element
            rest += reversed(element.children)

    def named(self, tag: str) -> list["Element"]:
        """List the children of a name."""
        return [child for child in self.children if child.tag == tag]


def xml(file: Source) -> Element:
    """Read XML; raises `InputError` where it is malformed, declares entities or is too deep."""
    root = Element("", {}, "")
    path = [root]
    parser = expat.ParserCreate()

    def fail(reason: str) -> NoReturn:
        raise file.mistake(f"line {parser.CurrentLineNumber}", reason)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(path) > DEPTH_MAX:
            fail(f"more than {DEPTH_MAX} elements in each other; expected fewer")
        element = Element(tag.rpartition(":")[2], attributes, f"line {parser.CurrentLineNumber}")
        path[-1].children.append(element)
        path.append(element)

    def data(text: str) -> None:
        if not path[-1].children:
            path[-1].text += text

    def entity(name: str, *_: object) -> None:
        fail(f"declares the entity {name[:40]!r}; expected XML without entities of its own")

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: path.pop() and None
    parser.CharacterDataHandler = data
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(file.text, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise file.mistake(f"line {error.lineno}", f"{message}; expected XML") from None
    return root.children[0]


def yaml(file: Source) -> Any:
    """Read YAML; raises `InputError` where it is none, too large or deep, or has aliases."""
    import yaml as library

    _check_tree_size(file)
    loader: Any = getattr(library, "CSafeLoader", library.SafeLoader)
    try:
        depth = 0
        for event in library.parse(file.text, Loader=loader):
            where = f"line {event.start_mark.line + 1}"
            if isinstance(event, library.AliasEvent):
                raise file.mistake(where, "an alias; expected values written out")
            depth += isinstance(event, library.CollectionStartEvent)
            depth -= isinstance(event, library.CollectionEndEvent)
            if depth > DEPTH_MAX:
                raise file.mistake(where, f"deeper than {DEPTH_MAX} levels; expected fewer")
        return library.load(file.text, Loader=loader)
    except (library.YAMLError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "cannot be read"
        raise file.mistake(where, f"{reason}; expected YAML") from None


def json_value(file: Source) -> Any:
    """Read JSON; raises `InputError` where it is none, or too large."""
    import json

    _check_tree_size(file)
    try:
        return json.loads(file.text)
    except RecursionError:
        raise file.mistake("", "too many brackets in each other; expected fewer") from None
    except ValueError as error:
        raise file.mistake("", f"{error}; expected JSON") from None


def _check_tree_size(file: Source) -> None:
    if len(file.text) > TREE_BYTES_MAX:
        raise file.mistake("", f"Larger than {TREE_BYTES_MAX:,} bytes; expected a smaller file")


def mapping(file: Source, value: object, where: str) -> dict[str, Any]:
    """Check that a value is a mapping, whose keys become texts."""
    if value is None:
        raise file.mistake(where, "no value; expected keys with values")
    if not isinstance(value, dict):
        raise file.mistake(where, f"{str(value)[:40]!r}; expected keys with values")
    return {str(key): member for key, member in value.items()}


def items(file: Source, value: object, where: str) -> list[Any]:
    """Check that a value is a list; nothing is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise file.mistake(where, f"{str(value)[:40]!r}; expected a list")
    return value


def mappings(file: Source, value: object, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Check that a value is a list of mappings; yields each with its place."""
    for at, entry in enumerate(items(file, value, where)):
        place = f"{where}[{at}]"
        yield place, mapping(file, entry, place)


def number(file: Source, text: object, where: str, low: int = 0, high: int = 2**31) -> int:
    """Read a whole number within its range."""
    digits = str(text).strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        raise file.mistake(where, f"{digits[:40]!r}; expected a whole number")
    if not low <= int(digits) <= high:
        raise file.mistake(where, f"{digits}; expected {low:,} to {high:,}")
    return int(digits)
