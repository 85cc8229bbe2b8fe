"""The package declares what it contains."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import etherweave
from etherweave.cli.extras import MODULES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/etherweave"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
LOCK = (ROOT / "requirements.lock").read_text()
OF_USERS = {"pandas", "reframe"}
"""`Result.to_pandas` and the plug-in of ReFrame are for users who have these."""


PERMISSIVE = {
    *("Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0"),
    *("CC0-1.0", "ISC", "MIT", "Unicode-3.0", "Unlicense", "Zlib"),
}
"""Licences, by SPDX, that ask of whoever passes the wheel on for no more than a notice."""

USERS = ("control", "bench", "report", "dask", "advise", "explore", "formats")  # Extras of users.
PERMITTED = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|HPND|LGPL|Unlicense)\b"
)
"""Licences that let anybody use a package unchanged beside the wheel; one of several is enough."""


def test_the_core_carries_the_workspace_version() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert etherweave.__version__ == manifest["workspace"]["package"]["version"]


def names(requirements: list[str]) -> set[str]:
    matches = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    packages = {match[0].lower() for match in matches if match}
    return {MODULES.get(package, package.replace("-", "_")) for package in packages}


def imports(folder: Path) -> Iterator[tuple[Path, str]]:
    """Packages from outside that the files of a room import."""
    for file in sorted(folder.rglob("*.py")):
        for package in packages(file) - sys.stdlib_module_names - {"etherweave"}:
            yield file, package


@cache
def packages(file: Path) -> frozenset[str]:
    modules: list[str] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            modules += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.append(node.module or "")
    return frozenset(module.partition(".")[0] for module in modules)


@pytest.mark.parametrize("room", ["bench", "control", "explore", "formats", "report"])
def test_a_room_has_an_extra_that_brings_what_it_imports(room: str) -> None:
    brought = names(PROJECT["dependencies"]) | names(EXTRAS[room]) | OF_USERS
    assert not {(file, module) for file, module in imports(PACKAGE / room) if module not in brought}
    used = {
        module for home in (room, f"cli/{room}", "linux") for _, module in imports(PACKAGE / home)
    }
    assert names(EXTRAS[room]) - {"etherweave"} <= used


ROOMS_OF_EXTRAS = {"advise", "bench", "control", "explore", "report"}
JOINING = {"cli", "pages", "__init__.py"}  # Rooms that join what several extras bring.


def test_no_extra_imports_another_and_no_room_below_imports_one() -> None:
    crossing = {
        (str(file.relative_to(PACKAGE)), other)
        for file in PACKAGE.rglob("*.py")
        for room in [file.relative_to(PACKAGE).parts[0]]
        if room not in JOINING
        for other in rooms_imported(file) & ROOMS_OF_EXTRAS - {room, *brought_by(room)}
    }
    assert not crossing
    assert set(EXTRAS) >= ROOMS_OF_EXTRAS


def brought_by(room: str) -> set[str]:
    """Return the extras that the extra of a room brings, which it may stand on."""
    return {extra for text in EXTRAS.get(room, ()) for extra in Requirement(text).extras}


def rooms_imported(file: Path) -> set[str]:
    """Rooms of the package that a file imports, also inside functions."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            modules += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules += (f"{node.module}.{alias.name}" for alias in node.names)
    return {module.split(".")[1] for module in modules if module.startswith("etherweave.")}


def test_whatever_else_the_package_imports_is_required_or_in_the_extra_of_all_rooms() -> None:
    brought = names(
        [
            *PROJECT["dependencies"],
            *(requirement for room in EXTRAS.values() for requirement in room),
        ]
    )
    assert {module for _, module in imports(PACKAGE)} <= brought | OF_USERS
    top = {module for file, module in imports(PACKAGE) if file.parent == PACKAGE}
    assert top <= names(PROJECT["dependencies"]) | OF_USERS


def test_development_installs_locked_versions_with_hashes() -> None:
    locked = names(re.findall(r"^[\w.-]+", LOCK, re.MULTILINE))
    assert names(PROJECT["dependencies"]) <= locked
    for extra in EXTRAS.values():
        assert names(extra) - {"etherweave"} <= locked
    pinned = re.split(r"\n(?=\w)", LOCK.strip())
    assert all("==" in word and "--hash=sha256:" in word for word in pinned)
    assert "//" not in LOCK


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression can be met by permissive licences alone."""
    plain = expression.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ")
    parts = [part.strip() for part in re.split(r"\b(AND|OR)\b|([()])", plain) if part]
    words = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    named = [words.get(part, str(part in PERMISSIVE)) for part in parts if part]
    return bool(eval(" ".join(named), {}))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", True),
        ("Unlicense/MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
    ],
)
def test_an_expression_of_licences_is_read(expression: str, expected: bool) -> None:
    assert is_permissive(expression) == expected


def test_every_crate_in_the_wheel_has_a_permissive_licence() -> None:
    words = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    listed = json.loads(subprocess.check_output(words, cwd=ROOT, stderr=subprocess.DEVNULL))
    licences = {package["name"]: package["license"] or "" for package in listed["packages"]}
    assert "pyo3" in licences
    assert not {name: text for name, text in licences.items() if not is_permissive(text)}


def test_cargo_deny_allows_the_same_licences() -> None:
    allowed = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]
    assert set(allowed) == PERMISSIVE


def test_what_users_install_beside_the_wheel_has_a_licence_that_permits_it() -> None:
    required = [*PROJECT["dependencies"], *(extra for name in USERS for extra in EXTRAS[name])]
    texts = {name: licence_of(name) for name in closure(required)}
    assert "polars" in texts
    assert not {name: text for name, text in texts.items() if not PERMITTED.search(text)}


def closure(requirements: list[str]) -> set[str]:
    """Names of distributions that requirements bring on this machine, and what those require."""
    names: set[str] = set()
    waiting = list(requirements)
    while waiting:
        requirement = Requirement(waiting.pop())
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name.lower() not in names | {"etherweave"}:
            names.add(requirement.name.lower())
            waiting += metadata.requires(requirement.name) or []
    return names


def licence_of(name: str) -> str:
    """Return the licence of a distribution, from any of the fields for it."""
    facts = metadata.metadata(name)
    fields = ("License-Expression", "License", "Classifier")
    return "\n".join(text for field in fields for text in facts.get_all(field, []))


def test_groups_of_rows_have_an_order() -> None:
    """Polars gives groups in another order each time, and sums of them other last digits."""
    assert unordered("rows.group_by('rank').agg(time)") == [1]
    assert not unordered("rows.group_by('rank').agg(time).sort('rank')['time']")
    assert not unordered("rows.group_by('rank', maintain_order=True).agg(time)")
    folders = (PACKAGE, ROOT / "studies", ROOT / "bench")
    files = [file for folder in folders for file in folder.rglob("*.py")]
    places = {str(file): lines for file in files if (lines := unordered(file.read_text()))}
    assert not places


def unordered(source: str) -> list[int]:
    """List the lines of groups that are neither kept in order nor sorted."""
    tree = ast.parse(source)
    parents = {part: node for node in ast.walk(tree) for part in ast.iter_child_nodes(node)}

    def is_sorted(node: ast.AST) -> bool:
        above = parents[node]
        if not isinstance(above, ast.Attribute | ast.Call | ast.Subscript):
            return False
        return (isinstance(above, ast.Attribute) and above.attr == "sort") or is_sorted(above)

    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    groups = (
        call
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "group_by"
    )
    kept = "maintain_order"
    return [
        group.lineno
        for group in groups
        if all(word.arg != kept for word in group.keywords) and not is_sorted(group)
    ]
