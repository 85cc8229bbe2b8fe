"""Options of the programs themselves, which the catalogue declares and a user passes on.

``options`` of a benchmark has a line each, as the program's own help prints them::

    -c, --connection RC|UC|UD  Service of the transport.
    -m, --mtu N  Path MTU [bytes].
    -a, --all  All sizes.
    -D, --duration SECONDS  = --duration
    -n, --no_msgs COUNT<=100000000  Number of messages, in place of --duration.

A value is one of alternatives (``a|b``), a list of them (``a,b``), of a kind (``N``, ``SIZE``), or
a name of the user's own; of ``SIZE...`` there may be several, each behind the option. The largest
value that the program accepts follows ``<=``; without it that of the kind holds. What ``=``
follows is set by Etherweave, and refused with the name of what sets it; what stands in place of an
option of Etherweave is refused beside that.
"""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from etherweave.api.nearest import nearest
from etherweave.bench.programs.catalogue import catalogue
from etherweave.bench.programs.plans import (
    BenchmarkPlanError,
    BenchmarkRequest,
    GivenOptions,
    scaled,
)

_NAME = r"-[^\s,]+"
_LINE = re.compile(rf"(?P<names>{_NAME}(?:, {_NAME})*)(?: (?P<value>\S+))?  (?P<meaning>\S.*)")
KINDS: dict[str, list[Any]] = tomllib.loads(
    files("etherweave.bench.programs").joinpath("kinds.toml").read_text(encoding="utf-8")
)
"""Values by kind: what they match, what a refusal says, and the largest where there is one."""
MAXIMA: Mapping[str, float] = {
    kind: maximum for kind, (_, _, *rest) in KINDS.items() for maximum in rest
}
"""Largest values by kind, where an option declares none."""
FIELDS = {
    "--size": "size_max",
    "--iterations": "iterations",
    "--duration": "seconds",
    "--streams": "streams",
}
"""Fields of a request by the options that set them."""


