"""A wheel installs where there is no Rust, and the simulator needs none of the extras' packages."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import documents

ROOT = Path(__file__).parents[2]
SYSTEM = "/usr/bin:/bin"  # Without the directories in which rustup puts compilers.

pytestmark = [pytest.mark.needs("wheel"), pytest.mark.slow]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel and what it requires."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    assert shutil.which("cargo", path=SYSTEM) is None
    wheel = Path(os.environ["ETHERWEAVE_WHEEL"]).resolve()
    call(home, "pip", "install", "--quiet", wheel, check=True)
    return home


def call(
    home: Path, program: str, *arguments: object, check: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment, far from the checkout."""
    words = [str(home / "bin" / program), *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        words,
        cwd=home,
        env=kept | {"PATH": SYSTEM, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=check,
    )


def test_a_run_leaves_its_result(environment: Path) -> None:
    done = call(environment, "etherweave", "run", ROOT / "scenarios/first.toml", "-o", "result")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("first: complete after ")
    assert list((environment / "result").glob("*.parquet"))


def test_readme_shows_real_output(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    home = tmp_path_factory.mktemp("readme")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    wheel = Path(os.environ["ETHERWEAVE_WHEEL"]).resolve()
    call(home, "pip", "install", "--quiet", f"{wheel}[report,control]", check=True)
    page = ROOT / "README.md"
    assert documents.carry_out(page, tmp_path, home / "bin") == page.read_text()


def test_studies_are_listed_without_an_extra(environment: Path) -> None:
    done = call(environment, "etherweave", "study")
    assert (done.returncode, done.stderr) == (0, "")
    assert "osu-references" in done.stdout


def test_a_design_takes_its_profiles_from_the_wheel(environment: Path) -> None:
    done = call(environment, "etherweave", "design", ROOT / "scenarios/first.toml", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["power"]


def test_the_wheel_lists_the_crates_that_it_was_compiled_from(environment: Path) -> None:
    (listed,) = environment.glob("lib/*/site-packages/etherweave-*.dist-info/sboms/*.json")
    names = {component["name"] for component in json.loads(listed.read_text())["components"]}
    assert {"etherweave-sim", "pyo3", "serde"} <= names


def test_the_simulator_alone_requires_few_packages(environment: Path) -> None:
    installed = environment.glob("lib/*/site-packages/*.dist-info")
    names = {package.name.partition("-")[0].lower() for package in installed}
    assert {"etherweave", "polars", "pyarrow", "rich", "typer"} <= names
    assert not names & {"jinja2", "matplotlib", "numpy", "os_ken", "pyroute2", "scipy"}


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("report result", "report"),
        ("design {scenario} --draw fabric.svg", "report"),
        ("calibrate {scenario} --measured .", "bench"),
        ("study sandia-2020", "all"),
    ],
)
def test_a_verb_names_the_extra_that_it_lacks(environment: Path, words: str, extra: str) -> None:
    scenario = ROOT / "scenarios/first.toml"
    done = call(environment, "etherweave", *words.format(scenario=scenario).split())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith(f" is not installed; expected: pip install 'etherweave[{extra}]'")
