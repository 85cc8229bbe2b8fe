"""The manual: a page for every command, made from the functions that carry it out.

The site shows the pages as Markdown. ``python -m etherweave.cli.manual DIRECTORY`` writes them as
man pages, and the scripts by which shells complete the command line, into a tree like ``/usr``.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from etherweave.api.outputs import new_files

PROGRAM = "etherweave"
COMPLETIONS = {
    "bash": f"share/bash-completion/completions/{PROGRAM}",
    "zsh": f"share/zsh/site-functions/_{PROGRAM}",
    "fish": f"share/fish/vendor_completions.d/{PROGRAM}.fish",
}
"""Where each shell looks for the script of a program."""


@dataclass(frozen=True)
class Page:
    """Help of a command."""

    words: str  # That call the command, the program's first.
    usage: str
    paragraphs: list[str]  # Paragraphs of the description; the first is one sentence.
    verbs: list[tuple[str, str]]  # Verbs of a group, each with its sentence.
    parameters: list[tuple[str, str]]
    """Arguments and options as they are written, each with its sentence, default and range."""
    examples: list[str]

    @property
    def name(self) -> str:
        """Name of the man page."""
        return self.words.replace(" ", "-")


def commands(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Import every command: first the program, then what is below each, with the words."""
    command = command or program()
    yield " ".join(words), command
    for name in list(getattr(command, "commands", ())):
        yield from commands(below(command, name), (*words, name))


def program() -> Any:
    """Give the command line as a whole."""
    import typer.main

    return typer.main.get_command(import_module("etherweave.cli").app)


def below(group: Any, name: str) -> Any:
    """Import a command of a group, options and all."""
    return group.load(name) if hasattr(group, "load") else group.commands[name]


def pages() -> Iterator[Page]:
    """Make the page of every command."""
    for words, command in commands():
        yield _page(f"{PROGRAM} {words}".strip(), command)


def _page(words: str, command: Any) -> Page:
    context = command.context_class(command, info_name=words, **command.context_settings)
    records = (param.get_help_record(context) for param in command.get_params(context))
    lines = (command.epilog or "").strip().splitlines()
    verbs = [(name, verb.help) for name, verb in getattr(command, "commands", {}).items()]
    return Page(
        words,
        " ".join(command.get_usage(context).removeprefix("Usage:").split()),
        [" ".join(part.split()) for part in command.help.split("\n\n")],
        [(name, _sentence(about)) for name, about in verbs],
        [record for record in records if record],
        [line for line in lines if not line.endswith(":")],
    )


def _sentence(about: str) -> str:
    return " ".join(about.partition("\n\n")[0].split())


def markdown(page: Page) -> str:
    """Write a page for the site, below a heading of its own."""
    level = "#" * (1 + len(page.words.split()))
    parts = [f"{level} `{page.words}` {{ #{page.name} }}", *map(_code_marks, page.paragraphs)]
    parts.append(f"```text\n{page.usage}\n```")
    links = [(f"[`{name}`](#{page.name}-{name})", about) for name, about in page.verbs]
    parts += _rows("Verb", links)
    parts += _rows("Argument or option", [(f"`{form}`", about) for form, about in page.parameters])
    if page.examples:
        parts.append("\n".join(["```console", *(f"$ {line}" for line in page.examples), "```"]))
    return "\n\n".join(parts) + "\n"


def _code_marks(text: str) -> str:
    """Set options as code, so that no dash is taken for a mark."""
    return re.sub(r"(?<![`\w-])(--[a-z][a-z-]*)", r"`\1`", text)


def _rows(title: str, rows: list[tuple[str, str]]) -> list[str]:
    lines = [f"| {form.replace('|', '&#124;')} | {_cell(about)} |" for form, about in rows]
    return ["\n".join([f"| {title} | |", "|---|---|", *lines])] if rows else []


def _cell(text: str) -> str:
    return _code_marks(text).replace("|", "\\|").replace("<", "&lt;")


def roff(page: Page, version: str) -> str:
    """Write a man page, in the macros of man(7)."""
    first = page.paragraphs[0].rstrip(".")
    lines = [
        f'.TH "{page.name.upper()}" "1" "" "{PROGRAM} {version}" "Etherweave manual"',
        ".SH NAME",
        f"{_roff(page.name)} \\- {_roff(first[0].lower() + first[1:])}",
        ".SH SYNOPSIS",
        _roff(page.usage),
        ".SH DESCRIPTION",
        _roff(page.paragraphs[0]),
    ]
    lines += [line for text in page.paragraphs[1:] for line in (".PP", _roff(text))]
    lines += _items("VERBS", page.verbs) + _items("OPTIONS", page.parameters)
    if page.examples:
        lines += [".SH EXAMPLES", ".nf", *map(_roff, page.examples), ".fi"]
    around = [PROGRAM] if page.name != PROGRAM else []
    around += [f"{page.name}-{name}" for name, _ in page.verbs]
    if around:
        lines += [".SH SEE ALSO", " ,\n".join(f".BR {_roff(name)} (1)" for name in around)]
    return "\n".join(lines) + "\n"


def _items(title: str, items: list[tuple[str, str]]) -> list[str]:
    lines = [
        line for form, about in items for line in (".TP", f"\\fB{_roff(form)}\\fR", _roff(about))
    ]
    return [f".SH {title}", *lines] if items else []


def _roff(text: str) -> str:
    """Escape what troff would take for a request, a hyphen or octets of another character set."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    safe = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in safe)
    return f"\\&{safe}" if safe[:1] in {".", "'"} else safe


def write(directory: Path) -> list[Path]:
    """Write man pages and completion scripts below a directory like ``/usr``; gives the files."""
    from etherweave import __version__

    texts = {f"share/man/man1/{page.name}.1": roff(page, __version__) for page in pages()}
    texts |= {path: _completion(shell) for shell, path in COMPLETIONS.items()}
    with new_files(directory) as files:
        for path, text in texts.items():
            files.add(path, text)
    return [directory / path for path in texts]


def _completion(shell: str) -> str:
    """Let the command line print the script, as it does for ``--show-completion``."""
    asked = os.environ | {f"_{PROGRAM.upper()}_COMPLETE": f"source_{shell}"}
    words = [Path(sys.executable).with_name(PROGRAM)]
    return subprocess.run(words, env=asked, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    write(Path(sys.argv[1]))
