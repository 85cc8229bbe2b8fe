"""Verbs by name: a module is imported only when its verb is called.

Help of a group prints a line for each of its verbs, and shells complete their names; neither needs
their modules, which import what the verbs need. So a group has a table of its verbs, and a test
compares the lines of the table with what the functions say of themselves.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

_UsageError: Any = typer.BadParameter.__bases__[0]
"""Base of all mistakes in arguments, which typer does not export."""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Verb(NamedTuple):
    """Where a verb is, and its line in the help of its group."""

    module: str  # Within the package of its group.
    help: str  # The first sentence of the function's docstring.

    def imported(self, package: str, name: str) -> tuple[Any, Any]:
        """Import its module and its function: the verb's, with ``_verb`` or ``_`` after it."""
        module = import_module(f"{package}.{self.module}")
        known = (f"{name}_verb", f"{name}_", name)
        return module, getattr(module, next(word for word in known if hasattr(module, word)))


class VerbCommand(TyperCommand):
    """A verb, with its whole first sentence in lists and its examples as they are written."""

    def invoke(self, ctx: Any) -> Any:
        """Call the verb; a fault of the core leaves what there is."""
        from etherweave.cli.faults import reported

        with reported(ctx.params):
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line.

        Those after ``--`` are options of the program that the verb starts, if it starts any.
        """
        if "--" in args and any(param.name == "program_options" for param in self.params):
            place = args.index("--")
            passed_on = [f"--program-options={word}" for word in args[place + 1 :]]
            args = [*args[:place], *passed_on]
        return super().parse_args(ctx, args)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first sentence, which lists wrap rather than cut."""
        return super().get_short_help_str(1000)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Print the examples, a line each, under their title."""
        for line in filter(str.strip, (self.epilog or "").splitlines()):
            formatter.write(f"\n{line}\n" if line.endswith(":") else f"  {line}\n")


class VerbGroup(TyperGroup):
    """Verbs that are imported when they are called.

    Until then :attr:`commands` has their names and lines, without options.
    """

    package: ClassVar[str]
    verbs: ClassVar[Mapping[str, Verb]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, verb in self.verbs.items():
            self.add_command(VerbCommand(name, help=verb.help, rich_markup_mode=None))

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options of the group; a mistake is one sentence."""
        with _one_sentence():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of a verb and call it; a mistake is one sentence."""
        with _one_sentence():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """Find the verb that is called, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.load(name) if name else command, rest

    def load(self, name: str) -> Any:
        """Import a verb, options and all."""
        if name in self.verbs:
            _, _, above = self.package.partition(".cli.")
            words = f"{above.replace('.', ' ')} {name}".strip()
            self.add_command(_command(words, *self.verbs[name].imported(self.package, name)))
        return self.commands[name]


class FileGroup(TyperGroup):
    """Verbs beside ``run``, which a file in place of a verb is for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"subcommand_metavar": "FILE | COMMAND [ARGS]..."})

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Say what a file is for, and where its options are."""
        path = ctx.command_path
        formatter.write(f"\n`{path} FILE` is short for `{path} run FILE`.\n")
        formatter.write(f"`{path} run --help` prints its options.\n")

    def with_verb(self, words: list[str]) -> list[str]:
        """Put the verb before a file."""
        is_file = words and words[0] not in (*self.commands, "-h", "--help")
        return ["run", *words] if is_file else words

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        return super().parse_args(ctx, self.with_verb(args))


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Print a mistake in arguments as every other mistake, without the usage above it.

    So is a library that is not installed, where an extra of the package brings it, and a file that
    cannot be read or written.
    """
    try:
        yield
    except OSError as error:
        from etherweave.cli.exits import reject_file

        if error.filename:
            reject_file(error)
        raise
    except ModuleNotFoundError as error:
        from etherweave.cli.exits import reject
        from etherweave.cli.extras import lack

        if sentence := lack(error):
            reject(sentence)
        raise
    except _UsageError as error:
        if type(error).show is not _UsageError.show:  # A group without arguments prints its help.
            raise
        verb = f"{error.ctx.command_path}: " if error.ctx else ""
        from etherweave.cli.exits import reject

        reject(f"{verb}{_message(error)}")


def _message(error: _UsageError) -> str:
    """Say what stands where, and what is expected there, of a mistake in an argument."""
    message = " ".join(error.format_message().split()).rstrip(".")
    option, is_value, reason = message.partition(": Value error, ")
    if is_value:
        return f"{option}: {reason}"
    option, is_input, reason = message.partition(": Input should be ")
    if is_input and (errors := getattr(error.__cause__, "errors", None)):
        (first, *_) = errors()
        expected = reason.partition(", unable to parse")[0]
        a_number = "a number " if first["type"].startswith(("greater", "less")) else ""
        return f"{option}: {first['input']}; expected {a_number}{expected}"
    return f"{message}; --help lists what is expected"


def group(package: str, about: str, lines: Mapping[str, str | Verb], **options: Any) -> typer.Typer:
    """Make a group of verbs of a package, with these options of :class:`typer.Typer`.

    A verb is in the module of its name, unless a :class:`Verb` names another. It is a function, or
    a :class:`typer.Typer` of further verbs. Its examples in ``examples.txt`` and what its module
    calls ``FORMATS`` end its help, and ``SETTINGS`` are those of its context.
    """
    verbs = {name: Verb(name, row) if isinstance(row, str) else row for name, row in lines.items()}
    return typer.Typer(
        cls=type("VerbGroup", (VerbGroup,), {"package": package, "verbs": verbs}),
        help=about,
        no_args_is_help=True,
        # Help is plain text: markup would take "[ms]" for a style.
        rich_markup_mode=None,
        context_settings=SETTINGS,
        **options,
    )


def nested(about: str, kind: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Make a verb that has verbs of its own, in its module."""
    settings = {"help_option_names": SETTINGS["help_option_names"]}
    return typer.Typer(cls=kind, help=about, no_args_is_help=True, context_settings=settings)


def _command(words: str, module: Any, member: Any) -> Any:
    if isinstance(member, typer.Typer):
        return _nested(words, member)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings = SETTINGS | getattr(module, "SETTINGS", {})
    single.command(
        words.split()[-1],
        cls=VerbCommand,
        help=_declared(member),
        epilog=_examples()[words] + getattr(module, "FORMATS", ""),
        context_settings=settings,
    )(member)
    return typer.main.get_command(single)


def _nested(words: str, verbs: typer.Typer) -> Any:
    verbs.rich_markup_mode = None
    for verb in verbs.registered_commands:
        verb.cls = VerbCommand
        verb.help = _declared(verb.callback)
        assert verb.callback is not None, "every verb is a function"
        name = verb.name or typer.main.get_command_name(verb.callback.__name__)
        verb.epilog = _examples()[f"{words} {name}"]
    click_group = typer.main.get_group(verbs)
    click_group.name = words.split()[-1]
    return click_group


@cache
def _examples() -> dict[str, str]:
    """Read the examples of all verbs, by their words."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    blocks = (block.partition("]\n") for block in text.rstrip().split("\n\n[")[1:])
    return {
        words: f"Examples:\n{lines}" for names, _, lines in blocks for words in names.split(", ")
    }


def _declared(verb: Any) -> str:
    from etherweave.cli.declarations import declare

    return declare(verb)
