"""Recipes of package managers say what the package says of itself."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from support.documents import ROOT

RECIPES = ROOT / "packaging"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
CARGO: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
CONDA: dict[str, Any] = yaml.safe_load((RECIPES / "conda/recipe.yaml").read_text())
SPACK = (RECIPES / "spack/package.py").read_text()
(EASYBUILD,) = RECIPES.glob("easybuild/*.eb")


def easybuild() -> dict[str, Any]:
    """Read the recipe, which is Python with constants of EasyBuild."""
    values: dict[str, Any] = {"SYSTEM": "system"}
    exec(EASYBUILD.read_text(), values)
    return values


def of_spack(requirement: str) -> str:
    """Write a requirement of Python as Spack does, whose upper bounds are included."""
    name, least, below = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<(\d+))?", requirement).groups()  # type: ignore[union-attr]
    return f"py-{name}@{least}:{int(below) - 1 if below else ''}"


def test_recipes_have_the_version_of_the_workspace() -> None:
    version = CARGO["version"]
    assert CONDA["context"]["version"] == version
    assert f'version("{version}")' in SPACK
    assert f"etherweave-{version}.tar.gz" in SPACK
    assert easybuild()["version"] == version
    assert EASYBUILD.stem == f"Etherweave-{version}"


def test_recipes_require_what_the_simulator_requires() -> None:
    wanted = PROJECT["project"]["dependencies"]
    run = set(CONDA["requirements"]["run"])
    assert run == {wanted.replace(">=", " >=") for wanted in [*wanted, "python>=3.11"]}
    for requirement in [*wanted, *PROJECT["build-system"]["requires"]]:
        assert f'depends_on("{of_spack(requirement)}"' in SPACK
    host = CONDA["requirements"]["host"]
    assert PROJECT["build-system"]["requires"] == ["maturin>=1.9,<2"]
    assert "maturin >=1.9,<2" in host


@pytest.mark.parametrize("recipe", ["Containerfile", "spack/package.py"])
def test_recipes_compile_with_the_oldest_rust_that_the_workspace_allows(recipe: str) -> None:
    (match,) = re.findall(r"rust[:@](\d+\.\d+)", (RECIPES / recipe).read_text())
    assert match == CARGO["rust-version"]


def test_recipes_have_the_oldest_python_of_the_package() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert 'depends_on("python@3.11:"' in SPACK
    assert "python >=3.11" in CONDA["requirements"]["host"]
