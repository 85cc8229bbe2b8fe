"""Files that an addition to a family touches: one new file, and lines of one list.

An addition is a member that exists, under other names: a copy of its file, and a copy of each line
that names it in the list. Its family has room for it if that builds and is known.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Addition:
    """A member, and the names of its copy."""

    new: str  # The file of the member.
    changed: str  # The list.
    names: Mapping[str, str]  # Words of the member, and those of the copy.
    is_block: bool = False  # Whether the entry is a table of TOML, up to an empty line.

    def renamed(self, text: str) -> str:
        """Put the copy's names in place of the member's."""
        for old, new in self.names.items():
            text = re.sub(rf"\b{old}\b", new, text)
        return text

    def added(self, root: Path) -> dict[str, str]:
        """Give the texts of the new and of the changed file."""
        new, listed = (
            (root / name).read_text(encoding="utf-8") for name in (self.new, self.changed)
        )
        pieces = listed.split("\n\n") if self.is_block else listed.splitlines()
        both = zip(pieces, [self.renamed(piece) for piece in pieces], strict=True)
        lines = [part for old, copy in both for part in ((old,) if old == copy else (old, copy))]
        text = ("\n\n" if self.is_block else "\n").join(lines).rstrip("\n") + "\n"
        return {self.renamed(self.new): self.renamed(new), self.changed: text}


RUST = {
    "topology": Addition(
        "crates/topology/src/kind/mesh.rs",
        "crates/topology/src/kind.rs",
        {"mesh": "lattice", "Mesh": "Lattice"},
    ),
    "routing": Addition(
        "crates/routing/src/kind/adaptive_up.rs",
        "crates/routing/src/kind.rs",
        {"adaptive_up": "upward", "AdaptiveUp": "Upward"},
    ),
    "workload": Addition(
        "crates/workload/src/family/all_to_all.rs",
        "crates/workload/src/family.rs",
        {"all_to_all": "everyone", "AllToAll": "Everyone"},
    ),
    "collective algorithm": Addition(
        "crates/workload/src/collective/algorithm/bruck.rs",
        "crates/workload/src/collective/algorithm/mod.rs",
        {"bruck": "doubling", "Bruck": "Doubling"},
    ),
    "congestion control of RoCE": Addition(
        "crates/transport/src/swift.rs",
        "crates/transport/src/lib.rs",
        {"swift": "brisk", "Swift": "Brisk"},
    ),
    "congestion control of TCP": Addition(
        "crates/transport/src/tcp/congestion/cubic.rs",
        "crates/transport/src/tcp/congestion/mod.rs",
        {"cubic": "quartic", "Cubic": "Quartic"},
    ),
}
"""Families of the core."""
SHOWN = {"crates/engine/src/params/mod.rs", "crates/transport/src/tcp/params.rs"}
"""Names of members that others know too: parameters by their types, and a default."""


TRANSPORT = (
    "crates/transport/src/alternating_bit.rs",
    "crates/transport/src/lib.rs",
    {
        "pub mod connection;": "pub mod alternating_bit;",
        "            nics {": "                /// A test.\n"
        "                alternating_bit: AlternatingBit("
        "$crate::alternating_bit::AlternatingBitParams)\n"
        '                    = "alternating_bit",\n'
        "                    $crate::alternating_bit::AlternatingBitEnd\n"
        "                    as Box<$crate::alternating_bit::AlternatingBitEnd>;",
    },
)
"""A transport: its file, the list, and lines of the list with what follows them."""
ADDITIONS = Path(__file__).parent / "additions"  # The transport, and ranks and streams over it.
RUNS = "alternating_bit_runs"  # The file of these.
COLUMN = (
    "crates/sim/src/report/sleeps.rs",
    {
        'waited: Duration ["waited_ns"];': 'waited: Duration ["waited_ns"]; naps: u64 ["naps"];',
        "asleep, waited }": "asleep, waited, naps: 0 }",
    },
)
"""A column of a result table: the file of its rows alone changes."""
PYTHON = {
    "benchmark": Addition(
        "python/etherweave/bench/adapters/qperf.py",
        "python/etherweave/bench/programs/catalogue.toml",
        {"qperf": "rperf"},
        is_block=True,
    ),
    "dialect": Addition(
        "python/etherweave/control/lint/onyx.py",
        "python/etherweave/control/lint/inputs.py",
        {"onyx": "agate"},
    ),
    "archive": Addition(
        "python/etherweave/archives/otf2.py",
        "python/etherweave/archives/__init__.py",
        {"otf2": "otf3"},
    ),
    "reader of a format": Addition(
        "python/etherweave/formats/readers/booksim.py",
        "python/etherweave/formats/family.py",
        {"booksim": "netsim"},
    ),
    "writer of a format": Addition(
        "python/etherweave/formats/writers/slurm_block.py",
        "python/etherweave/formats/family.py",
        {"slurm_block": "block_plugin"},
    ),
}
"""Families of the package."""
KNOWN = """
from etherweave.archives import is_archive
from etherweave.bench.adapters import ADAPTERS
from etherweave.control.lint.inputs import DIALECTS
from etherweave.formats import READERS, WRITERS
from etherweave.formats.family import reader
from pathlib import Path
assert ADAPTERS["rperf"].name == "rperf" and ADAPTERS["qperf"] is not ADAPTERS["rperf"]
assert DIALECTS["agate"].system is not DIALECTS["onyx"].system
assert is_archive(Path("traces.otf3"))
assert "netsim" in READERS and reader("netsim") is not reader("booksim")
assert "block_plugin" in WRITERS
"""


@pytest.mark.parametrize("family", RUST)
def test_a_member_is_named_in_its_file_and_its_list_alone(family: str) -> None:
    addition = RUST[family]
    word = re.compile(
        "|".join(rf'\b{name}\b|"{name}"' for name in addition.names if name[0].isupper())
    )
    naming = {name for name, code in _sources().items() if word.search(code)}
    # A library prefers some algorithms; another algorithm leaves its rules as they are.
    rules = {name for name in naming if name.startswith("crates/workload/src/collective/library/")}
    assert naming - rules - SHOWN - {addition.new} == {addition.changed}


@cache
def _sources() -> dict[str, str]:
    """Return the code of the core, without comments and tests."""
    names = (str(path.relative_to(ROOT)) for path in (ROOT / "crates").glob("*/src/**/*.rs"))
    return {name: _code(ROOT / name) for name in names if "test" not in name}


def _code(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").partition("#[cfg(test)]\n")[0].splitlines()
    return "\n".join(line.partition("//")[0] for line in lines)


def _copy(target: Path) -> None:
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, done.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def _add(root: Path, additions: Mapping[str, Addition]) -> None:
    for family, addition in additions.items():
        texts = addition.added(root)
        new = [name for name in texts if not (root / name).exists()]
        assert (len(new), len(texts)) == (1, 2), f"{family}: one new and one changed file"
        for name, text in texts.items():
            (root / name).write_text(text, encoding="utf-8")


def test_members_of_families_of_the_package_are_a_file_and_an_entry(tmp_path: Path) -> None:
    package, copy = ROOT / "python" / "etherweave", tmp_path / "python" / "etherweave"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for core in package.glob("*.so"):
        (copy / core.name).symlink_to(core)
    _add(tmp_path, PYTHON)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "python")}
    subprocess.run([sys.executable, "-c", KNOWN], env=environment, check=True)


def _add_transport(root: Path) -> None:
    new, changed, lines = TRANSPORT
    text = (root / changed).read_text(encoding="utf-8")
    for line, more in lines.items():
        assert text.count(f"{line}\n") == 1, line
        text = text.replace(f"{line}\n", f"{line}\n{more}\n")
    (root / changed).write_text(text, encoding="utf-8")
    assert not (root / new).exists(), "one new file and one changed"
    shutil.copy(ADDITIONS / Path(new).name, root / new)


def test_a_transport_is_a_file_and_an_entry(tmp_path: Path) -> None:
    _, changed, _ = TRANSPORT
    (tmp_path / changed).parent.mkdir(parents=True)
    shutil.copy(ROOT / changed, tmp_path / changed)
    _add_transport(tmp_path)
    assert len(list(tmp_path.rglob("*.rs"))) == 2, "one new file and one changed"


@pytest.mark.long
def test_a_member_of_each_family_of_the_core_is_a_file_and_an_entry(tmp_path: Path) -> None:
    _copy(tmp_path)
    _add(tmp_path, RUST)
    _add_transport(tmp_path)
    name, changes = COLUMN
    text = (tmp_path / name).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / name).write_text(text, encoding="utf-8")
    # One target for all sessions: to compile what others wrote takes longest.
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    environment = os.environ | {"CARGO_TARGET_DIR": str(Path(target) / "additions")}
    words = ["cargo", "check", "--quiet", "--workspace", "--exclude", "etherweave-python"]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True)
    words = ["cargo", "test", "--quiet", "--package", "etherweave-topology", "--test", "all", "--"]
    subprocess.run([*words, "every_family"], cwd=tmp_path, env=environment, check=True)
    words = ["cargo", "test", "--quiet", "--package", "etherweave-transport", "--lib", "--"]
    subprocess.run([*words, "every_transport"], cwd=tmp_path, env=environment, check=True)
    words = ["cargo", "test", "--quiet", "--package", "etherweave-sim", "--test", RUNS]
    shutil.copy(ADDITIONS / f"{RUNS}.rs", tmp_path / "crates" / "sim" / "tests")
    subprocess.run(words, cwd=tmp_path, env=environment, check=True)