@dataclass(frozen=True)
class ProgramOption:
    """An option of a program."""

    names: tuple[str, ...]
    value: str
    """Alternatives with ``|`` between them, or commas where several may be chosen, a kind, or the
    name of any text, in brackets where it may be left out; empty for a switch."""
    meaning: str
    setter: str  # Option that sets it in place of the user: ``--duration``; empty if the user does.
    programs: str = ""  # Pattern of the programs that have it; empty if all do.
    repeats: bool = False  # Whether it may be given several times.
    most: float = math.inf  # Largest value that the program accepts.

    @property
    def needs_value(self) -> bool:
        """Whether a value must follow; one in brackets is part of the word."""
        return bool(self.value) and not self.value.startswith("[")

    @property
    def shown(self) -> str:
        """Its value with the largest that it accepts, where the program limits it."""
        is_own = self.most < MAXIMA.get(self.value, 0)
        return f"{self.value}<={self.most:.15g}" if is_own else self.value

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Values that it accepts; empty if any."""
        is_list = "," in self.value and self.value not in KINDS
        return tuple(re.split(r"[|,]", self.value)) if is_list or "|" in self.value else ()

    @property
    def instead(self) -> tuple[tuple[str, str], ...]:
        """The options of Etherweave that it stands in place of, each after its own name."""
        _, place, own = self.meaning.partition("in place of ")
        return tuple((self.names[0], name) for name in re.findall(r"--[a-z]+", own * bool(place)))


@dataclass(frozen=True)
class OptionTable:
    """The options of a benchmark's programs."""

    options: tuple[ProgramOption, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Arguments without a dash by program: names of tests, kinds of buffers."""
    exclusive: tuple[frozenset[str], ...] = ()
    """First names of options of which a command may have a single member."""

    def read(self, program: str, arguments: Sequence[str]) -> GivenOptions:
        """Read what a user passes on to a program.

        Raises ``BenchmarkPlanError`` with the nearest option where one is unknown, and with both
        where two exclude each other.
        """
        values: list[tuple[str, str]] = []
        words: list[str] = []
        instead: list[tuple[str, str]] = []
        left = list(arguments)
        while left:
            argument = left.pop(0)
            if argument.startswith("-") and argument != "-":
                option, value = self._option(program, argument)
                if option.needs_value and value is None:
                    value = _following(program, option, left)
                _check(program, argument, option, value)
                values.append((option.names[0], value or ""))
                instead += option.instead
            else:
                words.append(self._word(program, argument))
        self._check_exclusive(program, [name for name, _ in values])
        self._check_repeated(program, [name for name, _ in values])
        # A command's braces are places that a launcher fills in.
        literal = tuple(word.replace("{", "{{").replace("}", "}}") for word in arguments)
        chosen = {name for name, _ in values}
        replaced = frozenset(
            name
            for option in self.options
            if option.needs_value and not option.repeats and option.names[0] in chosen
            for name in option.names
        )
        return GivenOptions(literal, tuple(values), tuple(words), tuple(instead), replaced)

    def _check_exclusive(self, program: str, names: Sequence[str]) -> None:
        for group in self.exclusive:
            if len(members := [name for name in dict.fromkeys(names) if name in group]) > 1:
                raise BenchmarkPlanError(
                    f"{' and '.join(members)} of {program} exclude each other; expected one"
                )

    def _check_repeated(self, program: str, names: Sequence[str]) -> None:
        """Refuse a second value, of which programs take the last without a word."""
        for option in self.options:
            name = option.names[0]
            if option.value and not option.repeats and names.count(name) > 1:
                raise BenchmarkPlanError(f"{name} of {program}: given twice; expected one value")

    def check_ranges(self, request: BenchmarkRequest) -> None:
        """Refuse what Etherweave sets beyond what the program accepts.

        Raises ``BenchmarkPlanError``.
        """
        for option in self.options:
            if not re.fullmatch(option.programs or ".*", request.program):
                continue
            asked = getattr(request, FIELDS.get(option.setter, ""), None)
            if asked is not None and asked > option.most:
                raise BenchmarkPlanError(
                    f"{option.setter} {asked:.15g} of {request.program}: expected at most "
                    f"{option.most:.15g}"
                )

    def words_of(self, program: str) -> tuple[str, ...]:
        """Return the arguments without a dash that a program accepts."""
        return self.words.get(program, self.words.get("", ()))

    def _option(self, program: str, argument: str) -> tuple[ProgramOption, str | None]:
        """Find an option, and its value if the argument has it, too: ``--name=x``, ``-P8``."""
        by_name = {
            name: option
            for option in self.options
            if re.fullmatch(option.programs or ".*", program)
            for name in option.names
        }
        if argument in by_name:
            return by_name[argument], None
        head, equals, value = argument.partition("=")
        if equals and head in by_name:
            return by_name[head], value
        for name in sorted(by_name, key=len, reverse=True):
            rest = argument.removeprefix(name)
            is_short = re.fullmatch(r"-[A-Za-z]", name) or rest.isdecimal()
            if is_short and rest != argument and by_name[name].value:
                return by_name[name], rest
        raise BenchmarkPlanError(f"unknown option {head} of {program}; {nearest(head, by_name)}")

    def _word(self, program: str, argument: str) -> str:
        words = self.words_of(program)
        if argument not in words:
            raise BenchmarkPlanError(
                f"unknown argument {argument} of {program}; {nearest(argument, words)}"
            )
        return argument


def options(
    name: str,
    words: Mapping[str, tuple[str, ...]] | None = None,
    programs: Mapping[str, str] | None = None,
    **values: str,
) -> OptionTable:
    """Read the options that a benchmark's entry of the catalogue declares.

    ``programs`` has a pattern of the programs that have them, by first names with spaces between.
    The declaration names ``values`` in braces.
    """
    entry = catalogue()[name]
    text = entry.options.format(**values)
    lines = [_LINE.fullmatch(line.strip()) for line in text.strip().splitlines()]
    assert all(lines), f"a line that declares no option: {text}"
    of_programs = {name: form for names, form in (programs or {}).items() for name in names.split()}
    declared = tuple(_declared(line, of_programs) for line in lines if line)
    groups = tuple(frozenset(names.split()) for names in entry.exclusive)
    unknown = of_programs.keys() | {name for group in groups for name in group}
    unknown -= {option.names[0] for option in declared}
    assert not unknown, f"constraints of options that are not declared: {unknown}"
    return OptionTable(declared, words or {}, groups)


def _declared(line: re.Match[str], of_programs: Mapping[str, str]) -> ProgramOption:
    meaning, names = line["meaning"], tuple(line["names"].split(", "))
    setter = meaning.removeprefix("= ") if meaning.startswith("= ") else ""
    programs = of_programs.get(names[0], "")
    value = line["value"] or ""
    shown = "" if setter else meaning
    value, _, limit = value.partition("<=")
    kind, repeats = value.removesuffix("..."), value.endswith("...")
    most = float(limit) if limit else MAXIMA.get(kind, math.inf)
    return ProgramOption(names, kind, shown, setter, programs, repeats, most)


def _following(program: str, option: ProgramOption, left: list[str]) -> str:
    if not left:
        raise BenchmarkPlanError(f"{option.names[0]} of {program}: expected {option.value}")
    return left.pop(0)


def _check(program: str, argument: str, option: ProgramOption, value: str | None) -> None:
    if option.setter:
        raise BenchmarkPlanError(f"{argument} of {program}: set by {option.setter}")
    if value is not None and not option.value:
        raise BenchmarkPlanError(f"{argument} of {program}: expected no value")
    if not option.value or value is None:
        return
    choices = option.alternatives
    for item in (value.split(",") if "," in option.value else [value]) if choices else ():
        if item not in choices:
            near = get_close_matches(item, choices, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BenchmarkPlanError(
                f"{option.names[0]} {item} of {program}: expected one of {', '.join(choices)}{hint}"
            )
    pattern, expected, *_ = KINDS.get(option.value.strip("[]"), (".+", "a text"))
    if not choices and not re.fullmatch(pattern, value, re.DOTALL):
        raise BenchmarkPlanError(f"{option.names[0]} {value} of {program}: expected {expected}")
    if not choices and max(_numbers(option.value, value), default=0) > option.most:
        raise BenchmarkPlanError(
            f"{option.names[0]} {value} of {program}: expected at most {option.most:.15g}"
        )


def _numbers(kind: str, value: str) -> list[float]:
    """Return the numbers of a value; none of a kind without a maximum."""
    match kind:
        case "N" | "COUNT" | "SECONDS" | "AMOUNT" | "GIGABYTES":
            return [float(value)]
        case "SIZE":
            return [scaled(value, 1024)]
        case "REQUEST,RESPONSE":
            return [scaled(size, 1024) for size in value.split(",")]
        case "RATE":
            return [scaled(value, 1000)]
        case "DSCP" if re.fullmatch(r"(?i)(0x)?[0-9a-f]{1,2}", value):
            return [int(value, 16 if value.lower().startswith("0x") else 10)]
    return []
