"""Options of the programs themselves, which an adapter declares and a user passes on.

An adapter declares a line each, as the program's own help prints them::

    -c, --connection RC|UC|UD  Service of the transport.
    -m, --mtu N  Path MTU [bytes].
    -a, --all  All sizes.
    -D, --duration SECONDS  = --duration

A value is one of alternatives, of a kind (``N``, ``COUNT``, ``SIZE``, ``RATE``, ``SECONDS``), or
any text. What ``=`` follows is set by Etherweave, and refused with the name of what sets it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from etherweave.bench.plans import BenchmarkPlanError, GivenOptions

_NAME = r"-[^\s,]+"
_LINE = re.compile(rf"(?P<names>{_NAME}(?:, {_NAME})*)(?: (?P<value>\S+))?  (?P<meaning>\S.*)")
_SCALED = r"[0-9]{1,18}(\.[0-9]+)?[kKmMgGtT]?"
_KINDS = {
    "N": (r"[0-9]{1,18}", "a whole number"),
    "COUNT": (r"[1-9][0-9]{0,17}", "a whole number from 1 on"),
    "SECONDS": (r"[0-9]{1,18}(\.[0-9]+)?", "seconds, such as 2.5"),
    "SIZE": (rf"{_SCALED}(i?[bB])?", "a size, such as 64K"),
    "RATE": (rf"{_SCALED}(pps)?(/[0-9]+)?", "a rate, such as 10G"),
    "REQUEST,RESPONSE": (r"[1-9][0-9]*[kKmMgG]?(,[1-9][0-9]*[kKmMgG]?)?", "two sizes, such as 1,1"),
}
"""Values by kind: what they match, and what a refusal says."""
_SHOWN = 12  # Known options that a refusal lists where none is near.


@dataclass(frozen=True)
class ProgramOption:
    """An option of a program."""

    names: tuple[str, ...]
    value: str
    """Alternatives with ``|`` between them, a kind, or the name of any text, in brackets where
    it may be left out; empty for a switch."""
    meaning: str
    setter: str  # Option that sets it in place of the user: ``--duration``; empty if the user does.

    @property
    def needs_value(self) -> bool:
        """Whether a value must follow; one in brackets is part of the word."""
        return bool(self.value) and not self.value.startswith("[")

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Values that it accepts; empty if any."""
        return tuple(self.value.split("|")) if "|" in self.value else ()


@dataclass(frozen=True)
class OptionTable:
    """The options of a benchmark's programs."""

    options: tuple[ProgramOption, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Arguments without a dash by program: names of tests, kinds of buffers."""

    def read(self, program: str, arguments: Sequence[str]) -> GivenOptions:
        """Read what a user passes on to a program.

        Raises ``BenchmarkPlanError`` with the nearest option where one is unknown.
        """
        values: list[tuple[str, str]] = []
        words: list[str] = []
        left = list(arguments)
        while left:
            argument = left.pop(0)
            if argument.startswith("-") and argument != "-":
                option, value = self._option(program, argument)
                if option.needs_value and value is None:
                    value = _following(program, option, left)
                _check(program, argument, option, value)
                values.append((option.names[0], value or ""))
            else:
                words.append(self._word(program, argument))
        # A command's braces are places that a launcher fills in.
        literal = tuple(word.replace("{", "{{").replace("}", "}}") for word in arguments)
        return GivenOptions(literal, tuple(values), tuple(words))

    def words_of(self, program: str) -> tuple[str, ...]:
        """Return the arguments without a dash that a program accepts."""
        return self.words.get(program, self.words.get("", ()))

    def _option(self, program: str, argument: str) -> tuple[ProgramOption, str | None]:
        """Find an option, and its value if the argument has it, too: ``--name=x``, ``-P8``."""
        by_name = {name: option for option in self.options for name in option.names}
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
        raise BenchmarkPlanError(f"unknown option {head} of {program}; {_known(head, by_name)}")

    def _word(self, program: str, argument: str) -> str:
        words = self.words_of(program)
        if argument not in words:
            raise BenchmarkPlanError(
                f"unknown argument {argument} of {program}; {_known(argument, words)}"
            )
        return argument


def options(text: str, words: Mapping[str, tuple[str, ...]] | None = None) -> OptionTable:
    """Read a declaration of options."""
    lines = [_LINE.fullmatch(line.strip()) for line in text.strip().splitlines()]
    assert all(lines), f"a line that declares no option: {text}"
    return OptionTable(tuple(_declared(line) for line in lines if line), words or {})


def _declared(line: re.Match[str]) -> ProgramOption:
    meaning = line["meaning"]
    setter = meaning.removeprefix("= ") if meaning.startswith("= ") else ""
    return ProgramOption(
        tuple(line["names"].split(", ")), line["value"] or "", "" if setter else meaning, setter
    )


def _following(program: str, option: ProgramOption, left: list[str]) -> str:
    if not left:
        raise BenchmarkPlanError(f"{option.names[0]} of {program}: expected {option.value}")
    return left.pop(0)


def _check(program: str, argument: str, option: ProgramOption, value: str | None) -> None:
    if option.setter:
        raise BenchmarkPlanError(f"{argument} of {program}: set by {option.setter}")
    if value is not None and not option.value:
        raise BenchmarkPlanError(f"{argument} of {program}: expected no value")
    if option.alternatives and value not in option.alternatives:
        near = get_close_matches(value or "", option.alternatives, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        expected = ", ".join(option.alternatives)
        raise BenchmarkPlanError(
            f"{option.names[0]} {value} of {program}: expected one of {expected}{hint}"
        )
    pattern, expected = _KINDS.get(option.value, (".*", ""))
    if not re.fullmatch(pattern, value or "", re.DOTALL):
        raise BenchmarkPlanError(f"{option.names[0]} {value} of {program}: expected {expected}")


def _known(argument: str, known: Mapping[str, object] | Sequence[str]) -> str:
    """Name the nearest of what is known, or all of a few."""
    names = list(known)
    if not names:
        return "expected none"
    near = get_close_matches(argument, names, n=3, cutoff=0.5)
    if near:
        return f"nearest: {', '.join(near)}"
    rest = ", ..." if len(names) > _SHOWN else ""
    return f"known: {', '.join(names[:_SHOWN])}{rest}"
