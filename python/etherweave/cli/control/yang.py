"""Checks SONiC's configurations with ``yanglint`` of libyang."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from etherweave.api.inputs import read_text
from etherweave.cli.exits import reject
from etherweave.control.qos import sonic_yang

LONGEST_S = 120  # Time limit of a switch [s].
TEMPLATES = "*.yang.j2"  # Models that SONiC's build renders, for a command line and for Python.


def refusals(written: Iterable[tuple[str, str]], models: Path) -> dict[str, str]:
    """Check every ``config_db.json``.

    Parameters
    ----------
    written
        Paths and texts.
    models
        A directory with the models; templates in it, or in ``yang-templates`` beside it, are
        rendered.

    Returns
    -------
    dict
        Errors of those that are rejected, by path.

    Raises
    ------
    YangError
        When a model cannot be read, or no model has a table.
    """
    if shutil.which("yanglint") is None:
        reject("--yang: expected the program yanglint; Debian has it in libyang2-tools")
    with tempfile.TemporaryDirectory() as rendered:
        folders = (models, Path(rendered))
        _render(models, folders[1])
        known = sonic_yang.table_models(_texts(folders))
        answers = {
            name: refusal(json.loads(text), known, folders)
            for name, text in written
            if name.endswith("config_db.json")
        }
    return {name: message for name, message in answers.items() if message}


def refusal(
    tables: Mapping[str, Mapping[str, Mapping[str, object]]],
    known: sonic_yang.TableModels,
    folders: tuple[Path, ...],
) -> str:
    """Return the errors of ``yanglint``; empty if it accepts the configuration."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.xml"
        data.write_text(sonic_yang.xml(tables, known), encoding="utf-8")
        paths = [word for folder in folders for word in ("-p", str(folder))]
        modules = [str(_model_file(name, folders)) for name in sonic_yang.modules(tables, known)]
        command = ["yanglint", *paths, "-t", "config", *modules, str(data)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {LONGEST_S} s"
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""


def _model_file(module: str, folders: tuple[Path, ...]) -> Path:
    name = f"{module}.yang"
    return next((home / name for home in folders if (home / name).exists()), folders[0] / name)


def _texts(folders: tuple[Path, ...]) -> list[tuple[str, str]]:
    paths = [path for folder in folders for path in sorted(folder.glob("*.yang"))]
    if not paths:
        reject(f"--yang {folders[0]}: expected a directory with *.yang")
    return [(path.name, read_text(path)) for path in paths]


def _render(models: Path, folder: Path) -> None:
    """Render templates as SONiC's build does for its Python tools."""
    from jinja2 import TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment()
    for path in (*models.glob(TEMPLATES), *models.parent.glob(f"yang-templates/{TEMPLATES}")):
        try:
            text = environment.from_string(read_text(path)).render(yang_model_type="py")
        except TemplateError as error:
            raise sonic_yang.YangError(f"{path}: {error}; expected a template") from None
        (folder / path.name.removesuffix(".j2")).write_text(text, encoding="utf-8")
