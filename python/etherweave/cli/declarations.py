"""Arguments and options of a verb, from the signature and the docstring of its function.

Parameters before ``*`` are arguments, those after it options. The section *Parameters* of the
docstring has the help of each. Its name is followed by how it is written where the name alone does
not say so: options first, then the value::

    output : -o DIRECTORY
        Directory for the result.
    with_both : --compare-fidelity
        Simulate packets of all jobs, and flow-level mode of those that the scenario names.

An option whose first word has one dash keeps the name of the parameter, too. A range, or what a
file must be, stands in the annotation. Parameters without an entry are declared by their annotation
alone, as those that several verbs share.
"""

import inspect
import re
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.models import ParameterInfo

_HEAD = re.compile(r"\n*^Parameters\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+)(?: : (.+))?\n((?: +.+\n?)+)", re.MULTILINE)


def declare(verb: Callable[..., Any]) -> str:
    """Declare the parameters of a verb to typer; returns its help."""
    about, *sections = _HEAD.split(inspect.getdoc(verb) or "")
    hints = get_type_hints(verb, include_extras=True)
    parameters = inspect.signature(verb).parameters
    for name, form, text in _ENTRY.findall("\n".join([*sections, ""])):
        hints[name] = _declared(parameters[name], hints[name], form, " ".join(text.split()))
    verb.__annotations__ = hints
    return about


def _declared(parameter: inspect.Parameter, hint: Any, form: str, text: str) -> Any:
    """Annotate the type of a parameter by what typer needs to know."""
    is_option = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    kind, info = _parts(hint, typer.Option() if is_option else typer.Argument())
    names = tuple(word.rstrip(",") for word in form.split() if word.startswith("-"))
    if is_option:
        info.param_decls = _names(parameter, names)
    info.metavar = " ".join(word for word in form.split() if not word.startswith("-")) or None
    info.help = text
    info.case_sensitive = False
    return Annotated[kind, info]


def _names(parameter: inspect.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Give the names of an option; a switch that is off by default has none that turns it off."""
    long = f"--{parameter.name.replace('_', '-')}"
    if names and names[0].startswith("--"):
        return names
    return (long, *names) if names or parameter.default is False else ()


def _parts(hint: Any, info: ParameterInfo) -> tuple[Any, ParameterInfo]:
    """Split a type from what its annotation says of it, also within ``TYPE | None``."""
    if hasattr(hint, "__metadata__"):
        return hint.__origin__, copy(hint.__metadata__[0])
    for member in get_args(hint):
        if hasattr(member, "__metadata__"):
            return member.__origin__ | None, copy(member.__metadata__[0])
    return hint, info
